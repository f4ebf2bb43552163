//! Keeps one API server for all test binaries of a run of `cargo xtask test`: prints the directory
//! that describes it, and ends when its standard input ends. To use it by hand, set
//! `KUBECONFIG=<directory>/kube-apiserver-0.kubeconfig`; Ctrl-D ends it.

#![expect(clippy::print_stdout, reason = "its output is the directory of the server")]

use std::io;

use setpoint_testbed::kube::{ApiServer, Options};

fn main() -> io::Result<()> {
    let server = ApiServer::own(Options::default());
    println!("{}", server.folder().display());
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
