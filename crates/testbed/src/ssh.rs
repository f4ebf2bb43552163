//! The system's `sshd` on loopback, for one key and one user: the user who runs the tests.

use std::fs;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::program;

/// The place of the server on Debian.
const SSHD: &str = "/usr/sbin/sshd";

/// A server that starts an `sshd` for every connection.
#[derive(Debug)]
pub struct SshServer {
    address: SocketAddr,
    folder: TempDir,
    user: String,
    shell: String,
    /// Ends the server when the value is dropped. `None` only during the drop.
    runtime: Option<Runtime>,
}

impl Drop for SshServer {
    fn drop(&mut self) {
        // A test may drop it where blocking is not allowed.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl SshServer {
    /// Starts a server. Without an `sshd` on this machine it returns `None` and reports the calling
    /// test as skipped; the test then returns.
    #[expect(clippy::disallowed_methods, reason = "a server of tests has a runtime of its own")]
    pub fn start() -> Option<Self> {
        if !Path::new(SSHD).exists() {
            crate::skipped(&format!("{SSHD} is missing; run `cargo xtask setup` as root"));
            return None;
        }
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        for name in ["host", "other_host", "user", "other_user"] {
            make_key(&folder.path().join(name));
        }
        let (user, shell) = account();
        fs::copy(folder.path().join("user.pub"), folder.path().join("authorized_keys")).expect("the folder is ours");
        let config = configuration(folder.path());
        fs::write(folder.path().join("sshd_config"), config).expect("the folder is ours");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime can be started");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        listener.set_nonblocking(true).expect("a socket can be made non-blocking");
        let address = listener.local_addr().expect("a bound socket has an address");
        runtime.spawn(accept(listener, folder.path().join("sshd_config")));
        Some(Self { address, folder, user, shell, runtime: Some(runtime) })
    }

    /// Returns the URL of a repository by its directory.
    pub fn url(&self, repository: &Path) -> String {
        format!("ssh://{}@127.0.0.1:{}{}", self.user, self.address.port(), repository.display())
    }

    /// Returns the key that the server accepts.
    pub fn key(&self) -> PathBuf {
        self.folder.path().join("user")
    }

    /// Returns a key that the server does not accept.
    pub fn wrong_key(&self) -> PathBuf {
        self.folder.path().join("other_user")
    }

    /// Returns a file of known hosts with the server's key.
    pub fn known_hosts(&self) -> PathBuf {
        self.hosts("known_hosts", Some("host.pub"))
    }

    /// Returns a file of known hosts with another key for the same address.
    pub fn wrong_known_hosts(&self) -> PathBuf {
        self.hosts("wrong_known_hosts", Some("other_host.pub"))
    }

    /// Returns an empty file of known hosts.
    pub fn no_known_hosts(&self) -> PathBuf {
        self.hosts("no_known_hosts", None)
    }

    /// Reports whether the user may run commands: `sshd` starts them through the account's shell,
    /// and some accounts have none. A test that gets `false` is reported as skipped and returns.
    pub fn can_log_in(&self) -> bool {
        let has_shell = !self.shell.ends_with("nologin") && !self.shell.ends_with("false");
        if !has_shell {
            let user = &self.user;
            crate::skipped(&format!("the account `{user}` has no shell; run the tests as a user that has one"));
        }
        has_shell
    }

    fn hosts(&self, name: &str, key: Option<&str>) -> PathBuf {
        let line = key.map_or_else(String::new, |key| {
            let key = fs::read_to_string(self.folder.path().join(key)).expect("it was made at the start");
            format!("[127.0.0.1]:{} {key}", self.address.port())
        });
        let file = self.folder.path().join(name);
        fs::write(&file, line).expect("the folder is ours");
        file
    }
}

fn make_key(file: &Path) {
    let mut command = program("ssh-keygen");
    command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file);
    let made = command.status().expect("openssh-client is installed: run `cargo xtask setup`");
    assert!(made.success(), "ssh-keygen could not make {}", file.display());
}

/// Returns the user who runs the tests, and the user's shell.
fn account() -> (String, String) {
    let user = program("id").arg("-un").output().expect("`id` is part of every system").stdout;
    let user = String::from_utf8_lossy(&user).trim().to_owned();
    let accounts = fs::read_to_string("/etc/passwd").expect("every system has its accounts there");
    let line = accounts.lines().find(|line| line.split(':').next() == Some(&user));
    let shell = line.and_then(|line| line.rsplit(':').next()).unwrap_or_default().to_owned();
    (user, shell)
}

fn configuration(folder: &Path) -> String {
    let at = folder.display();
    format!(
        "HostKey {at}/host\nAuthorizedKeysFile {at}/authorized_keys\nPidFile none\nUsePAM no\nStrictModes no\n\
         PermitRootLogin prohibit-password\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
         AcceptEnv GIT_PROTOCOL\nPrintMotd no\nPrintLastLog no\nLogLevel ERROR\n"
    )
}

#[expect(clippy::disallowed_methods, reason = "a server of tests serves connections concurrently")]
async fn accept(listener: std::net::TcpListener, config: PathBuf) {
    // Root's `sshd` needs this directory for its unprivileged part; for other users the call fails
    // and is not needed.
    let _ = fs::create_dir_all("/run/sshd");
    let listener = TcpListener::from_std(listener).expect("the socket is non-blocking");
    while let Ok((connection, _)) = listener.accept().await {
        let connection = connection.into_std().expect("a socket of tokio is one of the system");
        connection.set_nonblocking(false).expect("a socket can be made blocking");
        let input = OwnedFd::from(connection.try_clone().expect("a socket can be cloned"));
        let mut command = program(SSHD);
        command.args(["-i", "-e", "-f"]).arg(&config);
        command.stdin(Stdio::from(input)).stdout(Stdio::from(OwnedFd::from(connection))).stderr(Stdio::null());
        let child = tokio::process::Command::from(command).kill_on_drop(true).spawn();
        let mut child = child.expect("openssh-server is installed: run `cargo xtask setup`");
        tokio::spawn(async move { child.wait().await });
    }
}
