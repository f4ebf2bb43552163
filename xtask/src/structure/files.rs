//! The requirements of every source file: a first line that describes its purpose, and a name that
//! does so too.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Complaints;
use crate::process;

/// Names that do not describe the content, and so end up holding everything.
const EMPTY_NAMES: [&str; 7] = ["utils", "util", "helpers", "helper", "common", "misc", "manager"];

pub(super) fn every_file_says_what_it_is_for() -> anyhow::Result<Complaints> {
    let mut complaints = Complaints::new();
    for file in sources()? {
        let text = std::fs::read_to_string(process::root().join(&file))
            .with_context(|| format!("cannot read {}", file.display()))?;
        if !says_what_it_is_for(&text) {
            complaints
                .push(format!("{} does not begin with `//!`; describe its purpose in the first line", file.display()));
        }
    }
    Ok(complaints)
}

fn says_what_it_is_for(text: &str) -> bool {
    text.lines().next().and_then(|line| line.strip_prefix("//!")).is_some_and(|purpose| !purpose.trim().is_empty())
}

pub(super) fn no_file_is_named_after_nothing() -> anyhow::Result<Complaints> {
    Ok(sources()?
        .iter()
        .filter(|file| is_named_after_nothing(file))
        .map(|file| format!("{} has a name without a meaning; name it after its content", file.display()))
        .collect())
}

/// Reports whether a file has such a name. Directories count as well: `common/mod.rs` is no better
/// than `common.rs`.
fn is_named_after_nothing(file: &Path) -> bool {
    file.with_extension("").iter().any(|part| EMPTY_NAMES.iter().any(|name| part == *name))
}

/// Returns every Rust source of the workspace, relative to its root, in order.
pub(super) fn sources() -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        sources_below(Path::new(folder), &mut files)?;
    }
    files.sort();
    // Without this an unreadable or moved tree would pass every check about files.
    anyhow::ensure!(!files.is_empty(), "found no Rust source below {}", process::root().display());
    Ok(files)
}

/// Returns the pages of documentation, relative to the root, in order: those in the root and in
/// `docs`, those below `examples`, and the README of each crate.
pub(super) fn pages() -> anyhow::Result<Vec<String>> {
    let mut pages = Vec::new();
    for directory in ["", "docs"] {
        pages_in(Path::new(directory), &mut pages)?;
    }
    for crates in directories_in(Path::new("crates"))? {
        let readme = crates.join("README.md");
        if process::root().join(&readme).exists() {
            pages.push(readme);
        }
    }
    if process::root().join("examples").exists() {
        let mut directories = vec![PathBuf::from("examples")];
        while let Some(directory) = directories.pop() {
            pages_in(&directory, &mut pages)?;
            directories.extend(directories_in(&directory)?);
        }
    }
    pages.sort();
    anyhow::ensure!(!pages.is_empty(), "found no page in {}", process::root().display());
    Ok(pages.into_iter().map(|page| page.to_string_lossy().into_owned()).collect())
}

fn pages_in(directory: &Path, pages: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in entries_of(directory)? {
        let page = directory.join(entry?.file_name());
        if page.extension().is_some_and(|extension| extension == "md") {
            pages.push(page);
        }
    }
    Ok(())
}

pub(super) fn directories_in(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut directories = Vec::new();
    for entry in entries_of(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            directories.push(directory.join(entry.file_name()));
        }
    }
    Ok(directories)
}

fn entries_of(directory: &Path) -> anyhow::Result<std::fs::ReadDir> {
    std::fs::read_dir(process::root().join(directory)).with_context(|| format!("cannot list {}", directory.display()))
}

/// Returns the text of a file, relative to the root.
pub(super) fn text_of(file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(process::root().join(file)).with_context(|| format!("cannot read {}", file.display()))
}

fn sources_below(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries =
        std::fs::read_dir(process::root().join(folder)).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            if entry.file_name() != "target" {
                sources_below(&path, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_purpose_in_the_first_line_counts() {
        assert!(says_what_it_is_for("//! Plans.\n"));
        for text in ["", "//!\n//! Plans.", "// Plans.", "use std::fmt;\n//! Plans."] {
            assert!(!says_what_it_is_for(text), "{text:?}");
        }
    }

    #[test]
    fn empty_names_are_found_for_files_and_folders() {
        assert!(is_named_after_nothing(Path::new("crates/core/src/utils.rs")));
        assert!(is_named_after_nothing(Path::new("crates/core/tests/common/mod.rs")));
        assert!(!is_named_after_nothing(Path::new("crates/core/src/common_prefix.rs")));
    }
}
