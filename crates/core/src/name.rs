//! Names of scopes, apps, stores, targets and people. Checked when they are created, so that no
//! later code has to.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An error for a name that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid {what}: {problem}")]
pub struct BadName {
    /// The kind of name that was expected.
    pub what: &'static str,
    /// The given text, escaped so that control and direction characters show.
    pub text: String,
    /// The problem with the text, and what would be right.
    pub problem: &'static str,
}

impl BadName {
    pub(crate) fn new(what: &'static str, text: &str, problem: &'static str) -> Self {
        let text = text.chars().take(80).flat_map(escape).collect();
        Self { what, text, problem }
    }
}

/// Escapes everything but printable ASCII: look-alikes and right-to-left marks must not deceive.
fn escape(c: char) -> impl Iterator<Item = char> {
    let plain = c == ' ' || c.is_ascii_graphic();
    let escaped = (!plain).then(|| c.escape_unicode());
    plain.then_some(c).into_iter().chain(escaped.into_iter().flatten())
}

/// Checks for lower-case letters, digits, `-` and `.`, beginning and ending with a letter or digit;
/// at most 253 bytes.
fn check_label(what: &'static str, text: &str) -> Result<(), BadName> {
    let problem = if text.is_empty() {
        "it is empty"
    } else if text.len() > 253 {
        "it is longer than 253 bytes"
    } else if !text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.') {
        "use lower-case letters, digits, `-` and `.` only"
    } else if text.starts_with(['-', '.']) || text.ends_with(['-', '.']) {
        "begin and end it with a letter or a digit"
    } else {
        return Ok(());
    };
    Err(BadName::new(what, text, problem))
}

/// Checks for printable ASCII without spaces; at most 512 bytes. For identifiers that other systems
/// assign.
fn check_token(what: &'static str, text: &str) -> Result<(), BadName> {
    let problem = if text.is_empty() {
        "it is empty"
    } else if text.len() > 512 {
        "it is longer than 512 bytes"
    } else if !text.bytes().all(|b| b.is_ascii_graphic()) {
        "use printable ASCII without spaces only"
    } else {
        return Ok(());
    };
    Err(BadName::new(what, text, problem))
}

/// Declares a validated text type that is cheap to clone.
macro_rules! text_type {
    ($(#[$doc:meta])* $name:ident, $what:literal, $check:path) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash)]
        pub struct $name(Arc<str>);

        // By text, as derived; but most comparisons are with a copy of the same name, whose text
        // need not be read.
        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                if Arc::ptr_eq(&self.0, &other.0) { Ordering::Equal } else { self.0.cmp(&other.0) }
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl $name {
            pub fn new(text: &str) -> Result<Self, BadName> {
                $check($what, text)?;
                Ok(Self(Arc::from(text)))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadName;
            fn from_str(text: &str) -> Result<Self, BadName> {
                Self::new(text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Self::new(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}

text_type!(
    /// A tenant's boundary. There is no "all": a missing scope means no rights.
    Scope, "scope", check_label
);
text_type!(
    /// The name of an app within its scope.
    AppName, "app name", check_label
);
text_type!(
    /// The name of a store.
    StoreName, "store name", check_label
);
text_type!(
    /// The name under which a target is declared. Not its identity: see [`TargetIdentity`].
    TargetName, "target name", check_label
);
text_type!(
    /// A target's own identity, checked on every connection: a cluster's kube-system UID, a host's
    /// machine id.
    TargetIdentity, "target identity", check_token
);
text_type!(
    /// The identity that a target gives to one incarnation of an object. An object that is created
    /// again under the same key has another one.
    Uid, "uid", check_token
);
text_type!(
    /// A target's opaque version of an object. Compared for equality only, never ordered.
    LiveVersion, "object version", check_token
);
text_type!(
    /// The name of one immutable state of a store: commit id or digest.
    VersionId, "version id", check_token
);
text_type!(
    /// The author of an action: a person, a machine, or the engine itself.
    Actor, "actor", check_token
);

impl TargetIdentity {
    /// Returns the word that begins the identity, before the first `-`: it names the family of
    /// targets that gave the identity.
    pub fn family(&self) -> &str {
        self.as_str().split_once('-').map_or(self.as_str(), |(family, _)| family)
    }
}

impl Scope {
    /// Returns the scope of documents that name none.
    pub fn default_scope() -> Self {
        Self(Arc::from("default"))
    }
}

/// An app's full name: `scope/name`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppId {
    pub scope: Scope,
    pub name: AppName,
}

impl AppId {
    pub fn new(scope: Scope, name: AppName) -> Self {
        Self { scope, name }
    }
}

impl fmt::Display for AppId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.scope, self.name)
    }
}

impl fmt::Debug for AppId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for AppId {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let (scope, name) =
            text.split_once('/').ok_or_else(|| BadName::new("app", text, "write it as `scope/name`"))?;
        Ok(Self { scope: scope.parse()?, name: name.parse()? })
    }
}

impl Serialize for AppId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AppId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_deceive_are_refused_and_shown_escaped() {
        // Case 43 of the bad-input list: control, right-to-left and look-alike characters.
        for text in ["sh\u{202e}op", "sh\u{7}op", "sh\u{43e}p", "Shop", "", "-shop", "shop.", &"a".repeat(254)] {
            let error = AppName::new(text).expect_err("must be refused");
            assert!(error.to_string().bytes().all(|b| (b' '..0x7f).contains(&b)), "{error}");
        }
        assert!(AppName::new("shop-2.prod").is_ok());
    }

    #[test]
    fn an_app_id_needs_its_scope() {
        assert_eq!("web/shop".parse::<AppId>().map(|id| id.to_string()), Ok("web/shop".to_owned()));
        assert!("shop".parse::<AppId>().is_err());
        assert!("/shop".parse::<AppId>().is_err());
    }
}
