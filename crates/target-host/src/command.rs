//! Runs commands: with the declared environment only, within their time limit, and with output that
//! is cut to a limit and redacted.
//!
//! This is the only module of the crate that starts child processes.

use std::fmt;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use setpoint_core::live::{Health, Live, Presence};
use setpoint_core::name::{LiveVersion, Uid};
use setpoint_core::observed::UnknownReason;
use setpoint_core::time::{Span, Timestamp};
use setpoint_target::{Fence, Outcome, RefusalClass};

use crate::act::{NO_SEAL, refused};
use crate::declaration::{CommandSpec, Content, HostResource};
use crate::host::{Host, Known};

/// The value of PATH, the only variable that need not be declared.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The number of bytes of a command's output that are kept: the end, where errors are.
const KEPT: usize = 64 << 10;

/// The number of bytes of that output that are put into a message.
const SHOWN: usize = 4 << 10;

/// Exit codes of the check.
const IN_STATE: i32 = 100;
const NOT_IN_STATE: i32 = 101;

/// The end of a run, and its redacted output.
struct Run {
    end: End,
    output: String,
}

enum End {
    Exited(ExitStatus),
    /// It exceeded its time limit and was killed.
    Killed,
    /// It was started, but waiting for it failed, so it was killed.
    Lost(io::Error),
}

impl Host {
    /// Runs the check: as declared is present, not as declared is absent, and a failing check is
    /// unknown.
    pub(crate) fn look_at_command(&self, known: Option<&Known>) -> Result<Presence, UnknownReason> {
        let Some(known) = known else {
            // The effects of a command are not undone, so a command that is no longer declared
            // leaves nothing to hold or to delete.
            return Ok(Presence::Absent);
        };
        let HostResource::Command(command) = &known.declared else {
            return Err(UnknownReason::Unobservable {
                detail: "the key is of a command, but the declaration is not".to_owned(),
            });
        };
        if !self.run_commands {
            return Err(UnknownReason::Denied { detail: NO_COMMANDS.to_owned() });
        }
        match self.in_state(command, self.now() + command.timeout) {
            Ok(true) => Ok(Presence::Present(live(known))),
            Ok(false) => Ok(Presence::Absent),
            Err(detail) => Err(UnknownReason::Unobservable { detail }),
        }
    }

    /// Runs `apply`, then the check, and reports the result of the check.
    pub(crate) fn apply(&self, known: &Known, command: &CommandSpec, fence: Fence) -> Outcome {
        let deadline = (self.now() + command.timeout).min(fence.land_by);
        let run = match self.run(command, &command.apply, deadline) {
            Ok(run) => run,
            Err(error) => return not_started(&error),
        };
        let said = run.said(command);
        match self.in_state(command, self.now() + command.timeout) {
            Ok(true) => Outcome::Done { live: Some(live(known)) },
            Ok(false) => match &run.end {
                End::Exited(status) if status.success() => {
                    let detail = format!(
                        "`apply` succeeded, but `check` reports that the state is not as declared: correct one of them{said}"
                    );
                    refused(RefusalClass::Invalid, detail)
                }
                // A failing command does not mean that the host is unavailable.
                End::Exited(_) | End::Killed => refused(RefusalClass::Unready, format!("`apply` {}{said}", run.end)),
                End::Lost(_) => refused(RefusalClass::Unavailable, format!("`apply` {}{said}", run.end)),
            },
            Err(detail) => Outcome::Unknown { detail: format!("`apply` {}, and then: {detail}", run.end) },
        }
    }

    fn in_state(&self, command: &CommandSpec, deadline: Timestamp) -> Result<bool, String> {
        let run =
            self.run(command, &command.check, deadline).map_err(|error| format!("cannot run `check`: {error}"))?;
        let said = run.said(command);
        match &run.end {
            End::Exited(status) if status.code() == Some(IN_STATE) => Ok(true),
            End::Exited(status) if status.code() == Some(NOT_IN_STATE) => Ok(false),
            end @ End::Exited(_) => {
                Err(format!("`check` {end}; expected {IN_STATE} (in state) or {NOT_IN_STATE} (not in state){said}"))
            }
            end @ (End::Killed | End::Lost(_)) => Err(format!("`check` {end}{said}")),
        }
    }

