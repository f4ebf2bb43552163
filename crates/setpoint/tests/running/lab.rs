//! A lab: a real repository, a directory of this machine as the target, and an agent that manages
//! the directory as the repository declares.
//!
//! Tests observe the agent through its socket and the machine through its files. They wait for
//! steps of the engine, never for time.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use setpoint::agent::bootstrap::Bootstrap;
use setpoint::agent::folder::DataFolder;
use setpoint::agent::{AgentOptions, RunningAgent};
use setpoint::doors::Clock;
use setpoint::families::families;
use setpoint::log::{CollectedLines, Log};
use setpoint_api::answer::{AppDetail, AppState, DriftRecord, Ordered, Overview};
use setpoint_api::question::{DriftQuestion, OrderKind, OrderRequest};
use setpoint_api::{AskError, Client, socket_in};
use setpoint_core::facts::Facts;
use setpoint_core::name::{AppId, AppName, Scope};
use setpoint_core::time::Span;
use setpoint_engine::Settings;
use setpoint_ledger::Ledger;
use setpoint_ledger_sql::{Options, SqlLedger};
use setpoint_target_kube::OwnCluster;
use setpoint_testbed::{GitRepository, Item};
use tempfile::TempDir;
use tokio::time::timeout;

use crate::setpoint::{Run, program, run};

/// Longer than anything takes on a busy machine. An agent waits for more than a minute if a dead
/// one may still have been creating objects on a cluster.
const PATIENCE: Duration = Duration::from_secs(150);

/// A repository, a machine and a data directory, all empty at first.
pub(crate) struct Lab {
    folder: TempDir,
    repository: GitRepository,
    files: BTreeMap<String, String>,
    head: Option<String>,
    /// The fields of the bootstrap's store.
    store: String,
    /// The interval at which the bootstrap's store is polled.
    interval: &'static str,
    /// The path of the ledger's anchor.
    anchor: Option<PathBuf>,
    /// Programs that may render, with their digests.
    renderers: Vec<(PathBuf, String)>,
    /// The fields of the HTTP server.
    server: Option<String>,
    pub(crate) settings: Settings,
    /// The cluster that agents run in.
    pub(crate) own_cluster: Option<OwnCluster>,
}

/// Returns an app of the default scope.
pub(crate) fn app(name: &str) -> AppId {
    AppId::new(Scope::default_scope(), AppName::new(name).expect("a valid name"))
}

