//! A state repository as its authors intend it, and its files. The engine reads the files; the
//! monitor knows the intention.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::digest::Digest;
use setpoint_core::key::Key;
use setpoint_core::name::{AppId, AppName, Scope, StoreName, TargetIdentity};
use setpoint_core::resource::Resource;
use setpoint_core::snapshot::Rules;
use setpoint_core::time::Span;
use setpoint_core::value::Value;
use setpoint_documents::FieldProblem;
use setpoint_engine::accept::{BOOTSTRAP_STORE, ROOT_SCOPE};
use setpoint_engine::{AppControl, Controls, Mode, OnFailure, StoreControl};
use setpoint_store::MemoryTree;
use setpoint_target::{Kinds, Unidentifiable, after_implied};

use crate::store::{Contents, Declared, Folder};
use crate::universe::{POLL, Universe};

/// The directory of the control documents.
pub const CONTROL_FOLDER: &str = "setpoint";

/// The control documents of one commit, as intended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Documents {
    pub apps: BTreeMap<AppId, AppDocument>,
    /// Their flaw.
    pub flaw: Option<Flaw>,
    /// Set if they contain the windows of apps.
    pub windows: bool,
}

impl Documents {
    /// Returns the flaw for which they must be refused. Without any app, missing scopes do no harm.
    pub fn refusable(&self) -> Option<Flaw> {
        self.flaw.filter(|flaw| *flaw != Flaw::NoScopes || !self.apps.is_empty())
    }
}

/// The part of an app's document that authors change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppDocument {
    /// The app whose directory is rendered, and the place of that directory.
    pub folder: AppId,
    pub place: u32,
    pub retire: bool,
}

/// A flaw that no version of control documents may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    UnknownField,
    NotYaml,
    Emptied,
    /// An app names a target that its scope may not use.
    ForeignTarget,
    /// An app is in the engine's own scope.
    PosesAsEngine,
    /// The documents with the permissions of scopes are missing.
    NoScopes,
}

impl Flaw {
    pub const ALL: [Self; 6] =
        [Self::UnknownField, Self::NotYaml, Self::Emptied, Self::ForeignTarget, Self::PosesAsEngine, Self::NoScopes];

    /// Returns the property that accepting it breaks.
    pub fn property(self) -> &'static str {
        match self {
            Self::UnknownField | Self::NotYaml => "S10",
            Self::Emptied => "S2",
            Self::ForeignTarget | Self::PosesAsEngine | Self::NoScopes => "S11",
        }
    }
}

/// Returns the app whose resources are the control documents.
pub fn root() -> AppId {
    let scope = Scope::new(ROOT_SCOPE).expect("a plain name");
    AppId::new(scope, AppName::new("root").expect("a plain name"))
}

pub fn bootstrap_store() -> StoreName {
    StoreName::new(BOOTSTRAP_STORE).expect("a plain name")
}

/// Adds the part that only the bootstrap defines: the root app and its store.
pub fn bootstrap(controls: &mut Controls, of: Option<Digest>) {
    let control = AppControl {
        document: Digest::of(b"bootstrap"),
        target: TargetIdentity::new("engine").expect("a plain identity"),
        stores: [bootstrap_store()].into(),
        rules: Rules::default(),
        acting_as: None,
        mode: Mode::Auto,
        retire: false,
        depends_on: BTreeSet::new(),
        closed: Vec::new(),
        deadline: Span::minutes(10),
        on_failure: OnFailure::Alert,
        renders_apart: false,
    };
    controls.root = Some(root());
    controls.of = of;
    controls.apps.insert(root(), Arc::new(control));
    controls.stores.insert(bootstrap_store(), polled(&bootstrap_store()));
}

/// Returns the control of a store with its own repository.
pub fn polled(store: &StoreName) -> StoreControl {
    StoreControl { interval: POLL, repository: Digest::of(store.as_str().as_bytes()) }
}

/// The constant parts of a run's files: everything but the directories and the parts of documents
/// that authors change.
#[derive(Debug)]
pub struct Template {
    /// Stores and targets, and the permissions of scopes.
    systems: String,
    scopes: String,
    apps: BTreeMap<AppId, String>,
    windows: BTreeMap<AppId, String>,
}

