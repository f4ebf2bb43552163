//! The tools, with their Go modules and versions.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// The versions, one `name version` per line; the tests read the same file.
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

/// A Go module and its tools. They are built at once, because they share most of their packages.
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
    /// The name that `go build` gives it.
    pub(super) built_as: &'static str,
    /// The arguments with which it prints its version.
    pub(super) asked: &'static [&'static str],
}

impl Tool {
    /// Returns its path in the cache.
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
