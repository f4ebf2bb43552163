//! Selectors: the resources that a rule of an app is about.

use std::sync::Arc;

use serde::Serialize;
use setpoint_core::key::Key;
use setpoint_core::resource::group_of;
use setpoint_documents::Line;

/// A selector of resources. An omitted field matches everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Selector {
    group: Option<Arc<str>>,
    kind: Option<Arc<str>>,
    namespace: Option<Arc<str>>,
    name: Option<Arc<str>>,
}

impl Selector {
    pub(super) fn new(
        group: Option<&Line>,
        kind: Option<&Line>,
        namespace: Option<&Line>,
        name: Option<&Line>,
    ) -> Self {
        let text = |line: Option<&Line>| line.map(|line| line.as_str().into());
        Self { group: text(group), kind: text(kind), namespace: text(namespace), name: text(name) }
    }

    pub(super) fn is_about(&self, api_version: &str, kind: &str, key: &Key) -> bool {
        let fits = |wanted: &Option<Arc<str>>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        fits(&self.group, group_of(api_version))
            && fits(&self.kind, kind)
            && fits(&self.namespace, key.namespace())
            && fits(&self.name, key.name())
    }
}