impl Lab {
    /// Creates a lab with one target, `machine`, whose deletes need not wait for the end of a
    /// quarantine.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let managed = folder.path().join("managed");
        fs::create_dir(&managed).expect("the folder is ours");
        let repository = GitRepository::init(&folder.path().join("state.git"));
        let store = format!("url: {}", repository.folder().display());
        let settings = Settings { quarantine: Span::ZERO, ..Settings::default() };
        let (files, head, anchor, renderers, own_cluster) = (BTreeMap::new(), None, None, Vec::new(), None);
        let (server, interval) = (None, "1s");
        let mut lab =
            Self { folder, repository, files, head, store, interval, anchor, renderers, server, settings, own_cluster };
        let root = managed.display();
        lab.control("machine", "Target", &format!("{{ kind: host, root: {root} }}"));
        lab
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    /// Returns the path on this machine of a path of the target.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.path().join("managed").join(path)
    }

    /// Returns the content of a file of the machine; `None` if it does not exist.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        match fs::read_to_string(self.at(path)) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => panic!("{path} cannot be read: {error}"),
        }
    }

    pub(crate) fn repository(&self) -> &GitRepository {
        &self.repository
    }

    /// Sets the fields of the bootstrap's store.
    pub(crate) fn reach_by(&mut self, store: String) {
        self.store = store;
    }

    /// Polls so rarely that only a hint brings a new version.
    pub(crate) fn poll_rarely(&mut self) {
        self.interval = "1h";
    }

    /// Sets the path of the ledger's anchor.
    pub(crate) fn anchor_at(&mut self, file: PathBuf) {
        self.anchor = Some(file);
    }

    /// Adds a program that may render.
    pub(crate) fn render_by(&mut self, binary: &Path, digest: &str) {
        self.renderers.push((binary.to_owned(), digest.to_owned()));
    }

    /// Lets agents serve HTTP, at an address of the loopback network that no other test has.
    pub(crate) fn serve(&mut self) -> SocketAddr {
        static LABS: AtomicU8 = AtomicU8::new(1);
        let [.., high, low] = std::process::id().to_be_bytes();
        let number = LABS.fetch_add(1, Ordering::Relaxed);
        let address = SocketAddr::from(([127, high, low, number], 7070));
        self.serve_at(address);
        address
    }

    /// Lets agents serve HTTP at this address, without other fields.
    pub(crate) fn serve_at(&mut self, address: SocketAddr) {
        self.server = Some(format!("listen: '{address}'"));
    }

    /// Adds fields to the HTTP server.
    pub(crate) fn serve_with(&mut self, more: &str) {
        let server = self.server.as_mut().expect("it serves HTTP");
        server.push_str(&format!(", {more}"));
    }

    /// Declares a control document.
    pub(crate) fn control(&mut self, name: &str, kind: &str, spec: &str) -> &mut Self {
        let text = format!("apiVersion: setpoint.dev/v1\nkind: {kind}\nmetadata: {{ name: {name} }}\nspec: {spec}\n");
        self.write(&format!("setpoint/{name}.yaml"), &text)
    }

    /// Declares an app on the machine, rendered from the directory of its name.
    pub(crate) fn app(&mut self, name: &str) -> &mut Self {
        self.app_with(name, "")
    }

    /// Declares an app with more fields of its spec.
    pub(crate) fn app_with(&mut self, name: &str, more: &str) -> &mut Self {
        self.app_from(name, "bootstrap", more)
    }

    /// Declares an app with this store as its input.
    pub(crate) fn app_from(&mut self, name: &str, store: &str, more: &str) -> &mut Self {
        let inputs = format!("[{{ name: main, store: {store}, path: apps/{name} }}]");
        let more = if more.is_empty() { String::new() } else { format!(", {more}") };
        let spec = format!("{{ component: {name}, environment: lab, inputs: {inputs}, target: machine{more} }}");
        self.control(name, "App", &spec)
    }

    /// Lets an app declare a file of the machine.
    pub(crate) fn file(&mut self, app: &str, path: &str, content: &str) -> &mut Self {
        let name = path.replace('/', "-");
        self.write(&format!("apps/{app}/{name}.yaml"), &file_document(path, content))
    }

    pub(crate) fn write(&mut self, path: &str, text: &str) -> &mut Self {
        self.files.insert(path.to_owned(), text.to_owned());
        self
    }

    pub(crate) fn remove(&mut self, path: &str) -> &mut Self {
        assert!(self.files.remove(path).is_some(), "{path} is not in the repository");
        self
    }

    /// Returns the written files, with another text for one of them.
    pub(crate) fn files_with(&self, path: &str, text: &str) -> BTreeMap<String, String> {
        let mut files = self.files.clone();
        files.insert(path.to_owned(), text.to_owned());
        files
    }

    /// Commits the written files on top of the last commit.
    pub(crate) fn commit(&mut self) -> String {
        let parent = self.head.clone();
        self.commit_on(parent.as_deref())
    }

    /// Commits the written files with a message of their own.
    pub(crate) fn commit_as(&mut self, message: &str) -> String {
        let files: Vec<_> = self.files.iter().map(|(path, text)| (path.as_str(), Item::File(text))).collect();
        let head = self.repository.commit_with_message("main", self.head.as_deref(), &files, message);
        self.head = Some(head.clone());
        head
    }

    /// Commits the written files on top of another commit than the last one, which rewrites
    /// history.
    pub(crate) fn commit_on(&mut self, parent: Option<&str>) -> String {
        let files: Vec<_> = self.files.iter().map(|(path, text)| (path.as_str(), Item::File(text))).collect();
        let head = self.repository.commit("main", parent, &files);
        self.head = Some(head.clone());
        head
    }

    /// Returns the newest commit.
    pub(crate) fn head(&self) -> &str {
        self.head.as_deref().expect("there is a commit")
    }

    /// Writes the bootstrap document.
    pub(crate) fn bootstrap(&self) -> PathBuf {
        let path = self.path().join("bootstrap.yaml");
        let anchor = self.anchor.as_ref().map(|file| format!("  anchor: {{ file: {} }}\n", file.display()));
        let renderer = |(binary, digest): &(PathBuf, String)| {
            format!("  - {{ binary: {}, digest: '{digest}' }}\n", binary.display())
        };
        let renderers: String = self.renderers.iter().map(renderer).collect();
        let renderers = if renderers.is_empty() { renderers } else { format!("  renderers:\n{renderers}") };
        let text = format!(
            "apiVersion: setpoint.dev/v1\nkind: Bootstrap\nspec:\n  path: setpoint/\n  store: {{ interval: {}, {} }}\n{}{renderers}{}",
            self.interval,
            self.store,
            anchor.unwrap_or_default(),
            self.server.as_ref().map(|server| format!("  server: {{ {server} }}\n")).unwrap_or_default()
        );
        fs::write(&path, text).expect("the folder is ours");
        path
    }

    pub(crate) async fn start(&self) -> Agent {
        self.start_by(Clock::start()).await
    }

    /// Installs the agent at a time long enough ago that deletes are no longer withheld because it
    /// is new.
    pub(crate) fn install_a_while_ago(&mut self) {
        self.commit();
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let a_while_ago = Clock::start().now() - Settings::default().quarantine;
            let mut agent = self.start_by(Clock::at(a_while_ago)).await;
            let installed = async |agent: &Agent| agent.overview().await.ledger.holding.then_some(());
            agent.until("the agent is installed", installed).await;
            agent.stop().await;
        });
    }

    async fn start_by(&self, clock: Clock) -> Agent {
        Agent::start(&self.bootstrap(), self.data(), clock, self.settings.clone(), self.own_cluster.clone()).await
    }

    /// Returns the facts of the ledger while no agent runs; `None` if none was ever installed.
    pub(crate) fn facts(&self) -> Option<Facts> {
        let folder = DataFolder::open(&self.data()).expect("it is ours");
        if !folder.is_installed() {
            return None;
        }
        let installation = folder.installation().expect("an installation is whole or not there");
        // The lock of the directory is released with the runtime.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let options = Options::new(folder.path(), installation.signer);
            let ledger = SqlLedger::open(options).await.expect("nothing damages a ledger");
            let loaded = ledger.load(&installation.origin).await.expect("nothing damages a ledger");
            ledger.close().await.expect("it closes");
            Some(loaded.facts)
        })
    }

    /// Replaces content in the database under the accepted digest, as anyone with write access
    /// could.
    pub(crate) fn swap_in_ledger(&self, accepted: &str, swapped: &str) {
        let (accepted, swapped) = (accepted.as_bytes(), swapped.as_bytes());
        assert_eq!(accepted.len(), swapped.len(), "what is swapped has its length");
        let database = self.data().join("ledger.db");
        let mut bytes = fs::read(&database).expect("it is there");
        let places: Vec<_> =
            (0..bytes.len() - accepted.len()).filter(|at| bytes[*at..].starts_with(accepted)).collect();
        assert!(!places.is_empty(), "the bundle is in the database");
        for at in places {
            bytes[at..at + swapped.len()].copy_from_slice(swapped);
        }
        fs::write(&database, bytes).expect("it is ours");
    }

    /// Runs a command of the binary on this data directory.
    pub(crate) fn command(&self, arguments: &[&str]) -> Run {
        let data = self.data().display().to_string();
        run(&[arguments, &["--data", &data]].concat())
    }

    /// Runs a command that must succeed, and returns its output.
    pub(crate) fn told(&self, arguments: &[&str]) -> String {
        let run = self.command(arguments);
        assert_eq!((run.code, run.complaints.as_str()), (Some(0), ""), "{arguments:?}: {}", run.output);
        run.output
    }

    /// Runs a command with the path of the bootstrap document.
    pub(crate) fn with_config(&self, arguments: &[&str]) -> Run {
        let config = self.bootstrap().display().to_string();
        self.command(&[arguments, &["--config", &config]].concat())
    }

    /// Verifies the ledger against these anchors with the key of its data directory.
    pub(crate) fn verify(&self, anchors: &[&Path]) -> String {
        let data = self.data().display().to_string();
        let key = self.told(&["ledger", "key", &data]);
        let database = format!("{data}/ledger.db");
        let anchors: Vec<String> = anchors.iter().map(|anchor| format!("--anchor={}", anchor.display())).collect();
        let anchors = anchors.iter().map(String::as_str);
        let arguments = ["ledger", "verify", &database, "--key", key.trim()].into_iter().chain(anchors);
        self.told(&arguments.collect::<Vec<_>>())
    }
}

