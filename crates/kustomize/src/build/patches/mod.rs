//! Applies patches to the resources that they select.

mod merging;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::names::Registered;
use super::patched::{FEW, Patched};
use super::{BadBuild, Builder};
use crate::folder::Folder;
use crate::identity::{Gvk, Id};
use crate::json_patch::{JsonPatch, NoPatch};
use crate::kustomization::{Patch, Target};
use crate::limits::Weight;
use crate::load::{inline_resources, is_like_a_path, resources};
use crate::origin::Origin;
use crate::resource::Resource;
use crate::selector::{Selection, Selector, select};

pub(super) use merging::set_metadata;
use merging::{as_texts, copied};

/// Strategic merge patches without a target.
pub(super) struct StrategicPatches<'w> {
    /// The field that holds the paths.
    pub(super) field: &'static str,
    /// Files, or inline patches.
    pub(super) paths: &'w [Arc<str>],
    /// Inline patches.
    pub(super) inline: Option<&'w str>,
}

impl Builder<'_> {
    /// Applies the patches of `patchesStrategicMerge`, of which there is at least one.
    pub(super) fn strategic_patches(
        &mut self,
        folder: &Folder<'_>,
        StrategicPatches { field, paths, inline }: StrategicPatches<'_>,
        places: &dyn Fn(usize) -> Origin,
        all: &mut Patched<'_>,
    ) -> Result<(), BadBuild> {
        let mut patches = Vec::new();
        for (at, text) in paths.iter().enumerate() {
            let loaded = self.strategic_patch(folder, text, places(at));
            let told = |error: BadBuild| error.within(&format!("{field}[{at}]")).or_at(&self.sources, places(at));
            patches.extend(loaded.map_err(told)?);
        }
        if let Some(inline) = inline {
            let loaded = self.inline_patches(folder, inline, places(0));
            patches.extend(loaded.map_err(|error| error.within("patches").or_at(&self.sources, places(0)))?);
        }
        if patches.is_empty() {
            // Only files are named: an inline patch that has only comments may hold a secret.
            let is_file = |path: &&str| resources("", path, Origin::default()).is_err();
            let files: Vec<&str> = paths.iter().map(|path| &**path).filter(is_file).collect();
            let problem = format!("patch appears to be empty; files=[{}]: write a patch there", files.join(" "));
            return Err(BadBuild::of(problem).or_at(&self.sources, places(0)));
        }
        patches.into_iter().try_for_each(|(patch, place)| {
            let found = self.namesake(&patch, all).map_err(|error| error.or_at(&self.sources, place))?;
            let patched = copied(patch)
                .and_then(|patch| self.patch_all(&patch, &[found], all))
                .and_then(|()| self.check_names(all));
            patched.map_err(|error| error.or_at(&self.sources, place))
        })
    }

    /// Reads the patches of a file or of an inline text, with their places.
    fn strategic_patch(
        &mut self,
        folder: &Folder<'_>,
        text: &str,
        at: Origin,
    ) -> Result<Vec<(Resource, Origin)>, BadBuild> {
        let no_patch = match self.inline_patches(folder, text, at) {
            Err(no_patch) if no_patch.limit().is_none() && !text.contains('\n') => no_patch,
            done => return done,
        };
        let file = folder.file(text).map_err(|error| BadBuild::new(&error));
        let loaded = file.and_then(|path| self.load(&path, "patchesStrategicMerge"));
        let loaded = loaded.map_err(BadBuild::of_strategic_patch);
        let loaded =
            loaded.map_err(|error| if is_like_a_path(text) || error.limit().is_some() { error } else { no_patch })?;
        let placed = |patch: Resource| {
            let place = patch.node.origin;
            (patch, place)
        };
        Ok(loaded.into_iter().map(placed).collect())
    }

    /// Reads the patches of an inline text, with their places.
    fn inline_patches(
        &mut self,
        folder: &Folder<'_>,
        text: &str,
        at: Origin,
    ) -> Result<Vec<(Resource, Origin)>, BadBuild> {
        let origin = self.by(folder, "patchesStrategicMerge", at);
        self.budget.steps(text.len())?;
        let patches = inline_resources("<patchesStrategicMerge>", text, origin);
        let patches = patches.map_err(|error| BadBuild::new(&error).of_strategic_patch().of_inner_text())?;
        self.hold(&patches)?;
        Ok(patches.into_iter().map(|patch| (patch, at)).collect())
    }

    /// Applies one of `patches`, or of `patchesJson6902`.
    pub(super) fn patch(&mut self, folder: &Folder<'_>, patch: &Patch, all: &mut Patched<'_>) -> Result<(), BadBuild> {
        self.patch_with(folder, patch, all).map_err(|error| error.or_at(&self.sources, patch.origin))
    }

    fn patch_with(&mut self, folder: &Folder<'_>, patch: &Patch, all: &mut Patched<'_>) -> Result<(), BadBuild> {
        let (name, text) = match (patch.patch.trim(), &*patch.path) {
            ("", "") => return Err(BadBuild::of("must specify one of patch and path: write one of them".to_owned())),
            ("", path) => {
                let path = folder.file(path).map_err(|error| BadBuild::new(&error))?;
                let text = self.text(&path).map_err(|error| error.within("failed to get the patch file"))?;
                self.warn_of_schemas(&path, &text);
                (path, text)
            }
            (inline, "") => {
                self.budget.steps(inline.len())?;
                ("<patches>".to_owned(), inline.to_owned())
            }
            _ => {
                return Err(BadBuild::of(
                    "patch and path can't be set at the same time: remove one of them".to_owned(),
                ));
            }
        };
        let (origin, strategic) = match patch.path.is_empty() {
            true => {
                let origin = self.by(folder, "patches", patch.origin);
                (origin, inline_resources(&name, &text, origin))
            }
            false => {
                let origin = self.sources.add(name.as_str().into(), Some("patches".into()));
                (origin, resources(&name, &text, origin))
            }
        };
        // While the patch is applied, aliases are expanded: each has a copy of the anchored node.
        let strategic_bytes: usize = strategic.iter().flatten().map(|patch| Weight::of(&patch.node).bytes).sum();
        self.budget.hold(strategic_bytes)?;
        strategic.iter().flatten().try_for_each(|patch| self.budget.fields(&patch.node))?;
        let json = JsonPatch::parse(&name, &text, origin);
        let held = strategic_bytes + json.as_ref().map_or(0, JsonPatch::bytes);
        self.budget.hold(held - strategic_bytes)?;
        let done = match (strategic, json) {
            (Ok(strategic), Ok(json)) if !strategic.is_empty() && !json.is_empty() => Err(BadBuild::of(format!(
                "illegally qualifies as both an SM and JSON patch: {name}: write one of them"
            ))),
            // An empty document is no patch.
            (Ok(strategic), _) if strategic.is_empty() => Ok(()),
            (Ok(strategic), _) => self.strategic(patch, strategic, all),
            (_, Ok(json)) => {
                let done = self.json(patch, &json, origin, all);
                let is_file = !patch.path.is_empty();
                done.map_err(|error| if is_file { error.or_at(&self.sources, origin) } else { error })
            }
            (Err(no_resource), Err(no_json)) => {
                // The error of the other patch format would mislead.
                let bad = match no_json {
                    NoPatch::NoList | NoPatch::Yaml(_) => BadBuild::new(&no_resource).of_strategic_patch(),
                    NoPatch::Json(_) | NoPatch::NotOperations | NoPatch::NonFinite(_) => BadBuild::new(&no_json),
                };
                let bad = match patch.path.is_empty() {
                    true => bad.of_inner_text(),
                    false => bad.or_at(&self.sources, origin),
                };
                let shown = if patch.path.is_empty() { name } else { self.files.told(&name) };
                Err(bad.within(&format!("unable to parse SM or JSON patch from {shown}")))
            }
        };
        self.budget.release(held);
        done
    }

    fn strategic(&mut self, patch: &Patch, mut loaded: Vec<Resource>, all: &mut Patched<'_>) -> Result<(), BadBuild> {
        for loaded in &mut loaded {
            loaded.may_change_name = patch.may_change_name;
            loaded.may_change_kind = patch.may_change_kind;
            // Kustomize records this in the annotations of the patch, which converts them to
            // strings.
            if patch.may_change_name || patch.may_change_kind {
                as_texts(loaded, "annotations").map_err(|error| error.or_at(&self.sources, place_of(patch, loaded)))?;
            }
        }
        let Some(target) = &patch.target else {
            return loaded.iter().try_for_each(|loaded| {
                let done = self.namesake(loaded, all).and_then(|found| self.patch_all(loaded, &[found], all));
                done.map_err(|error| error.or_at(&self.sources, place_of(patch, loaded)))
            });
        };
        let (at, place) = (patch.origin, loaded.first().map_or(patch.origin, |loaded| place_of(patch, loaded)));
        let (Some(patch), true) = (loaded.pop(), loaded.is_empty()) else {
            let problem = "Multiple Strategic-Merge Patches in one `patches` entry is not allowed to set `patches.target` field: split them";
            return Err(BadBuild::of(problem.to_owned()).or_at(&self.sources, at));
        };
        let selected = self.selected_by_patch(all, target);
        let selected = selected.map_err(|error| error.or_at(&self.sources, at))?;
        let done =
            copied(patch).and_then(|patch| self.patch_all(&patch, &selected, all)).and_then(|()| self.check_names(all));
        done.map_err(|error| error.or_at(&self.sources, place))
    }

    fn json(&self, patch: &Patch, json: &JsonPatch, origin: Origin, all: &mut Patched<'_>) -> Result<(), BadBuild> {
        let Some(target) = &patch.target else {
            let problem = "must specify a target for JSON patch: write `target`";
            return Err(BadBuild::of(problem.to_owned()).or_at(&self.sources, patch.origin));
        };
        let selected = self.selected_by_patch(all, target);
        for at in selected.map_err(|error| error.or_at(&self.sources, patch.origin))? {
            let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
            all.forget(at, &scope);
            let applied = json.apply_to(all.resource(at), &scope, origin, self.budget);
            applied.map_err(|error| BadBuild::new(&error))?;
            all.learn(at, &scope);
        }
        Ok(())
    }

    /// Applies one of `patchesJson6902`, which records no change of names.
    pub(super) fn json_patch(
        &mut self,
        folder: &Folder<'_>,
        patch: &Patch,
        all: &mut [Resource],
    ) -> Result<(), BadBuild> {
        self.json_patch_with(folder, patch, all).map_err(|error| error.or_at(&self.sources, patch.origin))
    }

    fn json_patch_with(&mut self, folder: &Folder<'_>, patch: &Patch, all: &mut [Resource]) -> Result<(), BadBuild> {
        let target = patch.target.as_ref().filter(|target| !target.name.is_empty());
        let Some(target) = target else {
            return Err(BadBuild::of("must specify the target name: write `target.name`".to_owned()));
        };
        let (name, text) = match (&*patch.patch, &*patch.path) {
            ("", "") => return Err(BadBuild::of("empty file path and empty jsonOp: write one of them".to_owned())),
            (inline, "") => {
                self.budget.steps(inline.len())?;
                ("<patchesJson6902>".to_owned(), inline.to_owned())
            }
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
        let origin = match patch.path.is_empty() {
            true => self.by(folder, "patchesJson6902", patch.origin),
            false => self.sources.add(name.as_str().into(), Some("patchesJson6902".into())),
        };
        let json = JsonPatch::parse(&name, &text, origin).map_err(|error| BadBuild::new(&error))?;
        if json.is_empty() {
            return Err(BadBuild::of(format!("patch appears to be empty; file={name}: write operations there")));
        }
        self.budget.hold(json.bytes())?;
        for at in self.selected(all, target)? {
            json.apply_unnoted(&mut all[at], origin, self.budget).map_err(|error| BadBuild::new(&error))?;
        }
        self.budget.release(json.bytes());
        Ok(())
    }

    pub(super) fn selected(&self, all: &[Resource], target: &Target) -> Result<Vec<usize>, BadBuild> {
        let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
        let selected = select(all.iter().enumerate(), &self.selection(target)?, &scope, self.budget);
        selected.map_err(|error| BadBuild::new(&error))
    }

    fn selected_by_patch(&self, all: &mut Patched<'_>, target: &Target) -> Result<Vec<usize>, BadBuild> {
        let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
        let selection = self.selection(target)?;
        all.asked += 1;
        let selected = match selection.only_name().filter(|_| all.asked > FEW) {
            Some(name) => {
                let places = all.names(&scope).called(name);
                select(all.there_at(places), &selection, &scope, self.budget)
            }
            None => select(all.there(), &selection, &scope, self.budget),
        };
        selected.map_err(|error| BadBuild::new(&error))
    }

    /// Returns the position of the resource that has or had the patch's name.
    fn namesake(&self, patch: &Resource, all: &mut Patched<'_>) -> Result<usize, BadBuild> {
        let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
        let id = patch.first_id(&scope);
        let found: Vec<usize> = all.names(&scope).places(&id).into_iter().collect();
        match found.as_slice() {
            [found] => Ok(*found),
            [] => Err(BadBuild::of(format!(
                "no resource matches strategic merge patch \"{id}\": no matches for Id {id}; failed to find unique target for patch {id}: correct its name"
            ))),
            _ => Err(BadBuild::of(format!(
                "no resource matches strategic merge patch \"{id}\": multiple matches for Id {id}; failed to find unique target for patch {id}: name it more precisely"
            ))),
        }
    }

    fn patch_all(&mut self, patch: &Resource, selected: &[usize], all: &mut Patched<'_>) -> Result<(), BadBuild> {
        for at in selected {
            all.forget(*at, &|gvk| self.schema.is_cluster_scoped(gvk));
            match self.merge_into(patch, all.resource(*at))? {
                true => all.learn(*at, &|gvk| self.schema.is_cluster_scoped(gvk)),
                false => all.remove(*at),
            }
        }
        Ok(())
    }

    /// Rejects resources with equal ids, whether they were patched or not.
    fn check_names(&self, all: &mut Patched<'_>) -> Result<(), BadBuild> {
        match all.names(&|gvk| self.schema.is_cluster_scoped(gvk)).are_distinct() {
            true => Ok(()),
            false => {
                let there: Vec<&Resource> = all.there().map(|(_, resource)| resource).collect();
                self.register(&[], there.iter().copied(), &mut Registered::default())
            }
        }
    }

    fn selection(&self, target: &Target) -> Result<Selection, BadBuild> {
        let selection = Selection::new(&selector(target)).map_err(|error| BadBuild::new(&error))?;
        self.budget.steps(selection.size())?;
        Ok(selection)
    }
}

/// Returns the place of a patch: its file, or its place in the kustomization.
fn place_of(patch: &Patch, loaded: &Resource) -> Origin {
    if patch.path.is_empty() { patch.origin } else { loaded.node.origin }
}

fn selector(target: &Target) -> Selector {
    Selector {
        id: Id {
            gvk: target.gvk.clone(),
            name: Arc::clone(&target.name),
            namespace: Arc::clone(&target.namespace),
            is_cluster_scoped: false,
        },
        labels: Arc::clone(&target.labels),
        annotations: Arc::clone(&target.annotations),
    }
}
