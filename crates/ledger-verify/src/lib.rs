//! Verifies a ledger without sharing code with its writer: a mistake in the writer cannot hide
//! itself here.
//!
//! [`verify`] reads the database as it is, recomputes every hash from the stored bytes, and
//! compares the sequence, the epochs, every checkpoint and its signature, the bodies, the facts
//! tables, the bundles, and the anchors stored elsewhere. [`prove`] writes a proof that a person
//! can recompute; [`export`] writes the records as JSON lines.
//!
//! Data that cannot be read or understood is a failure. This crate depends on no other crate of the
//! workspace.

mod database;
mod error;
mod note;
mod proof;
mod record;
mod replay;
mod report;
mod tables;
mod tree;
mod walk;

pub use error::VerifyError;
pub use note::Key;
pub use proof::{export, prove};
pub use report::{Finding, LogReport, Report};
pub use walk::verify;
