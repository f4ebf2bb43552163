//! Runs the program on a tree: starts our own binary again, which becomes the program, and turns
//! its exit into a result.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Component, Path};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::confinement::Confinement;
use crate::enter::{NOT_CONFINED, NOT_CONFINED_PREFIX, SUBCOMMAND};
use crate::limits::Limits;
use crate::pinned::Pinned;
use crate::problem::{NotRun, shown};
use crate::watch::{Ended, Stop, watch};

/// The output of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The rendered text, byte for byte.
    pub rendered: Vec<u8>,
    /// The error output, such as warnings about deprecated fields.
    pub said: String,
}

/// The input and the options of a render.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The only directory that the program can read.
    pub tree: &'a Path,
    /// The directory in it that holds the kustomization.
    pub folder: &'a str,
    /// Requires files to be in the directory of the kustomization that names them, or below it.
    pub is_restricted: bool,
    pub limits: &'a Limits,
    pub stop: &'a Stop,
}

/// Renders with the pinned program. `self_exe` is a binary that calls [`enter`](crate::enter) when
/// it is started with [`SUBCOMMAND`]: the agent's own, preferably as `/proc/self/exe`, which stays
/// the same while its file is replaced. Blocks this thread until the program has ended.
pub fn run(pinned: &Pinned, job: &Job<'_>, self_exe: &Path) -> Result<Output, NotRun> {
    let Job { tree, folder, is_restricted, limits, stop } = *job;
    if !leads_into(tree, folder) {
        return Err(NotRun::NoFolder { folder: setpoint_yaml::visible_text(folder) });
    }
    let confinement =
        Confinement { tree: tree.to_owned(), folder: folder.to_owned(), is_restricted, limits: limits.clone() };
    let child = started(pinned, &confinement, self_exe)?;
    let ended = watch(child, limits, stop)?;
    answer(ended, limits)
}

/// Reports whether this is a directory of the tree. Landlock checks the targets of links in it.
fn leads_into(tree: &Path, folder: &str) -> bool {
    let plain = Path::new(folder).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    plain && !folder.is_empty() && !folder.contains('\0') && tree.join(folder).is_dir()
}

#[expect(clippy::disallowed_methods, reason = "the door of this crate to child processes")]
fn started(pinned: &Pinned, confinement: &Confinement, self_exe: &Path) -> Result<Child, NotRun> {
    let broken = |source| NotRun::Broken { doing: "start", source };
    let program = pinned.sealed.try_clone().map_err(broken)?;
    let mut command = Command::new(self_exe);
    command.arg(SUBCOMMAND).args(confinement.words()).env_clear();
    command.stdin(program).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(broken)
}

fn answer(ended: Ended, limits: &Limits) -> Result<Output, NotRun> {
    let Ended { status, output, errors } = ended;
    if status.success() {
        return Ok(Output { rendered: output, said: String::from_utf8_lossy(&errors).into_owned() });
    }
    Err(refusal(status, &errors, limits))
}

fn refusal(status: ExitStatus, errors: &[u8], limits: &Limits) -> NotRun {
    let said = shown(errors);
    let Some(code) = status.code() else {
        return match status.signal() {
            Some(libc::SIGSYS) => NotRun::Forbidden,
            Some(libc::SIGXCPU) => NotRun::TooLong { limit: limits.time },
            signal => NotRun::Killed { signal: signal.unwrap_or_default(), said },
        };
    };
    if code == i32::from(NOT_CONFINED)
        && let Some(reason) = said.strip_prefix(NOT_CONFINED_PREFIX)
    {
        return NotRun::NotConfined { reason: reason.to_owned() };
    }
    // The message of Go's runtime when it gets no more memory; its trace follows.
    let first = errors.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first_line = String::from_utf8_lossy(first);
    if ["out of memory", "cannot allocate memory"].iter().any(|word| first_line.contains(word)) {
        return NotRun::OutOfMemory { limit: limits.memory, said: shown(first) };
    }
    NotRun::Failed { code, said }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_leads_out_or_is_none_is_refused() {
        let tree = Path::new("/usr");
        for folder in ["", "..", "bin/../..", "/usr", "no-such-folder", "a\0b"] {
            assert!(!leads_into(tree, folder), "{folder:?}");
        }
        assert!(leads_into(tree, ".") && leads_into(tree, "bin"));
    }

    #[test]
    fn a_program_without_memory_is_told_from_one_that_found_a_mistake() {
        let failed = |errors: &[u8]| refusal(ExitStatus::from_raw(1 << 8), errors, &Limits::default());
        let go = failed(b"fatal error: runtime: out of memory\n\ngoroutine 1\n");
        assert!(matches!(go, NotRun::OutOfMemory { .. }), "{go:?}");
        let mistake = failed(b"Error: accumulating resources: no such file\n");
        assert!(matches!(mistake, NotRun::Failed { code: 1, .. }), "{mistake:?}");
    }
}
