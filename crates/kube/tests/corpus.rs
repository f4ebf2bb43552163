//! Access to the test cases of other projects, and reports about them.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use setpoint_core::value::Value;
use setpoint_yaml::{Class, Dialect, Source, parse};

/// Returns the directory that an environment variable names. Without the variable, the test reports
/// what it leaves out. A missing directory is an error.
#[expect(
    clippy::disallowed_methods,
    reason = "the only place where a run configures the directories of other projects' cases"
)]
pub(crate) fn folder(variable: &str, holds: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os(variable).map(PathBuf::from) else {
        tell(&format!("not checked: {holds}; set {variable} to a clone of that repository"));
        return None;
    };
    assert!(folder.is_dir(), "{variable} names {}, which is not a directory", folder.display());
    Some(folder)
}

/// Writes a line also when the test passes: the test harness hides printed text, but not text
/// written to standard error.
pub(crate) fn tell(text: &str) {
    writeln!(std::io::stderr(), "{text}").expect("standard error can be written to");
}

pub(crate) fn text(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Reads the first document of a text. Go's readers take the last of two equal keys, where ours
/// refuses both: the first one is removed.
pub(crate) fn read(name: &str, text: &str) -> Value {
    let mut text = text.to_owned();
    loop {
        let problem = match parse(Source::new(name, &text)) {
            Ok(documents) => {
                let document = documents.first().unwrap_or_else(|| panic!("{name} holds no document"));
                return setpoint_documents::read_value(document.root(), Dialect::GoYamlV2)
                    .unwrap_or_else(|problems| panic!("{name}: {problems}"));
            }
            Err(problems) => problems,
        };
        let twice = problem.iter().find(|diagnostic| diagnostic.class == Class::Duplicate);
        let Some(twice) = twice else { panic!("{name}: {problem}") };
        let line = twice.place.line as usize;
        text = text.lines().enumerate().filter(|(n, _)| n + 1 != line).map(|(_, line)| format!("{line}\n")).collect();
    }
}
