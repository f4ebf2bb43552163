//! One integration test binary per crate, and no test file next to it that is never compiled.
//!
//! Each binary links everything again, so a crate has one: `tests/main.rs`, with `autotests =
//! false` and one `[[test]]` in the manifest as soon as there are files next to it. The price is
//! that a file without a `mod` declaration is silently dead; this check takes that price away.

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

/// Groups the sources by the `tests` directory of their crate.
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
    let binaries = binaries(tests, texts, manifest);
    let [root] = binaries.as_slice() else {
        return vec![format!(
            "{} makes {} integration binaries, a crate has one; declare its files as modules of main.rs there, with \
             `autotests = false` and one [[test]] in the manifest",
            tests.display(),
            binaries.len()
        )];
    };
    let compiled = compiled(root, texts);
    let dead = texts.keys().filter(|file| !compiled.contains(*file));
    dead.map(|file| format!("{} is never compiled; declare it with `mod` below {}", file.display(), root.display()))
        .collect()
}

/// Returns the files from which cargo builds a test binary, by its own rules.
fn binaries<'a>(tests: &Path, texts: &'a BTreeMap<PathBuf, String>, manifest: &str) -> Vec<&'a PathBuf> {
    let discovers = !manifest.contains("autotests = false");
    let is_discovered = |file: &Path| {
        let folder = file.parent();
        folder == Some(tests) || file.ends_with("main.rs") && folder.and_then(Path::parent) == Some(tests)
    };
    let is_declared = |file: &Path| {
        let below = file.strip_prefix(tests).unwrap_or(file);
        manifest.contains(&format!("path = \"tests/{}\"", below.display()))
    };
    texts.keys().filter(|file| is_declared(file) || discovers && is_discovered(file)).collect()
}

/// Returns the files that are reached from the root by `mod name;`.
fn compiled(root: &Path, texts: &BTreeMap<PathBuf, String>) -> BTreeSet<PathBuf> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![root.to_path_buf()];
    while let Some(file) = waiting.pop() {
        let Some(text) = texts.get(&file) else {
            continue;
        };
        // The modules of a binary's root and of a mod.rs are next to it, those of any other file in
        // a directory of its name.
        let folder = match file.parent() {
            Some(parent) if file == root || file.ends_with("mod.rs") => parent.to_path_buf(),
            _ => file.with_extension(""),
        };
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

    const ONE_BINARY: &str = "autotests = false\n[[test]]\nname = \"main\"\npath = \"tests/main.rs\"\n";

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
        let complaints = check(&files, ONE_BINARY);
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
    fn a_file_beside_the_root_is_a_binary_of_its_own_unless_the_manifest_says_otherwise() {
        let files = [("crates/a/tests/main.rs", "mod plans;"), ("crates/a/tests/plans.rs", "")];
        assert!(check(&files, "")[0].contains("makes 2 integration binaries"));
        assert_eq!(check(&files, ONE_BINARY), Complaints::new());
    }

    #[test]
    fn a_single_file_is_a_binary_under_any_name() {
        assert_eq!(check(&[("crates/a/tests/plans.rs", "")], ""), Complaints::new());
    }

    #[test]
    fn tests_that_no_binary_contains_are_told() {
        let complaints = check(&[("crates/a/tests/plans.rs", "")], "autotests = false");
        assert!(complaints[0].contains("makes 0 integration binaries"), "{complaints:?}");
    }

    #[test]
    fn unit_tests_below_src_are_no_integration_tests() {
        assert!(by_folder(vec![PathBuf::from("crates/a/src/tests/x.rs")]).is_empty());
    }
}
