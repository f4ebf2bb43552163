//! The doors: the only place where the process accesses its environment.
//!
//! These are arguments, standard streams, the environment and the clock. All other code takes what
//! it needs as a parameter, so that tests and the simulator can pass their own.

use std::ffi::OsString;
use std::io::{self, BufRead, BufWriter, IsTerminal, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use setpoint_core::time::{Span, Timestamp};
use setpoint_target_kube::OwnCluster;
use tokio::time::Instant;
use zeroize::Zeroizing;

/// The longest single wait. Waking early is harmless; an instant that overflows is not.
const LONGEST_WAIT: Span = Span::hours(24 * 30);

/// The directory with the credentials of a pod's service account, the same in every pod.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Returns the command line, with the program's name first.
pub(crate) fn arguments() -> impl Iterator<Item = OsString> {
    std::env::args_os()
}

/// Returns the writer for results. The caller flushes it at the end, which reports a failed write.
pub(crate) fn output() -> impl Write + Send {
    BufWriter::new(io::stdout())
}

/// Returns the writer for messages to the user, which must not go into a pipe.
pub(crate) fn complaints() -> impl Write {
    // Not locked: the command `run` holds this writer for the life of the process, and the agent
    // writes messages, too.
    io::stderr()
}

/// Reports whether a terminal shows the messages.
pub(crate) fn complaints_are_watched() -> bool {
    io::stderr().is_terminal()
}

/// Returns the absolute form of a path.
pub(crate) fn absolute(path: &Path) -> io::Result<PathBuf> {
    std::path::absolute(path)
}

/// Builds the runtime of an agent. Effects wait for disks and networks, so a few threads are
/// enough; blocking calls have threads of their own.
pub(crate) fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

/// Returns the path of this program, to start another process of it.
pub(crate) fn this_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Returns a path of this program that stays valid while its file is replaced.
pub(crate) fn running_program() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}

/// Creates a directory that only this user can read, in the system's directory for temporary files.
#[expect(clippy::disallowed_methods, reason = "the door of the system's directories")]
pub(crate) fn temporary_folder(name: &str) -> io::Result<PathBuf> {
    let suffix: [u8; 6] = random()?;
    let suffix: String = suffix.iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = std::env::temp_dir().join(format!("{name}-{suffix}"));
    std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
    Ok(folder)
}

/// Returns random bytes that cannot be guessed.
#[expect(clippy::disallowed_methods, reason = "the door of random numbers")]
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| io::Error::other("the system has no random numbers"))?;
    Ok(bytes)
}

/// Returns the cluster in which this process runs as a pod; `None` outside of any cluster.
#[expect(clippy::disallowed_methods, reason = "the door of the environment")]
pub(crate) fn own_cluster() -> Option<OwnCluster> {
    let said = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (host, port) = (said("KUBERNETES_SERVICE_HOST")?, said("KUBERNETES_SERVICE_PORT")?);
    Some(OwnCluster { host, port, account: SERVICE_ACCOUNT.into() })
}

/// Settings from the environment of the process, read once.
#[derive(Clone, Debug, Default)]
pub(crate) struct EnvironmentVariables {
    /// The default data directory; `None` for a user without a home directory.
    pub(crate) data: Option<PathBuf>,
    /// The file with the contexts of the command line; `None` for a user without a home directory.
    pub(crate) contexts: Option<PathBuf>,
    /// `NO_COLOR` is set, or the terminal has no colours.
    pub(crate) colourless: bool,
    /// The columns of the terminal that receives the output; `None` if it goes elsewhere.
    pub(crate) terminal: Option<usize>,
}

impl EnvironmentVariables {
    #[expect(clippy::disallowed_methods, reason = "the door of the environment")]
    pub(crate) fn read() -> Self {
        let said = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let root = rustix::process::geteuid().is_root();
        Self {
            contexts: contexts_file(said("XDG_CONFIG_HOME").map(PathBuf::from), said("HOME").map(PathBuf::from)),
            data: data_folder(root, said("XDG_STATE_HOME").map(PathBuf::from), said("HOME").map(PathBuf::from)),
            colourless: said("NO_COLOR").is_some() || said("TERM").is_none_or(|term| term == "dumb"),
            terminal: io::stdout().is_terminal().then(terminal_width),
        }
    }
}

/// Returns `/var/lib/setpoint` for root, and for others the state directory of the XDG base
/// directories, which ignore relative paths.
fn data_folder(root: bool, state: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    if root {
        return Some(PathBuf::from("/var/lib/setpoint"));
    }
    let absolute = |path: &PathBuf| Path::is_absolute(path);
    let state = state.filter(absolute).or_else(|| Some(home.filter(absolute)?.join(".local/state")));
    Some(state?.join("setpoint"))
}

