//! The output of `cargo tree`, as data. It resolves features and targets as the build does, which
//! Cargo.lock alone does not show.

use anyhow::Context;

use crate::process;

/// One line of the tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Package {
    /// The depth of the line below its root; a line's parent is the nearest one above it whose
    /// depth is one less.
    pub(crate) depth: usize,
    pub(crate) name: String,
    pub(crate) version: String,
    /// Set if it belongs to this workspace.
    pub(crate) ours: bool,
    pub(crate) licence: String,
    pub(crate) features: Vec<String>,
}

/// Runs `cargo tree` with a selection (`--package …`, `--edges …`) and reads its output.
pub(crate) fn tree(selection: &[&str]) -> anyhow::Result<Vec<Package>> {
    let mut arguments = vec!["tree", "--locked", "--prefix", "depth", "--format", "{p}|{l}|{f}"];
    arguments.extend(selection);
    read(&process::output_of(process::program("cargo", &arguments))?)
}

fn read(text: &str) -> anyhow::Result<Vec<Package>> {
    text.lines()
        .filter(|line| !line.is_empty())
        .map(|line| package(line).with_context(|| format!("`cargo tree` wrote a line of unknown form: {line}")))
        .collect()
}

/// Reads `2name v1.2.3 (/path)|licence|feature,feature (*)`.
fn package(line: &str) -> Option<Package> {
    let line = line.strip_suffix(" (*)").unwrap_or(line);
    let (package, rest) = line.split_once('|')?;
    let (licence, features) = rest.split_once('|')?;
    let digits = package.find(|character: char| !character.is_ascii_digit())?;
    let (depth, package) = package.split_at(digits);
    let mut words = package.split(' ');
    let name = words.next()?.to_owned();
    let version = words.next()?.strip_prefix('v')?.to_owned();
    Some(Package {
        depth: depth.parse().ok()?,
        name,
        version,
        ours: package.contains(" (/"),
        licence: licence.to_owned(),
        features: features.split(',').filter(|feature| !feature.is_empty()).map(str::to_owned).collect(),
    })
}

/// Returns the pairs (package, direct dependency) of a tree.
pub(crate) fn edges(tree: &[Package]) -> Vec<(&Package, &Package)> {
    let mut path: Vec<&Package> = Vec::new();
    let mut edges = Vec::new();
    for package in tree {
        path.truncate(package.depth);
        if let Some(parent) = path.last() {
            edges.push((*parent, package));
        }
        path.push(package);
    }
    edges
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Reads a tree as `cargo tree` writes it, without licences and features.
    pub(crate) fn sketch(lines: &[&str]) -> Vec<Package> {
        let text: Vec<String> = lines.iter().map(|line| format!("{line}|MIT|")).collect();
        read(&text.join("\n")).unwrap()
    }

    #[test]
    fn a_line_of_the_tree_is_read_in_full() {
        let line = "1setpoint-core v0.1.0 (/work/crates/core)|Apache-2.0|default,mutants (*)";
        let read = package(line).unwrap();
        assert_eq!((read.depth, read.name.as_str(), read.version.as_str()), (1, "setpoint-core", "0.1.0"));
        assert!(read.ours);
        assert_eq!(read.features, ["default", "mutants"]);
    }

    #[test]
    fn a_procedural_macro_is_not_taken_for_ours() {
        assert!(!package("2serde_derive v1.0.229 (proc-macro)|MIT|default").unwrap().ours);
    }

    #[test]
    fn edges_follow_the_depth_across_several_roots() {
        let tree = sketch(&["0a v1.0.0", "1b v1.0.0", "2c v1.0.0", "1d v1.0.0", "0e v1.0.0", "1c v1.0.0"]);
        let pairs: Vec<_> = edges(&tree).into_iter().map(|(from, to)| format!("{}→{}", from.name, to.name)).collect();
        assert_eq!(pairs, ["a→b", "b→c", "a→d", "e→c"]);
    }

    #[test]
    fn a_line_of_another_form_is_an_error_and_not_an_empty_tree() {
        assert!(read("error: no such package").is_err());
    }
}
