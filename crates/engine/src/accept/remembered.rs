//! A render that somebody remembers, turned into resources again. Only what the renderer gave is
//! taken from memory; keys, order, protection and what else target and rules make of it are worked
//! out anew, so that none of that can be old, or planted.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use setpoint_core::resource::Resource;
use setpoint_core::value::Value;
use setpoint_render::RenderedResource;
use setpoint_yaml::Place;

use super::candidate::{AppSource, Kinds, identified};

/// One object as the renderer gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenderedObject {
    pub api_version: Arc<str>,
    pub kind: Arc<str>,
    pub body: Arc<Value>,
}

impl From<&Resource> for RenderedObject {
    fn from(resource: &Resource) -> Self {
        let Resource { api_version, kind, body, .. } = resource;
        Self { api_version: Arc::clone(api_version), kind: Arc::clone(kind), body: Arc::clone(body) }
    }
}

impl AppSource {
    /// Whether a remembered render will do. Not where the app lets objects be deleted to be made
    /// anew: nothing that is only remembered leads to a delete, and before that one nothing is
    /// rendered afresh.
    pub fn may_be_recalled(&self) -> bool {
        self.replaced.is_empty()
    }
}

/// What these objects of an earlier render come to today. `None` where it has to be rendered: also
/// if something is wrong with them now, so that whoever wrote it is told the place.
pub fn recalled(objects: Vec<RenderedObject>, source: &AppSource, kinds: &dyn Kinds) -> Option<Vec<Resource>> {
    let is_sound = |object: &RenderedObject| kinds.check(&object.api_version, &object.kind, &object.body).is_empty();
    if !source.may_be_recalled() || !objects.iter().all(is_sound) {
        return None;
    }
    let rendered = |object: RenderedObject| {
        let RenderedObject { api_version, kind, body } = object;
        RenderedResource { api_version, kind, body: Arc::unwrap_or_clone(body), place: nowhere() }
    };
    identified(objects.into_iter().map(rendered).collect(), source, kinds).ok()
}

/// Places are not remembered: nobody is told of them.
fn nowhere() -> Place {
    Place { file: String::new(), line: 1, column: 1, width: 1, text: String::new(), left_out: 0 }
}
