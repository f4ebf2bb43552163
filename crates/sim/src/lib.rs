//! A seeded world with faults that drives the shipped engine through its public types.
//!
//! | file | what it is |
//! | --- | --- |
//! | [`tape`] | every decision of a run, labelled: draw, record, replay, shrink |
//! | [`universe`] | what exists in a run |
//! | [`store`], [`repository`] | what authors commit: folders and control documents, as they are meant and as files |
//! | `desk`, `recall` | what an instance remembers of the accept plane; what nobody has to read again |
//! | [`world`], `carry` | simulated time; carrying out the machine's effects, honestly or not |
//! | `cluster` | targets that are clusters: the shipped target over a Kubernetes API server in memory |
//! | `actors`, `authors` | people and strangers; authors of control documents |
//! | [`fault`] | the kinds of trouble and how often each was injected |
//! | [`monitor`] | the properties, checked against what the world truly is |
//! | [`run`] | trouble, peace, rest |
//! | [`scenario`] | incidents as scripts, each run with a fault at every place where one can strike |
//!
//! ## Determinism
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
