//! The allowed dependencies: the arrows of ARCHITECTURE.md, and the crates that must stay out of
//! single ones.

use std::collections::BTreeSet;

use super::Complaints;
use super::tree::{Package, edges, tree};

/// Direct dependencies that core may have: canonical bytes, errors and digests, nothing that could
/// do I/O.
const CORE_DEPENDS_ON: [&str; 5] = ["hmac", "serde", "serde_json", "sha2", "thiserror"];

/// `cargo test -p setpoint-core` is the inner loop of most work; its crates are counted so that it
/// stays fast.
const CORE_CRATES: usize = 40;

/// Crates, and the ones that must not be linked into them, with the reason that a complaint gives.
const LIGHT: &[(&str, &[&str], &str)] = &[
    ("setpoint-core", &["tokio"], "core decides without I/O"),
    ("setpoint-kube", &["tokio", "reqwest"], "the meaning of objects is known without I/O"),
    ("setpoint-engine", &["tokio"], "the caller steps the machine and carries out its effects"),
    (
        "setpoint-sim",
        &["tokio", "sqlx", "sqlx-core", "libsqlite3-sys", "gix"],
        "the simulator is deterministic and quick to build",
    ),
];

/// For each crate of ours the crates of ours it may use. Development dependencies are free: tests
/// may use anything.
const ARROWS: &[(&str, &[&str])] = &[
    ("setpoint-core", &[]),
    ("setpoint-yaml", &[]),
    ("setpoint-accounts", &["setpoint-core"]),
    ("setpoint-api", &["setpoint-core"]),
    ("setpoint-oidc", &["setpoint-core"]),
    ("setpoint-server", &["setpoint-accounts", "setpoint-api", "setpoint-core", "setpoint-oidc"]),
    ("setpoint-ledger-verify", &[]),
    ("setpoint-notify", &["setpoint-core", "setpoint-documents"]),
    ("setpoint-documents", &["setpoint-core", "setpoint-yaml"]),
    ("setpoint-ledger", &["setpoint-core"]),
    ("setpoint-ledger-sql", &["setpoint-core", "setpoint-ledger"]),
    ("setpoint-store", &["setpoint-core"]),
    ("setpoint-store-git", &["setpoint-core", "setpoint-store"]),
    ("setpoint-testbed", &[]),
    ("setpoint-target", &["setpoint-core", "setpoint-documents"]),
    ("setpoint-target-host", &["setpoint-core", "setpoint-documents", "setpoint-target"]),
    ("setpoint-kube", &["setpoint-core"]),
    ("setpoint-kube-world", &[]),
    ("setpoint-kustomize", &["setpoint-yaml"]),
    (
        "setpoint-target-kube",
        &["setpoint-core", "setpoint-documents", "setpoint-kube", "setpoint-target", "setpoint-yaml"],
    ),
    (
        "setpoint-render",
        &["setpoint-core", "setpoint-documents", "setpoint-kustomize", "setpoint-store", "setpoint-yaml"],
    ),
    ("setpoint-render-external", &["setpoint-yaml"]),
    (
        "setpoint-engine",
        &[
            "setpoint-core",
            "setpoint-documents",
            "setpoint-ledger",
            "setpoint-render",
            "setpoint-store",
            "setpoint-target",
            "setpoint-yaml",
        ],
    ),
    (
        "setpoint-sim",
        &[
            "setpoint-core",
            "setpoint-documents",
            "setpoint-engine",
            "setpoint-kube",
            "setpoint-kube-world",
            "setpoint-ledger",
            "setpoint-render",
            "setpoint-store",
            "setpoint-target",
            "setpoint-target-kube",
        ],
    ),
    (
        "setpoint",
        &[
            "setpoint-accounts",
            "setpoint-api",
            "setpoint-core",
            "setpoint-documents",
            "setpoint-engine",
            "setpoint-kustomize",
            "setpoint-ledger",
            "setpoint-ledger-sql",
            "setpoint-ledger-verify",
            "setpoint-notify",
            "setpoint-oidc",
            "setpoint-render",
            "setpoint-render-external",
            "setpoint-server",
            "setpoint-store",
            "setpoint-store-git",
            "setpoint-target",
            "setpoint-target-host",
            "setpoint-target-kube",
            "setpoint-yaml",
        ],
    ),
    (
        "setpoint-bench",
        &[
            "setpoint",
            "setpoint-api",
            "setpoint-core",
            "setpoint-documents",
            "setpoint-engine",
            "setpoint-kustomize",
            "setpoint-ledger",
            "setpoint-ledger-sql",
            "setpoint-ledger-verify",
            "setpoint-notify",
            "setpoint-render",
            "setpoint-sim",
            "setpoint-store",
            "setpoint-store-git",
            "setpoint-target",
            "setpoint-target-host",
            "setpoint-target-kube",
            "setpoint-testbed",
            "setpoint-yaml",
        ],
    ),
    ("xtask", &[]),
];

