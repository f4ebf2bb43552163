//! The API server as tests use it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::client::Client;
use super::cluster::{Cluster, LOOKS, STARTS, free_ports};
use super::kubeconfig::{self, Identity};
use super::options::{Options, User};
use super::process::Process;
use super::variable;

/// Names the directory of a server that xtask keeps for all test binaries of a run.
const SHARED: &str = "SETPOINT_ENVTEST_SERVER";

/// The first server of a cluster, which is the shared one.
const FIRST: &str = "kube-apiserver-0";

/// A kube-apiserver at [`url`](Self::url). All processes that were started for it end with it.
#[derive(Debug)]
pub struct ApiServer {
    processes: Mutex<Processes>,
    name: String,
    port: u16,
    options: Options,
    client: Client,
    cluster: Arc<Cluster>,
}

/// Both are `None` if another process runs them.
#[derive(Debug, Default)]
struct Processes {
    controllers: Option<Process>,
    server: Option<Process>,
}

impl ApiServer {
    /// Returns the server that all tests of a run share. Use a
    /// [`fresh_namespace`](Self::fresh_namespace), and do not change cluster-scoped objects.
    ///
    /// A run of `cargo xtask test` has one for all its binaries; in a plain `cargo test` each
    /// binary starts its own.
    pub fn shared() -> &'static Self {
        static SERVER: OnceLock<ApiServer> = OnceLock::new();
        SERVER.get_or_init(|| match variable(SHARED) {
            Some(folder) => Self::attached(folder),
            None => Self::own(Options::default()),
        })
    }

    /// Starts a server for one test, with its own etcd.
    pub fn own(options: Options) -> Self {
        let users: Vec<User> = User::standing().into_iter().chain(options.users.iter().cloned()).collect();
        let server = Self::start(Arc::new(Cluster::start(&users)), options);
        server.grant_to_group("setpoint:viewers", "system:aggregate-to-view", None);
        server
    }

    /// Starts another API server on the same etcd. Users and controllers are those of the first
    /// one.
    pub fn beside(&self, options: Options) -> Self {
        assert!(options.users.is_empty(), "the users are those of the first server; name them there");
        Self::start(self.cluster.clone(), options)
    }

    fn attached(folder: PathBuf) -> Self {
        let url = fs::read_to_string(folder.join(format!("{FIRST}.url")));
        let url = url.expect("a named shared server has been started");
        let port = url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("it was written by `start`");
        let cluster = Arc::new(Cluster::attached(folder));
        let client = client(&cluster, port);
        let processes = Mutex::default();
        Self { processes, name: FIRST.to_owned(), port, options: Options::default(), client, cluster }
    }

    fn start(cluster: Arc<Cluster>, options: Options) -> Self {
        let [port] = free_ports();
        let (name, client) = (cluster.next_name(), self::client(&cluster, port));
        let mut server = Self { processes: Mutex::default(), name, port, options, client, cluster };
        for _ in 0..STARTS {
            let Err(words) = server.launch() else {
                server.describe();
                return server;
            };
            assert!(words.contains("address already in use"), "kube-apiserver does not start:\n{words}");
            [server.port] = free_ports();
            server.client = self::client(&server.cluster, server.port);
        }
        panic!("kube-apiserver found no free port {STARTS} times");
    }

    /// Starts the process and waits until it is ready; the error is the end of its log.
    fn launch(&self) -> Result<(), String> {
        let keeper = self.cluster.keeper();
        let log = self.folder().join(format!("{}.log", self.name));
        let mut server = Process::start(keeper, "kube-apiserver", &self.flags(), &log);
        for _ in 0..LOOKS {
            if self.is_ready() {
                self.processes().server = Some(server);
                return Ok(());
            }
            if server.has_ended() {
                break;
            }
            keeper.pause();
        }
        Err(server.last_words())
    }

    fn is_ready(&self) -> bool {
        let keeper = self.cluster.keeper();
        let answer = keeper.run(self.client.clone().send("GET".to_owned(), "/readyz".to_owned(), None));
        answer.is_ok_and(|answer| answer.status == 200)
    }

    fn flags(&self) -> Vec<String> {
        let folder = self.folder();
        let file = |name: &str| folder.join(name).display().to_string();
        let mut flags = vec![
            format!("--etcd-servers={}", self.cluster.storage()),
            format!("--secure-port={}", self.port),
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(),
            // No client uses the server's Service, and two servers would fight over it.
            "--endpoint-reconciler-type=none".to_owned(),
            format!("--tls-cert-file={}", file("server.pem")),
            format!("--tls-private-key-file={}", file("server.key")),
            format!("--client-ca-file={}", file("authority.pem")),
            format!("--token-auth-file={}", file("tokens.csv")),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={}", file("accounts.pub")),
            format!("--service-account-signing-key-file={}", file("accounts.key")),
            "--authorization-mode=RBAC".to_owned(),
            "--service-cluster-ip-range=10.0.0.0/16".to_owned(),
            // Pods would wait for accounts that only a controller creates.
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            "--allow-privileged=true".to_owned(),
        ];
        flags.extend(self.options.to_flags(&self.cluster, &self.audit_log()));
        flags
    }

    /// Writes the files that other processes need to attach, and starts the processes that need a
    /// server.
    fn describe(&self) {
        fs::write(self.folder().join(format!("{}.url", self.name)), self.url()).expect("the folder is ours");
        let identity = Identity::Token(self.admin_token());
        let config = kubeconfig::with_files(&self.url(), &self.folder().join("authority.pem"), &identity);
        fs::write(self.kubeconfig(), config).expect("the folder is ours");
        if self.options.controllers {
            let flags = [
                format!("--kubeconfig={}", self.kubeconfig().display()),
                format!("--service-account-private-key-file={}", self.folder().join("accounts.key").display()),
                format!("--root-ca-file={}", self.folder().join("authority.pem").display()),
                "--leader-elect=false".to_owned(),
                "--secure-port=0".to_owned(),
                // By default an autoscaler checks every fifteen seconds.
                "--horizontal-pod-autoscaler-sync-period=2s".to_owned(),
            ];
            let log = self.folder().join("kube-controller-manager.log");
            let controllers = Process::start(self.cluster.keeper(), "kube-controller-manager", &flags, &log);
            self.processes().controllers = Some(controllers);
        }
    }

    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// Returns the CA certificate that signed the server's, as PEM.
    pub fn authority(&self) -> &str {
        self.cluster.authority().pem()
    }

    /// Returns the directory with all its files while it runs: keys, tokens, logs.
    pub fn folder(&self) -> &Path {
        self.cluster.folder()
    }

    /// Returns the path of its audit log, one JSON document per line, if [`Options::audit_log`]
    /// requested it.
    pub fn audit_log(&self) -> PathBuf {
        self.folder().join(format!("{}-audit.log", self.name))
    }

    /// Returns a kubeconfig of the administrator, with a token, and the CA certificate in a file.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder().join(format!("{}.kubeconfig", self.name))
    }

    pub fn admin_token(&self) -> &str {
        self.token("admin")
    }

    /// Returns the token of one of [`User::standing`] or [`Options::users`].
    pub fn token(&self, user: &str) -> &str {
        self.cluster.token(user)
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Kills the server, whatever it is doing. etcd and the controllers keep running.
    pub fn stop(&self) {
        let server = self.processes().server.take();
        drop(server.expect("it is running, and it is our own: a shared server is not stopped"));
    }

    /// Starts the server again at the same address, and waits until it is ready.
    pub fn start_again(&self) {
        assert!(self.processes().server.is_none(), "it is running; stop it first");
        self.launch().unwrap_or_else(|words| panic!("kube-apiserver does not start again:\n{words}"));
    }

    /// Copies the stored data, for [`restore`](Self::restore).
    pub fn back_up(&self) {
        self.cluster.back_up();
        for _ in 0..LOOKS {
            if self.is_ready() {
                return;
            }
            self.cluster.keeper().pause();
        }
        panic!("kube-apiserver does not find its etcd again");
    }

    /// Restores the copied data, as administrators do after a loss of etcd. No other server may run
    /// on it.
    pub fn restore(&self) {
        self.stop();
        self.cluster.restore();
        self.start_again();
    }

    /// Kills the server and starts it again.
    pub fn restart(&self) {
        self.stop();
        self.start_again();
    }

    fn processes(&self) -> MutexGuard<'_, Processes> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn client(cluster: &Cluster, port: u16) -> Client {
    Client::new(port, Arc::new(cluster.authority().client()), cluster.token("admin").to_owned())
}
