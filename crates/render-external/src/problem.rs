//! The reasons for a failed render, with the action that corrects them.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use setpoint_yaml::visible_text;

/// The most characters of a program's output that are repeated.
const REPEATED: usize = 2000;

/// An output of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Output,
    Errors,
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Output => "its output",
            Self::Errors => "its error output",
        })
    }
}

/// The reason why the external renderer returned nothing.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    #[error("`{digest}` is not a SHA-256 digest; write its 64 hexadecimal digits, which `sha256sum` prints")]
    NoDigest { digest: String },
    #[error("the external renderer {} cannot be read; put the program there, or correct `binary`", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(
        "the external renderer {} has the SHA-256 digest {found} instead of {expected}; nothing was run; install the version that was pinned, or \
         pin this one if it is intended",
        path.display()
    )]
    OtherDigest { path: PathBuf, expected: String, found: String },
    #[error(
        "the external renderer {} is {what}; it cannot open other files where it runs, so use a program that is linked statically, as kustomize's \
         own releases are",
        path.display()
    )]
    NotStatic { path: PathBuf, what: &'static str },
    #[error("`{folder}` is not a directory of the tree; write its path from the root, with `/`, and without `..`")]
    NoFolder { folder: String },
    #[error("the external renderer was not run, because it cannot be confined: {reason}")]
    NotConfined { reason: String },
    #[error("cannot {doing} the external renderer")]
    Broken { doing: &'static str, source: io::Error },
    #[error("the external renderer was stopped because the agent stops; it runs again after the next start")]
    Stopped,
    #[error(
        "the external renderer was stopped because it took more than {} s; make the render smaller, or raise its limit on time",
        limit.as_secs_f64()
    )]
    TooLong { limit: Duration },
    #[error(
        "the external renderer was stopped because {stream} grew beyond {limit} bytes; make the render smaller, or raise its limit"
    )]
    TooMuch { stream: Stream, limit: usize },
    #[error(
        "the external renderer was stopped because it started more than {limit} threads; kustomize needs only a few: check that it is the intended program"
    )]
    TooManyThreads { limit: u64 },
    #[error(
        "the external renderer needs more memory than its limit of {limit} bytes; make the render smaller, or raise its limit on memory; it reported: {said}"
    )]
    OutOfMemory { limit: u64, said: String },
    #[error(
        "the external renderer was killed by the kernel because it made a system call that no renderer makes; do not trust this program"
    )]
    Forbidden,
    #[error("the external renderer was killed by signal {signal}; it reported: {said}")]
    Killed { signal: i32, said: String },
    /// The program itself failed, for example because of a mistake in a kustomization.
    #[error("the external renderer failed with status {code}; it reported: {said}")]
    Failed { code: i32, said: String },
}

impl NotRun {
    /// Replaces the output of the program in the message: kustomize repeats input that it rejects,
    /// which may be a secret.
    #[must_use]
    pub fn saying(self, instead: impl FnOnce() -> String) -> Self {
        match self {
            Self::OutOfMemory { limit, .. } => Self::OutOfMemory { limit, said: instead() },
            Self::Killed { signal, .. } => Self::Killed { signal, said: instead() },
            Self::Failed { code, .. } => Self::Failed { code, said: instead() },
            other => other,
        }
    }

    /// Reports whether the same files would fail in the same way again. If not, the cause is the
    /// program, the machine or the moment.
    pub fn is_about_the_files(&self) -> bool {
        matches!(
            self,
            Self::NoFolder { .. }
                | Self::TooMuch { .. }
                | Self::TooManyThreads { .. }
                | Self::OutOfMemory { .. }
                | Self::Failed { .. }
        )
    }
}

/// Returns the part of a program's output that may be shown: the end, which holds the reason,
/// without control characters.
pub(crate) fn shown(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let text = text.trim();
    let start = text.len().saturating_sub(REPEATED);
    let start = (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let lines: Vec<String> = text[start..].lines().map(visible_text).collect();
    match lines.join("\n") {
        nothing if nothing.is_empty() => "nothing".to_owned(),
        lines if start > 0 => format!("… {lines}"),
        lines => lines,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_said_can_be_left_out() {
        let said = || "hunter2".to_owned();
        for error in [
            NotRun::OutOfMemory { limit: 5, said: said() },
            NotRun::Killed { signal: 9, said: said() },
            NotRun::Failed { code: 1, said: said() },
        ] {
            let told = error.saying(|| "(left out)".to_owned()).to_string();
            assert!(told.ends_with("; it reported: (left out)"), "{told}");
        }
    }

    #[test]
    fn what_a_program_said_is_shown_by_its_end_and_without_control_characters() {
        assert_eq!(shown(b" Error: \x1b[2Jno\nsecond "), "Error: \\u{1b}[2Jno\nsecond");
        assert_eq!(shown(b"\n"), "nothing");
        let long = format!("{}é the end", "é".repeat(REPEATED));
        let shown = shown(long.as_bytes());
        assert!(shown.starts_with("… é") && shown.ends_with(" the end") && shown.len() <= REPEATED + 8, "{shown}");
    }
}
