//! The accept plane, from polls and trees to candidates and controls; taking over from another
//! holder of the log; targets that fail or turn out to be others; who did what was found; what is
//! put right; what is read though nobody told of it; gates, windows, deletes and what is told; and
//! what follows from a record that the ledger refuses. Those of the machine as a whole act on a
//! [`stage`].

mod attributing;
mod boundaries;
mod breaker;
mod candidates;
mod control_documents;
mod controls;
mod deleting;
mod gates;
mod healing;
mod holding;
mod identities;
mod leaving;
mod moving;
mod polling;
mod recording;
mod refusals;
mod remembered;
mod scene;
mod settling;
mod stage;
mod sweeping;
mod takeover;
mod telling;
mod windows;