impl Template {
    pub fn of(universe: &Universe) -> Self {
        let mut systems = String::new();
        for store in universe.stores.iter().skip(1) {
            document(&mut systems, "Store", store.as_str(), "");
            writeln!(systems, "spec: {{ url: 'https://git.example/{store}.git', interval: 3m }}").expect(STRING);
        }
        for target in &universe.targets {
            document(&mut systems, "Target", target.identity.as_str(), "");
            writeln!(systems, "spec: {{ kind: memory, system: {} }}", target.identity).expect(STRING);
        }
        let mut scopes = String::new();
        let stores: Vec<_> = universe.stores.iter().map(StoreName::as_str).collect();
        let targets: Vec<_> =
            universe.targets[..universe.grounds].iter().map(|target| target.identity.as_str()).collect();
        for scope in universe.apps.iter().map(|app| &app.scope).collect::<BTreeSet<_>>() {
            document(&mut scopes, "Scope", scope.as_str(), "");
            let (stores, targets) = (stores.join(", "), targets.join(", "));
            writeln!(scopes, "spec: {{ stores: [{stores}], targets: [{targets}] }}").expect(STRING);
        }
        let apps = universe.apps.iter().enumerate().map(|(n, app)| (app.clone(), app_text(universe, n))).collect();
        let windows = universe.apps.iter().map(|app| (app.clone(), windows_text(universe, app))).collect();
        Self { systems, scopes, apps, windows }
    }

    /// Returns all files of a commit.
    pub fn tree(&self, contents: &Contents) -> MemoryTree {
        let mut files = vec![("README.md".to_owned(), format!("remark {}\n", contents.remark))];
        for (app, folder) in &contents.folders {
            let path = path_of(app, contents.place_of(app));
            files.push((format!("{path}/README.md"), "things\n".to_owned()));
            files.push((format!("{path}/things.yaml"), folder_text(folder)));
        }
        if let Some(documents) = &contents.documents {
            self.add_documents(documents, &mut files);
        }
        MemoryTree::of(files.iter().map(|(path, text)| (path.as_str(), text.as_str())))
    }

    fn add_documents(&self, documents: &Documents, files: &mut Vec<(String, String)>) {
        let mut add = |name: &str, text: String| files.push((format!("{CONTROL_FOLDER}/{name}"), text));
        add("README.md", "control documents\n".to_owned());
        if documents.flaw == Some(Flaw::Emptied) {
            return;
        }
        add("systems.yaml", self.systems.clone());
        if documents.flaw != Some(Flaw::NoScopes) {
            add("scopes.yaml", self.scopes.clone());
        }
        for (app, document) in &documents.apps {
            let AppDocument { folder, place, retire } = document;
            let path = path_of(folder, *place);
            let windows = if documents.windows { self.windows[app].as_str() } else { "" };
            let text = self.apps[app].replace("PATH", &path).replace("RETIRE", &retire.to_string());
            let text = text.replace("WINDOWS", windows);
            add(&format!("{}.yaml", app.name), text);
        }
        match documents.flaw {
            Some(Flaw::UnknownField) => {
                add("flaw.yaml", stray_app("web", "target-0", "  preserveResources: true\n"));
            }
            Some(Flaw::NotYaml) => add("flaw.yaml", "kind: [\n".to_owned()),
            Some(Flaw::ForeignTarget) => add("flaw.yaml", stray_app("web", "vault", "")),
            Some(Flaw::PosesAsEngine) => add("flaw.yaml", stray_app(ROOT_SCOPE, "target-0", "")),
            Some(Flaw::Emptied | Flaw::NoScopes) | None => {}
        }
    }
}

const STRING: &str = "writing to a String cannot fail";

fn document(text: &mut String, kind: &str, name: &str, scope: &str) {
    writeln!(text, "---\napiVersion: setpoint.dev/v1\nkind: {kind}\nmetadata: {{ name: {name}{scope} }}")
        .expect(STRING);
}

fn app_text(universe: &Universe, n: usize) -> String {
    let app = &universe.apps[n];
    let control = &universe.controls.apps[app];
    let mode = match control.mode {
        Mode::Auto => "auto",
        Mode::Manual => "manual",
        Mode::Observe => "observe",
    };
    let on_failure = match control.on_failure {
        OnFailure::Rollback => "rollback",
        OnFailure::Hold => "hold",
        OnFailure::Alert => "alert",
    };
    let (store, target) = (&universe.stores[universe.store_of(n)], &universe.targets[universe.target_of(n)].identity);
    let mut text = String::new();
    document(&mut text, "App", app.name.as_str(), &format!(", scope: {}", app.scope));
    let sync = format!("{{ mode: {mode}, adopt: {}, deadline: 6mWINDOWS }}", control.rules.adopt);
    write!(
        text,
        "spec:\n  component: {name}\n  environment: simulation\n  inputs: [{{ name: main, store: {store}, path: PATH }}]\n  \
         target: {target}\n  sync: {sync}\n  onFailure: {on_failure}\n  retire: RETIRE\n",
        name = app.name,
    )
    .expect(STRING);
    text
}

