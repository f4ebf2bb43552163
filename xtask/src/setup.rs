//! `cargo xtask setup`: the requirements of the tests on a bare Debian machine, checked in seconds
//! and installed if missing.

use crate::go;
use crate::kubernetes;
use crate::node;
use crate::peer;
use crate::process;
use crate::python;

/// A program that the build or the tests start.
struct Need {
    what: &'static str,
    why: &'static str,
    /// A command that succeeds if and only if the program is installed.
    proof: &'static [&'static str],
    remedy: Remedy,
}

/// The way to install a missing program.
enum Remedy {
    /// A Debian package; installing it takes root.
    Package(&'static str),
    /// A component of the Rust toolchain.
    Component(&'static str),
}

const NEEDS: &[Need] = &[
    Need {
        what: "C compiler",
        why: "compiles the embedded SQLite and links every binary",
        proof: &["cc", "--version"],
        remedy: Remedy::Package("build-essential"),
    },
    Need {
        what: "make",
        why: "builds the allocator",
        proof: &["make", "--version"],
        remedy: Remedy::Package("build-essential"),
    },
    Need {
        what: "git",
        why: "is the oracle of tests about stores",
        proof: &["git", "--version"],
        remedy: Remedy::Package("git"),
    },
    Need {
        what: "ssh client",
        why: "is how stores are reached over ssh, and makes the keys of their tests",
        proof: &["ssh", "-V"],
        remedy: Remedy::Package("openssh-client"),
    },
    Need {
        what: "ssh server",
        why: "is the other side in tests about stores over ssh",
        proof: &["test", "-x", "/usr/sbin/sshd"],
        remedy: Remedy::Package("openssh-server"),
    },
    Need {
        what: "Chromium",
        why: "shows the web pages to their tests",
        proof: &["test", "-x", "/usr/bin/chromium"],
        remedy: Remedy::Package("chromium"),
    },
    Need {
        what: "promtool",
        why: "checks the metrics and the rules for alerts",
        proof: &["promtool", "--version"],
        remedy: Remedy::Package("prometheus"),
    },
    Need {
        what: "environments of Python",
        why: "is where Schemathesis is installed, which tests the API against its document",
        proof: &["python3", "-c", "import ensurepip, sys, venv; print('Python', sys.version)"],
        remedy: Remedy::Package("python3-venv"),
    },
    Need {
        what: "rustfmt",
        why: "checks the form of the sources",
        proof: &["cargo", "fmt", "--version"],
        remedy: Remedy::Component("rustfmt"),
    },
    Need {
        what: "clippy",
        why: "enforces the doors of clippy.toml",
        proof: &["cargo", "clippy", "--version"],
        remedy: Remedy::Component("clippy"),
    },
];

/// The only option of `setup`, which `.ci/run` accepts too: tools that only some tests need may be
/// missing.
pub(crate) const ALLOW_MISSING: &str = "--allow-missing";

/// Checks each need, installs the missing ones and checks again. One line each.
pub(crate) fn run(options: &[&str]) -> anyhow::Result<bool> {
    let mut complete = true;
    for need in NEEDS {
        if let Some(version) = found(need) {
            println!("{}: found ({version})", need.what);
            continue;
        }
        let (name, arguments) = need.remedy.command();
        let by_hand = format!("{name} {}", arguments.join(" "));
        println!("{}: missing ({}); running `{by_hand}`", need.what, need.why);
        let installed = need.remedy.install().unwrap_or(false);
        match found(need) {
            Some(version) if installed => println!("{}: installed ({version})", need.what),
            _ => {
                println!("{}: still missing; run `{by_hand}` as root, then this again", need.what);
                complete = false;
            }
        }
    }
    let allow_missing = options.contains(&ALLOW_MISSING);
    let tools = [
        has_kubernetes(allow_missing)?,
        has_peer(allow_missing)?,
        has_packages(allow_missing),
        python::has_schemathesis()? || allow_missing,
    ];
    Ok(tools.into_iter().all(|is_there| is_there) && complete)
}

/// Does the same for the peer that tests compare our rendering with.
fn has_peer(allow_missing: bool) -> anyhow::Result<bool> {
    let (told, good) = match (peer::ready()?, go::found()) {
        (Some(file), _) => (format!("kustomize peer: found ({})", file.display()), true),
        (None, Ok(version)) => {
            (format!("go: found ({version}); `cargo xtask test` builds the kustomize peer with it"), true)
        }
        (None, Err(reason)) => {
            let what = "kustomize peer: missing (needed by tests about kustomizations)";
            (format!("{what}; {reason}; or leave those tests out with {ALLOW_MISSING}"), allow_missing)
        }
    };
    println!("{told}");
    Ok(good)
}

/// Installs the npm packages of the tests, which takes seconds. Nothing here can install Node.
fn has_packages(allow_missing: bool) -> bool {
    let prepared = node::found().and_then(|version| match node::prepare() {
        Ok(directory) => Ok((version, directory)),
        Err(error) => Err(format!("{error:#}")),
    });
    match prepared {
        Ok((version, directory)) => {
            println!("npm packages: found ({}, node {version})", directory.display());
            true
        }
        Err(reason) => {
            let what = "npm packages: missing (needed by tests of the web pages)";
            println!("{what}; {reason}; or leave those tests out with {ALLOW_MISSING}");
            allow_missing
        }
    }
}

/// Reports whether the Kubernetes tools exist or can be built. Nothing here can install Go. A
/// missing one is reported now and not after everything is compiled, unless the run may do without.
fn has_kubernetes(allow_missing: bool) -> anyhow::Result<bool> {
    let (told, good) = match (kubernetes::ready()?, go::found()) {
        (Some(folder), _) => (format!("kubernetes tools: found ({})", folder.display()), true),
        (None, Ok(version)) => {
            (format!("go: found ({version}); `cargo xtask envtest` builds the kubernetes tools with it"), true)
        }
        (None, Err(reason)) => {
            let what = "kubernetes tools: missing (needed by tests about Kubernetes)";
            (format!("{what}; {reason}; or leave those tests out with {ALLOW_MISSING}"), allow_missing)
        }
    };
    println!("{told}");
    Ok(good)
}

/// Returns the first line of the proof's output, or `None` if it does not run.
fn found(need: &Need) -> Option<String> {
    let (name, arguments) = need.proof.split_first()?;
    let text = process::output_of(process::program(name, arguments)).ok()?;
    Some(text.lines().next().unwrap_or_default().to_owned())
}

impl Remedy {
    fn command(&self) -> (&'static str, Vec<&'static str>) {
        match self {
            Self::Package(package) => ("apt-get", vec!["install", "--yes", "--no-install-recommends", package]),
            Self::Component(component) => ("rustup", vec!["component", "add", component]),
        }
    }

    fn install(&self) -> anyhow::Result<bool> {
        let (name, arguments) = self.command();
        if matches!(self, Self::Package(_)) {
            // A fresh image has no package lists; without them every package is unknown. If this
            // fails, the installation reports the reason.
            process::succeeds(process::program(name, &["update", "--quiet"]))?;
        }
        process::succeeds(process::program(name, &arguments))
    }
}
