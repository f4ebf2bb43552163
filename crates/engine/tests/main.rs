//! The accept plane, from polls and trees to candidates and controls; and taking over from another holder of the log.

mod boundaries;
mod candidates;
mod control_documents;
mod controls;
mod polling;
mod refusals;
mod scene;
mod takeover;