pub(super) fn core_stays_small() -> anyhow::Result<Complaints> {
    let tree = tree(&["--package", "setpoint-core", "--edges", "normal,build,dev"])?;
    Ok(more_crates_than(CORE_CRATES, &tree))
}

fn more_crates_than(limit: usize, tree: &[Package]) -> Complaints {
    let crates: BTreeSet<(&str, &str)> =
        tree.iter().map(|package| (package.name.as_str(), package.version.as_str())).collect();
    if crates.len() < limit {
        return Complaints::new();
    }
    vec![format!(
        "setpoint-core needs {} crates to build and test, the limit is below {limit}; drop a dependency, \
         `cargo tree -p setpoint-core -e normal,build,dev` shows them",
        crates.len()
    )]
}

pub(super) fn core_depends_only_on_its_five() -> anyhow::Result<Complaints> {
    let tree = tree(&["--package", "setpoint-core", "--edges", "normal,build", "--all-features", "--depth", "1"])?;
    Ok(other_than(&CORE_DEPENDS_ON, &tree))
}

fn other_than(allowed: &[&str], tree: &[Package]) -> Complaints {
    let direct: BTreeSet<&str> =
        tree.iter().filter(|package| package.depth == 1).map(|package| package.name.as_str()).collect();
    let allowed: BTreeSet<&str> = allowed.iter().copied().collect();
    let mut complaints: Complaints = direct
        .difference(&allowed)
        .map(|name| format!("setpoint-core depends on {name}; move what needs it into another crate"))
        .collect();
    complaints.extend(
        allowed
            .difference(&direct)
            .map(|name| format!("setpoint-core no longer depends on {name}; remove it from CORE_DEPENDS_ON in xtask")),
    );
    complaints
}

pub(super) fn the_product_has_no_mutants() -> anyhow::Result<Complaints> {
    Ok(with_feature("mutants", &tree(&["--package", "setpoint", "--edges", "normal,build"])?))
}

fn with_feature(feature: &str, tree: &[Package]) -> Complaints {
    let names: BTreeSet<&str> = tree
        .iter()
        .filter(|package| package.features.iter().any(|name| name == feature))
        .map(|package| package.name.as_str())
        .collect();
    names
        .into_iter()
        .map(|name| {
            format!(
                "the product builds {name} with the feature `{feature}`, which breaks it on purpose; \
                 only setpoint-sim may turn it on: `cargo tree -p setpoint -e features -i {name}` shows who does"
            )
        })
        .collect()
}

pub(super) fn the_verifier_shares_no_code() -> anyhow::Result<Complaints> {
    let tree = tree(&["--package", "setpoint-ledger-verify", "--edges", "normal,build", "--all-features"])?;
    let shared = tree.iter().filter(|package| package.ours && package.depth > 0);
    Ok(shared
        .map(|package| {
            format!(
                "setpoint-ledger-verify depends on {}; a verifier that shares code with the writer repeats its mistakes: \
                 write what it needs again, from the format's description",
                package.name
            )
        })
        .collect())
}

pub(super) fn light_crates_stay_light() -> anyhow::Result<Complaints> {
    let mut complaints = Complaints::new();
    for (name, banned, reason) in LIGHT {
        let tree = tree(&["--package", name, "--edges", "normal,build", "--all-features"])?;
        complaints.extend(linked(banned, &tree).into_iter().map(|heavy| {
            format!("{name} links {heavy}, but {reason}; `cargo tree -p {name} -i {heavy}` shows through what")
        }));
    }
    Ok(complaints)
}

