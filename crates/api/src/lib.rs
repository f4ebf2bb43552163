//! What can be asked of a running agent: the words of its local socket, for the agent that answers and the commands that ask.
//!
//! Reading order: [`question`] and [`answer`] (the words), [`agent`] (who answers them).

pub mod agent;
pub mod answer;
pub mod question;

pub use agent::{Agent, Problem, ProblemKind};
