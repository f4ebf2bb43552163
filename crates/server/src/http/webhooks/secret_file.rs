//! The secrets of a webhook: a file with one a line, so that a new secret can be added before the old
//! one is removed.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use zeroize::Zeroizing;

/// The shortest secret: shorter ones can be guessed from one signed request.
const SHORTEST: usize = 16;

/// A file that is read again when it changes.
#[derive(Debug)]
pub(super) struct SecretFile {
    path: PathBuf,
    read: Mutex<Option<Read>>,
}

/// The content of the file, as of a time.
struct Read {
    modified: SystemTime,
    text: Zeroizing<String>,
}

impl std::fmt::Debug for Read {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Read").field("modified", &self.modified).finish_non_exhaustive()
    }
}

impl SecretFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, read: Mutex::default() }
    }

    /// Reports whether any of the secrets passes a check. The error is the reason why there is no
    /// usable secret.
    pub(super) fn any(&self, check: impl Fn(&[u8]) -> bool) -> Result<bool, String> {
        let unread = |error: std::io::Error| format!("cannot read {}: {error}", self.path.display());
        let modified = fs::metadata(&self.path).and_then(|metadata| metadata.modified()).map_err(unread)?;
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.as_ref().is_none_or(|read| read.modified != modified) {
            let text = Zeroizing::new(fs::read_to_string(&self.path).map_err(unread)?);
            *read = Some(Read { modified, text });
        }
        let text = read.as_ref().map_or("", |read| &read.text);
        let secrets = || text.lines().map(str::trim).filter(|secret| !secret.is_empty());
        if secrets().next().is_none() {
            return Err(format!("{} is empty: write the secret of the webhook into it", self.path.display()));
        }
        if secrets().any(|secret| secret.len() < SHORTEST) {
            return Err(format!("a secret in {} is shorter than {SHORTEST} characters", self.path.display()));
        }
        Ok(secrets().any(|secret| check(secret.as_bytes())))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_line_is_a_secret_and_a_new_file_counts_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let file = SecretFile::new(path.clone());
        assert!(file.any(|_| true).unwrap_err().starts_with("cannot read "));
        fs::write(&path, "\n").unwrap();
        assert!(file.any(|_| true).unwrap_err().contains("is empty"));
        let write = |text: &str, seconds: u64| {
            fs::write(&path, text).unwrap();
            let at = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            fs::File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
        };
        write("fifteen letters\n", 10);
        assert!(file.any(|_| true).unwrap_err().contains("shorter than 16"));
        write("the first secret\n the second secret \r\n", 20);
        assert_eq!(file.any(|secret| secret == b"the first secret"), Ok(true));
        assert_eq!(file.any(|secret| secret == b"the second secret"), Ok(true));
        write("the second secret\n", 30);
        assert_eq!(file.any(|secret| secret == b"the first secret"), Ok(false));
        assert!(!format!("{file:?}").contains("second"), "secrets are not printed");
    }
}
