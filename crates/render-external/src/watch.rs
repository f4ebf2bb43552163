//! Watches the program until it has ended: reads its outputs, and ends it when it exceeds a limit.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, ChildStderr, ChildStdout, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::limits::Limits;
use crate::problem::{NotRun, Stream};

/// The interval for counting threads and checking for a stop.
const LOOKS: Duration = Duration::from_millis(25);

/// A signal that stops renders, from any thread and once for all that share it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn tell(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_told(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A program that has ended by itself.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) output: Vec<u8>,
    pub(crate) errors: Vec<u8>,
}

/// Waits for the end of a child with two piped outputs.
pub(crate) fn watch(child: Child, limits: &Limits, stop: &Stop) -> Result<Ended, NotRun> {
    let broken = |source| NotRun::Broken { doing: "watch", source };
    let deadline = now() + limits.time;
    let mut running = Running { child };
    let id = Pid::from_child(&running.child);
    let end = pidfd_open(id, PidfdFlags::empty()).map_err(|error| broken(error.into()))?;
    let mut output = Capture::new(Stream::Output, running.child.stdout.take(), limits.output);
    let mut errors = Capture::new(Stream::Errors, running.child.stderr.take(), limits.errors);
    let mut next_look = now();
    loop {
        if stop.is_told() {
            return Err(NotRun::Stopped);
        }
        let now = now();
        let left = deadline.saturating_duration_since(now);
        if left.is_zero() {
            return Err(NotRun::TooLong { limit: limits.time });
        }
        // Not after every byte, because counting costs time.
        if now >= next_look {
            next_look = now + LOOKS;
            if threads(id) > limits.threads {
                return Err(NotRun::TooManyThreads { limit: limits.threads });
            }
        }
        let [ended, written, complained] = wait(&end, &output, &errors, left.min(LOOKS)).map_err(broken)?;
        if written {
            output.take()?;
        }
        if complained {
            errors.take()?;
        }
        if ended {
            break;
        }
    }
    // No other process has the write ends of the pipes, so both reads end.
    output.rest()?;
    errors.rest()?;
    let status = running.child.wait().map_err(broken)?;
    Ok(Ended { status, output: output.bytes, errors: errors.bytes })
}

/// Reports whether the program ended, and which of its pipes are readable or closed.
fn wait(
    end: &OwnedFd,
    output: &Capture<ChildStdout>,
    errors: &Capture<ChildStderr>,
    at_most: Duration,
) -> io::Result<[bool; 3]> {
    let sources: [Option<BorrowedFd<'_>>; 3] = [Some(end.as_fd()), output.source(), errors.source()];
    let mut polled: Vec<PollFd<'_>> =
        sources.iter().flatten().map(|source| PollFd::from_borrowed_fd(*source, PollFlags::IN)).collect();
    let at_most = Timespec::try_from(at_most).map_err(io::Error::other)?;
    match poll(&mut polled, Some(&at_most)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut found = polled.iter().map(|source| !source.revents().is_empty());
    Ok(sources.map(|source| source.is_some() && found.next().unwrap_or(false)))
}

/// Returns the number of a process's threads; 0 if it has just ended.
fn threads(id: Pid) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", id.as_raw_nonzero())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Threads:"));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

/// The bytes read so far from one of the program's outputs.
struct Capture<R> {
    stream: Stream,
    source: Option<R>,
    bytes: Vec<u8>,
    limit: usize,
}

impl<R: Read + AsFd> Capture<R> {
    fn new(stream: Stream, source: Option<R>, limit: usize) -> Self {
        Self { stream, source, bytes: Vec::new(), limit }
    }

    fn source(&self) -> Option<BorrowedFd<'_>> {
        self.source.as_ref().map(AsFd::as_fd)
    }

    /// Reads the available bytes. Blocks only if there are none.
    fn take(&mut self) -> Result<(), NotRun> {
        let Some(source) = &mut self.source else { return Ok(()) };
        let mut chunk = [0; 64 << 10];
        match source.read(&mut chunk) {
            Ok(0) => self.source = None,
            Ok(count) if self.bytes.len() + count > self.limit => {
                return Err(NotRun::TooMuch { stream: self.stream, limit: self.limit });
            }
            Ok(count) => self.bytes.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(NotRun::Broken { doing: "read from", source }),
        }
        Ok(())
    }

    /// Reads until the end.
    fn rest(&mut self) -> Result<(), NotRun> {
        while self.source.is_some() {
            self.take()?;
        }
        Ok(())
    }
}

/// A child that is killed when the watching ends, for whatever reason.
struct Running {
    child: Child,
}

impl Drop for Running {
    fn drop(&mut self) {
        // A child that was waited for has a status, and its process id may be reused by now.
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        // The group exists once the child has begun a session; before that, there is only the
        // child.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the time, for the limit of a render. It decides only how long to wait.
#[expect(clippy::disallowed_methods, reason = "the door of this crate to the clock")]
fn now() -> Instant {
    Instant::now()
}
