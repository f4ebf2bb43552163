//! The second start of our own binary: it gives up what the program must not have, and becomes the
//! program.

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

/// The hidden subcommand that [`run`](crate::run) starts our binary with; the words after it are
/// for [`enter`].
pub const SUBCOMMAND: &str = "render-sandboxed";

/// How the one who watches knows that the program was never started: this status, and this at the
/// beginning of what was said. A program that pretends this is believed to have given nothing,
/// which is so.
pub(crate) const NOT_CONFINED: u8 = 125;
pub(crate) const NOT_CONFINED_PREFIX: &str = "not confined: ";

/// Becomes the program that standard input holds, confined as the words after [`SUBCOMMAND`] say.
/// Comes back only if that is not possible, which it has then told on standard error: exit with
/// what it gives. To be called first thing, before there are other threads.
pub fn enter(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let reason = match Confinement::read(words) {
        Some(confinement) => match become_program(&confinement) {
            Err((doing, error)) => format!("cannot {doing}: {error}"),
            Ok(never) => match never {},
        },
        None => "these are not the words of this version; it is started by the agent, not by hand".to_owned(),
    };
    // If nobody listens, nobody can be told.
    let _ = write!(io::stderr(), "{NOT_CONFINED_PREFIX}{reason}");
    ExitCode::from(NOT_CONFINED)
}

/// The order matters: what opens files comes before Landlock, what makes unusual calls before
/// seccomp, and only the start of the program after.
fn become_program(confinement: &Confinement) -> Result<Infallible, (&'static str, io::Error)> {
    let program = program().map_err(|error| ("take over the program", error))?;
    keep_three_descriptors().map_err(|error| ("close descriptors", error))?;
    // A session of its own: no terminal, and one group that can be ended at once. It ends with the
    // one who watches.
    setsid().map_err(|error| ("begin a session", error.into()))?;
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| ("be ended with the agent", error.into()))?;
    let tree = File::open(&confinement.tree).map_err(|error| ("open the tree", error))?;
    fchdir(&tree).map_err(|error| ("go into the tree", error.into()))?;
    limits::impose(&confinement.limits).map_err(|error| ("set limits", error))?;
    walls::raise(&tree).map_err(|error| ("be kept from other files and the network", error))?;
    // After Landlock has made sure of `no_new_privs`, so that starting a program as root gives none
    // of them back.
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, none).map_err(|error| ("give up capabilities", error.into()))?;
    calls::give_up().map_err(|error| ("give up system calls", error))?;
    Err(("start the program", start(&program, confinement)))
}

/// The program comes as standard input, which is how a descriptor is handed over without unsafe
/// code. It gets an empty one in its place.
fn program() -> io::Result<OwnedFd> {
    let program = fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    dup2_stdin(File::open("/dev/null")?)?;
    Ok(program)
}

/// Whatever else our caller's caller left open for its children ends when the program is started.
#[expect(
    unsafe_code,
    reason = "a descriptor that was inherited is known by its number only, and it stays open: nothing here closes it"
)]
fn keep_three_descriptors() -> io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        // The folder lists itself, and is open until the loop ends.
        if let Some(number) =
            entry?.file_name().to_str().and_then(|name| name.parse().ok()).filter(|number| *number > 2)
        {
            // SAFETY: the descriptor is open, by the list that the kernel gives, and no other
            // thread runs that could close it.
            let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
            fcntl_setfd(descriptor, FdFlags::CLOEXEC)?;
        }
    }
    Ok(())
}

/// Only comes back with an error. The program gets no environment, and the folder as a word that
/// cannot be taken for an option.
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
