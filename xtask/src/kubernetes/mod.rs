//! `cargo xtask envtest`: a real kube-apiserver, kube-controller-manager, kubectl, etcd and
//! kustomize for tests, built once per version.
//!
//! `KUBEBUILDER_ASSETS`, the convention of the field, has priority. Otherwise the tools are built
//! from their Go modules into `~/.cache/setpoint/<tool>-<version>`. The versions are in
//! crates/testbed/src/kube/versions.txt, which the tests read too.

mod build;
mod module;
mod serve;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use self::tools::{KUSTOMIZE, SOURCES, Source, Tool, Versions};
use crate::go;
use crate::stopwatch::Stopwatch;

pub(crate) use self::serve::{SHARED, SharedServer};

/// The variable that names a directory with the tools under their plain names.
pub(crate) const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// The tools that a directory of assets must contain; the controller manager is built if it is
/// missing.
const EXPECTED_ASSETS: [&str; 3] = ["kube-apiserver", "etcd", "kubectl"];

pub(crate) fn run(options: &[&str]) -> anyhow::Result<bool> {
    match options {
        [] => {
            let folder = prepare()?;
            println!("envtest: ready in {}", folder.display());
        }
        ["--path"] => {
            let Some(folder) = ready()? else { bail!("the tools are not built yet; run `cargo xtask envtest`") };
            println!("{}", folder.display());
        }
        other => bail!("`envtest` has no option `{}`; it has --path", other.join(" ")),
    }
    Ok(true)
}

/// Returns the directory with the tools under their plain names, if nothing must be built for it.
pub(crate) fn ready() -> anyhow::Result<Option<PathBuf>> {
    if let Some(folder) = assets()? {
        return Ok(Some(folder));
    }
    let (cache, versions) = (cache()?, Versions::read()?);
    let complete = SOURCES.iter().flat_map(|source| source.tools).all(|tool| tool.file(&cache, &versions).exists());
    if complete { link(&cache, &versions).map(Some) } else { Ok(None) }
}

/// Returns the reason why the tools are missing and cannot be built, if there is one.
pub(crate) fn missing() -> anyhow::Result<Option<String>> {
    Ok(if ready()?.is_some() { None } else { go::found().err() })
}

/// Finds the tools, and builds the missing ones; returns the directory with their plain names.
pub(crate) fn prepare() -> anyhow::Result<PathBuf> {
    let (cache, versions) = (cache()?, Versions::read()?);
    let Some(assets) = assets()? else {
        for source in SOURCES {
            provide(source, source.tools, &cache, &versions)?;
        }
        return link(&cache, &versions);
    };
    println!("envtest: {ASSETS} names {}", assets.display());
    for source in SOURCES {
        let absent: Vec<Tool> = source.tools.iter().filter(|tool| !assets.join(tool.name).exists()).copied().collect();
        let built = absent.iter().all(|tool| tool.file(&cache, &versions).exists());
        match go::found() {
            Err(reason) if !built => {
                let names: Vec<&str> = absent.iter().map(|tool| tool.name).collect();
                println!("{}: missing, so that tests which need it fail; {reason}", names.join(", "));
            }
            _ => provide(source, &absent, &cache, &versions)?,
        }
    }
    Ok(assets)
}

/// Finds the kustomize command or builds it, without the other tools.
pub(crate) fn kustomize() -> anyhow::Result<PathBuf> {
    let (cache, versions) = (cache()?, Versions::read()?);
    provide(&KUSTOMIZE, KUSTOMIZE.tools, &cache, &versions)?;
    Ok(KUSTOMIZE.tools[0].file(&cache, &versions))
}

/// Ensures that these tools of a source are in the cache, and prints which of them were there.
fn provide(source: &Source, tools: &[Tool], cache: &Path, versions: &Versions) -> anyhow::Result<()> {
    let version = versions.of(source);
    let lacking =
        || -> Vec<Tool> { tools.iter().filter(|tool| !tool.file(cache, versions).exists()).copied().collect() };
    for tool in tools.iter().filter(|tool| tool.file(cache, versions).exists()) {
        println!("{} {version}: hit ({})", tool.name, tool.file(cache, versions).display());
    }
    if lacking().is_empty() {
        return Ok(());
    }
    let _lock = locked(cache)?;
    // Another run may have built them while this one waited.
    let lacking = lacking();
    if lacking.is_empty() {
        println!("{}: built by another run", source.module);
        return Ok(());
    }
    let go = go::found().map_err(anyhow::Error::msg)?;
    let names: Vec<&str> = lacking.iter().map(|tool| tool.name).collect();
    println!("{} {version}: miss; building from {} with `{go}`", names.join(", "), source.module);
    let clock = Stopwatch::start();
    build::build(source, &lacking, cache, versions)?;
    println!("{} {version}: built in {:.0} s", names.join(", "), clock.elapsed().as_secs_f64());
    Ok(())
}

/// Creates a directory in which every tool has its plain name, as people and `KUBEBUILDER_ASSETS`
/// expect it.
fn link(cache: &Path, versions: &Versions) -> anyhow::Result<PathBuf> {
    let folder = cache.join(format!("envtest-{}-etcd-{}", versions.kubernetes, versions.etcd));
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for tool in SOURCES.iter().flat_map(|source| source.tools) {
        let (file, link) = (tool.file(cache, versions), folder.join(tool.name));
        // Relative to the directory, so that the link is valid by whatever path the cache is
        // reached.
        let beside = Path::new("..").join(file.file_name().context("a tool's file has a name")?);
        if fs::read_link(&link).is_ok_and(|known| known == beside) {
            continue;
        }
        // A link to another file is replaced; a missing one cannot be removed.
        drop(fs::remove_file(&link));
        let made = std::os::unix::fs::symlink(&beside, &link);
        made.with_context(|| format!("cannot link {}; remove it and run this again", link.display()))?;
    }
    Ok(folder)
}

/// Returns the directory that `KUBEBUILDER_ASSETS` names, if it is complete.
fn assets() -> anyhow::Result<Option<PathBuf>> {
    let Some(folder) = assets_variable().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(None) };
    for name in EXPECTED_ASSETS {
        if !folder.join(name).exists() {
            bail!("{ASSETS} names {}, which has no {name}; put it there or unset {ASSETS}", folder.display());
        }
    }
    Ok(Some(folder))
}

#[expect(clippy::disallowed_methods, reason = "the only environment variable with the path of the tools")]
fn assets_variable() -> Option<PathBuf> {
    std::env::var_os(ASSETS).map(PathBuf::from)
}

#[expect(clippy::disallowed_methods, reason = "the tools are stored in the home directory of the user who builds them")]
pub(crate) fn cache() -> anyhow::Result<PathBuf> {
    let home = std::env::home_dir().context("this user has no home directory to store the tools in; set HOME")?;
    let cache = home.join(".cache/setpoint");
    fs::create_dir_all(&cache).with_context(|| format!("cannot create {}", cache.display()))?;
    Ok(cache)
}

/// Locks the cache: two builds at once would take twice as long, and one of them would be useless.
fn locked(cache: &Path) -> anyhow::Result<fs::File> {
    let path = cache.join("envtest.lock");
    let file = fs::File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    if file.try_lock().is_err() {
        println!("envtest: waiting for another run that is building");
        file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    }
    Ok(file)
}
