//! In whose name an app's changes are made on its target, where not in that of the agent.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A user of a target's own system that stands for the apps of a scope: what it may not do there,
/// they may not do.
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
