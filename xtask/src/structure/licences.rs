//! Licences and duplicate versions of everything the workspace builds, judged by deny.toml.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;

use super::Complaints;
use super::deny::{Deny, Versions};
use super::spdx;
use super::tree::{Package, tree};
use crate::process;

pub(super) fn every_licence_is_allowed() -> anyhow::Result<Complaints> {
    forbidden(&everything()?, &deny()?)
}

fn forbidden(tree: &[Package], deny: &Deny) -> anyhow::Result<Complaints> {
    let mut complaints = BTreeSet::new();
    for Package { name, version, licence, .. } in tree {
        let clarified = deny.clarified.iter().find(|(versions, _)| versions.include(name, version));
        let licence = clarified.map_or(licence, |(_, expression)| expression);
        if licence.is_empty() {
            complaints.insert(format!(
                "{name} {version} names no licence in its manifest; read its files and clarify it in deny.toml, or use another crate"
            ));
            continue;
        }
        let met = spdx::is_met(licence, &deny.licences)
            .with_context(|| format!("reading the licence of {name} {version}"))?;
        if !met {
            complaints.insert(format!(
                "{name} {version} is under `{licence}`, which deny.toml does not allow; use another crate, or allow the licence after reading it"
            ));
        }
    }
    Ok(complaints.into_iter().collect())
}

pub(super) fn no_crate_is_built_in_two_versions() -> anyhow::Result<Complaints> {
    Ok(duplicated(&everything()?, &deny()?.duplicates))
}

fn duplicated(tree: &[Package], accepted: &[Versions]) -> Complaints {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in tree {
        versions.entry(&package.name).or_default().insert(&package.version);
    }
    let mut complaints = Complaints::new();
    for (name, built) in &versions {
        let accepts = |version: &str| accepted.iter().any(|one| one.include(name, version));
        let unaccepted: Vec<&str> = built.iter().copied().filter(|version| !accepts(version)).collect();
        if unaccepted.len() > 1 {
            complaints.push(format!(
                "{name} is built in versions {}; bring them together, or accept all but one in deny.toml with a reason \
                 (`cargo tree --workspace -d` shows who needs which)",
                unaccepted.join(", ")
            ));
        }
    }
    let needed = |one: &&Versions| {
        versions
            .get(one.name.as_str())
            .is_some_and(|built| built.len() > 1 && built.iter().any(|version| one.include(&one.name, version)))
    };
    complaints.extend(accepted.iter().filter(|one| !needed(one)).map(|one| {
        format!("deny.toml accepts {}@{}, which is no duplicate any more; remove the entry", one.name, one.version)
    }));
    complaints
}

/// Returns every crate that is built for this machine, for whatever purpose.
fn everything() -> anyhow::Result<Vec<Package>> {
    tree(&["--workspace", "--edges", "normal,build,dev", "--all-features"])
}

fn deny() -> anyhow::Result<Deny> {
    let file = process::root().join("deny.toml");
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    Deny::read(&text)
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::sketch;
    use super::*;

    fn accept(version: &str) -> Versions {
        Versions { name: "syn".to_owned(), version: version.to_owned() }
    }

    fn allow(licence: &str) -> Deny {
        Deny { licences: vec![licence.to_owned()], clarified: Vec::new(), duplicates: Vec::new() }
    }

    #[test]
    fn a_licence_that_is_not_allowed_is_named_once() {
        let tree = sketch(&["0a v1.0.0", "1b v1.0.0", "1b v1.0.0"]);
        assert_eq!(forbidden(&tree, &allow("MIT")).unwrap(), Complaints::new());
        let complaints = forbidden(&tree[1..], &allow("ISC")).unwrap();
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].starts_with("b 1.0.0 is under `MIT`"), "{complaints:?}");
    }

    #[test]
    fn a_crate_that_names_no_licence_passes_only_if_it_was_clarified() {
        let mut tree = sketch(&["0syn v2.0.1"]);
        tree[0].licence.clear();
        let mut deny = allow("MIT");
        assert!(forbidden(&tree, &deny).unwrap()[0].starts_with("syn 2.0.1 names no licence"));
        deny.clarified = vec![(accept("2"), "MIT".to_owned())];
        assert_eq!(forbidden(&tree, &deny).unwrap(), Complaints::new());
        deny.clarified = vec![(accept("2"), "GPL-3.0".to_owned())];
        assert!(forbidden(&tree, &deny).unwrap()[0].contains("`GPL-3.0`"));
    }

    #[test]
    fn two_versions_need_one_of_them_accepted() {
        let tree = sketch(&["0a v1.0.0", "1syn v2.0.1", "1syn v3.0.0"]);
        assert_eq!(duplicated(&tree, &[]).len(), 1);
        assert_eq!(duplicated(&tree, &[accept("2")]), Complaints::new());
    }

    #[test]
    fn an_accepted_duplicate_that_is_gone_must_leave_the_list() {
        let complaints = duplicated(&sketch(&["0a v1.0.0", "1syn v3.0.0"]), &[accept("2")]);
        assert!(complaints[0].contains("no duplicate any more"), "{complaints:?}");
    }
}