fn linked<'a>(banned: &[&str], tree: &'a [Package]) -> BTreeSet<&'a str> {
    tree.iter().map(|package| package.name.as_str()).filter(|name| banned.contains(name)).collect()
}

pub(super) fn arrows_point_one_way() -> anyhow::Result<Complaints> {
    Ok(against(ARROWS, &tree(&["--workspace", "--edges", "normal,build", "--all-features"])?))
}

fn against(arrows: &[(&str, &[&str])], tree: &[Package]) -> Complaints {
    let mut complaints = BTreeSet::new();
    for package in tree.iter().filter(|package| package.ours) {
        if !arrows.iter().any(|(name, _)| *name == package.name) {
            complaints.insert(format!(
                "{} has no place among the crates; add its allowed dependencies to ARROWS of xtask and to ARCHITECTURE.md",
                package.name
            ));
        }
    }
    for (from, to) in edges(tree).into_iter().filter(|(from, to)| from.ours && to.ours) {
        let permitted = arrows.iter().find(|(name, _)| *name == from.name);
        if permitted.is_some_and(|(_, targets)| !targets.contains(&to.name.as_str())) {
            complaints.insert(format!(
                "{} depends on {}, against the arrows of ARCHITECTURE.md; turn the dependency around or move the shared part down",
                from.name, to.name
            ));
        }
    }
    complaints.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::sketch;
    use super::*;

    const OURS: &[(&str, &[&str])] = &[("setpoint", &["setpoint-core"]), ("setpoint-core", &[])];

    #[test]
    fn an_arrow_that_points_up_is_named() {
        let tree = sketch(&["0setpoint-core v0.1.0 (/core)", "1setpoint v0.1.0 (/setpoint)"]);
        let complaints = against(OURS, &tree);
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].starts_with("setpoint-core depends on setpoint,"), "{complaints:?}");
    }

    #[test]
    fn arrows_that_point_down_are_fine() {
        let tree = sketch(&["0setpoint v0.1.0 (/setpoint)", "1setpoint-core v0.1.0 (/core)", "2serde v1.0.0"]);
        assert_eq!(against(OURS, &tree), Complaints::new());
    }

    #[test]
    fn a_crate_nobody_placed_is_named() {
        let complaints = against(OURS, &sketch(&["0setpoint-new v0.1.0 (/new)"]));
        assert!(complaints[0].starts_with("setpoint-new has no place"), "{complaints:?}");
    }

    #[test]
    fn a_new_dependency_of_core_and_a_lost_one_are_both_told() {
        let tree = sketch(&["0setpoint-core v0.1.0 (/core)", "1serde v1.0.0", "1rand v0.9.0"]);
        let complaints = other_than(&["serde", "sha2"], &tree);
        assert_eq!(complaints.len(), 2);
        assert!(complaints[0].contains("depends on rand"), "{complaints:?}");
        assert!(complaints[1].contains("no longer depends on sha2"), "{complaints:?}");
    }

    #[test]
    fn a_crate_that_appears_twice_in_the_tree_counts_once() {
        let tree = sketch(&["0a v1.0.0", "1b v1.0.0", "1c v1.0.0", "2b v1.0.0"]);
        assert_eq!(more_crates_than(4, &tree), Complaints::new());
        assert_eq!(more_crates_than(3, &tree).len(), 1);
    }

    #[test]
    fn a_mutant_in_the_product_is_named() {
        let mut tree = sketch(&["0setpoint v0.1.0 (/setpoint)", "1setpoint-core v0.1.0 (/core)"]);
        assert_eq!(with_feature("mutants", &tree), Complaints::new());
        tree[1].features.push("mutants".to_owned());
        assert!(with_feature("mutants", &tree)[0].contains("builds setpoint-core with the feature `mutants`"));
    }

    #[test]
    fn a_heavy_crate_deep_in_the_tree_is_found() {
        let tree = sketch(&["0setpoint-sim v0.1.0 (/sim)", "1a v1.0.0", "2tokio v1.0.0"]);
        assert_eq!(linked(&["tokio", "gix"], &tree), BTreeSet::from(["tokio"]));
    }
}