    /// Runs a command to its end. An error means that it was not started.
    #[expect(clippy::disallowed_methods, reason = "the door of a host's commands")]
    fn run(&self, spec: &CommandSpec, words: &[Arc<str>], deadline: Timestamp) -> io::Result<Run> {
        let mut secrets: Vec<Vec<u8>> = Vec::new();
        let (reader, writer) = io::pipe()?;
        let mut command = Command::new(&*words[0]);
        command.args(words[1..].iter().map(|word| &**word)).current_dir(&*spec.cwd);
        command.env_clear().env("PATH", PATH);
        for variable in &spec.environment {
            let value = self.opened(&variable.value)?;
            command.env(&*variable.name, as_os(&value));
            if variable.sensitive {
                secrets.push(value);
            }
        }
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        // A process group of its own, so that the processes it starts are killed with it.
        command.process_group(0);
        let mut child = command.spawn()?;
        // The pipe closes when the last process with a copy of it ends, so the agent's copies are
        // dropped.
        drop(command);
        let mut output = Vec::new();
        let end = self.attend(&mut child, reader, deadline, &mut output);
        Ok(Run { end, output: redact(&output, &secrets) })
    }

    fn opened(&self, content: &Content) -> io::Result<Vec<u8>> {
        match content {
            Content::Sealed(reference) => {
                let opened = self.secrets.as_ref().and_then(|secrets| secrets.open(reference));
                opened.map(|secret| secret.open().clone()).ok_or_else(|| io::Error::other(NO_SEAL))
            }
            content => Ok(content.bytes().unwrap_or_default().to_vec()),
        }
    }

    /// Reads the output of a child until it ends or its time limit is over, and kills the processes
    /// that it left running in its group. A process with a session of its own (a daemon) is not
    /// killed.
    fn attend(&self, child: &mut Child, mut output: io::PipeReader, deadline: Timestamp, kept: &mut Vec<u8>) -> End {
        let waited = self.wait(child, &mut output, deadline, kept);
        // The group has the number of the child, and the child is not reaped yet: it cannot be the
        // group of another process.
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
        // Output from before the end is worth showing, and no reason to fail.
        let _ = drain(&mut output, kept);
        match (waited, child.wait()) {
            (Ok(true), Ok(status)) => End::Exited(status),
            (Ok(false), Ok(_)) => End::Killed,
            (Err(error), _) | (Ok(_), Err(error)) => End::Lost(error),
        }
    }

    /// Waits until a child has ended, without reaping it. Returns `false` if its time is over.
    fn wait(
        &self,
        child: &Child,
        output: &mut io::PipeReader,
        deadline: Timestamp,
        kept: &mut Vec<u8>,
    ) -> io::Result<bool> {
        let ended = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
        rustix::io::ioctl_fionbio(&*output, true)?;
        let mut closed = false;
        loop {
            let left = deadline.since(self.now());
            if left == Span::ZERO {
                return Ok(false);
            }
            let mut fds = [PollFd::new(&ended, PollFlags::IN), PollFd::new(&*output, PollFlags::IN)];
            // Once no more output can come, only the end is awaited.
            let watched = if closed { &mut fds[..1] } else { &mut fds[..] };
            match poll(watched, Some(&timespec(left))) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            if !fds[0].revents().is_empty() {
                return Ok(true);
            }
            closed = closed || drain(output, kept)?;
        }
    }
}

