//! Kustomizations on the local disk. The root of the file system is the root of the tree, so that
//! paths are those that users know.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use setpoint_kustomize::build::BadBuild;
use setpoint_kustomize::files::{FileError, Files};
use setpoint_kustomize::folder::{is_repository, without_secrets};
use setpoint_kustomize::limits::Limits;
use setpoint_yaml::visible_text;

use super::{Failure, unusable};
use crate::exit::Exit;

/// The most bytes that one build may read. A file that exceeds it is read one byte further, so that
/// the build can refuse it.
const MOST_READ: u64 = Limits::DEFAULT.read_bytes;

pub(super) struct Disk {
    /// The current directory of the user: messages show paths relative to it.
    here: Option<String>,
}

impl Disk {
    pub(super) fn new() -> Self {
        Self { here: folder(Path::new(".")).ok() }
    }

    /// Returns the error with its place.
    pub(super) fn complaint(&self, bad: &BadBuild) -> String {
        match &bad.place {
            Some((file, line)) => format!("{}:{line}: {}", self.told(file), bad.message),
            None => bad.message.clone(),
        }
    }

    /// Resolves links. A missing path resolves to itself: the caller that reads it reports it as
    /// missing.
    fn real(&self, path: &str) -> Result<String, FileError> {
        match at(path).canonicalize() {
            Ok(full) => match full.to_str() {
                Some(text) => Ok(text.trim_start_matches('/').to_owned()),
                None => Err(FileError::Unreadable {
                    path: self.told(path),
                    reason: "a link leads to a name that is not UTF-8".to_owned(),
                }),
            },
            Err(error) => match failed(self.told(path), &error) {
                FileError::Missing { .. } => Ok(path.to_owned()),
                other => Err(other),
            },
        }
    }
}

impl Files for Disk {
    fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
        read(&at(path)).map(Into::into).map_err(|error| failed(self.told(path), &error))
    }

    fn told(&self, path: &str) -> String {
        seen_from(path, self.here.as_deref())
    }

    fn real_folder(&self, path: &str) -> Result<String, FileError> {
        self.real(path)
    }

    fn real_file(&self, path: &str) -> Result<String, FileError> {
        self.real(path)
    }
}

/// Reads a file, up to one byte more than one build may read: a device would have no end.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let about = file.metadata()?.len().min(MOST_READ);
    let mut bytes = Vec::with_capacity(usize::try_from(about).unwrap_or_default());
    file.take(MOST_READ + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn at(path: &str) -> PathBuf {
    Path::new("/").join(path)
}

fn failed(path: String, error: &io::Error) -> FileError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileError::Missing { path },
        io::ErrorKind::IsADirectory => FileError::Folder { path },
        _ => FileError::Unreadable { path, reason: error.to_string() },
    }
}

/// Returns a directory as the tree names it: from the root, and without links.
pub(super) fn folder(path: &Path) -> Result<String, Failure> {
    if let Some(url) = path.to_str().filter(|text| is_repository(text)) {
        return Err(Failure::Told(Exit::CouldNotRun, visible_text(&of_repository(url))));
    }
    let full = path.canonicalize().map_err(|error| unusable(path, &error))?;
    if !full.is_dir() {
        let text = format!("{} is not a directory; name the directory of the kustomization", path.display());
        return Err(Failure::Told(Exit::CouldNotRun, text));
    }
    match full.to_str() {
        Some(text) => Ok(text.trim_start_matches('/').to_owned()),
        None => Err(Failure::Told(Exit::CouldNotRun, format!("the path {} is not UTF-8; rename it", path.display()))),
    }
}

/// Explains what to do with a URL, which kustomize would clone.
fn of_repository(url: &str) -> String {
    let named = without_secrets(url);
    let here =
        if Path::new(url).is_dir() { format!("; for the local directory, write `./{named}`") } else { String::new() };
    format!(
        "`{named}` is a Git repository, and rendering fetches nothing: clone it, check out the version, and name the directory in the clone{here}"
    )
}

/// Returns the path of a file relative to the directory `here`, if the file is below it.
pub(super) fn seen_from(file: &str, here: Option<&str>) -> String {
    if file.is_empty() {
        return String::new();
    }
    let below = here.and_then(|here| file.strip_prefix(here)).and_then(|rest| rest.strip_prefix('/'));
    below.map_or_else(|| format!("/{file}"), ToOwned::to_owned)
}
