//! What the tests share: a program pinned by the digest it has, trees in temporary folders, and the stand-in for the agent's binary.

use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use setpoint_render_external::{Limits, NotRun, Output, Pinned, Tree, run};
use sha2::{Digest as _, Sha256};

/// Where the tests may write.
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
    Tree::write(folder(), files.iter().map(|(path, text)| (*path, text.as_bytes(), false))).unwrap()
}

/// Runs a program on a folder of a tree as an agent does.
pub(crate) fn rendered(program: &Path, tree: &Tree, folder: &str, limits: &Limits) -> Result<Output, NotRun> {
    run(&pinned(program), tree.path(), folder, limits, &agent())
}
