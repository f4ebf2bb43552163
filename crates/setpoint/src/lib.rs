//! The product as a library, so that its parts can be tested without a process: the command line,
//! the interpreter of the machine's effects, and the recovery of lost claims. `main.rs` only calls
//! [`run`].

pub mod agent;
mod cli;
mod complaint;
pub mod doors;
mod exit;
mod explaining;
pub mod interpreter;
pub mod recover;
mod show;
mod sides;

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

/// Threads come and go, and converging takes more memory than holding does: this allocator gives
/// back what is free, and takes a third of the processor time off an upgrade of 1,000 apps.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Runs the process: arguments in, answer and exit code out.
pub fn run() -> ExitCode {
    // Before anything else is: a process that is to become another program must not have threads.
    let mut words = doors::arguments().skip(1);
    if words.next().is_some_and(|word| word == setpoint_render_external::SUBCOMMAND) {
        return setpoint_render_external::enter(words);
    }
    let environment = doors::EnvironmentVariables::read();
    cli::run(doors::arguments(), &environment, &mut doors::output(), &mut doors::complaints()).into()
}
