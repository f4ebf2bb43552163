//! Running commands: with the environment that is declared and nothing else, for as long as is allowed, and with what they print
//! kept short and free of secrets.
//!
//! This is the door of child processes: nothing else of this crate starts one.

use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use setpoint_core::live::{Health, Live, Presence, Writer};
use setpoint_core::name::{LiveVersion, Uid};
use setpoint_core::observed::Blindness;
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
}

impl Host {
    /// In state is present, not in state is absent, and no check is no answer.
    pub(crate) fn look_at_command(&self, known: Option<&Known>) -> Result<Presence, Blindness> {
        let Some(known) = known else {
            // What a command did is not undone, so of one that is no longer declared nothing is left to hold or to delete.
            return Ok(Presence::Absent);
        };
        let HostResource::Command(command) = &known.declared else {
            return Err(Blindness::Malformed { detail: "the key of a command with another declaration".to_owned() });
        };
        if !self.run_commands {
            return Err(Blindness::Denied { detail: NO_COMMANDS.to_owned() });
        }
        match self.in_state(command, self.now() + command.timeout) {
            Ok(true) => Ok(Presence::Present(live(known))),
            Ok(false) => Ok(Presence::Absent),
            Err(detail) => Err(Blindness::Malformed { detail }),
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
        let End::Exited(status) = run.end else {
            return Outcome::Unknown { detail: format!("`apply` ran out of time and was killed{said}") };
        };
        match self.in_state(command, self.now() + command.timeout) {
            Ok(true) => Outcome::Done { live: Some(live(known)) },
            Ok(false) if status.success() => {
                let detail =
                    format!("`apply` ended well, but `check` says it is not in state: correct one of them{said}");
                refused(RefusalClass::Invalid, detail)
            }
            Ok(false) => refused(RefusalClass::Unavailable, format!("`apply` {}{said}", how(status))),
            Err(detail) => Outcome::Unknown { detail: format!("`apply` {}, and then: {detail}", how(status)) },
        }
    }

    fn in_state(&self, command: &CommandSpec, deadline: Timestamp) -> Result<bool, String> {
        let run =
            self.run(command, &command.check, deadline).map_err(|error| format!("`check` was not run: {error}"))?;
        let said = run.said(command);
        match run.end {
            End::Killed => Err(format!("`check` ran out of time and was killed{said}")),
            End::Exited(status) => match status.code() {
                Some(IN_STATE) => Ok(true),
                Some(NOT_IN_STATE) => Ok(false),
                _ => Err(format!(
                    "`check` {}, where {IN_STATE} is in state and {NOT_IN_STATE} is not{said}",
                    how(status)
                )),
            },
        }
    }

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
        // A group of its own, so that what it starts can be ended with it.
        command.process_group(0);
        let mut child = command.spawn()?;
        // The pipe closes when the last process that has it ends, so that our own copies must go.
        drop(command);
        let (end, output) = self.attend(&mut child, reader, deadline)?;
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

    /// Reads what a child prints until it ends or its time does.
    fn attend(&self, child: &mut Child, mut output: io::PipeReader, deadline: Timestamp) -> io::Result<(End, Vec<u8>)> {
        let pid = Pid::from_child(child);
        let ended = pidfd_open(pid, PidfdFlags::empty())?;
        rustix::io::ioctl_fionbio(&output, true)?;
        let mut kept = Vec::new();
        let end = loop {
            let left = deadline.since(self.now());
            if left == Span::ZERO {
                // The group has the child's own number, and the child is not waited for yet: it cannot be another's.
                let _ = kill_process_group(pid, Signal::KILL);
                child.wait()?;
                break End::Killed;
            }
            let mut fds = [PollFd::new(&ended, PollFlags::IN), PollFd::new(&output, PollFlags::IN)];
            match poll(&mut fds, Some(&timespec(left))) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let (over, closed) = (!fds[0].revents().is_empty(), drain(&mut output, &mut kept)?);
            if over {
                break End::Exited(child.wait()?);
            }
            if closed {
                // Nothing more will be printed: only the end is waited for.
                let mut fds = [PollFd::new(&ended, PollFlags::IN)];
                match poll(&mut fds, Some(&timespec(deadline.since(self.now())))) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(errno) => return Err(errno.into()),
                }
            }
        };
        drain(&mut output, &mut kept)?;
        Ok((end, kept))
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

/// Takes the values of sensitive variables out of what was printed, the longest first, and each line of those that have several.
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
        remarks: None,
        holders: None,
    }
}

pub(crate) const NO_COMMANDS: &str =
    "this target runs no commands: its `root` would not confine them; declare them on a target without `root`";

fn not_started(error: &io::Error) -> Outcome {
    let class =
        if error.kind() == io::ErrorKind::PermissionDenied { RefusalClass::Denied } else { RefusalClass::Unavailable };
    refused(class, format!("`apply` could not be started: {error}; check its path and its rights"))
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
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
    use super::*;

    #[test]
    fn secrets_are_taken_out_of_what_is_printed() {
        let secrets = [b"hunter2".to_vec(), b"hunter22".to_vec(), b"first line\nsecond".to_vec(), Vec::new()];
        let printed = b"hunter22 hunter2 x second hunter";
        assert_eq!(redact(printed, &secrets), "[redacted] [redacted] x [redacted] hunter");
    }
}
