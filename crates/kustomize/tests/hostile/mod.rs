//! Hostile inputs: each is rejected with its reason, place and a hint, or built as written, and
//! none takes much time or memory. The numbers are those of the project's list of bad input. Cases
//! that need the tree of a store (links) are in `setpoint-render`, those that need a program
//! (`case_80`) in `setpoint-render-external`, and those of the YAML parser alone in
//! `setpoint-yaml`.
//!
//! - [`input`]: invalid inputs, and paths out of the allowed files. [`limits`]: excessive inputs.
//!   [`secrets`]: secrets in messages.

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

/// Checks that a build exceeds a limit. It must fail with the same words each time.
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

/// Returns a kustomization of one resource, with additional fields.
pub(crate) fn with(more: &str) -> [(&'static str, String); 2] {
    [("app/kustomization.yaml", format!("{ONE}{more}")), ("app/a.yaml", MAP.to_owned())]
}
