//! The small Go module of our own through which a tool of another module is built.
//!
//! `go install module@version` refuses modules that replace their dependencies, as both of ours do:
//! replacements only hold in the main module. Kubernetes lists its staging modules (k8s.io/api,
//! k8s.io/client-go, …) as `v0.0.0` and replaces them by directories of its repository; published,
//! they are the same code under `v0.<minor>.<patch>`.

use std::fmt::Write as _;

use anyhow::{Context, bail};

/// Returns our go.mod for a module with this go.mod.
pub(super) fn manifest(module: &str, version: &str, its_manifest: &str) -> anyhow::Result<String> {
    let go = its_manifest.lines().find(|line| line.starts_with("go "));
    let go = go.with_context(|| format!("the go.mod of {module} {version} names no version of Go; is it a module?"))?;
    let mut text = format!("module setpoint-envtest\n\n{go}\n\nrequire {module} v{version}\n");
    for staged in staged(its_manifest) {
        let _ = write!(text, "\nreplace {staged} => {staged} v{}", staged_version(module, version)?);
    }
    text.push('\n');
    Ok(text)
}

/// Returns the modules that are required as `v0.0.0`.
fn staged(its_manifest: &str) -> impl Iterator<Item = &str> {
    its_manifest.lines().filter_map(|line| {
        let mut words = line.trim().trim_start_matches("require ").split_whitespace();
        let (name, version) = (words.next()?, words.next()?);
        (version == "v0.0.0").then_some(name)
    })
}

/// Returns `0.36.4` for `1.36.4`.
fn staged_version(module: &str, version: &str) -> anyhow::Result<String> {
    match version.strip_prefix("1.") {
        Some(rest) => Ok(format!("0.{rest}")),
        None => bail!(
            "{module} {version} requires modules as v0.0.0, and it is not known under which version they are published"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KUBERNETES: &str = "module k8s.io/kubernetes\n\ngo 1.26.0\n\nrequire (\n\tgithub.com/a/b v1.2.3\n\tk8s.io/api v0.0.0\n\t\
                              k8s.io/client-go v0.0.0 // indirect\n)\n\nreplace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n)\n";

    #[test]
    fn staging_modules_are_replaced_by_their_published_versions() {
        let text = manifest("k8s.io/kubernetes", "1.36.4", KUBERNETES).unwrap();
        let expected = "module setpoint-envtest\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v1.36.4\n\n\
                        replace k8s.io/api => k8s.io/api v0.36.4\nreplace k8s.io/client-go => k8s.io/client-go v0.36.4\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_module_without_staging_modules_is_only_required() {
        let text =
            manifest("example.org/a", "3.6.0", "module example.org/a\ngo 1.24\nrequire b.org/c v1.0.0\n").unwrap();
        assert!(!text.contains("replace"), "{text}");
    }

    #[test]
    fn a_version_of_another_form_is_refused_instead_of_guessed() {
        assert!(manifest("k8s.io/kubernetes", "2.0.0", KUBERNETES).is_err());
        assert!(manifest("k8s.io/kubernetes", "1.36.4", "<html>").is_err());
    }
}
