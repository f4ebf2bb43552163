//! The accept plane, from trees to candidates and controls.

mod candidates;
mod control_documents;
mod controls;
mod refusals;
mod scene;
