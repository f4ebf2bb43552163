//! Replaces the agent's binary in the tests of this crate: it has only the hidden subcommand.
//!
//! If its name ends in `-without-landlock`, it runs as on a kernel without Landlock.

use std::process::ExitCode;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    if words.next().is_some_and(|name| name.to_string_lossy().ends_with("-without-landlock")) {
        forget_landlock().expect("system calls can be filtered");
    }
    setpoint_render_external::enter(words.skip(1))
}

fn forget_landlock() -> Result<(), Box<dyn std::error::Error>> {
    let calls = [libc::SYS_landlock_create_ruleset, libc::SYS_landlock_add_rule, libc::SYS_landlock_restrict_self];
    let rules = calls.into_iter().map(|call| (call, Vec::new())).collect();
    let unknown = SeccompAction::Errno(u32::try_from(libc::ENOSYS)?);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, unknown, std::env::consts::ARCH.try_into()?)?;
    Ok(seccompiler::apply_filter(&BpfProgram::try_from(filter)?)?)
}
