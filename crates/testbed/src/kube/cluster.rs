//! The parts that the API servers of one cluster share: etcd, the CA, the users with their tokens,
//! and a directory for all of it.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use data_encoding::HEXLOWER;
use rcgen::KeyPair;

use super::options::User;
use super::process::{Janitor, Keeper, Process};
use crate::tls::Authority;

/// The memory that a cluster may need; with less, its files go to the disk.
const ROOM: u64 = 2 * 1024 * 1024 * 1024;

/// The directory of etcd's data, below that of the cluster.
const DATA: &str = "etcd";

/// The number of checks whether a server is ready, with a pause after each: a busy machine gets a
/// minute and a half.
pub(super) const LOOKS: usize = 1800;

/// The number of attempts to start: another process may take a port between the search and its use.
pub(super) const STARTS: usize = 3;

/// Fields are dropped in this order: the servers, the process that cleans up after them, the thread
/// that keeps them.
#[derive(Debug)]
pub(super) struct Cluster {
    /// `None` if another process runs it.
    etcd: Option<Etcd>,
    folder: PathBuf,
    authority: Authority,
    tokens: BTreeMap<String, String>,
    servers: AtomicUsize,
    _janitor: Option<Janitor>,
    keeper: Keeper,
}

/// The storage of a cluster.
#[derive(Debug)]
struct Etcd {
    process: Mutex<Process>,
    port: u16,
    peer_port: u16,
}

impl Cluster {
    /// Starts etcd in a new directory.
    pub(super) fn start(users: &[User]) -> Self {
        let folder = fresh_folder();
        let janitor = Janitor::of(&folder);
        let keeper = Keeper::start();
        let authority = Authority::fresh();
        write(&folder, "authority.pem", authority.pem());
        write(&folder, "authority.key", &authority.key_pem());
        let server = authority.for_loopback();
        write(&folder, "server.pem", &server.certificate);
        write(&folder, "server.key", &server.key);
        let accounts = KeyPair::generate().expect("a key can be made");
        write(&folder, "accounts.key", &accounts.serialize_pem());
        write(&folder, "accounts.pub", &accounts.public_key_pem());
        write(&folder, "tokens.csv", &users.iter().map(line_of).collect::<String>());
        let etcd = start_etcd(&keeper, &folder);
        Self {
            etcd: Some(etcd),
            tokens: tokens(&folder),
            folder,
            authority,
            servers: AtomicUsize::new(0),
            _janitor: Some(janitor),
            keeper,
        }
    }

    /// Attaches to a cluster that another process has started.
    pub(super) fn attached(folder: PathBuf) -> Self {
        let authority = Authority::read(read(&folder, "authority.pem"), &read(&folder, "authority.key"));
        let tokens = tokens(&folder);
        let keeper = Keeper::start();
        Self { etcd: None, folder, authority, tokens, servers: AtomicUsize::new(0), _janitor: None, keeper }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn authority(&self) -> &Authority {
        &self.authority
    }

    pub(super) fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    pub(super) fn token(&self, user: &str) -> &str {
        let known = self.tokens.get(user);
        known.unwrap_or_else(|| panic!("`{user}` has no token; name it in `Options::users`"))
    }

    /// Returns the address of etcd.
    pub(super) fn storage(&self) -> String {
        let etcd = self.etcd.as_ref().expect("a shared cluster gets no more servers; use `ApiServer::own`");
        format!("http://127.0.0.1:{}", etcd.port)
    }

    /// Copies the stored data. etcd is down for a moment.
    pub(super) fn back_up(&self) {
        self.exchange_storage(copy);
    }

    /// Replaces the stored data by the last copy.
    pub(super) fn restore(&self) {
        self.exchange_storage(|storage, backup| {
            fs::remove_dir_all(storage).expect("the folder is ours");
            copy(backup, storage);
        });
    }

    /// Stops etcd, changes its data or the copy of it, and starts it again at the same address.
    fn exchange_storage(&self, exchange: impl FnOnce(&Path, &Path)) {
        let etcd = self.etcd.as_ref().expect("all tests use the storage of a shared cluster; use `ApiServer::own`");
        let mut process = etcd.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.kill();
        exchange(&self.folder.join(DATA), &self.folder.join("etcd-backup"));
        let started = launch_etcd(&self.keeper, &self.folder, etcd.port, etcd.peer_port);
        *process = started.unwrap_or_else(|words| panic!("etcd does not start again:\n{words}"));
    }

    /// Returns a name for another server.
    pub(super) fn next_name(&self) -> String {
        format!("kube-apiserver-{}", self.servers.fetch_add(1, Ordering::Relaxed))
    }
}

/// Creates the directory in memory if there is room: etcd writes a lot, and none of it needs to be
/// kept.
fn fresh_folder() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let room = rustix::fs::statvfs(memory).map_or(0, |stat| stat.f_bavail * stat.f_frsize);
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix("setpoint-envtest-");
    let folder = if room >= ROOM { builder.tempdir_in(memory) } else { builder.tempdir() };
    // The janitor removes it, even if this process is killed.
    folder.expect("there is room for temporary files").keep()
}

