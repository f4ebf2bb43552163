//! Builds tools with `go build`. The environment's settings of Go (proxy, checksums, caches) apply
//! unchanged.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};

use super::module;
use super::tools::{Release, Source, Tool, Versions};
use crate::process;
use crate::stopwatch::Stopwatch;

/// The number of compiled packages between two lines of progress.
const STRIDE: usize = 200;

/// Builds the tools of a source and puts them into the cache, completely or not at all. The caller
/// holds the lock of the cache.
pub(super) fn build(source: &Source, tools: &[Tool], cache: &Path, versions: &Versions) -> anyhow::Result<()> {
    let folder = cache.join("building");
    // The remains of a killed run.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let version = versions.of(source);
    let manifest = module::manifest(source.module, version, &manifest_of(source.module, version)?)?;
    fs::write(folder.join("go.mod"), manifest).with_context(|| format!("cannot write into {}", folder.display()))?;
    compile(&folder, tools, &stamps(source.release, version))?;
    for tool in tools {
        let built = folder.join(tool.built_as);
        let says = process::output_of(process::program(&built.to_string_lossy(), tool.asked))?;
        ensure!(
            says.contains(version),
            "{} was built, but reports version `{}` and not {version}",
            tool.name,
            says.trim()
        );
        let kept = tool.file(cache, versions);
        fs::rename(&built, &kept).with_context(|| format!("cannot move {} to {}", tool.name, kept.display()))?;
    }
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))
}

/// Returns the module's own go.mod, which Go itself fetches.
fn manifest_of(module: &str, version: &str) -> anyhow::Result<String> {
    let download = process::program("go", &["mod", "download", "-json", &format!("{module}@v{version}")]);
    let answer = process::output_of(download).with_context(|| format!("cannot fetch {module} v{version}"))?;
    let path = answer.lines().find_map(|line| line.trim().strip_prefix("\"GoMod\": \"")?.strip_suffix("\","));
    let path = path.with_context(|| format!("`go mod download` did not report the path of the go.mod of {module}"))?;
    fs::read_to_string(path).with_context(|| format!("cannot read {path}"))
}

/// Returns the linker flags that set the tools' version; without them the server calls itself
/// `v0.0.0-master`.
fn stamps(release: Release, version: &str) -> String {
    let mut flags = String::from("-s -w");
    if release == Release::Kubernetes {
        let mut parts = version.split('.');
        let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
            flags.push_str(&format!(
                " -X {package}.gitVersion=v{version} -X {package}.gitMajor={major} -X {package}.gitMinor={minor} \
                 -X {package}.gitTreeState=clean"
            ));
        }
    }
    flags
}

/// Compiles all tools in one invocation, so that shared packages are compiled once.
fn compile(folder: &Path, tools: &[Tool], flags: &str) -> anyhow::Result<()> {
    let output = format!("{}/", folder.display());
    let mut arguments = vec!["build", "-v", "-mod=mod", "-trimpath", "-ldflags", flags, "-o", &output];
    arguments.extend(tools.iter().map(|tool| tool.package));
    let mut go: Command = process::program("go", &arguments);
    go.current_dir(folder).env("CGO_ENABLED", "0").env("GOWORK", "off");
    let clock = Stopwatch::start();
    let mut progress = Progress::default();
    let succeeded = process::watch_errors(go, |line| {
        if let Some(told) = progress.take(line) {
            println!("envtest: {told}, {:.0} s", clock.elapsed().as_secs_f64());
        }
    })?;
    if !succeeded {
        bail!("`go build` failed: {}", progress.complaints());
    }
    Ok(())
}

/// The output of `go build -v`, counted instead of shown: it is a line per module and per package.
#[derive(Debug, Default)]
struct Progress {
    fetched: usize,
    compiled: usize,
    others: Vec<String>,
}

impl Progress {
    /// Counts a line; returns a report of the progress after every stride.
    fn take(&mut self, line: &str) -> Option<String> {
        let count = if line.starts_with("go: downloading ") {
            self.fetched += 1;
            self.fetched
        } else if line.contains(' ') {
            self.others.push(line.to_owned());
            return None;
        } else {
            self.compiled += 1;
            self.compiled
        };
        let told = format!("{} modules fetched, {} packages compiled", self.fetched, self.compiled);
        count.is_multiple_of(STRIDE).then_some(told)
    }

    fn complaints(&self) -> String {
        let last = self.others.len().saturating_sub(20);
        self.others[last..].join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_now_and_then_and_complaints_are_kept() {
        let mut progress = Progress::default();
        let told: Vec<String> = (0..2 * STRIDE).filter_map(|n| progress.take(&format!("k8s.io/api/p{n}"))).collect();
        assert_eq!(told, ["0 modules fetched, 200 packages compiled", "0 modules fetched, 400 packages compiled"]);
        progress.take("go: downloading k8s.io/api v0.36.4");
        progress.take("p.go:1:2: undefined: x");
        assert_eq!((progress.fetched, progress.complaints().as_str()), (1, "p.go:1:2: undefined: x"));
    }

    #[test]
    fn only_kubernetes_is_told_its_version_by_the_linker() {
        assert!(stamps(Release::Kubernetes, "1.36.4").contains("component-base/version.gitVersion=v1.36.4"));
        assert!(stamps(Release::Kubernetes, "1.36.4").contains(".gitMinor=36"));
        assert_eq!(stamps(Release::Etcd, "3.6.7"), "-s -w");
    }
}
