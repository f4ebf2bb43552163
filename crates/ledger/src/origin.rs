//! The name of a log: its writer.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The writer of one log, for example `setpoint.example/hub`. Also the first line of its
/// checkpoints, so it holds neither spaces nor `+`, which the signed-note format reserves.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin(Arc<str>);

/// The error for a text that is not a valid name of a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` cannot name a log: use 1 to 253 printable ASCII characters without spaces and `+`")]
pub struct BadOrigin {
    /// The text, escaped.
    pub text: String,
}

impl Origin {
    pub fn new(text: &str) -> Result<Self, BadOrigin> {
        let fits = (1..=253).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic() && b != b'+');
        if fits { Ok(Self(text.into())) } else { Err(BadOrigin { text: text.escape_debug().to_string() }) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Origin {
    type Err = BadOrigin;

    fn from_str(text: &str) -> Result<Self, BadOrigin> {
        Self::new(text)
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Origin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_would_break_a_checkpoint_is_refused() {
        for text in ["", "a b", "a+b", "a\nb", "é", &"a".repeat(254)] {
            assert!(Origin::new(text).is_err(), "{text:?}");
        }
        assert!(Origin::new("setpoint.example/hub").is_ok());
    }
}
