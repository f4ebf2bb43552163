//! The binary: command line, configuration and composition root.

fn main() {}
