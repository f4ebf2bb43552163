//! A managed directory, and the helpers to work with it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use setpoint_core::digest::DigestKey;
use setpoint_core::key::Key;
use setpoint_core::live::{Live, Presence};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::resource::Resource;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;
use setpoint_target::conformance::Steps;
use setpoint_target::{Asker, Fence, Outcome, Refusal, Target, Work};
use setpoint_target_host::disk::{Call, Probe};
use setpoint_target_host::{API_VERSION, HostOptions, HostTarget, check};
use tempfile::TempDir;

/// A machine with a managed directory.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) target: HostTarget,
    pub(crate) steps: Steps,
    root: PathBuf,
    /// Removed with the scene, if the scene created it.
    _folder: Option<TempDir>,
}

#[expect(clippy::disallowed_methods, reason = "tests go by the clock of the file system")]
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap())
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(adjust: impl FnOnce(&mut HostOptions)) -> Self {
        Self::within(tempfile::tempdir().unwrap(), adjust)
    }

    pub(crate) fn probed(probe: &Arc<impl Probe + 'static>) -> Self {
        let probe: Arc<dyn Probe> = probe.clone();
        Self::with(|options| options.probe = Some(probe))
    }

    pub(crate) fn within(folder: TempDir, adjust: impl FnOnce(&mut HostOptions)) -> Self {
        let scene = Self::kept(folder.path(), adjust);
        Self { _folder: Some(folder), ..scene }
    }

    /// Creates a scene in a directory that outlives it.
    pub(crate) fn kept(folder: &Path, adjust: impl FnOnce(&mut HostOptions)) -> Self {
        let target = HostTarget::open(options(folder, adjust)).unwrap();
        let identity = now_or_never(target.identity()).unwrap();
        Self { target, steps: Steps::new(identity), root: folder.join("root"), _folder: None }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.root.clone()
    }

    /// Returns the path on this machine of a path of the target.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.root().join(path.trim_start_matches('/'))
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        fs::write(self.at(path), content).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.at(path)).ok()
    }

    /// Returns the names in a directory.
    pub(crate) fn names(&self, path: &str) -> BTreeSet<String> {
        let entries = fs::read_dir(self.at(path)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    pub(crate) async fn look(&self, resource: &Resource) -> Observed<Presence> {
        let wanted = [(resource.key.clone(), Some(Arc::new(resource.clone())))].into();
        let mut seen = self.target.observe(wanted, Asker::default(), now()).await;
        seen.states.remove(&resource.key).unwrap()
    }

    pub(crate) async fn live(&self, resource: &Resource) -> Live {
        match self.look(resource).await {
            Observed::Known { value: Presence::Present(live), .. } => live,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn blindness(&self, resource: &Resource) -> UnknownReason {
        match self.look(resource).await {
            Observed::Unknown { reason } => reason,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn execute(&self, work: Vec<Work>) -> Vec<Outcome> {
        self.target.execute(work, fence()).await
    }

    pub(crate) async fn create(&self, resource: &Resource) -> Outcome {
        self.execute(vec![self.steps.create(resource)]).await.remove(0)
    }

    /// Creates a resource on the host and returns its observed state.
    pub(crate) async fn have(&self, resource: &Resource) -> Live {
        let outcome = self.create(resource).await;
        assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
        self.live(resource).await
    }
}

/// Returns options for the directory `root` of a directory that also contains the machine ID.
pub(crate) fn options(folder: &Path, adjust: impl FnOnce(&mut HostOptions)) -> HostOptions {
    let root = folder.join("root");
    fs::create_dir_all(&root).unwrap();
    let mut options = HostOptions::new(Some(root), folder.to_owned(), Arc::new(now), DigestKey::new([7; 32]));
    options.machine_id = folder.join("machine-id");
    adjust(&mut options);
    options
}

pub(crate) fn fence() -> Fence {
    let now = now();
    Fence { epoch: Steps::EPOCH, leave_by: now + Span::seconds(60), land_by: now + Span::seconds(120) }
}

/// Runs a call to its end from outside of a runtime.
pub(crate) fn now_or_never<T>(answer: impl Future<Output = T>) -> T {
    match tokio::runtime::Handle::try_current() {
        Ok(handle) => tokio::task::block_in_place(|| handle.block_on(answer)),
        Err(_) => tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(answer),
    }
}

pub(crate) fn body(kind: &str, name: &str, spec: Value) -> Value {
    Value::map([
        ("apiVersion", Value::str(API_VERSION)),
        ("kind", Value::str(kind)),
        ("metadata", Value::map([("name", Value::str(name))])),
        ("spec", spec),
    ])
}

pub(crate) fn resource(kind: &str, name: &str, spec: Value) -> Resource {
    let body = body(kind, name, spec);
    let key = check(kind, &body).unwrap().key();
    Resource::new(key, API_VERSION, kind, body)
}

pub(crate) fn file(path: &str, content: &str) -> Resource {
    resource("File", "file", Value::map([("path", Value::str(path)), ("content", Value::str(content))]))
}

/// Returns a file with more fields.
pub(crate) fn file_with(path: &str, content: &str, more: &[(&str, Value)]) -> Resource {
    let fields = [("path", Value::str(path)), ("content", Value::str(content))];
    resource("File", "file", Value::map(fields.into_iter().chain(more.iter().cloned())))
}

pub(crate) fn directory(path: &str, mode: &str) -> Resource {
    resource("Directory", "directory", Value::map([("path", Value::str(path)), ("mode", Value::str(mode))]))
}

pub(crate) fn link(path: &str, target: &str) -> Resource {
    resource("Symlink", "link", Value::map([("path", Value::str(path)), ("target", Value::str(target))]))
}

pub(crate) fn key(path: &str) -> Key {
    Key::new("file", "", path).unwrap()
}

pub(crate) fn refusal(outcome: &Outcome) -> &Refusal {
    match outcome {
        Outcome::Refused { refusal } => refusal,
        other => panic!("{other:?}"),
    }
}

/// Records every call, and acts or fails at some of them.
pub(crate) struct Script {
    pub(crate) calls: Mutex<Vec<Call>>,
    act: Box<Act>,
}

type Act = dyn Fn(&Call) -> io::Result<()> + Send + Sync;

impl Script {
    pub(crate) fn new(act: impl Fn(&Call) -> io::Result<()> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { calls: Mutex::default(), act: Box::new(act) })
    }

    pub(crate) fn taken(&self) -> Vec<Call> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Script")
    }
}

impl Probe for Script {
    fn before(&self, call: &Call) -> io::Result<()> {
        self.calls.lock().unwrap().push(call.clone());
        (self.act)(call)
    }
}

pub(crate) fn os_error(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

pub(crate) const EPERM: i32 = 1;
pub(crate) const EIO: i32 = 5;
pub(crate) const EMFILE: i32 = 24;
pub(crate) const ENOSPC: i32 = 28;

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
