//! Keys: a resource's identity *on its target*. Never the apiVersion or the document's name.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::name::BadName;

/// A resource's identity on its target: a file's path; group and kind, namespace and name; a
/// provider's id.
///
/// The ledger stores the text form `class:namespace:name`; people read [`fmt::Display`].
///
/// Keys are compared and copied more than anything else, so a key is a single shared text: its
/// parts with [`SEPARATOR`] between them. No part can contain the separator, and it sorts before
/// every character that a part can contain. So texts are ordered as their parts are.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    text: Arc<str>,
    /// The ends of the class and of the namespace.
    ends: (u16, u16),
}

const SEPARATOR: char = '\0';
const LONGEST_PART: usize = 512;
const LONGEST: usize = 4096;

impl Key {
    /// Builds a key. `class` is the family of objects in which the name is unique (`file`,
    /// `apps/Deployment`); `namespace` is empty if the target has none.
    pub fn new(class: &str, namespace: &str, name: &str) -> Result<Self, BadName> {
        check_part("resource class", class)?;
        if !namespace.is_empty() {
            check_part("namespace", namespace)?;
        }
        check_object_name(name)?;
        let class_end = class.len();
        let namespace_end = class_end + 1 + namespace.len();
        let end = |end: usize| u16::try_from(end).expect("two parts are never longer than 1,025 bytes");
        let text = format!("{class}{SEPARATOR}{namespace}{SEPARATOR}{name}");
        Ok(Self { text: text.into(), ends: (end(class_end), end(namespace_end)) })
    }

    pub fn class(&self) -> &str {
        &self.text[..usize::from(self.ends.0)]
    }

    pub fn namespace(&self) -> &str {
        &self.text[usize::from(self.ends.0) + 1..usize::from(self.ends.1)]
    }

    pub fn name(&self) -> &str {
        &self.text[usize::from(self.ends.1) + 1..]
    }

    /// Returns the form that is stored and read back.
    pub fn to_text(&self) -> String {
        [self.class(), self.namespace(), self.name()].join(":")
    }
}

fn check_part(what: &'static str, text: &str) -> Result<(), BadName> {
    let problem = if text.is_empty() {
        "it is empty"
    } else if text.len() > LONGEST_PART {
        "it is longer than 512 bytes"
    } else if !text.bytes().all(|b| b.is_ascii_graphic() && b != b':') {
        "use printable ASCII without spaces and `:` only"
    } else {
        return Ok(());
    };
    Err(BadName::new(what, text, problem))
}

/// Checks the name of an object. It may contain any letters (a file can be called `Übersicht`), but
/// no character that hides or reorders text.
fn check_object_name(text: &str) -> Result<(), BadName> {
    let problem = if text.is_empty() {
        "it is empty"
    } else if text.len() > LONGEST {
        "it is longer than 4096 bytes"
    } else if text.chars().any(is_deceptive) {
        "control, invisible and direction-changing characters are not allowed"
    } else {
        return Ok(());
    };
    Err(BadName::new("resource name", text, problem))
}

fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace().is_empty() {
            write!(f, "{} {}", self.class(), self.name())
        } else {
            write!(f, "{} {}/{}", self.class(), self.namespace(), self.name())
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl FromStr for Key {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let mut parts = text.splitn(3, ':');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(class), Some(namespace), Some(name)) => Self::new(class, namespace, name),
            _ => Err(BadName::new("key", text, "write it as `class:namespace:name`")),
        }
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_its_text_form() {
        for (class, namespace, name) in [
            ("file", "", "/etc/motd"),
            ("rbac.authorization.k8s.io/ClusterRole", "", "system:node"),
            ("apps/Deployment", "web", "shop"),
            ("file", "", "/srv/Übersicht: alt"),
        ] {
            let key = Key::new(class, namespace, name).unwrap();
            assert_eq!(key.to_text().parse::<Key>(), Ok(key));
        }
    }

    #[test]
    fn keys_are_ordered_by_class_then_namespace_then_name() {
        let parts = [
            ("a", "", "z"),
            ("a", "-", "b"),
            ("a", "-", "b!"),
            ("a", "web", " x"),
            ("a", "web", "x"),
            ("a!", "", "a"),
            ("a-b", "a", "a"),
            ("b", "", "Ü"),
        ];
        let keys = parts.map(|(class, namespace, name)| Key::new(class, namespace, name).unwrap());
        assert!(parts.is_sorted() && keys.is_sorted());
        let read = keys.each_ref().map(|key| (key.class(), key.namespace(), key.name()));
        assert_eq!(read, parts);
    }

    #[test]
    fn deceptive_names_are_refused() {
        for name in ["", "a\nb", "a\u{202e}b", "a\u{200b}b", "a\0b"] {
            assert!(Key::new("file", "", name).is_err(), "{name:?}");
        }
        assert!(Key::new("fi:le", "", "/a").is_err());
        assert!(Key::new("", "", "/a").is_err());
        assert!(Key::new("file", "a b", "/a").is_err());
    }
}
