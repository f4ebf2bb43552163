//! Kubernetes objects from the server's responses to the values that the engine compares, through
//! the public API of the crate.

mod corpus;
mod diffs;
mod false_diffs;
mod health;
mod recorded;
mod tally;
