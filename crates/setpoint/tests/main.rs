//! Tests of the product from the outside: the built binary with its output and exit codes, the
//! whole agent on real repositories and files, the interpreter on systems in memory, and recovery.

mod agent;
mod converging;
mod durable;
mod enduring;
mod forgetful;
mod kustomize;
mod ledger;
mod manual;
mod recovering;
mod running;
mod scene;
mod schema;
mod setpoint;
mod stopping;
mod usage;
mod validating;
