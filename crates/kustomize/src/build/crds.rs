//! `crds`: OpenAPI definitions of custom resources, whose extensions mark the fields with names,
//! labels, annotations and references.

use std::collections::BTreeSet;

use super::configuration::KnownFields;
use super::{BadBuild, Builder};
use crate::defaults::{Defaults, NameReference};
use crate::field_spec::FieldSpec;
use crate::fields::{BadField, Fields, wrong};
use crate::folder::Folder;
use crate::identity::Gvk;
use crate::kustomization::Kustomization;
use crate::limits::{Budget, found_among};
use crate::node::{Map, Node};

const ANNOTATION: &str = "x-kubernetes-annotation";
const LABEL_SELECTOR: &str = "x-kubernetes-label-selector";
const IDENTITY: &str = "x-kubernetes-identity";
const VERSION: &str = "x-kubernetes-object-ref-api-version";
const KIND: &str = "x-kubernetes-object-ref-kind";
const NAME_KEY: &str = "x-kubernetes-object-ref-name-key";

/// The maximum number of visited fields. A definition with many references to it is visited from
/// each.
const MOST_FIELDS: usize = 10_000;
/// The deepest nesting of definitions.
const DEEPEST: usize = 100;

impl Builder<'_> {
    pub(super) fn custom_resources(
        &mut self,
        folder: &Folder<'_>,
        kustomization: &Kustomization,
        into: &mut KnownFields,
    ) -> Result<(), BadBuild> {
        let mut said = Defaults::default();
        for (at, path) in kustomization.crds.iter().enumerate() {
            let own = self.defined(folder, path).and_then(|own| {
                self.budget.steps(said.cost_of_merge(&own))?;
                said.merge(&own).map_err(|error| BadBuild::new(&error))
            });
            own.map_err(|error| error.or_at(&self.sources, kustomization.place_of_item("crds", at)))?;
        }
        if said == Defaults::default() {
            return Ok(());
        }
        into.merge(&KnownFields::Own(said.into()), self.budget)
            .map_err(|error| error.or_at(&self.sources, kustomization.place("crds")))
    }

    /// Reads the field specs in the definitions of a file.
    fn defined(&mut self, folder: &Folder<'_>, path: &str) -> Result<Defaults, BadBuild> {
        let path = folder.file(path).map_err(|error| BadBuild::new(&error))?;
        let text = self.text(&path)?;
        let what = format!("unable to parse open API definition from '{path}'");
        let document = self.document(&path, &text).map_err(|error| error.within(&what))?;
        if text.is_empty() {
            return Err(BadBuild::of(format!("{what}: it is empty: write definitions there")));
        }
        let Some(document) = document else { return Ok(Defaults::default()) };
        let definitions =
            Definitions::of(&document).map_err(|error| BadBuild::new(&error).within(&what).at(&path, error.origin))?;
        let fields = definitions.fields(self.budget);
        fields.map_err(|error| error.within(&what).or_at(&self.sources, document.origin))
    }
}

/// The properties of definitions, by name and in their order.
struct Definitions<'n>(Vec<(&'n str, Option<&'n Map>)>);

impl<'n> Definitions<'n> {
    fn of(document: &'n Node) -> Result<Self, BadField> {
        let Some(all) = document.as_map() else { return Err(wrong("", document, "a map of definitions")) };
        let mut definitions = Vec::with_capacity(all.len());
        for (name, definition) in all.iter().filter(|(_, definition)| !definition.is_null()) {
            let schema = Fields::of(definition, name)?.node("Schema");
            let properties = schema.map(|schema| Fields::of(schema, name)).transpose()?;
            let properties = properties.and_then(|fields| fields.node("properties"));
            let map = properties.map(|node| node.as_map().ok_or_else(|| wrong(name, node, "a map of properties")));
            definitions.push((&**name, map.transpose()?));
        }
        definitions.sort_by_key(|(name, _)| *name);
        Ok(Self(definitions))
    }

