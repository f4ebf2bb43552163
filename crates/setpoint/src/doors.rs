//! The doors: the one place where the process meets its surroundings.
//!
//! Arguments, standard streams, the environment and the clock. Everything else takes what it needs
//! as a parameter, so that tests and the simulator can hand in their own.

use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use setpoint_core::time::{Span, Timestamp};
use tokio::time::Instant;

/// Nobody waits longer than this in one go. Waking early is harmless, an instant that overflows is
/// not.
const LONGEST_WAIT: Span = Span::hours(24 * 30);

/// Where every pod finds what its service account is known by.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The command line, the program's name first.
pub(crate) fn arguments() -> impl Iterator<Item = OsString> {
    std::env::args_os()
}

/// Where results go. Who writes there flushes at the end, and hears of it if that fails.
pub(crate) fn output() -> impl Write + Send {
    BufWriter::new(io::stdout())
}

/// Where goes what a person must know and a pipe must not read.
pub(crate) fn complaints() -> impl Write {
    // Not locked: whoever runs an agent holds this for as long as the process lives, and the agent
    // speaks too.
    io::stderr()
}

/// Whether somebody watches what goes there.
pub(crate) fn complaints_are_watched() -> bool {
    io::stderr().is_terminal()
}

/// A path as seen from anywhere.
pub(crate) fn absolute(path: &Path) -> io::Result<PathBuf> {
    std::path::absolute(path)
}

/// The threads of an agent. Effects wait for disks and networks, so a few are enough; what blocks
/// has threads of its own.
pub(crate) fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

/// This program, to start another process of it.
pub(crate) fn this_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// The same by a name under which it stays what it is while its file is replaced.
pub(crate) fn running_program() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}

/// A new folder of this user's own, in the system's folder for temporary files.
#[expect(clippy::disallowed_methods, reason = "the door of the system's folders")]
pub(crate) fn temporary_folder(name: &str) -> io::Result<PathBuf> {
    let suffix: [u8; 6] = random()?;
    let suffix: String = suffix.iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = std::env::temp_dir().join(format!("{name}-{suffix}"));
    std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
    Ok(folder)
}

/// Bytes nobody can guess.
#[expect(clippy::disallowed_methods, reason = "the door of chance")]
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| io::Error::other("the system has no random numbers"))?;
    Ok(bytes)
}

/// The cluster this process runs in, as a pod is told of it.
#[derive(Clone, Debug)]
pub struct OwnCluster {
    /// Where its API server is.
    pub host: String,
    pub port: String,
    /// The folder of the pod's service account, with `token`, `ca.crt` and `namespace`.
    pub account: PathBuf,
}

impl OwnCluster {
    /// `None` for a process that runs in none.
    #[expect(clippy::disallowed_methods, reason = "the door of the environment")]
    pub(crate) fn read() -> Option<Self> {
        let said = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let (host, port) = (said("KUBERNETES_SERVICE_HOST")?, said("KUBERNETES_SERVICE_PORT")?);
        Some(Self { host, port, account: SERVICE_ACCOUNT.into() })
    }
}

/// What the process finds around it, read once.
#[derive(Clone, Debug, Default)]
pub(crate) struct EnvironmentVariables {
    /// Where the data folder is if nobody names one; `None` for a user without a home.
    pub(crate) data: Option<PathBuf>,
    /// Someone asked for no colour, or the terminal has none.
    pub(crate) colourless: bool,
    /// How many columns the terminal has that the output goes to; `None` if it goes elsewhere.
    pub(crate) terminal: Option<usize>,
}

impl EnvironmentVariables {
    #[expect(clippy::disallowed_methods, reason = "the door of the environment")]
    pub(crate) fn read() -> Self {
        let said = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let root = rustix::process::geteuid().is_root();
        Self {
            data: data_folder(root, said("XDG_STATE_HOME").map(PathBuf::from), said("HOME").map(PathBuf::from)),
            colourless: said("NO_COLOR").is_some() || said("TERM").is_none_or(|term| term == "dumb"),
            terminal: io::stdout().is_terminal().then(terminal_width),
        }
    }
}

