//! Patches: what they are about, and carrying them out.

use std::sync::Arc;

use super::{BadBuild, Builder};
use crate::folder::Folder;
use crate::identity::{Gvk, Id};
use crate::json_patch::JsonPatch;
use crate::kustomization::{Patch, Target};
use crate::load::resources;
use crate::merge::{Merged, merge};
use crate::node::{Content, Map, Node};
use crate::origin::Origin;
use crate::resource::Resource;
use crate::schema::BuiltIn;
use crate::selector::{Selector, select};

impl Builder<'_> {
    /// Those of `patchesStrategicMerge`: files, or patches as they are written.
    pub(super) fn strategic_patches(
        &mut self,
        folder: &Folder<'_>,
        written: &[Arc<str>],
        at: Origin,
        all: &mut Vec<Resource>,
    ) -> Result<(), BadBuild> {
        let mut patches = Vec::new();
        for text in written {
            let origin = self.by(folder, "patchesStrategicMerge", at);
            let inline = resources("patchesStrategicMerge", text, origin);
            patches.extend(match inline {
                Ok(patches) => patches,
                Err(_) => {
                    let path = folder.file(text).map_err(|error| BadBuild::new(&error))?;
                    self.load(&path)?
                }
            });
        }
        if patches.is_empty() && !written.is_empty() {
            return Err(BadBuild::of(format!("patch appears to be empty; files={written:?}: write a patch there")));
        }
        patches.iter().try_for_each(|patch| self.patch_its_namesake(patch, all))
    }

    /// One of `patches`, or of `patchesJson6902`.
    pub(super) fn patch(
        &mut self,
        folder: &Folder<'_>,
        patch: &Patch,
        all: &mut Vec<Resource>,
    ) -> Result<(), BadBuild> {
        let (name, text) = match (patch.patch.trim(), &*patch.path) {
            ("", "") => return Err(BadBuild::of("must specify one of patch and path: write one of them".to_owned())),
            ("", path) => {
                let path = folder.file(path).map_err(|error| BadBuild::new(&error))?;
                let text = self.text(&path).map_err(|error| error.within("failed to get the patch file"))?;
                self.warn_of_schemas(&path, &text);
                (path, text)
            }
            (inline, "") => ("patches".to_owned(), inline.to_owned()),
            _ => {
                return Err(BadBuild::of(
                    "patch and path can't be set at the same time: remove one of them".to_owned(),
                ));
            }
        };
        let origin = match patch.path.is_empty() {
            true => self.by(folder, "patches", patch.origin),
            false => self.sources.add(name.as_str().into(), Some("patches".into())),
        };
        match (resources(&name, &text, origin), JsonPatch::parse(&name, &text, origin)) {
            (Ok(strategic), Ok(json)) if !strategic.is_empty() && !json.is_empty() => Err(BadBuild::of(format!(
                "illegally qualifies as both an SM and JSON patch: {name}: write one of them"
            ))),
            (Ok(strategic), _) => self.strategic(patch, strategic, all),
            (_, Ok(json)) => self.json(patch, &json, origin, all),
            (Err(no_resource), Err(no_json)) => {
                let problem = format!("unable to parse SM or JSON patch from {name}: {no_resource}; {no_json}");
                Err(BadBuild::of(problem))
            }
        }
    }

    fn strategic(&mut self, patch: &Patch, mut loaded: Vec<Resource>, all: &mut Vec<Resource>) -> Result<(), BadBuild> {
        for loaded in &mut loaded {
            loaded.may_change_name = patch.may_change_name;
            loaded.may_change_kind = patch.may_change_kind;
        }
        let Some(target) = &patch.target else {
            return loaded.iter().try_for_each(|patch| self.patch_its_namesake(patch, all));
        };
        let [patch] = loaded.as_slice() else {
            let problem = "Multiple Strategic-Merge Patches in one `patches` entry is not allowed to set `patches.target` field: split them";
            return Err(BadBuild::of(problem.to_owned()));
        };
        let selected = self.selected(all, target)?;
        self.patch_all(patch, &selected, all)
    }

    fn json(&self, patch: &Patch, json: &JsonPatch, origin: Origin, all: &mut [Resource]) -> Result<(), BadBuild> {
        let Some(target) = &patch.target else {
            return Err(BadBuild::of("must specify a target for JSON patch: write `target`".to_owned()));
        };
        for at in self.selected(all, target)? {
            let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
            json.apply_to(&mut all[at], &scope, origin).map_err(|error| BadBuild::new(&error))?;
        }
        Ok(())
    }

    /// One of `patchesJson6902`, which notes nothing of what it changes.
    pub(super) fn json_patch(
        &mut self,
        folder: &Folder<'_>,
        patch: &Patch,
        all: &mut [Resource],
    ) -> Result<(), BadBuild> {
        let target = patch.target.as_ref().filter(|target| !target.name.is_empty());
        let Some(target) = target else {
            return Err(BadBuild::of("must specify the target name: write `target.name`".to_owned()));
        };
        let (name, text) = match (&*patch.patch, &*patch.path) {
            ("", "") => return Err(BadBuild::of("empty file path and empty jsonOp: write one of them".to_owned())),
            (inline, "") => ("patchesJson6902".to_owned(), inline.to_owned()),
            ("", path) => {
                let path = folder.file(path).map_err(|error| BadBuild::new(&error))?;
                let text = self.text(&path)?;
                (path, text)
            }
            _ => {
                return Err(BadBuild::of(
                    "must specify a file path or jsonOp, not both: remove one of them".to_owned(),
                ));
            }
        };
        let origin = self.by(folder, "patchesJson6902", patch.origin);
        let json = JsonPatch::parse(&name, &text, origin).map_err(|error| BadBuild::new(&error))?;
        if json.is_empty() {
            return Err(BadBuild::of(format!("patch appears to be empty; file={name}: write operations there")));
        }
        for at in self.selected(all, target)? {
            json.apply_unnoted(&mut all[at], origin).map_err(|error| BadBuild::new(&error))?;
        }
        Ok(())
    }

    pub(super) fn selected(&self, all: &[Resource], target: &Target) -> Result<Vec<usize>, BadBuild> {
        let selector = Selector {
            id: Id {
                gvk: target.gvk.clone(),
                name: Arc::clone(&target.name),
                namespace: Arc::clone(&target.namespace),
                is_cluster_scoped: false,
            },
            labels: Arc::clone(&target.labels),
            annotations: Arc::clone(&target.annotations),
        };
        let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
        select(all, &selector, &scope).map_err(|error| BadBuild::new(&error))
    }

    /// Patches what has, or once had, the patch's own name.
    fn patch_its_namesake(&mut self, patch: &Resource, all: &mut Vec<Resource>) -> Result<(), BadBuild> {
        let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
        let id = patch.first_id(&scope);
        let is_it = |resource: &Resource| {
            resource.id(&scope).is_same(&id) || resource.former_ids().any(|former| former.is_same(&id))
        };
        let found: Vec<usize> = (0..all.len()).filter(|at| is_it(&all[*at])).collect();
        match found.as_slice() {
            [_] => self.patch_all(patch, &found, all),
            [] => Err(BadBuild::of(format!(
                "no resource matches strategic merge patch \"{id}\": no matches for Id {id}; failed to find unique target for patch {id}: correct its name"
            ))),
            _ => Err(BadBuild::of(format!(
                "no resource matches strategic merge patch \"{id}\": multiple matches for Id {id}; failed to find unique target for patch {id}: say more of it"
            ))),
        }
    }

    fn patch_all(&mut self, patch: &Resource, selected: &[usize], all: &mut Vec<Resource>) -> Result<(), BadBuild> {
        let mut kept = Vec::with_capacity(all.len());
        for (at, mut resource) in std::mem::take(all).into_iter().enumerate() {
            if selected.binary_search(&at).is_err() || self.merge_into(patch, &mut resource)? {
                kept.push(resource);
            }
        }
        self.append(all, kept)
    }

    /// Whether the resource is still there.
    fn merge_into(&mut self, patch: &Resource, resource: &mut Resource) -> Result<bool, BadBuild> {
        let (name, namespace, kind) =
            (resource.name().to_owned(), resource.namespace().to_owned(), resource.kind().to_owned());
        let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
        if patch.may_change_name || patch.may_change_kind {
            resource.note_former(&scope).map_err(|error| BadBuild::new(&error))?;
        }
        let mut node = patch.node.clone();
        if let (Some(fields), Some(api_version)) = (node.as_map_mut(), resource.node.at(&["apiVersion"])) {
            fields.set("apiVersion", api_version.clone());
        }
        self.built_in = BuiltIn::Read;
        let merged = resource.sharing(|resource| merge(&node, &mut resource.node, &self.schema));
        match merged.map_err(|error| BadBuild::new(&error))? {
            Merged::Deleted => return Ok(false),
            Merged::Kept => {}
        }
        let origin = resource.node.origin;
        let is_other_kind = !patch.may_change_kind && resource.kind() != kind;
        if let Some(fields) = resource.node.as_map_mut().filter(|_| is_other_kind) {
            fields.set("kind", Node::text(kind, origin));
        }
        if !patch.may_change_name {
            set_metadata(&mut resource.node, "name", &name, origin);
        }
        set_metadata(&mut resource.node, "namespace", &namespace, origin);
        Ok(true)
    }
}

/// Sets a text of the metadata, or takes it away if it is empty.
pub(super) fn set_metadata(node: &mut Node, field: &str, text: &str, origin: Origin) {
    if node.at(&["metadata", field]).and_then(Node::as_text).unwrap_or_default() == text {
        return;
    }
    let Some(fields) = node.as_map_mut() else { return };
    if fields.get("metadata").and_then(Node::as_map).is_none() {
        fields.set("metadata", Node::new(Content::Map(Map::default()), origin));
    }
    let Some(metadata) = fields.get_mut("metadata").and_then(Node::as_map_mut) else { return };
    match text {
        "" => drop(metadata.remove(field)),
        text => metadata.set(field, Node::text(text, origin)),
    }
}
