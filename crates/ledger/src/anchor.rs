//! Anchors: the newest checkpoint of a log, stored outside the data directory. A data directory
//! that was restored, truncated or rewritten does not match it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use setpoint_core::time::Timestamp;

use crate::checkpoint::Checkpoint;

/// A file that holds one checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchorFile {
    path: PathBuf,
    history: Option<PathBuf>,
}

impl AnchorFile {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), history: None }
    }

    /// Also appends every checkpoint to `path`, for readers that need more than the newest.
    #[must_use]
    pub fn with_history(mut self, path: impl Into<PathBuf>) -> Self {
        self.history = Some(path.into());
        self
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the temporary file that is renamed to the anchor. An existing file keeps
    /// its mode.
    pub fn next(&self) -> PathBuf {
        let mut next = self.path.clone().into_os_string();
        next.push(".next");
        next.into()
    }

    /// Reads the signed text. Returns `None` only if there is no file: a file that cannot be read
    /// is an error, not an absence.
    pub fn read(&self) -> io::Result<Option<String>> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces the checkpoint. After a crash the file holds the old checkpoint or the new one,
    /// never a part of one.
    pub fn write(&self, checkpoint: &Checkpoint) -> io::Result<()> {
        if let Some(history) = &self.history {
            let mut file = OpenOptions::new().create(true).append(true).open(history)?;
            file.write_all(checkpoint.text.as_bytes())?;
            file.write_all(b"\n")?;
            file.sync_all()?;
        }
        let next = self.next();
        let mut file = File::create(&next)?;
        file.write_all(checkpoint.text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&next, &self.path)?;
        self.sync_folder()
    }

    /// Copies the checkpoint to a new file next to the anchor and returns its path, so that the
    /// anchored state stays provable after a new log begins. The name holds the time in
    /// milliseconds. Fails if the file exists.
    pub fn keep_former(&self, now: Timestamp) -> io::Result<PathBuf> {
        let mut former = self.path.clone().into_os_string();
        former.push(format!(".former-{}", now.as_millis()));
        let former = PathBuf::from(former);
        let bytes = fs::read(&self.path)?;
        let mut file = OpenOptions::new().write(true).create_new(true).open(&former)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        self.sync_folder()?;
        Ok(former)
    }

    /// Removes the anchor, so that another log can begin there. Call [`Self::keep_former`] first.
    pub fn clear(&self) -> io::Result<()> {
        fs::remove_file(&self.path)?;
        self.sync_folder()
    }

    /// Syncs the directory, without which a rename, a new name or a removal is not durable.
    fn sync_folder(&self) -> io::Result<()> {
        match self.path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Some(parent) => File::open(parent)?.sync_all(),
            None => File::open(".")?.sync_all(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::Signer;
    use crate::origin::Origin;
    use setpoint_core::digest::Digest;

    #[test]
    fn the_newest_checkpoint_replaces_the_last_and_the_history_keeps_both() {
        let folder = tempfile::tempdir().unwrap();
        let anchor = AnchorFile::new(folder.path().join("anchor")).with_history(folder.path().join("history"));
        assert_eq!(anchor.read().unwrap(), None);
        let origin = Origin::new("test").unwrap();
        let signer = Signer::new(origin.clone(), &[1; 32]);
        let first = Checkpoint::sign(origin.clone(), 1, 1, Digest::of(b"1"), &signer);
        let second = Checkpoint::sign(origin, 1, 2, Digest::of(b"2"), &signer);
        anchor.write(&first).unwrap();
        anchor.write(&second).unwrap();
        assert_eq!(anchor.read().unwrap().as_ref(), Some(&second.text));
        let history = fs::read_to_string(folder.path().join("history")).unwrap();
        assert_eq!(history, format!("{}\n{}\n", first.text, second.text));
    }

    #[test]
    fn a_former_anchor_is_kept_beside_the_new_one_and_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let anchor = AnchorFile::new(folder.path().join("anchor"));
        let monday = Timestamp::from_millis(1_795_996_800_000);
        fs::write(anchor.path(), "first").unwrap();
        let kept = anchor.keep_former(monday).unwrap();
        anchor.clear().unwrap();
        assert_eq!(anchor.read().unwrap(), None);
        fs::write(anchor.path(), "second").unwrap();
        assert!(anchor.keep_former(monday).is_err());
        assert_eq!(
            (fs::read_to_string(&kept).unwrap().as_str(), anchor.read().unwrap().as_deref()),
            ("first", Some("second"))
        );
    }

    #[test]
    fn an_anchor_that_cannot_be_read_is_not_a_missing_one() {
        let folder = tempfile::tempdir().unwrap();
        assert!(AnchorFile::new(folder.path()).read().is_err());
    }
}
