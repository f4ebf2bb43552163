//! The product as a library, so that its parts can be tested without a process: the command line,
//! the interpreter of the machine's effects, the log, offline checks, and the recovery of lost claims. `main.rs` only calls
//! [`run`].

pub mod agent;
mod cli;
mod complaint;
pub mod doors;
mod exit;
mod explaining;
pub mod families;
pub mod interpreter;
pub mod log;
pub mod metrics;
mod offline;
pub mod recover;
mod show;
mod sides;

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

/// Threads come and go, and converging takes more memory than holding does. This allocator returns
/// free memory to the system, and takes a third of the processor time off an upgrade of 1,000 apps.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Runs the process: reads the arguments, writes the result, and returns the exit code.
pub fn run() -> ExitCode {
    // This comes first: a process that becomes another program must not have threads.
    let mut words = doors::arguments().skip(1);
    if words.next().is_some_and(|word| word == setpoint_render_external::SUBCOMMAND) {
        return setpoint_render_external::enter(words);
    }
    let environment = doors::EnvironmentVariables::read();
    cli::run(doors::arguments(), &environment, &mut doors::output(), &mut doors::complaints()).into()
}
