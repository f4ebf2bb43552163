//! The server in memory from outside: what it promises by itself, and that it answers as the real
//! one does.

mod alone;
mod envtest;
