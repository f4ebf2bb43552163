//! Kustomizations that another program renders instead of Setpoint, such as a real `kustomize`.
//! This module does not know how the program is run and confined: the program gets a version and
//! returns a text. It may have read the whole version, so the whole version is recorded as read.
//! Its output is parsed like any other text.

use std::fmt;

use setpoint_core::name::StoreName;
use setpoint_kustomize::kustomization::FILE_NAMES;
use setpoint_kustomize::load::{NoResources, resources};
use setpoint_kustomize::origin::Sources;
use setpoint_kustomize::resource::Resource;
use setpoint_store::{EntryKind, StoreError, StorePath, Tree};

/// Runs programs that render.
pub trait External: fmt::Debug {
    /// Returns the output of a program for the kustomization in a directory.
    fn render(&self, wanted: &Wanted<'_>) -> Result<String, NotGiven>;
}

/// The input of another program's render.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The digest of the program.
    pub digest: &'a str,
    pub store: &'a StoreName,
    /// The version of the store. The program may read nothing else.
    pub tree: &'a dyn Tree,
    pub folder: &'a StorePath,
    /// Requires files to be in the directory of the kustomization that names them, or below it.
    pub is_restricted: bool,
}

/// An error of an external renderer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotGiven {
    /// The program refused the content of the version, and will refuse it again.
    #[error("{what}")]
    Refused { what: String },
    /// The program could not be run. A later try may succeed.
    #[error("{what}")]
    Unavailable { what: String },
    /// The version could not be read.
    #[error(transparent)]
    Store(StoreError),
}

/// A mistake in a version is permanent; a failed read may succeed later.
impl From<StoreError> for NotGiven {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused { what, fix } => Self::Refused { what: format!("{what}; {fix}") },
            blind => Self::Store(blind),
        }
    }
}

/// The largest version that is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLimits {
    /// The most files; links count as files.
    pub files: usize,
    pub bytes: usize,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self { files: 20_000, bytes: 256 << 20 }
    }
}

/// The entry at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    File {
        bytes: &'a [u8],
        executable: bool,
    },
    /// A link to something else in the tree, whose path here contains no link.
    Link {
        to: &'a StorePath,
    },
}

/// Passes on all files and links of a version, one by one. Returns the files that its store
/// withholds because they are too large: they are left out.
pub fn each_file(
    tree: &dyn Tree,
    limits: TreeLimits,
    take: &mut dyn FnMut(&StorePath, Found<'_>) -> Result<(), NotGiven>,
) -> Result<Vec<StorePath>, NotGiven> {
    let (mut ahead, mut left_out) = (vec![StorePath::root()], Vec::new());
    let (mut files, mut bytes) = (0, 0);
    while let Some(folder) = ahead.pop() {
        let listing = tree.list(&folder)?.ok_or_else(|| gone(&folder))?;
        for entry in listing.entries.iter() {
            let path = folder.join(&entry.name).map_err(|bad| NotGiven::Refused { what: bad.to_string() })?;
            files += usize::from(entry.kind != EntryKind::Directory);
            match entry.kind {
                EntryKind::Directory => ahead.push(path),
                EntryKind::Symlink => follow(tree, &path, take)?,
                // A submodule is not part of the store, and looks like an empty directory to
                // readers.
                EntryKind::Submodule => {}
                EntryKind::File | EntryKind::Executable => match tree.read(&path) {
                    Ok(blob) => {
                        let content = blob.ok_or_else(|| gone(&path))?.bytes;
                        bytes += content.len();
                        check(files, bytes, limits)?;
                        take(&path, Found::File { bytes: &content, executable: entry.kind == EntryKind::Executable })?;
                    }
                    // Without this file, the program would take another file of the directory for
                    // the kustomization.
                    Err(StoreError::Refused { .. }) if !path.name().is_some_and(|name| FILE_NAMES.contains(&name)) => {
                        left_out.push(path);
                    }
                    Err(error) => return Err(error.into()),
                },
            }
            check(files, bytes, limits)?;
        }
    }
    Ok(left_out)
}

/// Builds the error for a path that is listed but missing. It must not count as an empty directory
/// or file: the render would lack resources, which would then seem to be removed.
fn gone(path: &StorePath) -> StoreError {
    StoreError::damaged(format!("`{path}` is listed in this version, but cannot be read"))
}

/// Passes on a link. A link without a target is left out: readers see no file there.
fn follow(
    tree: &dyn Tree,
    path: &StorePath,
    take: &mut dyn FnMut(&StorePath, Found<'_>) -> Result<(), NotGiven>,
) -> Result<(), NotGiven> {
    match tree.real_path(path) {
        Ok(Some(to)) => take(path, Found::Link { to: &to }),
        Ok(None) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn check(files: usize, bytes: usize, limits: TreeLimits) -> Result<(), NotGiven> {
    let over = |what: String| {
        let fix = "give the Store a `path`, or the app a store of its own, or let this program render it";
        Err(NotGiven::Refused { what: format!("another program gets the whole store, which has {what}; {fix}") })
    };
    if files > limits.files {
        return over(format!("more than {} files", limits.files));
    }
    if bytes > limits.bytes {
        return over(format!("more than {} bytes", limits.bytes));
    }
    Ok(())
}

/// Parses the resources of a program's output. Their places are lines of that output, under a name
/// that no file has.
pub(crate) fn read(name: &str, text: &str, sources: &mut Sources) -> Result<Vec<Resource>, NoResources> {
    let name = format!("{name} (as it was rendered)");
    let origin = sources.add(name.as_str().into(), None);
    resources(&name, text, origin)
}
