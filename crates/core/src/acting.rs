//! The user that an app's changes are made as on its target, where it is not the agent's own user.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A user of the target's own system that the apps of a scope act as. They may do only what this
/// user may do there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ActingAs {
    pub user: Arc<str>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub groups: Vec<Arc<str>>,
}

impl fmt::Display for ActingAs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.user)
    }
}
