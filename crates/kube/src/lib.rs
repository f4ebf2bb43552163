//! The semantics of Kubernetes objects: pure, without I/O. The target talks to the server; this
//! crate interprets the server's responses.
//!
//! Reading order:
//!
//! - [`object`]: the server's JSON as values.
//! - [`path`], [`pattern`] and [`field_set`]: field paths, and sets of fields with their owners.
//! - [`managed`]: the server's record of field ownership.
//! - [`project`] and [`compare`]: changes of our fields, and additions of others.
//! - [`shape`]: the same comparison in the declaration's own shape.
//! - [`forecast`]: the result that a change would have.
//! - [`attribute`] and [`audit`]: the author of a change, by the object's metadata and by the audit
//!   log.
//! - [`status`] and [`conflict`]: refusals of the server.
//! - [`shared`]: fields of an object that others may set.
//! - [`adopt`]: the field ownership of an object's previous tool.
//! - [`manifest`] and [`request`]: the checks of a declared object, and the request that applies
//!   it.
//! - [`key`], [`kinds`] and [`order`]: the identity of an object, and its dependencies.
//! - [`health`]: the health of an object.

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
