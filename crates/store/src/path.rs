//! Paths within a store: relative, and validated when created, so that later code need not.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest path, in bytes.
pub const MAX_BYTES: usize = 1_024;
/// The most components a path may have.
pub const MAX_DEPTH: usize = 32;

/// A path from the root of a store's tree: components between single `/`; the root itself is empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StorePath(Arc<str>);

/// The error for an invalid path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a path within a store: {problem}")]
pub struct BadPath {
    /// The text, escaped and cut to a readable length.
    pub text: String,
    /// The violated rule and the valid form.
    pub problem: &'static str,
}

impl BadPath {
    fn new(text: &str, problem: &'static str) -> Self {
        Self { text: shown(text), problem }
    }
}

/// Escapes foreign text for messages: printable ASCII stays, everything else is escaped. At most 80
/// characters are used.
pub fn shown(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_default).collect()
}

impl StorePath {
    /// Returns the path of the tree's root directory.
    pub fn root() -> Self {
        Self(Arc::from(""))
    }

    /// Validates a path. Drops a trailing `/`, as people write directories.
    pub fn new(text: &str) -> Result<Self, BadPath> {
        if text.starts_with('/') {
            return Err(BadPath::new(text, "write it relative to the store's root, without a leading `/`"));
        }
        let text = text.strip_suffix('/').unwrap_or(text);
        if text.is_empty() {
            return Ok(Self::root());
        }
        if text.len() > MAX_BYTES {
            return Err(BadPath::new(text, "it is longer than 1,024 bytes"));
        }
        if text.split('/').count() > MAX_DEPTH {
            return Err(BadPath::new(text, "it has more than 32 components"));
        }
        match text.split('/').find_map(component_problem) {
            Some(problem) => Err(BadPath::new(text, problem)),
            None => Ok(Self(Arc::from(text))),
        }
    }

    /// Returns the path of an entry of this directory.
    pub fn join(&self, name: &str) -> Result<Self, BadPath> {
        match component_problem(name) {
            Some(problem) => Err(BadPath::new(name, problem)),
            None if name.contains('/') => Err(BadPath::new(name, "a name within a directory has no `/`")),
            None if self.is_root() => Self::new(name),
            None => Self::new(&format!("{}/{name}", self.0)),
        }
    }

    /// Returns the parent directory; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        Some(self.0.rsplit_once('/').map_or_else(Self::root, |(parent, _)| Self(Arc::from(parent))))
    }

    /// Returns the last component; `None` for the root.
    pub fn name(&self) -> Option<&str> {
        self.components().next_back()
    }

    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|component| !component.is_empty())
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the problem with one component of a path.
pub(crate) fn component_problem(component: &str) -> Option<&'static str> {
    if component.is_empty() {
        return Some("a component is empty: write single `/` between names");
    }
    if component == "." || component == ".." {
        return Some("`.` and `..` are not allowed: write the path from the root");
    }
    if component.contains('\\') {
        return Some("a backslash is not allowed: it means another path on other systems");
    }
    if component.chars().any(char::is_control) {
        return Some("control characters are not allowed");
    }
    None
}

impl fmt::Display for StorePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

impl fmt::Debug for StorePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for StorePath {
    type Err = BadPath;
    fn from_str(text: &str) -> Result<Self, BadPath> {
        Self::new(text)
    }
}

impl Serialize for StorePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for StorePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_elsewhere_or_deceive_are_refused() {
        for text in ["/etc", "a/../b", "..", "./a", "a//b", "a\\b", "a\0b", "a\nb", "a/\u{85}", "//"] {
            assert!(StorePath::new(text).is_err(), "{text:?} was taken");
        }
    }

    #[test]
    fn length_and_depth_are_bounded_at_the_limit_itself() {
        assert!(StorePath::new(&"a".repeat(MAX_BYTES)).is_ok());
        assert!(StorePath::new(&"a".repeat(MAX_BYTES + 1)).is_err());
        assert!(StorePath::new(&vec!["a"; MAX_DEPTH].join("/")).is_ok());
        assert!(StorePath::new(&vec!["a"; MAX_DEPTH + 1].join("/")).is_err());
    }

    #[test]
    fn a_folder_may_be_written_with_a_trailing_slash() {
        let path = StorePath::new("apps/shop/").unwrap();
        assert_eq!((path.as_str(), path.name()), ("apps/shop", Some("shop")));
        assert_eq!(path.parent().unwrap().parent(), Some(StorePath::root()));
        assert_eq!(StorePath::root().parent(), None);
    }

    #[test]
    fn a_name_is_joined_and_a_path_is_not() {
        assert_eq!(StorePath::root().join("a").unwrap().join("b").unwrap().as_str(), "a/b");
        assert!(StorePath::root().join("a/b").is_err());
        assert!(StorePath::root().join("..").is_err());
    }

    #[test]
    fn what_is_shown_of_a_bad_path_is_harmless() {
        let text = StorePath::new("a\u{202e}\r\n").unwrap_err().to_string();
        assert!(text.contains("a\\u{202e}\\r\\n"), "{text}");
    }
}
