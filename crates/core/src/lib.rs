//! The words of Setpoint as types, and the decision: pure, without I/O, clock or randomness.
//!
//! Reading order:
//!
//! - [`value`] and [`resource`]: the declaration
//! - [`key`], [`claim`] and [`observed`]: live objects and their owners
//! - [`bundle`]: the accepted state
//! - [`facts`]: the durable state
//! - [`decide`]: the plan
//! - [`check`]: the rules that no plan may break

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
