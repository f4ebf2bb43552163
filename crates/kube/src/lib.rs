//! What Kubernetes objects mean: pure, without I/O. The target talks to the server; here is what
//! the answers say.
//!
//! Reading order: [`object`] (the server's JSON as values), [`path`], [`pattern`] and [`field_set`]
//! (where things are and whose they are), [`managed`] (what the server says about that),
//! [`project`] and [`compare`] (has what is ours changed, did strangers add something), [`shape`]
//! (the same in the declaration's own shape), [`forecast`] (what a change would make of it),
//! [`attribute`] and [`audit`] (who did it, by the object's word and by the server's), [`status`]
//! and [`conflict`] (what the server refused), [`shared`] (what others may set of it), [`adopt`]
//! (what becomes of who had it before), [`manifest`] and [`request`] (what may be declared and what
//! is sent of it), [`key`], [`kinds`] and [`order`] (what an object is, and what comes before it),
//! [`health`] (how well it is).

pub mod adopt;
pub mod attribute;
pub mod audit;
pub mod compare;
pub mod conflict;
pub mod field_set;
pub mod forecast;
pub mod health;
mod json;
pub mod key;
pub mod kinds;
pub mod managed;
pub mod manifest;
pub mod object;
pub mod order;
pub mod own;
pub mod path;
pub mod pattern;
pub mod project;
pub mod request;
pub mod shape;
pub mod shared;
pub mod status;

#[cfg(test)]
mod samples;
