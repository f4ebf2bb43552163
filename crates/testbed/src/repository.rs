//! Repositories made by the `git` program: the store must be able to read whatever git writes.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::program;

/// The entry at one path of a version.
#[derive(Clone, Copy, Debug)]
pub enum Item<'a> {
    File(&'a str),
    Executable(&'a str),
    Link(&'a str),
    /// A submodule at the given commit.
    Submodule(&'a str),
}

/// A bare repository.
#[derive(Debug)]
pub struct GitRepository {
    folder: PathBuf,
}

impl GitRepository {
    pub fn init(folder: &Path) -> Self {
        let repository = Self { folder: folder.to_owned() };
        let mut init = program("git");
        init.args(["init", "--quiet", "--bare", "--initial-branch=main"]).arg(folder);
        assert!(init.status().expect("git is installed").success());
        repository.git(&["config", "uploadpack.allowFilter", "true"], b"");
        repository
    }

    /// Opens a repository that something else created.
    pub fn open(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Creates a version that holds exactly these files, on top of `parent`, and points the branch
    /// to it.
    pub fn commit(&self, branch: &str, parent: Option<&str>, files: &[(&str, Item<'_>)]) -> String {
        self.commit_with_message(branch, parent, files, "a change\n")
    }

    pub fn commit_with_message(
        &self,
        branch: &str,
        parent: Option<&str>,
        files: &[(&str, Item<'_>)],
        message: &str,
    ) -> String {
        let mut stream = format!(
            "feature done\ncommit refs/heads/{branch}\nauthor Ada <ada@example.org> 1700000000 +0100\n\
             committer Bob <bob@example.org> 1700000100 +0000\ndata {}\n{message}\n",
            message.len()
        );
        if let Some(parent) = parent {
            stream.push_str(&format!("from {parent}\n"));
        }
        stream.push_str("deleteall\n");
        for (path, item) in files {
            let (mode, text) = match item {
                Item::File(text) => ("100644", text),
                Item::Executable(text) => ("100755", text),
                Item::Link(text) => ("120000", text),
                Item::Submodule(id) => {
                    stream.push_str(&format!("M 160000 {id} \"{path}\"\n"));
                    continue;
                }
            };
            stream.push_str(&format!("M {mode} inline \"{path}\"\ndata {}\n{text}\n", text.len()));
        }
        stream.push_str("done\n");
        self.git(&["fast-import", "--quiet", "--force", "--date-format=raw"], stream.as_bytes());
        self.head(branch)
    }

    /// Creates a version whose root directory has entries that no honest tool writes.
    pub fn commit_raw(&self, branch: &str, entries: &[(&str, &[u8])]) -> String {
        let blob = self.git(&["hash-object", "-w", "--stdin"], b"x\n");
        let mut tree = Vec::new();
        for (mode, name) in entries {
            tree.extend_from_slice(mode.as_bytes());
            tree.push(b' ');
            tree.extend_from_slice(name);
            tree.push(0);
            tree.extend((0..20).map(|n| u8::from_str_radix(&blob[2 * n..2 * n + 2], 16).expect("an id is hex")));
        }
        let tree = self.git(&["hash-object", "-t", "tree", "-w", "--stdin", "--literally"], &tree);
        let commit = self.git(&["commit-tree", &tree, "-m", "raw"], b"");
        self.git(&["update-ref", &format!("refs/heads/{branch}"), &commit], b"");
        commit
    }

    pub fn head(&self, branch: &str) -> String {
        self.git(&["rev-parse", &format!("refs/heads/{branch}")], b"")
    }

    pub fn delete_branch(&self, branch: &str) {
        self.git(&["update-ref", "-d", &format!("refs/heads/{branch}")], b"");
    }

    /// Runs `git` in the repository and returns its output, without the last line break.
    pub fn git(&self, arguments: &[&str], input: &[u8]) -> String {
        let mut command = program("git");
        command.args(arguments).env("GIT_DIR", &self.folder).env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Ada").env(format!("GIT_{who}_EMAIL"), "ada@example.org");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("git is installed: run `cargo xtask setup`");
        child.stdin.take().expect("it was piped").write_all(input).expect("git reads its input");
        let output = child.wait_with_output().expect("git ends");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }
}
