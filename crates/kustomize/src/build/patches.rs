//! Patches: what they are about, and carrying them out.

use std::sync::Arc;

use super::names::Registered;
use super::patched::{FEW, Patched};
use super::{BadBuild, Builder};
use crate::field_spec::set_plain;
use crate::folder::Folder;
use crate::generator::merged;
use crate::identity::{Gvk, Id};
use crate::json_patch::JsonPatch;
use crate::kustomization::{Patch, Target};
use crate::limits::Weight;
use crate::load::{inline_resources, is_like_a_path, resources};
use crate::merge::{Merged, is_total, merge};
use crate::node::{Content, Map, Node, Scalar, Tag, is_bare_name};
use crate::origin::Origin;
use crate::resource::Resource;
use crate::schema::BuiltIn;
use crate::selector::{Selection, Selector, select};

/// What it costs to merge a node.
const MERGED: usize = 12;

/// Strategic merge patches without a target.
pub(super) struct StrategicPatches<'w> {
    /// The field that paths are in.
    pub(super) field: &'static str,
    /// Files, or patches as they are written.
    pub(super) paths: &'w [Arc<str>],
    /// Patches as they are written.
    pub(super) inline: Option<&'w str>,
}

impl Builder<'_> {
    /// Carries out those of `patchesStrategicMerge`, of which there are some.
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
            let problem = "patch appears to be empty: write a patch there";
            return Err(BadBuild::of(problem.to_owned()).or_at(&self.sources, places(0)));
        }
        patches.into_iter().try_for_each(|(patch, place)| {
            let found = self.namesake(&patch, all).map_err(|error| error.or_at(&self.sources, place))?;
            let patched = copied(patch)
                .and_then(|patch| self.patch_all(&patch, &[found], all))
                .and_then(|()| self.check_names(all));
            patched.map_err(|error| error.or_at(&self.sources, place))
        })
    }

    /// The patches of a file, or of a text, and where each of them is.
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
        let loaded = file.and_then(|path| self.load(&path));
        let loaded = loaded
            .map_err(|error| if is_like_a_path(text) || error.limit().is_some() { error } else { no_patch })?
            .into_iter();
        Ok(loaded.map(|patch| (patch.node.origin, patch)).map(|(place, patch)| (patch, place)).collect())
    }

    /// The patches of a text, and where each of them is.
    fn inline_patches(
        &mut self,
        folder: &Folder<'_>,
        text: &str,
        at: Origin,
    ) -> Result<Vec<(Resource, Origin)>, BadBuild> {
        let origin = self.by(folder, "patchesStrategicMerge", at);
        self.budget.steps(text.len())?;
        let patches = inline_resources("<patchesStrategicMerge>", text, origin);
        let patches = patches.map_err(|error| BadBuild::new(&error).of_inner_text())?;
        self.hold(&patches)?;
        Ok(patches.into_iter().map(|patch| (patch, at)).collect())
    }

    /// One of `patches`, or of `patchesJson6902`.
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
        match (strategic, JsonPatch::parse(&name, &text, origin)) {
            (Ok(strategic), Ok(json)) if !strategic.is_empty() && !json.is_empty() => Err(BadBuild::of(format!(
                "illegally qualifies as both an SM and JSON patch: {name}: write one of them"
            ))),
            // Nothing in it is no patch.
            (Ok(strategic), _) if strategic.is_empty() => Ok(()),
            (Ok(strategic), _) => self.strategic(patch, strategic, all),
            (_, Ok(json)) => {
                let done = self.json(patch, &json, origin, all);
                let is_file = !patch.path.is_empty();
                done.map_err(|error| if is_file { error.or_at(&self.sources, origin) } else { error })
            }
            (Err(no_resource), Err(no_json)) => {
                let mut bad = match patch.path.is_empty() {
                    true => BadBuild::new(&no_resource).of_inner_text(),
                    false => BadBuild::new(&no_resource).or_at(&self.sources, origin),
                };
                bad.message = format!("{}; {}", bad.message, BadBuild::new(&no_json).message);
                Err(bad.within(&format!("unable to parse SM or JSON patch from {name}")))
            }
        }
    }

    fn strategic(&mut self, patch: &Patch, mut loaded: Vec<Resource>, all: &mut Patched<'_>) -> Result<(), BadBuild> {
        for loaded in &mut loaded {
            loaded.may_change_name = patch.may_change_name;
            loaded.may_change_kind = patch.may_change_kind;
            // Kustomize notes it in the annotations of the patch, which are texts then.
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

    /// One of `patchesJson6902`, which notes nothing of what it changes.
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
        let origin = self.by(folder, "patchesJson6902", patch.origin);
        let json = JsonPatch::parse(&name, &text, origin).map_err(|error| BadBuild::new(&error))?;
        if json.is_empty() {
            return Err(BadBuild::of(format!("patch appears to be empty; file={name}: write operations there")));
        }
        for at in self.selected(all, target)? {
            json.apply_unnoted(&mut all[at], origin, self.budget).map_err(|error| BadBuild::new(&error))?;
        }
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

    /// What has, or once had, the patch's own name.
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
                "no resource matches strategic merge patch \"{id}\": multiple matches for Id {id}; failed to find unique target for patch {id}: say more of it"
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

    /// No two may be called the same, whether they were patched or not.
    fn check_names(&self, all: &mut Patched<'_>) -> Result<(), BadBuild> {
        match all.names(&|gvk| self.schema.is_cluster_scoped(gvk)).are_distinct() {
            true => Ok(()),
            false => {
                let there: Vec<&Resource> = all.there().map(|(_, resource)| resource).collect();
                self.register(&[], there.iter().copied(), &mut Registered::default())
            }
        }
    }

    /// Whether the resource is still there.
    fn merge_into(&mut self, patch: &Resource, resource: &mut Resource) -> Result<bool, BadBuild> {
        let (name, namespace, kind) =
            (resource.name().to_owned(), resource.namespace().to_owned(), resource.kind().to_owned());
        let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
        if patch.may_change_name || patch.may_change_kind {
            resource.note_former(&scope).map_err(|error| BadBuild::new(&error))?;
        }
        let before = Weight::of(&resource.node);
        self.budget.steps(MERGED * (before.nodes + Weight::of(&patch.node).nodes))?;
        let mut node = patch.node.clone();
        if let Some(version) = node.as_map_mut().and_then(|fields| fields.get_mut("apiVersion"))
            && matches!(version.content, Content::Scalar(Scalar { tag: Tag::Any, .. }))
        {
            let origin = resource.node.at(&["apiVersion"]).map_or(patch.node.origin, |own| own.origin);
            *version = plain(&resource.gvk().api_version(), origin);
        }
        self.built_in = BuiltIn::Read;
        let merged =
            resource.sharing(self.budget, |resource| merge(&node, &mut resource.node, &self.schema, self.budget));
        self.budget.grow(before, Weight::of(&resource.node))?;
        match merged.map_err(|error| BadBuild::new(&error))? {
            Merged::Deleted => return Ok(false),
            Merged::Kept if takes_annotations(&node) => resource.forget(),
            Merged::Kept => {}
        }
        let origin = resource.node.origin;
        if let Some(fields) = resource.node.as_map_mut().filter(|_| !patch.may_change_kind) {
            put_back(fields, "kind", &kind, origin);
        }
        if !patch.may_change_name {
            set_metadata(&mut resource.node, "name", &name, origin);
        }
        set_metadata(&mut resource.node, "namespace", &namespace, origin);
        Ok(true)
    }

    fn selection(&self, target: &Target) -> Result<Selection, BadBuild> {
        let selection = Selection::new(&selector(target)).map_err(|error| BadBuild::new(&error))?;
        self.budget.steps(selection.size())?;
        Ok(selection)
    }
}

/// Where a patch is: in a file, or where it is written.
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

/// A patch as kustomize copies one: its labels and annotations are texts, so that a null there takes nothing away; and its `apiVersion` is that of what it
/// patches, for which a place is made here.
fn copied(mut patch: Resource) -> Result<Resource, BadBuild> {
    let origin = patch.node.origin;
    let Some(fields) = patch.node.as_map_mut() else { return Ok(patch) };
    fields.set("apiVersion", plain("", origin));
    as_texts(&mut patch, "labels")?;
    as_texts(&mut patch, "annotations")?;
    Ok(patch)
}

/// Makes texts of the labels or annotations of a patch, or takes them away if there are none.
fn as_texts(patch: &mut Resource, field: &str) -> Result<(), BadBuild> {
    let metadata = patch.node.as_map_mut().and_then(|fields| fields.get_mut("metadata")).and_then(Node::as_map_mut);
    let Some(metadata) = metadata else { return Ok(()) };
    let Some(written) = metadata.remove(field) else { return Ok(()) };
    let texts = merged(None, Some(&written), false);
    if let Some((name, _)) = texts.iter().find(|(name, _)| !is_bare_name(name)) {
        let known = "json: unsupported type: map[interface {}]interface {}";
        let problem = format!("`{name}` in the {field} of a patch is no text without quotes: take another name");
        return Err(BadBuild::of(format!("{known}: {problem}")));
    }
    if !texts.is_empty() {
        metadata.set(field, Node::new(Content::Map(texts), written.origin));
    }
    Ok(())
}

/// Whether a patch puts other annotations in the place of all that there are, or none. Kustomize notes in them what a resource was called.
fn takes_annotations(patch: &Node) -> bool {
    let paths: [&[&str]; 2] = [&["metadata"], &["metadata", "annotations"]];
    paths.iter().filter_map(|path| patch.at(path)).any(is_total)
}

fn plain(text: &str, origin: Origin) -> Node {
    Node::new(Content::Scalar(Scalar::plain(text)), origin)
}

/// Sets a text of the metadata, or takes it away if it is empty.
pub(super) fn set_metadata(node: &mut Node, field: &str, text: &str, origin: Origin) {
    if text.is_empty() && node.at(&["metadata", field]).is_none() {
        return;
    }
    let Some(fields) = node.as_map_mut() else { return };
    if fields.get("metadata").and_then(Node::as_map).is_none() {
        fields.set("metadata", Node::new(Content::Map(Map::default()), origin));
    }
    let Some(metadata) = fields.get_mut("metadata").and_then(Node::as_map_mut) else { return };
    match text {
        "" => drop(metadata.remove(field)),
        text => put_back(metadata, field, text, origin),
    }
}

/// Sets a text. Kustomize forgets that it is one, unless it was in quotes.
fn put_back(fields: &mut Map, field: &str, text: &str, origin: Origin) {
    match fields.get_mut(field) {
        Some(node) if node.as_scalar().is_some() => {
            let origin = if node.as_text() == Some(text) { node.origin } else { origin };
            drop(set_plain(node, text, origin));
        }
        _ => fields.set(field, Node::untagged(text, origin)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Options, build};
    use crate::files::{FileError, Files};
    use std::sync::Arc;

    struct Folder(&'static str, String);

    impl Files for Folder {
        fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
            match path {
                "all.yaml" => Ok(self.0.as_bytes().into()),
                "kustomization.yaml" => Ok(self.1.as_bytes().into()),
                _ => Err(FileError::Missing { path: path.to_owned() }),
            }
        }
    }

    const MAPS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";

    /// What is built of three maps with these patches, recorded from kustomize: the name of each that is left, and its value.
    fn patched(patches: &[&str]) -> Result<Vec<(String, String)>, String> {
        let patches: String = patches.iter().map(|patch| format!("- {patch}\n")).collect();
        let folder = Folder(MAPS, format!("resources: [all.yaml]\npatches:\n{patches}"));
        let built = build(&folder, "", &Options::default()).map_err(|error| error.message)?;
        let value = |resource: &crate::resource::Resource| {
            let value = resource.node.at(&["data", "k"]).and_then(crate::node::Node::as_text);
            (resource.name().to_owned(), value.unwrap_or_default().to_owned())
        };
        Ok(built.resources.iter().map(value).collect())
    }

    fn set(name: &str, value: &str) -> String {
        format!("patch: '{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, data: {{k: {value}}}}}'")
    }

    const DELETE_A: &str = "patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, $patch: delete}'";

    #[test]
    fn what_a_patch_took_away_is_not_there_for_those_behind_it() {
        let all =
            "{target: {kind: ConfigMap}, patch: '[{\"op\": \"add\", \"path\": \"/data\", \"value\": {\"k\": \"y\"}}]'}";
        let left = |pairs: &[(&str, &str)]| Ok(pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect());
        assert_eq!(patched(&[DELETE_A, &set("c", "x")]), left(&[("b", ""), ("c", "x")]));
        assert_eq!(patched(&[DELETE_A, all, &set("b", "x")]), left(&[("b", "x"), ("c", "y")]));
        let error = patched(&[DELETE_A, &set("a", "x")]).unwrap_err();
        assert!(error.contains("no matches for Id ConfigMap.v1.[noGrp]/a.[noNs]"), "{error}");
    }

    #[test]
    fn a_patch_finds_what_others_have_renamed_and_no_two_may_be_called_the_same() {
        let rename = |to: &str| {
            format!(
                "{{target: {{name: a}}, patch: '[{{\"op\": \"replace\", \"path\": \"/metadata/name\", \"value\": \"{to}\"}}]'}}"
            )
        };
        let left = patched(&[&set("b", "1"), &rename("d"), &set("d", "x")]);
        assert_eq!(left.as_deref().map(|left| left[2].clone()), Ok(("d".to_owned(), "x".to_owned())));
        let error = patched(&[&set("c", "1"), &rename("b"), &set("c", "x")]).unwrap_err();
        assert!(
            error.contains("may not add resource with an already registered id: ConfigMap.v1.[noGrp]/b"),
            "{error}"
        );
    }

    #[test]
    fn many_patches_select_the_same_as_few() {
        let json = |name: &str, field: &str, value: &str| {
            format!(
                "{{target: {{name: {name}}}, patch: '[{{\"op\": \"add\", \"path\": \"{field}\", \"value\": {value}}}]'}}"
            )
        };
        let last = [
            json("a", "/metadata/name", "\"d\""),
            DELETE_A.replace("name: a", "name: b"),
            json("b|c", "/data", "{\"k\": \"1\"}"),
            json("a", "/data", "{\"k\": \"2\"}"),
            json("d", "/data/more", "\"3\""),
            json("b", "/data", "{\"k\": \"4\"}"),
        ];
        let few = patched(&last.each_ref().map(String::as_str));
        let many: Vec<String> =
            (0..20).map(|at| json("c", "/metadata/labels", &format!("{{\"at\": \"{at}\"}}"))).chain(last).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(patched(&many), few);
        let left = [("c", "1"), ("d", "2")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(few.as_deref(), Ok(&left[..]));
    }

    #[test]
    fn many_json_patches_note_a_name_once_that_stays_the_same() {
        let patch = "{target: {name: a}, patch: '- {op: add, path: /data, value: {k: v}}'}\n";
        let folder = Folder(MAPS, format!("resources: [all.yaml]\npatches:\n{}", format!("- {patch}").repeat(1_000)));
        let built = build(&folder, "", &Options::default()).unwrap();
        assert_eq!(built.resources[0].former.len(), 1);
    }
}