pub(crate) fn file_document(path: &str, content: &str) -> String {
    let name = path.replace('/', "-");
    format!(
        "apiVersion: host.setpoint.dev/v1\nkind: File\nmetadata: {{ name: {name} }}\nspec:\n  path: /{path}\n  content: {content:?}\n"
    )
}

/// An agent that runs in this process and is reached through its socket.
pub(crate) struct Agent {
    running: RunningAgent,
    client: Client,
    log: CollectedLines,
}

impl Agent {
    /// Starts an agent with the bootstrap document at this path.
    pub(crate) async fn start(
        bootstrap: &Path,
        data: PathBuf,
        clock: Clock,
        settings: Settings,
        own_cluster: Option<OwnCluster>,
    ) -> Self {
        let log = CollectedLines::default();
        let client = Client::new(socket_in(&data));
        let options = AgentOptions {
            bootstrap: Bootstrap::read(bootstrap).expect("the document is valid"),
            data,
            clock,
            settings,
            families: families(own_cluster),
            program: program(),
            log: Log::collecting(&log),
        };
        let running = RunningAgent::start(options).await.expect("it starts");
        Self { running, client, log }
    }

    pub(crate) async fn overview(&self) -> Overview {
        self.client.overview().await.expect("it answers")
    }

    pub(crate) async fn detail(&self, name: &str) -> Result<AppDetail, AskError> {
        self.client.app(app(name)).await
    }

