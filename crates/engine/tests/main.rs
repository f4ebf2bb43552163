//! The accept plane, from polls and trees to candidates and controls; taking over from another holder of the log; targets that
//! fail; who did what was found; what is put right; and what is read though nobody told of it.

mod attributing;
mod boundaries;
mod breaker;
mod candidates;
mod control_documents;
mod controls;
mod healing;
mod holding;
mod identities;
mod polling;
mod refusals;
mod remembered;
mod scene;
mod settling;
mod sweeping;
mod takeover;
