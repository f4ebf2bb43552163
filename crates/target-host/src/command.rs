//! Running commands: with the environment that is declared and nothing else, for as long as is
//! allowed, and with what they print kept short and free of secrets.
//!
//! This is the door of child processes: nothing else of this crate starts one.

use std::fmt;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use setpoint_core::live::{Health, Live, Presence, Writer};
use setpoint_core::name::{LiveVersion, Uid};
use setpoint_core::observed::UnknownReason;
use setpoint_core::time::{Span, Timestamp};
use setpoint_target::{Fence, Outcome, RefusalClass};

use crate::act::{NO_SEAL, refused};
use crate::declaration::{CommandSpec, Content, HostResource};
use crate::host::{Host, Known};

/// The only variable a command does not have to be given.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How much of what a command prints is kept: the end, where errors are.
const KEPT: usize = 64 << 10;

/// How much of that is put into a message.
const SHOWN: usize = 4 << 10;

/// What the check says by its exit.
const IN_STATE: i32 = 100;
const NOT_IN_STATE: i32 = 101;

/// How a run ended, and what was printed, redacted.
struct Run {
    end: End,
    output: String,
}

enum End {
    Exited(ExitStatus),
    /// It ran out of time and was killed.
    Killed,
    /// It was started and could not be waited for, and so it was killed.
    Lost(io::Error),
}

impl Host {
    /// In state is present, not in state is absent, and no check is no answer.
    pub(crate) fn look_at_command(&self, known: Option<&Known>) -> Result<Presence, UnknownReason> {
        let Some(known) = known else {
            // What a command did is not undone, so of one that is no longer declared nothing is
            // left to hold or to delete.
            return Ok(Presence::Absent);
        };
        let HostResource::Command(command) = &known.declared else {
            return Err(UnknownReason::Unobservable {
                detail: "the key of a command with another declaration".to_owned(),
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

    /// Applies a command and answers what its check says then.
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
                    let detail =
                        format!("`apply` ended well, but `check` says it is not in state: correct one of them{said}");
                    refused(RefusalClass::Invalid, detail)
                }
                // A command that fails says nothing about the host.
                End::Exited(_) | End::Killed => refused(RefusalClass::Unready, format!("`apply` {}{said}", run.end)),
                End::Lost(_) => refused(RefusalClass::Unavailable, format!("`apply` {}{said}", run.end)),
            },
            Err(detail) => Outcome::Unknown { detail: format!("`apply` {}, and then: {detail}", run.end) },
        }
    }

    fn in_state(&self, command: &CommandSpec, deadline: Timestamp) -> Result<bool, String> {
        let run =
            self.run(command, &command.check, deadline).map_err(|error| format!("`check` was not run: {error}"))?;
        let said = run.said(command);
        match &run.end {
            End::Exited(status) if status.code() == Some(IN_STATE) => Ok(true),
            End::Exited(status) if status.code() == Some(NOT_IN_STATE) => Ok(false),
            end @ End::Exited(_) => {
                Err(format!("`check` {end}, where {IN_STATE} is in state and {NOT_IN_STATE} is not{said}"))
            }
            end @ (End::Killed | End::Lost(_)) => Err(format!("`check` {end}{said}")),
        }
    }

    /// Runs a command to its end. An error says that it was not started.
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
        // A group of its own, so that what it starts ends with it.
        command.process_group(0);
        let mut child = command.spawn()?;
        // The pipe closes when the last process that has it ends, so that our own copies must go.
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

    /// Reads what a child prints until it ends or its time does, and ends everything it left
    /// running in its group. A process that made a session of its own (a daemon) is left alone.
    fn attend(&self, child: &mut Child, mut output: io::PipeReader, deadline: Timestamp, kept: &mut Vec<u8>) -> End {
        let waited = self.wait(child, &mut output, deadline, kept);
        // The group has the child's own number, and the child is not waited for yet: it cannot be
        // another's.
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
        // What was printed before the end is worth showing, and no reason to fail.
        let _ = drain(&mut output, kept);
        match (waited, child.wait()) {
            (Ok(true), Ok(status)) => End::Exited(status),
            (Ok(false), Ok(_)) => End::Killed,
            (Err(error), _) | (Ok(_), Err(error)) => End::Lost(error),
        }
    }

    /// Waits until a child has ended, without taking its end; `false`: its time is over.
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
            // Once nothing more can be printed, only the end is waited for.
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

/// Takes what is there to read, and keeps the end of it. Whether nothing more can come.
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
    /// What it printed, as the end of a sentence.
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

/// Takes the values of sensitive variables out of what was printed, the longest first, and each
/// line of those that have several.
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

/// In state, a command is as declared: there is nothing else to compare.
fn live(known: &Known) -> Live {
    Live {
        uid: Uid::new("command").expect("a short ASCII text"),
        version: LiveVersion::new("in-state").expect("a short ASCII text"),
        value: Arc::clone(&known.value),
        fingerprint: known.fingerprint,
        controlled: false,
        writer: Writer::Unknown,
        health: Health::Healthy,
        ended: false,
        deleting: None,
        remarks: None,
        holders: None,
    }
}

pub(crate) const NO_COMMANDS: &str =
    "this target runs no commands: its `root` would not confine them; declare them on a target without `root`";

fn not_started(error: &io::Error) -> Outcome {
    let exhausted = [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE];
    let class = match Errno::from_io_error(error) {
        Some(errno) if exhausted.contains(&errno) => RefusalClass::Unavailable,
        _ if error.kind() == io::ErrorKind::PermissionDenied => RefusalClass::Denied,
        // The command is not there, or no program: that is a mistake of this declaration.
        _ => RefusalClass::Unready,
    };
    refused(class, format!("`apply` could not be started: {error}; check its path and its rights"))
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

    /// A child whose output cannot be read, because the other end is a folder.
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
