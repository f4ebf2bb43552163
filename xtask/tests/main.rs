//! `cargo xtask envtest` from outside, with its own home directory and a Go that only pretends to
//! build: the origin of the tools, and the remains of a failed build.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene fails where it stands")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A `go` whose tools are scripts that print the version their module is required in. `$SAID`
/// replaces their output, `$FAILS` is the exit code after the build.
const GO: &str = r##"#!/bin/sh
case "$1" in
  version) echo "go version go1.26.0 linux/amd64" ;;
  mod)
    printf 'module m\ngo 1.26.0\n' > "$HOME/go.mod"
    printf '{\n\t"GoMod": "%s",\n}\n' "$HOME/go.mod" ;;
  build)
    says="$SAID"
    test -n "$says" || says=$(sed -n 's/^require [^ ]* v//p' go.mod)
    for package in "$@"; do
      case "$package" in
        */cmd/*) tool=${package##*/} ;;
        go.etcd.io/*) tool=server ;;
        sigs.k8s.io/kustomize/*) tool=kustomize ;;
        *) continue ;;
      esac
      printf '#!/bin/sh\necho %s\n' "$says" > "$tool"
      chmod +x "$tool"
    done
    exit ${FAILS:-0} ;;
esac
"##;
/// A `go` that must not be used.
const NO_GO: &str = "#!/bin/sh\nexit 1\n";
const TOOLS: [&str; 5] = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl", "kustomize"];

/// A home directory, and programs that are found before all others.
struct Home {
    folder: TempDir,
    go: &'static str,
}

impl Home {
    fn new(go: &'static str) -> Self {
        Self { folder: TempDir::new().unwrap(), go }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the tools in the cache and every other file in it, except the lock.
    fn kept(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path(".cache/setpoint")).unwrap().map(|entry| entry.unwrap());
        let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
        let mut names: Vec<String> = files.map(|file| file.file_name().into_string().unwrap()).collect();
        names.retain(|name| name != "envtest.lock");
        names.sort();
        names
    }

    /// Returns whether `cargo xtask envtest` succeeds, and its output.
    fn envtest(&self, options: &[&str], variables: &[(&str, &str)]) -> (bool, String) {
        script(&self.path("bin/go"), self.go);
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        #[expect(clippy::disallowed_methods, reason = "the chore is what is tested, and it is a program")]
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command.arg("envtest").args(options).env("HOME", self.folder.path()).env("PATH", path);
        let output = command.env_remove("KUBEBUILDER_ASSETS").envs(variables.iter().copied()).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    }
}

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn tools_are_built_once_and_each_run_says_whether_it_had_to() {
    let mut home = Home::new(GO);
    let (succeeded, said) = home.envtest(&[], &[]);
    assert!(succeeded, "{said}");
    let misses: Vec<&str> = said.lines().filter(|line| line.contains(": miss; building from ")).collect();
    assert_eq!(misses.len(), 3, "one for each module: {said}");
    let expected = ["kustomize ", "etcd ", "kube-apiserver, kube-controller-manager, kubectl "];
    assert!(misses.iter().zip(expected).all(|(miss, tools)| miss.starts_with(tools)), "{said}");
    assert_eq!(home.kept().len(), TOOLS.len(), "{:?}", home.kept());

    home.go = NO_GO;
    let (succeeded, said) = home.envtest(&[], &[]);
    assert!(succeeded, "{said}");
    for tool in TOOLS {
        let hits = said.lines().filter(|line| line.starts_with(&format!("{tool} ")) && line.contains(": hit ("));
        assert_eq!(hits.count(), 1, "{tool}: {said}");
    }
    assert!(!said.contains("miss"), "{said}");
    let (_, folder) = home.envtest(&["--path"], &[]);
    for tool in TOOLS {
        assert!(Path::new(folder.trim()).join(tool).exists(), "{tool} in {folder}");
    }
}

#[test]
fn the_folder_that_kubebuilder_assets_names_wins_over_what_was_built() {
    let home = Home::new(GO);
    assert!(home.envtest(&[], &[]).0);
    let assets = home.path("assets");
    let variables = [("KUBEBUILDER_ASSETS", assets.to_str().unwrap())];
    for tool in ["kube-apiserver", "etcd"] {
        script(&assets.join(tool), NO_GO);
    }
    let (succeeded, said) = home.envtest(&["--path"], &variables);
    assert!(!succeeded && said.contains("which has no kubectl"), "{said}");
    script(&assets.join("kubectl"), NO_GO);
    let (succeeded, said) = home.envtest(&["--path"], &variables);
    assert_eq!((succeeded, said.trim()), (true, variables[0].1));
    let (_, said) = home.envtest(&["--path"], &[("KUBEBUILDER_ASSETS", "")]);
    assert!(said.contains("/.cache/setpoint/envtest-"), "an empty word names nothing: {said}");
}

#[test]
fn a_build_that_fails_or_says_another_version_leaves_nothing_under_a_tools_name() {
    let home = Home::new(GO);
    for (variables, complaint) in
        [([("FAILS", "1")], "`go build` failed"), ([("SAID", "0.0.0-master")], "reports version `0.0.0-master`")]
    {
        let (succeeded, said) = home.envtest(&[], &variables);
        assert!(!succeeded && said.contains(complaint), "{said}");
        assert_eq!(home.kept(), Vec::<String>::new());
        let (succeeded, said) = home.envtest(&["--path"], &[]);
        assert!(!succeeded && said.contains("not built yet"), "{said}");
    }
    // The remains do not disturb the next build.
    let (succeeded, said) = home.envtest(&[], &[]);
    assert!(succeeded, "{said}");
    assert!(!home.path(".cache/setpoint/building").exists());
    assert_eq!(home.kept().len(), TOOLS.len());
}
