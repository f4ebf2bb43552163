//! Secrets: a type that cannot be printed, and the reference that stands for one in plans, bundles and the ledger.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::digest::KeyedDigest;

/// A value that has no text form. It is opened by name, inside a target crate, and nowhere else.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself. Every call is a place to review.
    pub const fn open(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Stands for a secret: where its sealed bytes are, and a keyed digest that says only "same" or "changed".
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SecretRef {
    /// Names the sealed bytes within the bundle.
    pub name: Arc<str>,
    pub digest: KeyedDigest,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_no_text_form() {
        let secret = Secret::new("hunter2".to_owned());
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "Secret(…) Some(Secret(…))");
        assert_eq!(secret.open(), "hunter2");
    }
}
