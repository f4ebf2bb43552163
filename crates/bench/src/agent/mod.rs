//! An agent to measure: a lab with a repository and a data folder, the shipped binary run on it as
//! a process, and the same agent inside this process for what no socket tells.

pub(crate) mod inside;
pub(crate) mod lab;
pub(crate) mod process;
pub(crate) mod program;