fn start_etcd(keeper: &Keeper, folder: &Path) -> Etcd {
    for _ in 0..STARTS {
        let [port, peer_port] = free_ports();
        match launch_etcd(keeper, folder, port, peer_port) {
            Ok(process) => return Etcd { process: Mutex::new(process), port, peer_port },
            Err(words) => assert!(words.contains("address already in use"), "etcd does not start:\n{words}"),
        }
    }
    panic!("etcd found no free port {STARTS} times");
}

/// Starts the process and waits until it listens; the error is the end of its log.
fn launch_etcd(keeper: &Keeper, folder: &Path, port: u16, peer_port: u16) -> Result<Process, String> {
    let clients = format!("http://127.0.0.1:{port}");
    let arguments = [
        format!("--data-dir={}", folder.join(DATA).display()),
        format!("--listen-client-urls={clients}"),
        format!("--advertise-client-urls={clients}"),
        format!("--listen-peer-urls=http://127.0.0.1:{peer_port}"),
        "--unsafe-no-fsync".to_owned(),
    ];
    let mut etcd = Process::start(keeper, "etcd", &arguments, &folder.join("etcd.log"));
    for _ in 0..LOOKS {
        if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(etcd);
        }
        if etcd.has_ended() {
            break;
        }
        keeper.pause();
    }
    Err(etcd.last_words())
}

/// Copies a directory with its content over an existing one.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the folder is ours");
    for entry in fs::read_dir(from).expect("the folder is ours") {
        let entry = entry.expect("the folder is ours");
        let to = to.join(entry.file_name());
        match entry.file_type().expect("it was just listed").is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).expect("there is room for a copy")),
        }
    }
}

/// Returns different ports that are free at this moment.
pub fn free_ports<const N: usize>() -> [u16; N] {
    let listeners: [TcpListener; N] =
        std::array::from_fn(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port"));
    listeners.map(|listener| listener.local_addr().expect("a bound socket has an address").port())
}

/// Returns a line of a token file: token, name, id, groups.
#[expect(clippy::disallowed_methods, reason = "no one guesses the tokens of tests")]
fn line_of(user: &User) -> String {
    let mut secret = [0; 16];
    getrandom::fill(&mut secret).expect("the system has random numbers");
    format!("{},{name},{name},\"{}\"\n", HEXLOWER.encode(&secret), user.groups.join(","), name = user.name)
}

fn tokens(folder: &Path) -> BTreeMap<String, String> {
    let text = read(folder, "tokens.csv");
    let entry = |line: &str| {
        let mut parts = line.split(',');
        let token = parts.next()?.to_owned();
        Some((parts.next()?.to_owned(), token))
    };
    text.lines().filter_map(entry).collect()
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("the folder is ours");
}

fn read(folder: &Path, name: &str) -> String {
    let file = folder.join(name);
    fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}; is the shared server running?", file.display()))
}