/// Returns the file of the contexts in the configuration directory of the XDG base directories.
fn contexts_file(configuration: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |path: &PathBuf| Path::is_absolute(path);
    let directory = configuration.filter(absolute).or_else(|| Some(home.filter(absolute)?.join(".config")));
    Some(directory?.join("setpoint/contexts.json"))
}

/// Reads a secret from standard input: a line that a terminal does not show.
pub(crate) fn secret(question: &str) -> io::Result<Zeroizing<String>> {
    let input = io::stdin();
    let hidden = if input.is_terminal() { Some(HiddenInput::begin(question)?) } else { None };
    let mut line = Zeroizing::new(String::new());
    input.lock().read_line(&mut line)?;
    drop(hidden);
    let end = line.trim_end_matches(['\r', '\n']).len();
    line.truncate(end);
    Ok(line)
}

/// A terminal that does not show what is typed, for as long as this exists.
struct HiddenInput(Termios);

impl HiddenInput {
    fn begin(question: &str) -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &hidden)?;
        let guard = Self(before);
        let mut complaints = complaints();
        write!(complaints, "{question}")?;
        complaints.flush()?;
        Ok(guard)
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
        let _ = writeln!(complaints());
    }
}

/// Returns the width of the terminal, or 80 if it reports none.
fn terminal_width() -> usize {
    terminal_size::terminal_size_of(io::stdout()).map_or(80, |(width, _)| usize::from(width.0))
}

/// The time of this process: the wall clock at its start, plus the time elapsed since. It never
/// runs backwards, so a wall clock that is set back cannot make a lease seem longer than it is. All
/// copies agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Timestamp,
    started: Instant,
}

impl Clock {
    /// Reads the wall clock, once. A process has one clock: create it first and pass it on.
    #[expect(clippy::disallowed_methods, reason = "the door of the clock")]
    pub fn start() -> Self {
        // On a machine whose clock is before 1970, time starts at 1970; it still runs forwards.
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::at(Timestamp::from_millis(millis(wall)))
    }

    /// Creates a clock that shows this time now, regardless of the wall clock.
    #[expect(clippy::disallowed_methods, reason = "the door of the clock")]
    pub fn at(start: Timestamp) -> Self {
        Self { start, started: Instant::now() }
    }

    pub fn now(&self) -> Timestamp {
        self.start + Span::millis(millis(self.started.elapsed()))
    }

    /// Returns the time since the process began, to measure with.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns the wall clock at the start of the process.
    pub(crate) fn start_time(&self) -> Timestamp {
        self.start
    }

    /// Converts `at` to an instant for the timers of the runtime; at most a month ahead.
    pub fn instant_of(&self, at: Timestamp) -> Instant {
        let now = self.now();
        let ahead = at.since(now).min(LONGEST_WAIT);
        self.started + duration(now.since(self.start) + ahead)
    }
}

/// The resources that this process uses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProcessUsage {
    pub(crate) processor_time: Duration,
    /// `None` if the system does not report it.
    pub(crate) resident_bytes: Option<u64>,
    pub(crate) open_files: Option<u64>,
}

impl ProcessUsage {
    pub(crate) fn read() -> Self {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        // The directory is open while it is read.
        let open_files = std::fs::read_dir("/proc/self/fd").ok().map(|files| (files.count() as u64).saturating_sub(1));
        let status = std::fs::read_to_string("/proc/self/status").ok();
        Self {
            processor_time: Duration::try_from(used).unwrap_or_default(),
            resident_bytes: status.as_deref().and_then(resident_bytes),
            open_files,
        }
    }
}

/// Returns the resident memory in the text of `/proc/self/status`.
fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the time of the wall clock, for the log: the logs of all programs of a machine must
/// agree, even after its clock was corrected.
#[expect(clippy::disallowed_methods, reason = "the door of the clock")]
pub(crate) fn wall_time() -> Timestamp {
    Timestamp::from_millis(millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()))
}

/// Converts a span to a duration of the runtime.
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

    #[test]
    fn the_process_reports_the_resources_that_it_uses() {
        assert_eq!(resident_bytes("VmPeak:\t 9 kB\nVmRSS:\t    2048 kB\n"), Some(2 * 1024 * 1024));
        assert_eq!(resident_bytes("Name:\tsetpoint\n"), None);
        let usage = ProcessUsage::read();
        assert!(usage.resident_bytes.is_some_and(|bytes| bytes > 1024 * 1024), "{usage:?}");
        assert!(usage.open_files.is_some_and(|files| files >= 3), "{usage:?}");
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
