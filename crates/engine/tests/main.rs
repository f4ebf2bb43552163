//! The accept plane, from trees to candidates and controls; and taking over from another holder of the log.

mod candidates;
mod control_documents;
mod controls;
mod refusals;
mod scene;
mod takeover;