    /// Returns the token of the link that creates the first account.
    pub(crate) fn set_up_token(&self) -> Option<String> {
        let link = self.running.links()?.set_up.clone()?;
        link.split_once("token=").map(|(_, token)| token.to_owned())
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the API without a connection. It must be dropped before the agent is stopped.
    pub(crate) fn api(&self) -> Arc<dyn setpoint_api::Agent> {
        self.running.api()
    }

    /// Returns the rights that the Access documents in force grant.
    pub(crate) fn rights_of(&self, principal: &setpoint_api::Principal) -> setpoint_api::Rights {
        self.running.access().rights_of(principal)
    }

    pub(crate) async fn drift(&self, name: &str) -> Vec<DriftRecord> {
        let question = DriftQuestion { app: Some(app(name)), limit: 100 };
        self.client.drift(&question).await.expect("it answers")
    }

    pub(crate) async fn order(&self, name: &str, order: OrderKind) -> Ordered {
        let request = OrderRequest { app: app(name), reason: "the test wants it".to_owned(), order };
        self.client.order(&request).await.expect("it is recorded")
    }

    /// Waits for this many steps of the engine.
    pub(crate) async fn step(&mut self, steps: u32) {
        for _ in 0..steps {
            self.running.stepped().await.expect("it runs");
        }
    }

    /// Returns the log lines of the agent so far.
    pub(crate) fn said(&self) -> Vec<String> {
        self.log.all()
    }

    /// Returns the number of renders since it started.
    pub(crate) fn renders(&self) -> u64 {
        self.running.renders()
    }

    /// Reports whether every app has considered the head of its store, and no further steps are
    /// pending.
    pub(crate) async fn has_considered_all(&self) -> bool {
        self.running.standing().await.expect("it runs").apps.values().all(|status| !status.pending)
    }

    /// Reports whether this version of the repository was observed.
    pub(crate) async fn has_seen(&self, version: &str) -> bool {
        let mut heads = self.overview().await.stores.into_iter().filter_map(|store| store.head);
        heads.any(|head| head.as_str() == version)
    }

    /// Hints, as a webhook does, that the repository has a new version.
    pub(crate) async fn hint(&self) {
        self.running.handle().hint_store(Bootstrap::store()).await.expect("it runs");
    }

    /// Waits until a condition is true, and checks it again after every step of the engine.
    pub(crate) async fn until<T>(&mut self, what: &str, mut look: impl AsyncFnMut(&Self) -> Option<T>) -> T {
        let waiting = async {
            loop {
                if let Some(found) = look(self).await {
                    return found;
                }
                self.running.stepped().await.expect("it runs");
            }
        };
        match timeout(PATIENCE, waiting).await {
            Ok(found) => found,
            Err(_) => panic!("{what}: not within {PATIENCE:?}\n{:#?}\nsaid: {:#?}", self.overview().await, self.said()),
        }
    }

    /// Waits until an app is in the state that a test expects.
    pub(crate) async fn until_app(&mut self, name: &str, what: &str, is: impl Fn(&AppDetail) -> bool) -> AppDetail {
        let look = async |agent: &Self| agent.detail(name).await.ok().filter(&is);
        self.until(&format!("app {name} {what}"), look).await
    }

    /// Waits until an app matches this version.
    pub(crate) async fn until_converged(&mut self, name: &str, version: &str) -> AppDetail {
        self.hint().await;
        let is = |detail: &AppDetail| detail.summary.state == AppState::Converged && is_at(detail, version);
        self.until_app(name, &format!("has converged at {version}"), is).await
    }

    /// Waits until it ends on its own, and returns the reason.
    pub(crate) async fn end(self) -> String {
        timeout(PATIENCE, self.running.ended()).await.expect("it ends by itself");
        self.running.stop().await.expect_err("it did not end well").to_string()
    }

    pub(crate) async fn stop(self) {
        self.running.stop().await.expect("it ends well");
    }
}

/// Reports whether this version of an app was accepted.
pub(crate) fn is_at(detail: &AppDetail, version: &str) -> bool {
    let accepted = detail.summary.accepted.as_ref();
    accepted.is_some_and(|accepted| accepted.revision.versions().any(|accepted| accepted.as_str() == version))
}

/// Reports whether an app withholds a change for a reason with this text.
pub(crate) fn withholds(detail: &AppDetail, why: &str) -> bool {
    detail.report.iter().any(|withheld| withheld.why.to_string().contains(why))
}
