//! Messages never contain credentials of a repository, or the content of a secret.

use setpoint_kustomize::files::RemoteFolder;

use super::input::naming;
use super::*;

/// A tree with a declared repository, which any URL resolves to.
struct WithRepository(Tree);

impl Files for WithRepository {
    fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
        self.0.read(path)
    }

    fn remote_folder(&self, _: &str) -> Result<RemoteFolder, FileError> {
        Ok(RemoteFolder { tree: "repo:".to_owned(), path: "deploy".to_owned() })
    }
}

const WITH_SECRETS: [&str; 5] = [
    "git::https://user:hunter2@github.com/org/repo//deploy",
    "https://hunter2@example.com/org/repo//deploy",
    "git::https://hunter2@example.com/org/repo//deploy",
    "ssh://git:hunter2@example.com/org/repo//deploy",
    "git::https://user:hunter2@example.com/../../../../x",
];

#[test]
fn what_opens_a_repository_is_never_told() {
    for url in WITH_SECRETS {
        for field in naming(url) {
            let more = if field.starts_with("resources") { String::new() } else { format!("\n{ONE}") };
            let files = tree(&[("app/kustomization.yaml", format!("{field}{more}")), ("app/a.yaml", MAP.to_owned())]);
            for bad in [
                built_with(&files, DEFAULT).expect_err("it is not declared"),
                build(&WithRepository(files), "app", &Options::default()).expect_err("there is no kustomization"),
            ] {
                let told = bad.to_string();
                assert!(!told.contains("hunter2"), "{field}: {told}");
                assert!(told.starts_with("app/kustomization.yaml:1: "), "{field}: {told}");
            }
        }
    }
}

#[test]
fn what_came_from_a_repository_says_so_without_what_opens_it() {
    for (url, repository) in [
        ("git::https://user:hunter2@example.com/org/repo//deploy?ref=v1", "https://example.com/org/repo"),
        ("git@example.com:org/repo//deploy?ref=v1", "git@example.com:org/repo"),
        ("github.com/org/repo/deploy?version=v1", "https://github.com/org/repo"),
    ] {
        let files = tree(&[
            ("app/kustomization.yaml", format!("resources:\n- {url}\nbuildMetadata: [originAnnotations, transformerAnnotations]\n")),
            ("repo:/deploy/kustomization.yaml", "resources: [a.yaml]\nnamePrefix: x-\nconfigMapGenerator: [{name: b, options: {disableNameSuffixHash: true}}]\n".to_owned()),
            ("repo:/deploy/a.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n".to_owned()),
        ]);
        let out = build(&WithRepository(files), "app", &Options::default()).and_then(|built| built.to_yaml()).unwrap();
        assert!(!out.contains("hunter2"), "{out}");
        let taken = format!("      path: deploy/a.yaml\n      repo: {repository}\n      ref: v1\n");
        let made = format!("repo: {repository}\n      ref: v1\n      configuredIn: deploy/kustomization.yaml\n");
        assert!(out.contains(&taken) && out.contains(&made), "{out}");
        let transformed =
            format!("    - repo: {repository}\n        ref: v1\n        configuredIn: deploy/kustomization.yaml\n");
        assert!(out.contains(&transformed), "{out}");
    }
}

#[test]
fn a_secret_behind_a_tag_that_is_wrong_is_not_told() {
    let told = refused(&with("secretGenerator: [{name: s, literals: [!!int PASSWORD=hunter2]}]\n")).to_string();
    assert!(told.starts_with("app/kustomization.yaml:2: ") && !told.contains("hunter2"), "{told}");
    assert!(told.ends_with("the value does not match its tag: remove the tag"), "{told}");
}
