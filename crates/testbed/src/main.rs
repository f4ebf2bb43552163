//! Keeps one API server for all test binaries of a run of `cargo xtask test`: says in which folder
//! it is described, and ends with its input. By hand,
//! `KUBECONFIG=<folder>/kube-apiserver-0.kubeconfig` leads to it until Ctrl-D.

#![expect(clippy::print_stdout, reason = "where the server is, is what it was started to say")]

use std::io;

use setpoint_testbed::kube::{ApiServer, Options};

fn main() -> io::Result<()> {
    let server = ApiServer::own(Options::default());
    println!("{}", server.folder().display());
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
