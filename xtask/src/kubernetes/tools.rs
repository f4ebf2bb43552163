//! Which tools there are, which Go modules they come from, and in which versions.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// The versions, one `name version` a line; the tests read the same file.
const VERSIONS: &str = include_str!("../../../crates/testbed/src/kube/versions.txt");

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Versions {
    pub(super) kubernetes: String,
    pub(super) etcd: String,
    pub(super) kustomize: String,
}

impl Versions {
    pub(super) fn read() -> anyhow::Result<Self> {
        let of = |name: &str| {
            let line = VERSIONS.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.map(str::to_owned).with_context(|| format!("versions.txt has no line `{name} <version>`; add it"))
        };
        Ok(Self { kubernetes: of("kubernetes")?, etcd: of("etcd")?, kustomize: of("kustomize")? })
    }

    pub(super) fn of(&self, source: &Source) -> &str {
        self.of_release(source.release)
    }

    fn of_release(&self, release: Release) -> &str {
        match release {
            Release::Kubernetes => &self.kubernetes,
            Release::Etcd => &self.etcd,
            Release::Kustomize => &self.kustomize,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Release {
    Kubernetes,
    Etcd,
    Kustomize,
}

/// A Go module and the tools in it. They are built in one go, because they share most of their
/// packages.
pub(super) struct Source {
    pub(super) module: &'static str,
    pub(super) release: Release,
    pub(super) tools: &'static [Tool],
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) release: Release,
    pub(super) package: &'static str,
    /// What `go build` calls it.
    pub(super) built_as: &'static str,
    /// Arguments with which it tells its version.
    pub(super) asked: &'static [&'static str],
}

impl Tool {
    /// Where it is kept.
    pub(super) fn file(&self, cache: &Path, versions: &Versions) -> PathBuf {
        cache.join(format!("{}-{}", self.name, versions.of_release(self.release)))
    }
}

pub(super) const KUSTOMIZE: Source = Source {
    module: "sigs.k8s.io/kustomize/kustomize/v5",
    release: Release::Kustomize,
    tools: &[Tool {
        name: "kustomize",
        release: Release::Kustomize,
        package: "sigs.k8s.io/kustomize/kustomize/v5",
        built_as: "kustomize",
        asked: &["version"],
    }],
};

pub(super) const SOURCES: &[Source] = &[
    KUSTOMIZE,
    Source {
        module: "go.etcd.io/etcd/server/v3",
        release: Release::Etcd,
        tools: &[Tool {
            name: "etcd",
            release: Release::Etcd,
            package: "go.etcd.io/etcd/server/v3",
            built_as: "server",
            asked: &["--version"],
        }],
    },
    Source {
        module: "k8s.io/kubernetes",
        release: Release::Kubernetes,
        tools: &[
            kubernetes("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", &["--version"]),
            kubernetes("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", &["--version"]),
            kubernetes("kubectl", "k8s.io/kubernetes/cmd/kubectl", &["version", "--client"]),
        ],
    },
];

const fn kubernetes(name: &'static str, package: &'static str, asked: &'static [&'static str]) -> Tool {
    Tool { name, release: Release::Kubernetes, package, built_as: name, asked }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_plain_numbers() {
        let versions = Versions::read().unwrap();
        for version in [versions.kubernetes, versions.etcd, versions.kustomize] {
            assert!(version.split('.').all(|part| part.parse::<u32>().is_ok()), "{version}");
        }
    }
}