    fn get(&self, name: &str) -> Option<&'n Map> {
        let at = self.0.binary_search_by_key(&name, |(own, _)| *own).ok()?;
        self.0[at].1
    }

    /// Returns the field specs of all resources among the definitions.
    fn fields(&self, budget: &Budget) -> Result<Defaults, BadBuild> {
        let mut all = Defaults::default();
        let mut left = MOST_FIELDS;
        for (name, properties) in &self.0 {
            let has = |field: &str| properties.is_some_and(|map| map.get(field).is_some());
            if !(has("kind") && has("apiVersion") && has("metadata")) {
                continue;
            }
            let kind = name.rsplit('.').next().unwrap_or_default();
            let gvk = Gvk::new("", "", kind);
            let (said, references) = (Defaults::default(), Vec::new());
            let mut visit = Visit { definitions: self, gvk, said, references, left, budget };
            visit.definition(name, "", &mut BTreeSet::new())?;
            left = visit.left;
            let references = Defaults { name_reference: visit.references, ..Defaults::default() };
            budget.steps(visit.said.cost_of_merge(&references) + all.cost_of_merge(&visit.said))?;
            let merged = visit.said.merge(&references).and_then(|()| all.merge(&visit.said));
            merged.map_err(|error| BadBuild::new(&error))?;
        }
        Ok(all)
    }
}

struct Visit<'d, 'n> {
    definitions: &'d Definitions<'n>,
    gvk: Gvk,
    said: Defaults,
    /// References to merge into `said`.
    references: Vec<NameReference>,
    left: usize,
    budget: &'d Budget,
}

impl<'n> Visit<'_, 'n> {
    /// Visits the properties of a definition at `path`. Definitions that refer to each other in a
    /// cycle make kustomize recurse until it crashes.
    fn definition(&mut self, name: &'n str, path: &str, within: &mut BTreeSet<&'n str>) -> Result<(), BadBuild> {
        let Some(properties) = self.definitions.get(name) else { return Ok(()) };
        if !within.insert(name) {
            return Err(BadBuild::of(format!("the definition `{name}` refers to itself: remove the reference")));
        }
        if within.len() > DEEPEST {
            return Err(BadBuild::of(format!(
                "definitions refer to each other more than {DEEPEST} levels deep: remove references"
            )));
        }
        for (field, property) in properties.iter() {
            self.left = self.left.checked_sub(1).ok_or_else(|| {
                BadBuild::of(format!("definitions refer to more than {MOST_FIELDS} fields: remove some of them"))
            })?;
            let path = if path.is_empty() { field.to_string() } else { format!("{path}/{field}") };
            // A path may be stored for each field.
            self.budget.hold_text(&path)?;
            // The property is searched for each mark.
            self.budget.steps(found_among(property.as_map().map_or(0, Map::len)))?;
            self.property(property, &path)?;
            if let Some(reference) = property.at(&["$ref"]).and_then(Node::as_text).filter(|name| !name.is_empty()) {
                self.definition(reference, &path, within)?;
            }
        }
        within.remove(name);
        Ok(())
    }

    fn property(&mut self, property: &Node, path: &str) -> Result<(), BadBuild> {
        let mark = |name: &str| property.at(&[name]).and_then(text);
        let spec = |path: &str| FieldSpec::new(self.gvk.clone(), path, false);
        let lists = [
            (ANNOTATION, &mut self.said.common_annotations),
            (LABEL_SELECTOR, &mut self.said.common_labels),
            (IDENTITY, &mut self.said.name_prefix),
        ];
        for (name, list) in lists {
            if mark(name).is_some() {
                self.budget.steps(list.len())?;
                FieldSpec::merge(list, &[spec(path)]).map_err(|error| BadBuild::new(&error))?;
            }
        }
        if let (Some(version), Some(kind)) = (mark(VERSION), mark(KIND)) {
            let field = spec(&format!("{path}/{}", mark(NAME_KEY).unwrap_or("name")));
            let reference = NameReference { referred: Gvk::new("", version, kind), fields: vec![field] };
            self.references.push(reference);
        }
        Ok(())
    }
}

/// Returns the string of a scalar that is a string in JSON.
fn text(node: &Node) -> Option<&str> {
    use crate::node::Tag;
    node.as_scalar().filter(|scalar| matches!(scalar.tag, Tag::Text | Tag::Time)).map(|scalar| &*scalar.text)
}
