//! Git over the `ssh` program, started with every option fixed: this key, these hosts, no prompts,
//! no files of a user.

use std::io::{self, Read, Write};
use std::process::Stdio;
use std::sync::Arc;

use gix_transport::Protocol;
use gix_transport::client::blocking_io::Transport;
use gix_transport::client::git::ConnectMode;
use gix_transport::client::git::blocking_io::Connection;
use setpoint_store::StoreError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::options::SshOptions;
use crate::pace::Pace;

/// The most bytes of the program's error output that are read.
const COMPLAINT_BYTES: u64 = 4_096;

/// The address of a repository for ssh.
pub(crate) struct Destination<'a> {
    pub(crate) user: &'a str,
    pub(crate) host: &'a str,
    pub(crate) port: Option<u16>,
    pub(crate) path: &'a str,
}

/// Starts `ssh` and communicates with the program at its other end. The process ends with the
/// transport.
pub(crate) fn connect(
    to: &Destination<'_>,
    options: &SshOptions,
    pace: Arc<Pace>,
) -> Result<Box<dyn Transport + Send>, StoreError> {
    let mut child =
        pace.wait(async { command(to, options, &pace).spawn() }).and_then(|spawned| spawned).map_err(|error| {
            StoreError::unreachable(format!("the program `ssh` cannot be started: {error}; install it"))
        })?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(StoreError::unreachable("the program `ssh` was started without pipes"));
    };
    let reader = Reader { stdout, stderr: Some(stderr), said_something: false, pace: pace.clone(), _child: child };
    let writer = Writer { stdin, pace };
    let none: Option<(String, Option<u16>)> = None;
    let connection = Connection::new(reader, writer, Protocol::V2, to.path, none, ConnectMode::Process, false);
    Ok(Box::new(connection.custom_url(Some(format!("ssh://{}{}", to.host, to.path).into()))))
}

/// Builds the only child process of this crate. It inherits nothing; the host comes after `--`.
#[expect(clippy::disallowed_methods, reason = "the door: this crate's one child process")]
fn command(to: &Destination<'_>, options: &SshOptions, pace: &Pace) -> Command {
    let mut command = Command::new("ssh");
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("GIT_PROTOCOL", "version=2");
    command.args(["-F", "/dev/null", "-T", "-x"]);
    let known_hosts = format!("UserKnownHostsFile=\"{}\"", options.known_hosts.display());
    let patience = format!("ConnectTimeout={}", pace.patience().connect.as_secs().max(1));
    for option in [
        "BatchMode=yes",
        "StrictHostKeyChecking=yes",
        &known_hosts,
        "GlobalKnownHostsFile=/dev/null",
        "UpdateHostKeys=no",
        "IdentitiesOnly=yes",
        "IdentityAgent=none",
        "PreferredAuthentications=publickey",
        "ClearAllForwardings=yes",
        "PermitLocalCommand=no",
        "SendEnv=GIT_PROTOCOL",
        "LogLevel=ERROR",
        &patience,
    ] {
        command.args(["-o", option]);
    }
    command.arg("-i").arg(&options.key).args(["-l", to.user]);
    if let Some(port) = to.port {
        command.args(["-p", &port.to_string()]);
    }
    // The address parser ensures that a path holds no quote.
    command.args(["--", to.host, &format!("git-upload-pack '{}'", to.path)]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

struct Reader {
    stdout: ChildStdout,
    stderr: Option<ChildStderr>,
    said_something: bool,
    pace: Arc<Pace>,
    /// Held so that the process ends with the reader.
    _child: Child,
}

impl Reader {
    /// Returns the reason why the other side closed the connection without output.
    fn complaint(&mut self) -> StoreError {
        let mut bytes = Vec::new();
        if let Some(stderr) = self.stderr.take() {
            // Unreadable output leaves the text shorter and the class `Unreachable`, the cautious
            // one.
            let _ = self.pace.wait(stderr.take(COMPLAINT_BYTES).read_to_end(&mut bytes));
        }
        let text = String::from_utf8_lossy(&bytes);
        let shown: String = text.trim().chars().take(300).flat_map(char::escape_default).collect();
        if text.contains("Host key verification failed") {
            StoreError::denied(format!("the host is not the one in known_hosts, or not in it at all: {shown}"))
        } else if text.contains("Permission denied") {
            StoreError::denied(format!("the host does not accept the key: {shown}"))
        } else if text.contains("not appear to be a git repository") || text.contains("epository not found") {
            StoreError::vanished("the repository", format!("check the URL and the permissions: {shown}"))
        } else {
            StoreError::unreachable(format!("ssh: {shown}"))
        }
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.pace.wait(self.stdout.read(buffer))??;
        if read == 0 && !buffer.is_empty() && !self.said_something {
            let complaint = self.complaint();
            return Err(self.pace.end(complaint));
        }
        self.said_something = true;
        self.pace.received(read)?;
        Ok(read)
    }
}

struct Writer {
    stdin: ChildStdin,
    pace: Arc<Pace>,
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pace.wait(self.stdin.write(bytes))?
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pace.wait(self.stdin.flush())?
    }
}
