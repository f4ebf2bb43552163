//! Why there is no render, told so that a person knows what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use setpoint_yaml::visible_text;

/// Of what a program said, so much is repeated.
const REPEATED: usize = 2000;

/// Where a program writes.
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

/// Why the external renderer gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    #[error("`{digest}` is no SHA-256 digest; write its 64 hexadecimal digits, which `sha256sum` prints")]
    NoDigest { digest: String },
    #[error("the external renderer {} cannot be read; put the program there, or correct `binary`", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(
        "the external renderer {} has the SHA-256 digest {found} and not {expected}; nothing was run; install the version that was pinned, or \
         pin this one if it is the one that is meant",
        path.display()
    )]
    OtherDigest { path: PathBuf, expected: String, found: String },
    #[error(
        "the external renderer {} is {what}; nothing else can be opened where it runs, so use a program that is linked statically, as kustomize's \
         own releases are",
        path.display()
    )]
    NotStatic { path: PathBuf, what: &'static str },
    #[error("`{folder}` is no folder of the tree; write its path from the root, with `/`, and without `..`")]
    NoFolder { folder: String },
    #[error("the external renderer was not run, because it cannot be confined: {reason}")]
    NotConfined { reason: String },
    #[error("cannot {doing} the external renderer")]
    Broken { doing: &'static str, source: io::Error },
    #[error("the external renderer was ended because the agent stops; it is run again after the next start")]
    Stopped,
    #[error(
        "the external renderer was ended because it took more than {} s; make the render smaller, or raise its limit on time",
        limit.as_secs_f64()
    )]
    TooLong { limit: Duration },
    #[error(
        "the external renderer was ended because {stream} grew beyond {limit} bytes; make the render smaller, or raise its limit"
    )]
    TooMuch { stream: Stream, limit: usize },
    #[error(
        "the external renderer was ended because it started more than {limit} threads; kustomize needs a few: is it the program that is meant?"
    )]
    TooManyThreads { limit: u64 },
    #[error(
        "the external renderer needs more memory than the {limit} bytes it may have; make the render smaller, or raise its limit on memory; it said: {said}"
    )]
    OutOfMemory { limit: u64, said: String },
    #[error(
        "the external renderer was ended by the kernel because it made a system call that no renderer makes; do not trust this program"
    )]
    Forbidden,
    #[error("the external renderer was ended by signal {signal}; it said: {said}")]
    Killed { signal: i32, said: String },
    /// The program itself refused, as it does for a mistake in a kustomization.
    #[error("the external renderer failed with status {code}; it said: {said}")]
    Failed { code: i32, said: String },
}

impl NotRun {
    /// The same with something else in the place of what the program said: kustomize repeats what
    /// it could not take, and that may be a secret.
    #[must_use]
    pub fn saying(self, instead: impl FnOnce() -> String) -> Self {
        match self {
            Self::OutOfMemory { limit, .. } => Self::OutOfMemory { limit, said: instead() },
            Self::Killed { signal, .. } => Self::Killed { signal, said: instead() },
            Self::Failed { code, .. } => Self::Failed { code, said: instead() },
            other => other,
        }
    }

    /// Whether the same files would end the same way next time. Else it is the program, the machine
    /// or the moment that is to blame.
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

/// What a program said, as it may be shown: its end, which is where the reason stands, with nothing
/// that moves a cursor.
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
            assert!(told.ends_with("; it said: (left out)"), "{told}");
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
