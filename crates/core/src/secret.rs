//! Secrets: a type that cannot be printed, and the reference that replaces a secret in plans,
//! bundles and the ledger.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::digest::KeyedDigest;
use crate::value::Value;

/// A value that has no text form. It is opened by name, inside a target crate, and nowhere else.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// Returns the value itself. Every call is a place to review.
    pub const fn open(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A reference to a secret: the location of its sealed bytes, and a keyed digest that shows only
/// "same" or "changed".
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SecretRef {
    /// The name of the sealed bytes within the bundle.
    pub name: Arc<str>,
    pub digest: KeyedDigest,
}

/// Reports whether a declared object contains secret values: a Secret of any API, or a host's file,
/// command or variable that is marked as sensitive.
pub fn holds_secrets(kind: &str, body: &Value) -> bool {
    kind == "Secret" || says_sensitive(body)
}

/// Reports whether `sensitive` is set to any word for true: YAML readers do not agree on which of
/// them are booleans.
fn says_sensitive(value: &Value) -> bool {
    let is_true = |value: &Value| match value {
        Value::Bool(is_true) => *is_true,
        Value::Str(word) => ["true", "yes", "y", "on"].iter().any(|yes| word.eq_ignore_ascii_case(yes)),
        _ => false,
    };
    match value {
        Value::Map(fields) => {
            fields.iter().any(|(name, value)| (&**name == "sensitive" && is_true(value)) || says_sensitive(value))
        }
        Value::Seq(items) => items.iter().any(says_sensitive),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_may_see_is_known_by_its_kind_or_by_what_it_says() {
        let says = |word: Value| Value::map([("spec", Value::Seq([Value::map([("sensitive", word)])].into()))]);
        assert!(holds_secrets("Secret", &Value::Null));
        for (word, is_secret) in [("yes", true), ("True", true), ("no", false), ("maybe", false)] {
            assert_eq!(holds_secrets("File", &says(Value::str(word))), is_secret, "{word}");
        }
        assert!(holds_secrets("File", &says(Value::Bool(true))) && !holds_secrets("File", &says(Value::Bool(false))));
    }

    #[test]
    fn a_secret_has_no_text_form() {
        let secret = Secret::new("hunter2".to_owned());
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "Secret(…) Some(Secret(…))");
        assert_eq!(secret.open(), "hunter2");
    }
}
