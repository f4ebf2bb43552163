//! Folders of our own making, with what kustomize makes of them; `record/builds` says how they are written and recorded.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_kustomize::build::{BadBuild, Options, build};
use setpoint_kustomize::files::{FileError, Files};

const CASES: &str = include_str!("builds.txt");

#[derive(Default)]
struct Case {
    name: String,
    files: BTreeMap<String, String>,
    /// `None` where kustomize refuses.
    expected: Option<String>,
}

impl Files for Case {
    fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
        match self.files.get(path) {
            Some(text) => Ok(text.as_bytes().into()),
            None => Err(FileError::Missing { path: path.to_owned() }),
        }
    }
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut file = None;
    for line in CASES.lines() {
        if let Some(name) = line.strip_prefix("=== ") {
            cases.push(Case { name: name.to_owned(), ..Case::default() });
            continue;
        }
        let case = cases.last_mut().expect("a case has a name first");
        match (line.strip_prefix("--- "), line) {
            (Some(path), _) => file = Some(path.to_owned()),
            (_, ">>>") => (file, case.expected) = (None, Some(String::new())),
            (_, ">>> refused") => file = None,
            _ => {
                let own = file.as_ref().map(|file| case.files.entry(file.clone()).or_default());
                let text = own.or(case.expected.as_mut()).expect("a line of a file, or of what is expected");
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    cases
}

#[test]
fn what_is_built_is_what_kustomize_builds() {
    let cases = cases();
    assert!(cases.len() >= 10, "{} cases", cases.len());
    for case in cases {
        let built = build(&case, "app", &Options::default()).and_then(|built| built.to_yaml());
        match (&case.expected, built) {
            (Some(expected), Ok(output)) => assert_eq!(output, *expected, "{}", case.name),
            (None, Err(_)) => {}
            (_, Ok(output)) => panic!("{} is refused by kustomize, but not here: {output}", case.name),
            (_, Err(BadBuild { message, .. })) => panic!("{}: {message}", case.name),
        }
    }
}
