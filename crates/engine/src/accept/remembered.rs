//! Turns a remembered render into resources again. Only the renderer's output is taken from memory.
//! Keys, order, protection and everything else that the target and the rules add are computed
//! again, so that none of it can be old, or planted.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use setpoint_core::resource::Resource;
use setpoint_core::value::Value;
use setpoint_render::RenderedResource;
use setpoint_target::Kinds;
use setpoint_yaml::Place;

use super::candidate::{AppSource, identified};

/// One object as the renderer returned it.
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
    /// Reports whether a remembered render is enough. It is not if the app allows objects to be
    /// deleted and created again: nothing that is only remembered may lead to a delete, and there
    /// is no fresh render before such a delete.
    pub fn may_be_recalled(&self) -> bool {
        self.replaced.is_empty()
    }
}

/// Returns the resources that these objects of an earlier render give today. `None` if a render is
/// needed, also if something is wrong with the objects now, so that the error can name its place.
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

/// Returns an empty place. Places are not remembered, and no message shows them.
fn nowhere() -> Place {
    Place { file: String::new(), line: 1, column: 1, width: 1, text: String::new(), left_out: 0 }
}
