//! Inputs that somebody made to do harm: each is refused by what it is, where it is and what to do,
//! or built as it says, and none takes long or much. The numbers are those of the project's list of
//! bad input. What only a tree of a store can do (links) is tried in `setpoint-render`, what only a
//! program can do (`case_80`) in `setpoint-render-external`, and what a reader of YAML does alone
//! in `setpoint-yaml`.
//!
//! - [`input`]: what is written wrongly, or leads where it may not. [`limits`]: what is too much.
//!   [`secrets`]: what is never told.

mod input;
mod limits;
mod secrets;

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_kustomize::build::{BadBuild, Options, build};
use setpoint_kustomize::files::{FileError, Files};
use setpoint_kustomize::limits::{Limit, Limits};

#[derive(Default)]
pub(crate) struct Tree(pub(crate) BTreeMap<String, Vec<u8>>);

impl Files for Tree {
    fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
        if let Some(bytes) = self.0.get(path) {
            return Ok(bytes.as_slice().into());
        }
        let below = format!("{path}/");
        let is_folder = self.0.range(below.clone()..).next().is_some_and(|(file, _)| file.starts_with(&below));
        let path = path.to_owned();
        Err(if is_folder { FileError::Folder { path } } else { FileError::Missing { path } })
    }
}

pub(crate) fn tree<T: AsRef<[u8]>>(files: &[(&str, T)]) -> Tree {
    Tree(files.iter().map(|(path, text)| ((*path).to_owned(), text.as_ref().to_vec())).collect())
}

pub(crate) fn built_with(files: &Tree, limits: Limits) -> Result<String, BadBuild> {
    let built = build(files, "app", &Options { limits, ..Options::default() })?;
    built.to_yaml()
}

pub(crate) fn built<T: AsRef<[u8]>>(files: &[(&str, T)]) -> String {
    built_with(&tree(files), DEFAULT).expect("it is built")
}

pub(crate) fn refused<T: AsRef<[u8]>>(files: &[(&str, T)]) -> BadBuild {
    built_with(&tree(files), DEFAULT).expect_err("it is refused")
}

/// The same files are refused with the same words, whenever they are built.
#[track_caller]
pub(crate) fn limited<T: AsRef<[u8]>>(files: &[(&str, T)], limits: Limits, limit: Limit, place: &str) -> String {
    let bad = built_with(&tree(files), limits).expect_err("it is too much");
    let shown = bad.to_string();
    assert_eq!(bad.limit(), Some(limit), "{shown}");
    assert!(shown.starts_with(place), "{shown}");
    assert_eq!(built_with(&tree(files), limits).expect_err("it is too much again"), bad);
    shown
}

pub(crate) const DEFAULT: Limits = Limits::DEFAULT;
pub(crate) const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n";
pub(crate) const ONE: &str = "resources: [a.yaml]\n";

pub(crate) fn maps(count: usize) -> String {
    (0..count).map(|at| format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{at}}}\n")).collect()
}

/// A kustomization of one resource, with more in it.
pub(crate) fn with(more: &str) -> [(&'static str, String); 2] {
    [("app/kustomization.yaml", format!("{ONE}{more}")), ("app/a.yaml", MAP.to_owned())]
}
