//! External tests of the in-memory server: its own guarantees, and its equality with the real
//! server.

mod alone;
mod envtest;
