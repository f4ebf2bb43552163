//! Kustomizations that another program renders in our place, such as a real `kustomize`. Who runs
//! it, and how it is confined, is not known here: it is given a version and gives a text. It may
//! have read all of the version, so that is what is recorded; whatever it writes is read as any
//! other text.

use std::fmt;

use setpoint_core::name::StoreName;
use setpoint_kustomize::kustomization::FILE_NAMES;
use setpoint_kustomize::load::{NoResources, resources};
use setpoint_kustomize::origin::Sources;
use setpoint_kustomize::resource::Resource;
use setpoint_store::{EntryKind, StoreError, StorePath, Tree};

/// Runs programs that render.
pub trait External: fmt::Debug {
    /// What a program writes for the kustomization of a folder.
    fn render(&self, wanted: &Wanted<'_>) -> Result<String, NotGiven>;
}

/// What another program is to render.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Of the program.
    pub digest: &'a str,
    pub store: &'a StoreName,
    /// The version of the store: all that it may read.
    pub tree: &'a dyn Tree,
    pub folder: &'a StorePath,
    /// Files have to be in the folder of the kustomization that names them, or below it.
    pub is_restricted: bool,
}

/// Why another program gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotGiven {
    /// It refused what the version holds, and will so the next time.
    #[error("{what}")]
    Refused { what: String },
    /// It could not be run. Later it may be.
    #[error("{what}")]
    Unavailable { what: String },
    /// The version could not be read.
    #[error(transparent)]
    Store(StoreError),
}

/// What is wrong with a version stays so; what could not be read may be read later.
impl From<StoreError> for NotGiven {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused { what, fix } => Self::Refused { what: format!("{what}; {fix}") },
            blind => Self::Store(blind),
        }
    }
}

/// How much of a version is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLimits {
    /// Links count as files.
    pub files: usize,
    pub bytes: usize,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self { files: 20_000, bytes: 256 << 20 }
    }
}

/// What stands under a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    File {
        bytes: &'a [u8],
        executable: bool,
    },
    /// Something else in the tree, by its path without a link in it.
    Link {
        to: &'a StorePath,
    },
}

/// Hands over everything that a version holds, one by one. Gives the files that its store does not
/// give out, being too large: they are left out.
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
                // It is not part of the store, and an empty folder to whoever does not ask for it.
                EntryKind::Submodule => {}
                EntryKind::File | EntryKind::Executable => match tree.read(&path) {
                    Ok(blob) => {
                        let content = blob.ok_or_else(|| gone(&path))?.bytes;
                        bytes += content.len();
                        check(files, bytes, limits)?;
                        take(&path, Found::File { bytes: &content, executable: entry.kind == EntryKind::Executable })?;
                    }
                    // Without it another file of the folder would be taken for the kustomization.
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

/// What is listed and not there is no empty folder or file: less would be rendered without it, and
/// the rest be taken for gone.
fn gone(path: &StorePath) -> StoreError {
    StoreError::damaged(format!("`{path}` is listed in this version, and cannot be read"))
}

/// A link that leads nowhere is none to whoever reads.
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
        Err(NotGiven::Refused { what: format!("another program is handed the whole store, and it has {what}; {fix}") })
    };
    if files > limits.files {
        return over(format!("more than {} files", limits.files));
    }
    if bytes > limits.bytes {
        return over(format!("more than {} bytes", limits.bytes));
    }
    Ok(())
}

/// The resources of what a program wrote. Their places are lines of that, under a name that is no
/// file's.
pub(crate) fn read(name: &str, text: &str, sources: &mut Sources) -> Result<Vec<Resource>, NoResources> {
    let name = format!("{name} (as it was rendered)");
    let origin = sources.add(name.as_str().into(), None);
    resources(&name, text, origin)
}
