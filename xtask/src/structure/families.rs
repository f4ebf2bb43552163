//! The engine and core know no family of targets by name: each is one crate, and a new one is added
//! without a change to them.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context;

use super::Complaints;
use super::files::{directories_in, sources};
use crate::process;

/// The crates that decide, which must treat all families alike.
const DECIDING: [&str; 2] = ["crates/engine/src", "crates/core/src"];

/// Words for a family beyond the name of its crate.
const OTHER_WORDS: [&str; 1] = ["kubernetes"];

pub(super) fn engine_and_core_name_no_family() -> anyhow::Result<Complaints> {
    let families = families(&directories_in(Path::new("crates"))?);
    anyhow::ensure!(families.len() > OTHER_WORDS.len(), "found no crate of a family");
    let mut complaints = Complaints::new();
    for file in sources()? {
        let is_test = file.iter().any(|part| part == "tests" || part == "tests.rs");
        if is_test || !DECIDING.iter().any(|directory| file.starts_with(directory)) {
            continue;
        }
        let text = std::fs::read_to_string(process::root().join(&file))
            .with_context(|| format!("cannot read {}", file.display()))?;
        complaints.extend(named(&text, &families).into_iter().map(|(line, word)| {
            format!(
                "{}:{line} names the family `{word}`; ask the `Family` of the target instead, in crates/target",
                file.display()
            )
        }));
    }
    Ok(complaints)
}

/// Returns the words for families: the rest of the names of `crates/target-…`.
fn families(crates: &[impl AsRef<Path>]) -> BTreeSet<String> {
    let names = crates.iter().filter_map(|path| path.as_ref().file_name()?.to_str());
    let families = names.filter_map(|name| name.strip_prefix("target-"));
    families.chain(OTHER_WORDS).map(ToOwned::to_owned).collect()
}

/// Returns the lines of code that contain a word for a family. Comments may give examples, and
/// tests may use any.
fn named(text: &str, families: &BTreeSet<String>) -> Vec<(usize, String)> {
    let code = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    let code = code.enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.flat_map(|(n, line)| words(line).into_iter().map(move |word| (n + 1, word)))
        .filter(|(_, word)| families.contains(word))
        .collect()
}

/// Splits a line into lower-case words, also at underscores and inside of `CamelCase`.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in line.chars() {
        if !c.is_ascii_alphabetic() || c.is_ascii_uppercase() {
            words.push(String::new());
        }
        if c.is_ascii_alphabetic() {
            words.last_mut().expect("there is always one").push(c.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named_in(text: &str) -> Vec<(usize, String)> {
        named(text, &families(&["crates/target", "crates/target-host", "crates/target-kube"]))
    }

    #[test]
    fn a_family_is_found_in_paths_types_and_texts() {
        for line in ["use setpoint_kube::key;", "Family::Host => 1,", "\"host-\"", "\"on Kubernetes only\""] {
            assert_eq!(named_in(line).len(), 1, "{line}");
        }
        assert_eq!(named_in("\nlet kube = 1;"), [(2, "kube".to_owned())]);
    }

    #[test]
    fn comments_tests_and_other_words_are_free() {
        for line in ["// a host, for example", "let ghost = hosted;", "use setpoint_target::Family;"] {
            assert_eq!(named_in(line), [], "{line}");
        }
        assert_eq!(named_in("#[cfg(test)]\nlet host = 1;"), []);
    }
}
