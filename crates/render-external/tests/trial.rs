//! Shared by the tests: a program pinned by its current digest, trees in temporary directories, and
//! the replacement for the agent's binary.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use data_encoding::HEXLOWER;
use setpoint_render_external::{Job, Limits, NotRun, Output, Pinned, Stop, Tree, run};
use sha2::{Digest as _, Sha256};

/// Returns the directory that the tests may write to.
pub(crate) fn folder() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

pub(crate) fn agent() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_setpoint-render-sandboxed"))
}

pub(crate) fn digest(program: &Path) -> String {
    HEXLOWER.encode(&Sha256::digest(std::fs::read(program).unwrap()))
}

pub(crate) fn pinned(program: &Path) -> Pinned {
    Pinned::open(program, &digest(program)).unwrap()
}

pub(crate) fn tree(files: &[(&str, &str)]) -> Tree {
    let mut tree = Tree::begin(folder()).unwrap();
    files.iter().for_each(|(path, text)| tree.file(path, text.as_bytes(), false).unwrap());
    tree.finish().unwrap()
}

/// Runs a program on a directory of a tree as an agent does.
pub(crate) fn rendered(program: &Path, tree: &Tree, folder: &str, limits: &Limits) -> Result<Output, NotRun> {
    run(&pinned(program), &job(tree, folder, limits), &agent())
}

/// Returns the default job for a directory of a tree. Nothing stops it.
pub(crate) fn job<'a>(tree: &'a Tree, folder: &'a str, limits: &'a Limits) -> Job<'a> {
    static NEVER: LazyLock<Stop> = LazyLock::new(Stop::default);
    Job { tree: tree.path(), folder, is_restricted: true, limits, stop: &NEVER }
}
