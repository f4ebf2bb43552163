//! A seeded world with faults that drives the shipped engine through its public types.
//!
//! | file | content |
//! | --- | --- |
//! | [`tape`] | every decision of a run, labelled: draw, record, replay, shrink |
//! | [`universe`] | the apps, stores and targets of a run |
//! | [`store`], [`repository`] | commits: directories and documents, as intended and as files |
//! | `accept_plane`, `recall` | an instance's memory of the accept plane; the cache of renders |
//! | [`world`], `carry` | simulated time; effects, carried out honestly or with faults |
//! | `cluster` | targets that are clusters: the shipped target over an API server in memory |
//! | `actors`, `authors` | people and strangers; authors of control documents |
//! | [`fault`] | the kinds of faults and the number of their injections |
//! | [`monitor`] | the properties, checked against the true state of the world |
//! | [`run`] | trouble, peace, rest |
//! | [`scenario`] | incidents as scripts, each with a fault at every possible place |
//!
//! ## Determinism
//!
//! A run is a function of its tape: one thread, simulated clocks, ordered maps. One seed in a
//! hundred is run twice and the traces compared.

mod accept_plane;
mod actors;
mod authors;
mod carry;
mod cluster;
pub mod fault;
mod instance;
pub mod monitor;
mod recall;
pub mod repository;
pub mod run;
pub mod scenario;
pub mod store;
pub mod tape;
pub mod universe;
pub mod world;
