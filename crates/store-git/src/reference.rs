//! The followed branch or tag, by a name that cannot refer to anything else, and optionally a
//! single commit.

use std::fmt;

use setpoint_store::StoreError;

use crate::address::BadAddress;

/// A branch's name, without `refs/heads/`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Branch(String);

impl Branch {
    pub fn parse(name: &str) -> Result<Self, BadAddress> {
        let bad = |problem| BadAddress::new("branch", name, problem);
        check_name(name, "write the branch alone, as in `main`").map_err(bad)?;
        Ok(Self(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A tag's name, without `refs/tags/`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag(String);

impl Tag {
    pub fn parse(name: &str) -> Result<Self, BadAddress> {
        let bad = |problem| BadAddress::new("tag", name, problem);
        check_name(name, "write the tag alone, as in `v1.2.3`").map_err(bad)?;
        Ok(Self(name.to_owned()))
    }
}

/// The branch or tag that a store follows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference {
    Branch(Branch),
    /// A tag must not move: a moved tag counts as rewritten history.
    Tag(Tag),
}

impl Reference {
    /// Returns the full name: `refs/heads/<name>` or `refs/tags/<name>`.
    pub fn full_name(&self) -> String {
        match self {
            Self::Branch(Branch(name)) => format!("refs/heads/{name}"),
            Self::Tag(Tag(name)) => format!("refs/tags/{name}"),
        }
    }

    pub(crate) fn is_tag(&self) -> bool {
        matches!(self, Self::Tag(_))
    }

    pub(crate) fn vanished(&self) -> StoreError {
        let kind = if self.is_tag() { "tag" } else { "branch" };
        let fix = format!("restore it, or declare another {kind}; nothing is removed because of it");
        StoreError::vanished(self.to_string(), fix)
    }
}

/// Includes the kind, for messages to people.
impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Branch(Branch(name)) => write!(f, "branch `{name}`"),
            Self::Tag(Tag(name)) => write!(f, "tag `{name}`"),
        }
    }
}

/// Parses the full id of a commit.
pub(crate) fn commit(id: &str) -> Result<gix::ObjectId, BadAddress> {
    let bad = |problem| BadAddress::new("commit", id, problem);
    gix::ObjectId::from_hex(id.as_bytes()).map_err(|_| bad("write all of its 40 digits"))
}

fn check_name(name: &str, alone: &'static str) -> Result<(), &'static str> {
    if name.is_empty() || name.len() > 255 {
        return Err("write a name of 1 to 255 bytes");
    }
    if name.starts_with('-') {
        return Err("it begins with `-`");
    }
    if name.starts_with("refs/") {
        return Err(alone);
    }
    let forbidden = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
    if name.contains(forbidden) || name.contains("..") || name.contains("@{") || name == "@" {
        return Err("control characters, spaces, `..`, `@{` and any of ~^:?*[\\ are not allowed");
    }
    let is_bad_part =
        |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with('.') || part.ends_with(".lock");
    if name.split('/').any(is_bad_part) {
        return Err("no part between `/` may be empty, begin or end with `.`, or end with `.lock`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_04_names_that_begin_with_a_dash_are_refused() {
        assert!(Branch::parse("--upload-pack=touch").is_err());
        assert!(Tag::parse("--upload-pack=touch").is_err());
    }

    #[test]
    fn case_15_a_name_that_leads_elsewhere_is_refused() {
        for name in [
            "refs/heads/../../config",
            "refs/tags/v1",
            "../../config",
            "../x",
            "a..b",
            "a/.hidden",
            "x.lock",
            "a b",
            "a\0",
            "a//b",
            "@{u}",
            "",
        ] {
            assert!(Branch::parse(name).is_err(), "{name:?}");
            assert!(Tag::parse(name).is_err(), "{name:?}");
        }
        for name in ["main", "release/1.0", "feature/a-b_c", "v1.2.3", "kustomize/v5.8.1"] {
            assert!(Branch::parse(name).is_ok(), "{name:?}");
            assert!(Tag::parse(name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn a_name_has_up_to_255_bytes() {
        assert!(Branch::parse(&"a".repeat(255)).is_ok());
        assert!(Branch::parse(&"a".repeat(256)).is_err());
    }

    #[test]
    fn a_commit_is_all_of_its_digits() {
        assert!(commit("0123456789abcdef0123456789abcdef01234567").is_ok());
        for id in ["", "0123456", "main", "0123456789abcdef0123456789abcdef0123456g", "HEAD"] {
            assert!(commit(id).is_err(), "{id:?}");
        }
    }
}