/// Writes the windows of an app, as one more field of its `sync`. They recur daily, and no run
/// lasts so long.
fn windows_text(universe: &Universe, app: &AppId) -> String {
    let mut text = String::new();
    for (from, until) in &universe.controls.apps[app].closed {
        let (minute, minutes) = (from.as_millis() / 60_000, until.since(*from).as_millis() / 60_000);
        let (hour, minute) = (minute / 60 % 24, minute % 60);
        write!(text, ", windows: [{{ deny: '{minute} {hour} * * *', for: {minutes}m }}]").expect(STRING);
    }
    text
}

/// Writes an app that no honest author declares.
fn stray_app(scope: &str, target: &str, more: &str) -> String {
    let mut text = String::new();
    document(&mut text, "App", "stray", &format!(", scope: {scope}"));
    let path = path_of(&"web/app-0".parse().expect("a plain name"), 0);
    write!(
        text,
        "spec:\n  component: stray\n  environment: simulation\n  inputs: [{{ name: main, store: {BOOTSTRAP_STORE}, path: {path} }}]\n  \
         target: {target}\n{more}"
    )
    .expect(STRING);
    text
}

fn path_of(app: &AppId, place: u32) -> String {
    format!("apps/{}-{place}", app.name)
}

fn folder_text(folder: &Folder) -> String {
    let Folder::Declares(declared) = folder else { return "kind: [\n".to_owned() };
    let mut text = String::new();
    for (key, content) in declared {
        let (api_version, kind) = kind_of(key);
        writeln!(
            text,
            "---\napiVersion: {api_version}\nkind: {kind}\nmetadata: {{ name: {} }}\nspec: {{ content: {content} }}",
            key.name()
        )
        .expect(STRING);
    }
    text
}

/// Returns the kind of a key. Every key with a number that ends in 7 has a kind whose deletion
/// would delete other objects too.
fn kind_of(key: &Key) -> (&'static str, &'static str) {
    if key.name().ends_with('7') { ("v1", "Namespace") } else { ("sim/v1", "Thing") }
}

/// Returns a declared object.
pub fn body(key: &Key, content: u32) -> Value {
    let (api_version, kind) = kind_of(key);
    Value::map([
        ("apiVersion", Value::str(api_version)),
        ("kind", Value::str(kind)),
        ("metadata", Value::map([("name", Value::str(key.name()))])),
        ("spec", Value::map([("content", Value::int(content.into()))])),
    ])
}

/// Returns the bundle that a directory is intended to give: the accept plane must render an equal
/// one.
pub fn bundle(app: &AppId, target: &TargetIdentity, declared: &Declared) -> Bundle {
    let resource = |(key, content): (&Key, &u32)| {
        let (api_version, kind) = kind_of(key);
        Resource {
            after: comes_before(key).into_iter().filter(|before| declared.contains_key(before)).collect(),
            protected: is_protected(kind),
            ..Resource::new(key.clone(), api_version, kind, body(key, *content))
        }
    };
    Bundle::new(app.clone(), target.clone(), declared.iter().map(resource).collect())
        .expect("directories declare each key once and no cycles")
}

/// The kinds that the simulated targets know.
#[derive(Debug)]
pub struct Things;

impl Kinds for Things {
    fn check(&self, _: &str, _: &str, _: &Value) -> Vec<FieldProblem> {
        Vec::new()
    }

    fn key(&self, _: &str, _: &str, body: &Value) -> Result<Key, Unidentifiable> {
        let name = body.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Value::as_str);
        let problem = |text: String| Unidentifiable { problem: text };
        let name = name.ok_or_else(|| problem("`metadata.name` is missing".to_owned()))?;
        Key::new("thing", "", name).map_err(|bad| problem(bad.to_string()))
    }

    fn after(&self, declared: &[(Key, &Value)]) -> BTreeMap<Key, BTreeSet<Key>> {
        after_implied(declared, comes_before)
    }

    fn is_protected(&self, _: &str, kind: &str) -> bool {
        is_protected(kind)
    }
}

fn is_protected(kind: &str) -> bool {
    kind == "Namespace"
}

/// Returns the key before this one: key 3k + 2 comes after key 3k + 1.
fn comes_before(key: &Key) -> Vec<Key> {
    let Some((stem, number)) = key.name().rsplit_once('-') else { return Vec::new() };
    let before = number.parse::<u32>().ok().filter(|number| number % 3 == 2).map(|number| number - 1);
    before.and_then(|before| Key::new("thing", "", &format!("{stem}-{before}")).ok()).into_iter().collect()
}
