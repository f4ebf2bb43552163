//! Tests of the engine: the accept plane, from polls and trees to candidates and controls;
//! takeovers of the log and of objects; targets that fail or turn out to be others; attribution; healing; sweeps;
//! gates, windows, deletes and notes; and the reaction to records that the ledger refuses. Tests of
//! the machine as a whole use a [`stage`].

mod attributing;
mod boundaries;
mod breaker;
mod candidates;
mod control_documents;
mod controls;
mod deleting;
mod gates;
mod granting;
mod handing_over;
mod healing;
mod holding;
mod identities;
mod leaving;
mod marking;
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
