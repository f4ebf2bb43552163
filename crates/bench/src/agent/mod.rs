//! The measured agent: a lab with a repository and a data directory, the shipped binary as a
//! process on it, and the same agent inside this process for facts that the socket does not report.

pub(crate) mod inside;
pub(crate) mod lab;
pub(crate) mod process;
pub(crate) mod program;
