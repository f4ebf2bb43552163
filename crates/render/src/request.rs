//! What is rendered, and what comes of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use setpoint_core::name::StoreName;
use setpoint_core::value::Value;
use setpoint_documents::FieldProblem;
use setpoint_store::{ReadSet, StoreError, StorePath, Tree};
use setpoint_yaml::Place;

use crate::external::External;
use crate::problem::Problem;

/// One version of each store.
pub type Trees = BTreeMap<StoreName, Arc<dyn Tree>>;

/// What was read of each store.
pub type ReadSets = BTreeMap<StoreName, ReadSet>;

/// What is wrong with a resource, by who knows its kind: `apiVersion`, `kind` and the whole object.
pub type CheckKind<'a> = &'a dyn Fn(&str, &str, &Value) -> Vec<FieldProblem>;

/// A folder of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub store: StoreName,
    pub path: StorePath,
}

/// How kustomizations are rendered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kustomize {
    /// Files have to be in the folder of the kustomization that names them, or below it.
    pub is_restricted: bool,
    /// `${NAME}` that no parameter has stays as it is written, instead of being refused.
    pub keeps_undeclared: bool,
    /// What may be named as a remote base.
    pub bases: Vec<RemoteBase>,
    /// The digest of the program that renders them in our place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<String>,
    /// The digest of a program that renders them, too, for whoever compares. It has no say, but the
    /// first comparison is due when it is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<String>,
}

impl Default for Kustomize {
    fn default() -> Self {
        Self { is_restricted: true, keeps_undeclared: false, bases: Vec::new(), external: None, shadow: None }
    }
}

/// A store that stands for what an URL leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RemoteBase {
    pub store: StoreName,
    /// Of its repository.
    pub url: String,
    /// The folder of the repository that is the root of the store, unless it is the repository's.
    pub folder: Option<String>,
    /// What a base may say to mean its version: the branch or tag, and the commit that it is pinned
    /// to.
    pub references: Vec<String>,
}

/// Everything a render depends on.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub inputs: &'a [Input],
    /// A map: what `${NAME}` in kustomizations stands for.
    pub parameters: &'a Value,
    pub kustomize: &'a Kustomize,
    pub trees: &'a Trees,
    pub check: CheckKind<'a>,
    /// Who runs other programs, if anybody does.
    pub external: Option<&'a dyn External>,
    pub limits: Limits,
    /// Set once nobody waits for it any more. What is rendered does not depend on it.
    pub stop: Option<&'a Arc<AtomicBool>>,
}

impl Request<'_> {
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

impl std::fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("inputs", &self.inputs).field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// How much one render may read and give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest file that is read, in bytes.
    pub file_bytes: usize,
    pub objects: usize,
    /// The largest object as it is written, in bytes of its canonical form. Content taken from a
    /// file does not count.
    pub object_bytes: usize,
    /// All objects together, with content taken from files.
    pub rendered_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 8 << 20, objects: 20_000, object_bytes: 1_500_000, rendered_bytes: 50 << 20 }
    }
}

/// What a revision declares, and what that was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// In the order of files and documents. May be empty: that is a statement about the revision,
    /// not a failure.
    pub resources: Vec<RenderedResource>,
    pub reads: ReadSets,
    /// What is not wrong, and should be known: by file, and line where there is one.
    pub warnings: Vec<String>,
}

/// One declared object, before a target has said what its key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedResource {
    pub api_version: Arc<str>,
    pub kind: Arc<str>,
    /// The whole object.
    pub body: Value,
    pub place: Place,
}

/// Why there is no render. Neither means that nothing is declared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRendered {
    /// The declaration is wrong, all of it told; it will be wrong the same way until a store moves.
    #[error("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Refused { problems: Vec<Problem> },
    /// A store could not be read. Later it may be.
    #[error("the app's stores could not be read")]
    Failed {
        #[from]
        source: StoreError,
    },
    /// Another program was to render it, and could not be run. Later it may be.
    #[error("{what}")]
    Unavailable { what: String },
    /// By [`Request::stop`].
    #[error("it was stopped before it was done")]
    Stopped,
}

impl From<Vec<Problem>> for NotRendered {
    fn from(problems: Vec<Problem>) -> Self {
        Self::Refused { problems }
    }
}
