//! Detects moved tags. A tag is a promise: a moved tag counts as rewritten history, even if its new
//! commit descends from the old one.
//!
//! The record is next to the copies of a repository, so that a new copy does not lose it. It is
//! lost with the whole cache.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use setpoint_store::StoreError;

/// The second line of the file of a moved tag. It is permanent: a tag that was moved back has
/// broken its promise too.
const MOVED: &str = "moved";

/// The commits of a tag, on disk.
#[derive(Debug)]
pub(crate) struct Standing {
    file: PathBuf,
}

impl Standing {
    pub(crate) fn at(file: PathBuf) -> Self {
        Self { file }
    }

    /// Records that the tag leads to this commit.
    pub(crate) fn note(&self, head: gix::ObjectId) -> Result<(), StoreError> {
        match self.read()? {
            None => self.write(&format!("{head}\n")),
            Some((first, false)) if first != head => self.write(&format!("{first}\n{MOVED}\n")),
            Some(_) => Ok(()),
        }
    }

    /// Reports whether the tag has led to more than one commit.
    pub(crate) fn was_moved(&self) -> Result<bool, StoreError> {
        Ok(self.read()?.is_some_and(|(_, moved)| moved))
    }

    /// Returns the first commit, and whether there were others.
    fn read(&self) -> Result<Option<(gix::ObjectId, bool)>, StoreError> {
        let text = match fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.disk(&error)),
        };
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let first = gix::ObjectId::from_hex(first.as_bytes());
        match (first, rest.trim_end()) {
            (Ok(first), "") => Ok(Some((first, false))),
            (Ok(first), MOVED) => Ok(Some((first, true))),
            // Guessing could follow a tag that was moved.
            _ => Err(StoreError::refused(
                format!("{} does not record the tag's commit", self.file.display()),
                "find out whether the tag was moved, then remove the file",
            )),
        }
    }

    fn write(&self, text: &str) -> Result<(), StoreError> {
        let new = self.file.with_extension("new");
        let written = File::create(&new).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        let renamed = written.and_then(|()| fs::rename(&new, &self.file));
        // The new name is durable only once its directory is: otherwise a moved tag could look like
        // an unmoved one.
        renamed.and_then(|()| self.sync_directory()).map_err(|error| self.disk(&error))
    }

    fn sync_directory(&self) -> std::io::Result<()> {
        match self.file.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Some(parent) => File::open(parent)?.sync_all(),
            None => File::open(".")?.sync_all(),
        }
    }

    fn disk(&self, error: &std::io::Error) -> StoreError {
        // Not `damaged`: our copy is still intact.
        StoreError::refused(
            format!("{} cannot be used: {error}", self.file.display()),
            "check its permissions and free space",
        )
    }
}