/// `/var/lib/setpoint` for root; for others the state folder of the XDG base directories, whose
/// paths must be absolute to count.
fn data_folder(root: bool, state: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    if root {
        return Some(PathBuf::from("/var/lib/setpoint"));
    }
    let absolute = |path: &PathBuf| Path::is_absolute(path);
    let state = state.filter(absolute).or_else(|| Some(home.filter(absolute)?.join(".local/state")));
    Some(state?.join("setpoint"))
}

/// A terminal that does not say how wide it is gets the width that every terminal had.
fn terminal_width() -> usize {
    terminal_size::terminal_size_of(io::stdout()).map_or(80, |(width, _)| usize::from(width.0))
}

/// The time of this process: the wall clock when it started, plus the time that has elapsed since.
/// It never runs backwards, so a wall clock that is set back cannot make a lease look longer than
/// it is. Copies agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Timestamp,
    started: Instant,
}

impl Clock {
    /// Reads the wall clock, once. A process has one clock: make it first and hand it on.
    #[expect(clippy::disallowed_methods, reason = "the door of the clock")]
    pub fn start() -> Self {
        // A machine that believes to live before 1970 starts at 1970: its time still runs forwards.
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::at(Timestamp::from_millis(millis(wall)))
    }

    /// A clock that shows this time now, whatever the wall clock says.
    #[expect(clippy::disallowed_methods, reason = "the door of the clock")]
    pub fn at(start: Timestamp) -> Self {
        Self { start, started: Instant::now() }
    }

    pub fn now(&self) -> Timestamp {
        self.start + Span::millis(millis(self.started.elapsed()))
    }

    /// When `at` will be, for the timers of the runtime; at most a month ahead.
    pub fn instant_of(&self, at: Timestamp) -> Instant {
        let now = self.now();
        let ahead = at.since(now).min(LONGEST_WAIT);
        self.started + duration(now.since(self.start) + ahead)
    }
}

/// A span as the runtime measures it.
pub(crate) fn duration(span: Span) -> Duration {
    Duration::from_millis(span.as_millis())
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_folder_is_the_systems_for_root_and_the_users_own_for_others() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(data_folder(true, path("/s"), path("/home/erika")), path("/var/lib/setpoint"));
        assert_eq!(data_folder(false, path("/s"), path("/home/erika")), path("/s/setpoint"));
        assert_eq!(data_folder(false, None, path("/home/erika")), path("/home/erika/.local/state/setpoint"));
        assert_eq!(data_folder(false, path("relative"), path("/home/e")), path("/home/e/.local/state/setpoint"));
        assert_eq!(data_folder(false, None, None), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_clock_counts_elapsed_time() {
        let clock = Clock::start();
        let before = clock.now();
        tokio::time::advance(Duration::from_millis(1_500)).await;
        assert_eq!(clock.now().since(before), Span::millis(1_500));
    }

    #[tokio::test(start_paused = true)]
    #[expect(clippy::disallowed_methods, reason = "time is paused and goes on by this")]
    async fn an_instant_is_where_the_clock_says_it_is() {
        let clock = Clock::start();
        let at = clock.now() + Span::seconds(7);
        tokio::time::sleep_until(clock.instant_of(at)).await;
        assert_eq!(clock.now(), at);
    }

    #[tokio::test(start_paused = true)]
    #[expect(clippy::disallowed_methods, reason = "it compares with the clock")]
    async fn an_instant_beyond_all_times_does_not_overflow() {
        let clock = Clock::start();
        assert!(clock.instant_of(Timestamp::from_millis(u64::MAX)) > Instant::now());
        assert_eq!(clock.instant_of(Timestamp::default()), Instant::now());
    }
}
