//! The bootstrap document: the only one outside a store. It declares the location of all others.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use setpoint_core::digest::Digest;
use setpoint_core::name::{AppId, AppName, Scope, StoreName, TargetIdentity};
use setpoint_core::snapshot::Rules;
use setpoint_core::time::Span;
use setpoint_documents::{BootstrapSpec, Reference, Spec, read_documents};
use setpoint_engine::accept::reading::ROOT_SCOPE;
use setpoint_engine::accept::repository;
use setpoint_engine::{AppControl, Controls, Mode, OnFailure, StoreControl};
use setpoint_ledger::anchor::AnchorFile;

use crate::families::families;

/// The bootstrap document, and the names of the app and the store that it declares.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    pub spec: BootstrapSpec,
    /// The file it was read from.
    pub path: PathBuf,
}

/// The reason why the bootstrap document cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    #[error("cannot read the bootstrap document {}: set its path with `--config`, or create one with `setpoint init`", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("the bootstrap document is refused:\n{problems}")]
    Refused { problems: String },
    #[error("{} contains {found}: write exactly one document of the kind Bootstrap", path.display())]
    NotOne { path: PathBuf, found: String },
}

impl Bootstrap {
    pub fn read(path: &Path) -> Result<Self, BootstrapError> {
        let text = fs::read_to_string(path).map_err(|source| BootstrapError::Io { path: path.to_owned(), source })?;
        let refused = |problems: setpoint_yaml::Diagnostics| BootstrapError::Refused { problems: problems.to_string() };
        let mut documents =
            read_documents(&path.display().to_string(), &text, families(None).kinds()).map_err(refused)?;
        let not_one = |found: String| BootstrapError::NotOne { path: path.to_owned(), found };
        match (documents.pop(), documents.len()) {
            (Some(document), 0) => match document.spec {
                Spec::Bootstrap(spec) => Ok(Self { spec: *spec, path: path.to_owned() }),
                other => Err(not_one(format!("a document of the kind {}", other.kind()))),
            },
            (None, _) => Err(not_one("no document".to_owned())),
            (Some(_), more) => Err(not_one(format!("{} documents", more + 1))),
        }
    }

    /// Returns the anchor of the ledger.
    pub fn anchor(&self) -> Option<AnchorFile> {
        self.spec.anchor.as_ref().map(|anchor| AnchorFile::new(anchor.file.as_str()))
    }

    /// Returns the app whose resources are the control documents.
    pub fn root() -> AppId {
        let scope = Scope::new(ROOT_SCOPE).expect("the root's scope is a valid name");
        AppId::new(scope, AppName::new("root").expect("a plain name"))
    }

    /// Returns the target of the root app: the engine itself.
    pub fn engine() -> TargetIdentity {
        TargetIdentity::new("engine").expect("a plain identity")
    }

    /// Returns the store with the control documents. Apps may use it too.
    pub fn store() -> StoreName {
        StoreName::new(setpoint_engine::accept::BOOTSTRAP_STORE).expect("a plain name")
    }

    /// Adds the root app and its store to controls. Controls come from documents and never contain
    /// these two.
    pub fn govern(&self, controls: &mut Controls, of: Option<Digest>) {
        let control = AppControl {
            document: Digest::of(format!("{:?}", self.spec).as_bytes()),
            target: Self::engine(),
            stores: [Self::store()].into(),
            rules: Rules::default(),
            acting_as: None,
            mode: Mode::Auto,
            retire: false,
            depends_on: Default::default(),
            closed: Vec::new(),
            deadline: Span::minutes(10),
            on_failure: OnFailure::Alert,
            renders_apart: false,
        };
        controls.root = Some(Self::root());
        controls.of = of;
        controls.apps.insert(Self::root(), Arc::new(control));
        let store = &self.spec.store;
        let way_in = (&store.credentials_from, &store.known_hosts, &store.authorities, false);
        let repository = repository(store.url.as_str(), &Reference::Branch(store.branch.clone()), None, way_in);
        controls.stores.insert(Self::store(), StoreControl { interval: store.interval.span(), repository });
    }
}
