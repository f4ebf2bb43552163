//! `validators`: plugins that may reject resources, but change only the label that marks them as
//! validated.

use super::{Accumulated, BadBuild, Builder};
use crate::folder::Folder;
use crate::kustomization::Kustomization;
use crate::limits::{NODE, Weight};
use crate::node::{Map, Node};
use crate::resource::Resource;

const VALIDATED_BY: &str = "validated-by";

impl Builder<'_> {
    pub(super) fn run_validators(
        &mut self,
        folder: &Folder<'_>,
        kustomization: &Kustomization,
        all: &mut Accumulated,
        depth: usize,
    ) -> Result<(), BadBuild> {
        for plugin in self.plugins(folder, kustomization, "validators", depth)? {
            let place = plugin.node.origin;
            let copied: usize = all.resources.iter().map(|resource| Weight::of(&resource.node).bytes).sum();
            let counted = self.budget.hold(copied).and_then(|()| self.budget.steps(copied / NODE));
            counted.map_err(|error| BadBuild::from(error).or_at(&self.sources, place))?;
            let before = all.resources.clone();
            self.run_transformer(folder, &plugin, &mut all.resources)
                .map_err(|error| error.or_at(&self.sources, place))?;
            let is_same = before.len() == all.resources.len()
                && before.iter().zip(&all.resources).all(|(before, after)| is_unchanged(before, after));
            self.budget.release(copied);
            if !is_same {
                let problem = format!(
                    "validator shouldn't modify the resource map: `{}` `{}` does: name it in `transformers`",
                    plugin.kind(),
                    plugin.name()
                );
                return Err(BadBuild::of(problem).or_at(&self.sources, place));
            }
        }
        Ok(())
    }
}

/// Reports whether only the label has changed. If there are other labels, kustomize counts it as a
/// change, because it writes all of them again without the label.
fn is_unchanged(before: &Resource, after: &Resource) -> bool {
    if after.node.at(&["metadata", "labels", VALIDATED_BY]).is_none() {
        return before == after;
    }
    let mut after = after.clone();
    let metadata = after.node.as_map_mut().and_then(|map| map.get_mut("metadata")).and_then(Node::as_map_mut);
    let Some(metadata) = metadata else { return false };
    let is_only = metadata.get("labels").and_then(Node::as_map).is_some_and(|labels: &Map| labels.len() == 1);
    metadata.remove("labels");
    is_only && *before == after
}
