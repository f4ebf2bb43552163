//! Writes a build as text: one text, or one file for each resource.

use std::collections::{BTreeMap, BTreeSet};

use super::{BadBuild, Built};
use crate::identity::Id;
use crate::limits::Budget;
use crate::node::{Content, Node};
use crate::provenance::check_values;
use crate::resource::Resource;

impl Built {
    /// Returns the output of `kustomize build`.
    pub fn to_yaml(&self) -> Result<String, BadBuild> {
        // The capacity is limited, because output beyond the limit is never written. A string that
        // grows by reallocation also needs memory for its former copies.
        let about = sum(self.resources.iter().map(|resource| size(&resource.node, 0)));
        let most = usize::try_from(self.limits.output_bytes).unwrap_or(usize::MAX);
        let mut out = String::with_capacity(about.saturating_add(about / 4).min(most));
        for (at, resource) in self.resources.iter().enumerate() {
            if at > 0 {
                out.push_str("---\n");
            }
            self.write(resource, &mut out, 0)?;
        }
        Ok(out)
    }

    /// Returns the output of `kustomize build -o DIRECTORY`: the files by name.
    pub fn to_files(&self) -> Result<BTreeMap<String, String>, BadBuild> {
        let id = |resource: &Resource| resource.id(&|gvk| self.schema.is_cluster_scoped(gvk));
        let ids: Vec<_> = self.resources.iter().map(id).collect();
        let namespaces: BTreeSet<&str> =
            ids.iter().filter(|id| !id.is_cluster_scoped).map(Id::effective_namespace).collect();
        let (mut files, mut written) = (BTreeMap::new(), 0);
        for (resource, id) in self.resources.iter().zip(&ids) {
            let (gvk, name) = (&id.gvk, &id.name);
            let namespace = Some(id.effective_namespace()).filter(|_| namespaces.len() > 1 && !id.is_cluster_scoped);
            let parts = namespace.into_iter().chain([&*gvk.group, &*gvk.version, &*gvk.kind, &**name]);
            let parts: Vec<String> = parts.filter(|part| !part.is_empty()).map(str::to_lowercase).collect();
            let file = parts.join("_") + ".yaml";
            if file.contains(['/', '\0']) {
                return Err(BadBuild::of(format!(
                    "{id} cannot be the name of a file: write all resources to one file"
                )));
            }
            let mut text = String::new();
            self.write(resource, &mut text, written)?;
            written += text.len();
            if files.insert(file.clone(), text).is_some() {
                // Kustomize would write only the last of them.
                return Err(BadBuild::of(format!(
                    "{id} and another resource would both be `{file}`: write all resources to one file"
                ))
                .or_at(&self.sources, resource.node.origin));
            }
        }
        Ok(files)
    }

    /// Appends a resource. `elsewhere` is the number of bytes already written to other texts.
    fn write(&self, resource: &Resource, out: &mut String, elsewhere: usize) -> Result<(), BadBuild> {
        let budget = Budget::new(self.limits);
        let placed = |error: BadBuild| error.or_at(&self.sources, resource.node.origin);
        let mut written = || {
            check_values(resource).map_err(|error| BadBuild::new(&error).or_at(&self.sources, error.origin))?;
            budget.output(elsewhere + out.len() + size(&resource.node, 0))?;
            setpoint_yaml::go::write(&resource.node, out).map_err(|error| BadBuild::new(&error))?;
            Ok(budget.output(elsewhere + out.len())?)
        };
        written().map_err(placed)
    }
}

/// Estimates the bytes of a node in the output: lines of a multi-line text are indented by the
/// depth of the node.
fn size(node: &Node, depth: usize) -> usize {
    let blanks = 2 * depth;
    match &node.content {
        Content::Scalar(scalar) => {
            let lines = scalar.text.split('\n').filter(|line| !line.is_empty()).count();
            scalar.text.len().saturating_add(lines.saturating_sub(1).saturating_mul(blanks))
        }
        Content::Seq(items) => sum(items.iter().map(|item| blanks + size(item, depth + 1))),
        Content::Map(map) => sum(map.iter().map(|(name, node)| blanks + name.len() + size(node, depth + 1))),
    }
}

fn sum(sizes: impl Iterator<Item = usize>) -> usize {
    sizes.fold(0, usize::saturating_add)
}
