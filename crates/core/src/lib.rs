//! The words of Setpoint as types, and the decision: pure, without I/O, clock or randomness.
//!
//! Reading order: [`value`] and [`resource`] (what is declared), [`key`], [`claim`] and
//! [`observed`] (what is there and whose it is), [`bundle`] (what was accepted), [`facts`] (what is
//! durable), [`decide`] (what to do about it), [`check`] (what no plan may ever do).

pub mod acting;
pub mod boundary;
pub mod bundle;
pub mod canonical;
pub mod check;
pub mod claim;
pub mod claims;
pub mod decide;
pub mod diff;
pub mod digest;
pub mod facts;
pub mod fields;
pub mod graph;
pub mod hold;
pub mod intent;
pub mod key;
pub mod live;
pub mod modes;
pub mod mutant;
pub mod name;
pub mod num;
pub mod observed;
pub mod plan;
pub mod prune;
pub mod report;
pub mod resource;
pub mod secret;
pub mod snapshot;
pub mod time;
pub mod value;
pub mod version;
