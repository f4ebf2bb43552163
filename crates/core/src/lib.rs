//! The words of Setpoint as types, and the decision: pure, without I/O, clock or randomness.
//!
//! Reading order: [`value`] and [`resource`] (what is declared), [`key`], [`claim`] and [`observed`] (what is there and
//! whose it is), [`bundle`] (what was accepted), [`facts`] (what is durable), [`decide`] (what to do about it),
//! [`check`] (what no plan may ever do).

pub mod claim;
pub mod digest;
pub mod facts;
pub mod hold;
pub mod intent;
pub mod key;
pub mod name;
pub mod observed;
pub mod secret;
pub mod time;
pub mod version;
