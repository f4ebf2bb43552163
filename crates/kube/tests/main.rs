//! Kubernetes objects from the server's answers to what the engine compares, through the public
//! surface of the crate.

mod corpus;
mod diffs;
mod false_diffs;
mod health;
mod recorded;
mod tally;
