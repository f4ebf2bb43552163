//! What was built as text: all of it, or a file for each resource.

use std::collections::{BTreeMap, BTreeSet};

use super::{BadBuild, Built};
use crate::identity::Id;
use crate::node::{Content, NoValue, Node};
use crate::resource::Resource;

impl Built {
    /// As `kustomize build` writes it.
    pub fn to_yaml(&self) -> Result<String, BadBuild> {
        let mut out = String::new();
        for (at, resource) in self.resources.iter().enumerate() {
            if at > 0 {
                out.push_str("---\n");
            }
            write(resource, &mut out)?;
        }
        Ok(out)
    }

    /// As `kustomize build -o FOLDER` writes it: the files by their names.
    pub fn to_files(&self) -> Result<BTreeMap<String, String>, BadBuild> {
        let id = |resource: &Resource| resource.id(&|gvk| self.schema.is_cluster_scoped(gvk));
        let ids: Vec<_> = self.resources.iter().map(id).collect();
        let namespaces: BTreeSet<&str> =
            ids.iter().filter(|id| !id.is_cluster_scoped).map(Id::effective_namespace).collect();
        let mut files = BTreeMap::new();
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
            write(resource, files.entry(file).or_insert_with(String::new))?;
        }
        Ok(files)
    }
}

fn write(resource: &Resource, out: &mut String) -> Result<(), BadBuild> {
    check(&resource.node).map_err(|error| BadBuild::new(&error))?;
    setpoint_yaml::go::write(&resource.node, out).map_err(|error| BadBuild::new(&error))
}

/// Whether everything in a node has a value.
fn check(node: &Node) -> Result<(), NoValue> {
    match &node.content {
        Content::Scalar(scalar) => scalar.value().map(drop),
        Content::Seq(items) => items.iter().try_for_each(check),
        Content::Map(map) => map.iter().try_for_each(|(_, node)| check(node)),
    }
}
