//! A store `main` with a directory `app` that is rendered.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use setpoint_core::fields::Fields;
use setpoint_core::name::StoreName;
use setpoint_core::value::Value;
use setpoint_documents::FieldProblem;
use setpoint_render::{Input, Kustomize, Limits, NotRendered, Rendered, Request, Trees, render};
use setpoint_store::{Blob, EntryId, Listing, MemoryTree, StoreError, StorePath, Tree};

pub(crate) fn store(name: &str) -> StoreName {
    StoreName::new(name).expect("a name of the test")
}

pub(crate) fn path(text: &str) -> StorePath {
    StorePath::new(text).expect("a path of the test")
}

pub(crate) fn object(kind: &str, name: &str) -> String {
    format!("apiVersion: v1\nkind: {kind}\nmetadata: {{ name: {name} }}\n")
}

/// A check of kinds that knows that there is no `Wrong`.
fn check(_: &str, kind: &str, _: &Value) -> Vec<FieldProblem> {
    if kind == "Wrong" { vec![FieldProblem::new("kind", "there is no such kind", "remove it")] } else { Vec::new() }
}

pub(crate) fn render_with(tree: impl Tree + 'static, limits: Limits) -> Result<Rendered, NotRendered> {
    rendered(tree, &["app"], limits)
}

pub(crate) fn render_inputs(tree: impl Tree + 'static, folders: &[&str]) -> Result<Rendered, NotRendered> {
    rendered(tree, folders, Limits::default())
}

fn rendered(tree: impl Tree + 'static, folders: &[&str], limits: Limits) -> Result<Rendered, NotRendered> {
    let parameters = Value::Map(Fields::new());
    let trees: Trees = BTreeMap::from([(store("main"), Arc::new(tree) as Arc<dyn Tree>)]);
    requested(&trees, folders, &parameters, &Kustomize::default(), limits)
}

/// Renders directories of the store `main` with parameters and options.
pub(crate) fn requested(
    trees: &Trees,
    folders: &[&str],
    parameters: &Value,
    kustomize: &Kustomize,
    limits: Limits,
) -> Result<Rendered, NotRendered> {
    let inputs: Vec<Input> = folders.iter().map(|folder| Input { store: store("main"), path: path(folder) }).collect();
    render(&Request {
        inputs: &inputs,
        parameters,
        kustomize,
        trees,
        check: &check,
        external: None,
        limits,
        stop: None,
    })
}

pub(crate) fn render_tree(tree: &MemoryTree) -> Result<Rendered, NotRendered> {
    render_with(tree.clone(), Limits::default())
}

pub(crate) fn render_files(files: &[(&str, &str)]) -> Result<Rendered, NotRendered> {
    render_tree(&MemoryTree::of(files.iter().copied()))
}

/// Returns the texts of all problems.
pub(crate) fn problems(outcome: Result<Rendered, NotRendered>) -> Vec<String> {
    match outcome {
        Err(NotRendered::Refused { problems }) => problems.iter().map(ToString::to_string).collect(),
        other => panic!("expected a refusal, not {other:?}"),
    }
}

/// Returns kind and name of every resource, in order.
pub(crate) fn names(rendered: &Rendered) -> Vec<String> {
    let name = |body: &Value| {
        body.get("metadata")
            .and_then(|m| m.get("name"))
            .and_then(Value::as_str)
            .expect("every resource has a name")
            .to_owned()
    };
    rendered.resources.iter().map(|resource| format!("{} {}", resource.kind, name(&resource.body))).collect()
}

/// A tree that reports each read to a function, which may return an error for it.
pub(crate) struct Watched<F>(pub(crate) MemoryTree, pub(crate) F);

impl<F> fmt::Debug for Watched<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<F: Fn(&StorePath) -> Result<(), StoreError> + Send + Sync> Tree for Watched<F> {
    fn read(&self, path: &StorePath) -> Result<Option<Blob>, StoreError> {
        self.1(path)?;
        self.0.read(path)
    }

    fn list(&self, path: &StorePath) -> Result<Option<Listing>, StoreError> {
        self.0.list(path)
    }

    fn id_at(&self, path: &StorePath) -> Result<Option<EntryId>, StoreError> {
        self.0.id_at(path)
    }

    fn real_path(&self, path: &StorePath) -> Result<Option<StorePath>, StoreError> {
        self.0.real_path(path)
    }
}

/// Returns a tree in which one file cannot be read.
pub(crate) fn torn(tree: MemoryTree, file: &'static str, error: &StoreError) -> impl Tree + use<> {
    let error = error.clone();
    Watched(tree, move |path: &StorePath| if path.as_str() == file { Err(error.clone()) } else { Ok(()) })
}