/// Reads the available output and keeps the end of it. Returns whether no more can come.
fn drain(output: &mut io::PipeReader, kept: &mut Vec<u8>) -> io::Result<bool> {
    let mut buffer = [0; 16 << 10];
    loop {
        match output.read(&mut buffer) {
            Ok(0) => return Ok(true),
            Ok(count) => {
                kept.extend_from_slice(&buffer[..count]);
                let surplus = kept.len().saturating_sub(KEPT);
                kept.drain(..surplus);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

impl Run {
    /// Returns the output, as the end of a sentence.
    fn said(&self, command: &CommandSpec) -> String {
        if command.sensitive {
            return "; what it printed is sensitive".to_owned();
        }
        let mut start = self.output.len().saturating_sub(SHOWN);
        while !self.output.is_char_boundary(start) {
            start += 1;
        }
        match self.output[start..].trim() {
            "" => "; it printed nothing".to_owned(),
            text => format!("; it printed: {text}"),
        }
    }
}

/// Replaces the values of sensitive variables in the output, the longest first, and also each line
/// of values with several lines.
fn redact(output: &[u8], secrets: &[Vec<u8>]) -> String {
    let lines = |secret: &Vec<u8>| secret.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let mut parts: Vec<Vec<u8>> = secrets.iter().cloned().chain(secrets.iter().flat_map(lines)).collect();
    parts.retain(|part| !part.is_empty());
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    let mut redacted = Vec::with_capacity(output.len());
    let mut rest = output;
    while let Some(first) = rest.first() {
        match parts.iter().find(|part| rest.starts_with(part)) {
            Some(part) => {
                redacted.extend_from_slice(b"[redacted]");
                rest = &rest[part.len()..];
            }
            None => {
                redacted.push(*first);
                rest = &rest[1..];
            }
        }
    }
    String::from_utf8_lossy(&redacted).into_owned()
}

/// A command whose state is as declared: there is nothing else to compare.
fn live(known: &Known) -> Live {
    Live {
        health: Health::Healthy,
        ..Live::with_fingerprint(
            Uid::new("command").expect("a short ASCII text"),
            LiveVersion::new("in-state").expect("a short ASCII text"),
            Arc::clone(&known.value),
            known.fingerprint,
        )
    }
}

pub(crate) const NO_COMMANDS: &str =
    "this target runs no commands: its `root` would not confine them; declare them on a target without `root`";

fn not_started(error: &io::Error) -> Outcome {
    let exhausted = [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE];
    let class = match Errno::from_io_error(error) {
        Some(errno) if exhausted.contains(&errno) => RefusalClass::Unavailable,
        _ if error.kind() == io::ErrorKind::PermissionDenied => RefusalClass::Denied,
        // The program does not exist or is not executable: a mistake of this declaration.
        _ => RefusalClass::Unready,
    };
    refused(class, format!("cannot start `apply`: {error}; check its path and its permissions"))
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(status) => match (status.code(), status.signal()) {
                (Some(code), _) => write!(f, "ended with {code}"),
                (None, Some(signal)) => write!(f, "was ended by signal {signal}"),
                (None, None) => f.write_str("ended"),
            },
            Self::Killed => f.write_str("ran out of time and was killed"),
            Self::Lost(error) => write!(f, "was started, could not be waited for ({error}) and was killed"),
        }
    }
}

fn as_os(bytes: &[u8]) -> &std::ffi::OsStr {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(bytes)
}

fn timespec(span: Span) -> Timespec {
    let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    Timespec { tv_sec: millis / 1_000, tv_nsec: (millis % 1_000) * 1_000_000 }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::OwnedFd;

    use setpoint_core::digest::DigestKey;

    use super::*;
    use crate::options::HostOptions;

    /// A child whose output cannot be read, because the other end is a directory.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the child that is attended")]
    fn a_child_that_cannot_be_waited_for_is_killed_and_not_reported_as_never_started() {
        let folder = tempfile::tempdir().unwrap();
        let key = DigestKey::new([7; 32]);
        let clock = Arc::new(|| Timestamp::from_millis(0));
        let mut options = HostOptions::new(Some(folder.path().to_owned()), folder.path().to_owned(), clock, key);
        options.machine_id = folder.path().join("machine-id");
        let host = Host::open(options).unwrap();
        let mut child = Command::new("/bin/sleep").arg("600").process_group(0).spawn().unwrap();
        let unreadable = io::PipeReader::from(OwnedFd::from(File::open(folder.path()).unwrap()));
        let end = host.attend(&mut child, unreadable, Timestamp::from_millis(60_000), &mut Vec::new());
        assert!(matches!(&end, End::Lost(_)) && end.to_string().contains("was started"), "{end}");
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn secrets_are_taken_out_of_what_is_printed() {
        let secrets = [b"hunter2".to_vec(), b"hunter22".to_vec(), b"first line\nsecond".to_vec(), Vec::new()];
        let printed = b"hunter22 hunter2 x second hunter";
        assert_eq!(redact(printed, &secrets), "[redacted] [redacted] x [redacted] hunter");
    }
}
