//! The second start of our own binary: it drops all rights that the program must not have, and
//! becomes the program.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::process::{Signal, fchdir, set_parent_process_death_signal, setsid};
use rustix::stdio::dup2_stdin;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use crate::confinement::Confinement;
use crate::{calls, limits, walls};

/// The hidden subcommand that [`run`](crate::run) starts our binary with. The arguments after it
/// are for [`enter`].
pub const SUBCOMMAND: &str = "render-sandboxed";

/// The exit status of a program that was never started; [`NOT_CONFINED_PREFIX`] begins its error
/// output. A program that imitates both counts as not started, which is correct: it rendered
/// nothing.
pub(crate) const NOT_CONFINED: u8 = 125;
pub(crate) const NOT_CONFINED_PREFIX: &str = "not confined: ";

/// Becomes the program that standard input holds, confined by the arguments after [`SUBCOMMAND`].
/// Returns only if that fails, after it has written the reason to standard error: exit with the
/// returned code. Must be called first, before other threads exist.
pub fn enter(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let reason = match Confinement::read(words) {
        Some(confinement) => match become_program(&confinement) {
            Err((doing, error)) => format!("cannot {doing}: {error}"),
            Ok(never) => match never {},
        },
        None => "the arguments are not those of this version; only the agent starts this subcommand".to_owned(),
    };
    // If no one reads standard error, the message is lost.
    let _ = write!(io::stderr(), "{NOT_CONFINED_PREFIX}{reason}");
    ExitCode::from(NOT_CONFINED)
}

/// The order matters: code that opens files comes before Landlock, code with unusual calls before
/// seccomp, and only the start of the program after both.
fn become_program(confinement: &Confinement) -> Result<Infallible, (&'static str, io::Error)> {
    let program = program().map_err(|error| ("take over the program", error))?;
    keep_three_descriptors().map_err(|error| ("close descriptors", error))?;
    // A session of its own: no terminal, and one group that can be ended at once. It ends with the
    // watching process.
    setsid().map_err(|error| ("start a session", error.into()))?;
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| ("end with the agent", error.into()))?;
    let tree = File::open(&confinement.tree).map_err(|error| ("open the tree", error))?;
    fchdir(&tree).map_err(|error| ("enter the tree", error.into()))?;
    limits::impose(&confinement.limits).map_err(|error| ("set limits", error))?;
    walls::raise(&tree).map_err(|error| ("block other files and the network", error))?;
    // After Landlock has ensured `no_new_privs`, so that starting a program as root restores no
    // capability.
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, none).map_err(|error| ("drop capabilities", error.into()))?;
    calls::give_up().map_err(|error| ("filter system calls", error))?;
    Err(("start the program", start(&program, confinement)))
}

/// Takes the program from standard input, which passes a descriptor without unsafe code. Standard
/// input is replaced by an empty file.
fn program() -> io::Result<OwnedFd> {
    let program = fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    dup2_stdin(File::open("/dev/null")?)?;
    Ok(program)
}

/// Marks all other inherited descriptors to be closed when the program is started.
#[expect(
    unsafe_code,
    reason = "a descriptor that was inherited is known by its number only, and it stays open: nothing here closes it"
)]
fn keep_three_descriptors() -> io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        // The directory lists its own descriptor, which is open until the loop ends.
        if let Some(number) =
            entry?.file_name().to_str().and_then(|name| name.parse().ok()).filter(|number| *number > 2)
        {
            // SAFETY: the descriptor is open according to the kernel's list, and no other thread
            // runs that could close it.
            let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
            fcntl_setfd(descriptor, FdFlags::CLOEXEC)?;
        }
    }
    Ok(())
}

/// Starts the program. Returns only with an error. The program gets no environment, and the
/// directory as an argument that cannot be taken for an option.
#[expect(clippy::disallowed_methods, reason = "the door of this crate to the program, which this process becomes")]
fn start(program: &OwnedFd, confinement: &Confinement) -> io::Error {
    let path = format!("/proc/self/fd/{}", program.as_raw_fd());
    let mut command = Command::new(path);
    command.arg0("kustomize").env_clear().arg("build");
    if !confinement.is_restricted {
        command.arg("--load-restrictor=LoadRestrictionsNone");
    }
    command.args(["--", &confinement.folder]).exec()
}
