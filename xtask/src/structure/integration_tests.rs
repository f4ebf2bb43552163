//! One integration test binary per crate, and no test file beside it that is never compiled.
//!
//! Each binary links everything again, so a crate has one: `tests/main.rs` (with `autotests = false`) or `tests/<name>/main.rs`.
//! The price is that a file nobody declares with `mod` is silently dead; this check takes that price away.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Complaints;
use super::files::sources;
use crate::process;

pub(super) fn no_integration_test_is_forgotten() -> anyhow::Result<Complaints> {
    let mut complaints = Complaints::new();
    for (tests, files) in by_folder(sources()?) {
        let mut texts = BTreeMap::new();
        for file in files {
            let text = std::fs::read_to_string(process::root().join(&file))
                .with_context(|| format!("cannot read {}", file.display()))?;
            texts.insert(file, text);
        }
        let manifest = tests.with_file_name("Cargo.toml");
        let manifest = std::fs::read_to_string(process::root().join(&manifest))
            .with_context(|| format!("cannot read {}", manifest.display()))?;
        complaints.extend(forgotten(&tests, &texts, &manifest));
    }
    Ok(complaints)
}

/// The sources below each `tests` folder of a crate.
fn by_folder(files: Vec<PathBuf>) -> BTreeMap<PathBuf, Vec<PathBuf>> {
    let mut folders: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for file in files {
        let folder =
            file.ancestors().find(|folder| folder.ends_with("tests") && !folder.iter().any(|part| part == "src"));
        if let Some(folder) = folder.map(Path::to_path_buf) {
            folders.entry(folder).or_default().push(file);
        }
    }
    folders
}

fn forgotten(tests: &Path, texts: &BTreeMap<PathBuf, String>, manifest: &str) -> Complaints {
    let is_root = |file: &&PathBuf| {
        file.ends_with("main.rs")
            && file.parent().is_some_and(|parent| parent == tests || parent.parent() == Some(tests))
    };
    let roots: Vec<&PathBuf> = texts.keys().filter(is_root).collect();
    let [root] = roots.as_slice() else {
        return vec![format!(
            "{} has {} files main.rs; a crate has one integration binary: move the tests below one main.rs as modules",
            tests.display(),
            roots.len()
        )];
    };
    let mut complaints = Complaints::new();
    let beside = texts.keys().filter(|file| file.parent() == Some(tests) && !file.ends_with("main.rs"));
    if beside.count() > 0 && !manifest.contains("autotests = false") {
        complaints.push(format!(
            "each file in {} becomes a binary of its own; write `autotests = false` and one [[test]] into the manifest",
            tests.display()
        ));
    }
    let compiled = compiled(root, texts);
    complaints.extend(
        texts.keys().filter(|file| !compiled.contains(*file)).map(|file| {
            format!("{} is never compiled; declare it with `mod` below {}", file.display(), root.display())
        }),
    );
    complaints
}

/// The files that are reached from the root by `mod name;`.
fn compiled(root: &Path, texts: &BTreeMap<PathBuf, String>) -> BTreeSet<PathBuf> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![root.to_path_buf()];
    while let Some(file) = waiting.pop() {
        let Some(text) = texts.get(&file) else { continue };
        let owns_its_folder = file.ends_with("main.rs") || file.ends_with("mod.rs");
        let folder =
            if owns_its_folder { file.parent().unwrap_or(root).to_path_buf() } else { file.with_extension("") };
        for name in modules(text) {
            waiting.push(folder.join(format!("{name}.rs")));
            waiting.push(folder.join(name).join("mod.rs"));
        }
        reached.insert(file);
    }
    reached
}

fn modules(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim();
        let line = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
        line.strip_prefix("mod ")?.strip_suffix(';')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], manifest: &str) -> Complaints {
        let texts = files.iter().map(|(file, text)| (PathBuf::from(file), (*text).to_owned())).collect();
        forgotten(Path::new("crates/a/tests"), &texts, manifest)
    }

    #[test]
    fn a_file_that_no_module_declares_is_named() {
        let files = [
            ("crates/a/tests/main.rs", "mod plans;\n// mod ledger;\n"),
            ("crates/a/tests/plans.rs", ""),
            ("crates/a/tests/ledger.rs", ""),
        ];
        let complaints = check(&files, "autotests = false");
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].starts_with("crates/a/tests/ledger.rs is never compiled"), "{complaints:?}");
    }

    #[test]
    fn modules_are_followed_into_folders() {
        let files = [
            ("crates/a/tests/all/main.rs", "mod plans;\nmod faults;\n"),
            ("crates/a/tests/all/plans.rs", "mod prune;\n"),
            ("crates/a/tests/all/plans/prune.rs", ""),
            ("crates/a/tests/all/faults/mod.rs", "pub(crate) mod disk;\n"),
            ("crates/a/tests/all/faults/disk.rs", ""),
        ];
        assert_eq!(check(&files, ""), Complaints::new());
    }

    #[test]
    fn files_beside_the_root_need_autotests_off() {
        let files = [("crates/a/tests/main.rs", "mod plans;"), ("crates/a/tests/plans.rs", "")];
        assert!(check(&files, "")[0].contains("autotests = false"));
    }

    #[test]
    fn two_binaries_are_one_too_many() {
        let files = [("crates/a/tests/x/main.rs", ""), ("crates/a/tests/y/main.rs", "")];
        assert!(check(&files, "")[0].contains("has 2 files main.rs"));
    }

    #[test]
    fn unit_tests_below_src_are_no_integration_tests() {
        assert!(by_folder(vec![PathBuf::from("crates/a/src/tests/x.rs")]).is_empty());
    }
}
