//! The input and the result of a render.

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

/// The reads of each store.
pub type ReadSets = BTreeMap<StoreName, ReadSet>;

/// A check that knows the kind of a resource: gets `apiVersion`, `kind` and the whole object, and
/// returns its problems.
pub type CheckKind<'a> = &'a dyn Fn(&str, &str, &Value) -> Vec<FieldProblem>;

/// A directory of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub store: StoreName,
    pub path: StorePath,
}

/// The options for kustomizations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kustomize {
    /// Requires files to be in the directory of the kustomization that names them, or below it.
    pub is_restricted: bool,
    /// Leaves `${NAME}` unchanged where no parameter has that name, instead of refusing it.
    pub keeps_undeclared: bool,
    /// The remote bases that kustomizations may name.
    pub bases: Vec<RemoteBase>,
    /// The digest of the program that renders them instead of Setpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<String>,
    /// The digest of a program that also renders them, for comparison. It does not affect the
    /// result, but the first comparison is due when it is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<String>,
}

impl Default for Kustomize {
    fn default() -> Self {
        Self { is_restricted: true, keeps_undeclared: false, bases: Vec::new(), external: None, shadow: None }
    }
}

/// A store that replaces the target of a URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RemoteBase {
    pub store: StoreName,
    /// The URL of its repository.
    pub url: String,
    /// The directory of the repository that is the store's root; `None` if it is the repository's
    /// root.
    pub folder: Option<String>,
    /// The references that a base may name for this version: the branch or tag, and the commit that
    /// it is pinned to.
    pub references: Vec<String>,
}

/// All inputs of a render.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub inputs: &'a [Input],
    /// A map with the values of `${NAME}` in kustomizations.
    pub parameters: &'a Value,
    pub kustomize: &'a Kustomize,
    pub trees: &'a Trees,
    pub check: CheckKind<'a>,
    /// The runner of other programs, if there is one.
    pub external: Option<&'a dyn External>,
    pub limits: Limits,
    /// Set once no caller waits for the render any more. It does not affect the result.
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

/// The limits of a render's input and output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest file that is read, in bytes.
    pub file_bytes: usize,
    pub objects: usize,
    /// The largest object before content is inserted, in bytes of its canonical form. Content from
    /// files does not count.
    pub object_bytes: usize,
    /// All objects together, including content from files.
    pub rendered_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 8 << 20, objects: 20_000, object_bytes: 1_500_000, rendered_bytes: 50 << 20 }
    }
}

/// The declarations of a revision, and the read files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// In the order of files and documents. An empty list is a statement about the revision, not a
    /// failure.
    pub resources: Vec<RenderedResource>,
    pub reads: ReadSets,
    /// Hints about things that are not mistakes, with file, and line if there is one.
    pub warnings: Vec<String>,
}

/// One declared object, before a target has determined its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedResource {
    pub api_version: Arc<str>,
    pub kind: Arc<str>,
    /// The whole object.
    pub body: Value,
    pub place: Place,
}

/// The reason why a render failed. It never means that nothing is declared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRendered {
    /// The declaration has mistakes, all of them listed. They remain until a store moves.
    #[error("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Refused { problems: Vec<Problem> },
    /// A store could not be read. A later try may succeed.
    #[error("the app's stores could not be read")]
    Failed {
        #[from]
        source: StoreError,
    },
    /// The other program that should render could not be run. A later try may succeed.
    #[error("{what}")]
    Unavailable { what: String },
    /// Stopped by [`Request::stop`].
    #[error("it was stopped before it was done")]
    Stopped,
}

impl From<Vec<Problem>> for NotRendered {
    fn from(problems: Vec<Problem>) -> Self {
        Self::Refused { problems }
    }
}
