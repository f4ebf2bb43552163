//! The product from the outside: the built binary with its output and exit codes, the interpreter on systems in memory, and
//! recovery.

mod agent;
mod converging;
mod durable;
mod enduring;
mod forgetful;
mod ledger;
mod manual;
mod recovering;
mod scene;
mod schema;
mod setpoint;
mod stopping;
mod usage;
