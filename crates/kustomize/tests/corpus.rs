//! Builds real overlays and the reference's own tests, and compares with the reference's results.
//! The corpus is a directory outside of the project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use setpoint_kustomize::build::{BadBuild, Options, build};
use setpoint_kustomize::files::{FileError, Files};
use setpoint_kustomize::order::Order;

use crate::refusals::About;

/// In its own tests, the reference treats the root as its own parent, unlike the root of a
/// repository. All files are therefore in a directory here, with a second copy next to it.
const ROOT: &str = "root";

struct Disk(PathBuf);

impl Files for Disk {
    fn real_folder(&self, path: &str) -> Result<String, FileError> {
        let is_below = Path::new(path).starts_with(ROOT);
        Ok(if is_below { path.to_owned() } else { format!("{ROOT}/{path}").trim_end_matches('/').to_owned() })
    }

    fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
        let full = self.0.join(path.strip_prefix(ROOT).unwrap_or(path).trim_start_matches('/'));
        if full.is_dir() {
            return Err(FileError::Folder { path: path.to_owned() });
        }
        std::fs::read(&full).map(Into::into).map_err(|_| FileError::Missing { path: path.to_owned() })
    }
}

/// Returns the directory that a variable names, or the one next to the project. If there is none,
/// prints that and returns `None`.
#[expect(clippy::disallowed_methods, clippy::print_stderr, reason = "the corpus is outside of the project")]
fn folder(variable: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let found = std::env::var_os(variable).map(PathBuf::from).or_else(|| beside.is_dir().then_some(beside));
    if found.is_none() {
        eprintln!("left out: the corpus of kustomize; set {variable} to its directory");
    }
    found
}

/// Returns the cases of a directory, each with its description.
fn cases(folder: &Path) -> Vec<(PathBuf, Value)> {
    let mut cases: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a directory of cases").map(|entry| entry.expect("a case").path()).collect();
    cases.sort();
    let described = |case: PathBuf| {
        let text = std::fs::read_to_string(case.join("case.json")).ok()?;
        Some((case, serde_json::from_str(&text).expect("a case says what it is")))
    };
    cases.into_iter().filter_map(described).collect()
}

fn output(root: &Path, case: &Value) -> Result<String, BadBuild> {
    let text = |field: &str| case[field].as_str().unwrap_or_default();
    let is_managed = case["managed_by_label"].as_bool() == Some(true);
    let options = Options {
        is_restricted: text("load_restrictions") != "LoadRestrictionsNone",
        order: if text("reorder") == "none" { Order::AsTheyCome } else { Order::legacy() },
        managed_by: is_managed.then(|| "kustomize-(devel)".into()),
        ..Options::default()
    };
    build(&Disk(root.to_owned()), text("target"), &options)?.to_yaml()
}

#[test]
fn real_overlays_are_rendered_as_by_kustomize() {
    let Some(corpus) = folder("SETPOINT_CORPUS") else { return };
    let cases = cases(&corpus.join("kustomize"));
    assert!(cases.len() >= 56, "{} cases", cases.len());
    for (root, case) in cases {
        let expected = std::fs::read_to_string(root.join("expected.yaml")).unwrap();
        let output = output(&root, &case).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
        assert_eq!(output, expected, "{}", root.display());
    }
}

#[test]
fn what_the_reference_tests_of_itself_is_rendered_or_refused_as_by_it() {
    let Some(corpus) = folder("SETPOINT_CORPUS") else { return };
    let (mut equal, mut refused, mut different) = (0, 0, Vec::new());
    for (root, case) in cases(&corpus.join("krusty")) {
        let output = output(&root.join("input"), &case);
        match (std::fs::read_to_string(root.join("expected.yaml")), output) {
            (Ok(expected), Ok(output)) if output == expected => equal += 1,
            (Err(_), Err(bad)) => {
                let theirs = case["error"].as_str().expect("a refused case has its error");
                let about = About::of(theirs).unwrap_or_else(|| panic!("the reason of `{theirs}` is not known here"));
                // In the reference's errors, paths are relative to the root of the tree.
                let ours = bad.to_string().replace(&format!("{ROOT}/"), "");
                match about.missing_in(&ours) {
                    missing if missing.is_empty() => refused += 1,
                    missing => different.push((root, format!("{ours} lacks {missing:?}"))),
                }
            }
            (_, output) => different.push((root, format!("{:?}", output.err()))),
        }
    }
    assert!(different.is_empty(), "{different:#?}");
    assert_eq!((equal, refused), (260, 36), "rendered and refused");
}
