//! Replacements: write the value of a field, or a fixed text, to other fields.
//!
//! - `copy`: copies a value into a node. `structured`: fields in JSON or YAML inside a text.
//!   `layout`: writes that YAML again.
//!
//! A scalar takes the text of the value and keeps its own type; any other node is replaced by the
//! value.

mod copy;
mod layout;
mod structured;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::field_path::{self, Leaf, Matching, PathError, Step, at, at_mut};
use crate::identity::Id;
use crate::limits::{Budget, Exceeded, Weight};
use crate::node::{Content, Node, Scalar, Tag};
use crate::noted::Noted;
use crate::origin::Origin;
use crate::resource::Resource;
use crate::selector::{BadSelector, Selector, TargetSelection};
use copy::{account, depth, holds_notes, own_texts, set, settle};
use layout::Unwritten;

/// The default field of a source or target.
const DEFAULT_PATH: &str = "metadata.name";
/// The steps to find a field and to write it.
const WRITTEN: usize = 50;
/// The steps to copy a node once, and to drop it.
const CLONED: usize = 2;
/// The maximum depth of a copied value.
const MAX_DEPTH: usize = 1000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replacement {
    pub source: Option<Source>,
    /// The value itself, instead of a source.
    pub value: Option<Arc<str>>,
    /// `None` if the field is omitted.
    pub targets: Option<Vec<Target>>,
    /// The place where it is written.
    pub origin: Origin,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Empty parts match anything.
    pub id: Id,
    pub path: Arc<str>,
    pub options: Option<FieldOptions>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    pub select: Option<Selector>,
    pub reject: Vec<Selector>,
    pub paths: Vec<Arc<str>>,
    pub options: Option<FieldOptions>,
}

/// Selects a part of a text, and whether to create a missing field. `encoding` is accepted but has
/// no effect, as in kustomize.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldOptions {
    pub delimiter: Arc<str>,
    pub index: i64,
    pub encoding: Arc<str>,
    pub create: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplacementError {
    #[error(
        "replacements must specify a source and at least one target: write `source` (or `sourceValue`) and `targets`"
    )]
    Incomplete,
    #[error("value and resource selectors are mutually exclusive: remove `source` or `sourceValue`")]
    Both,
    #[error("nothing selected by {source_text}: correct the source, or add the resource")]
    NoSource { source_text: String },
    #[error("multiple matches for selector {source_text}: name one of them")]
    ManySources { source_text: String },
    #[error("error looking up replacement source `{path}` in {id}")]
    SourcePath { path: Arc<str>, id: Box<Id>, source: Box<PathError> },
    #[error("fieldPath `{path}` is missing for replacement source {id}: correct the path, or give the field a value")]
    NoValue { path: Arc<str>, id: Box<Id> },
    #[error("delimiter option can only be used with scalar nodes: `{path}` is a map or a list: remove `delimiter`")]
    Delimiter { path: Arc<str> },
    #[error(
        "options.index {index} is out of bounds for the value of `{path}`, which has {parts} parts: correct the index"
    )]
    Index { index: i64, path: Arc<str>, parts: usize },
    #[error("target must specify resources to select: write `select`")]
    NoSelect,
    #[error("error creating target selector")]
    Selector { source: Box<BadSelector> },
    #[error("unable to find {}field \"{path}\" in replacement target {id}{}", if *.create { "or create " } else { "" }, if *.create { ": correct the path" } else { ": correct the path, or set `options.create`" })]
    Field { path: Arc<str>, id: Box<Id>, create: bool, source: Option<Box<PathError>> },
    #[error(
        "`{path}` leads into a text of {id} that {why}, and kustomize would write it differently: remove that part, or replace the whole text"
    )]
    Text {
        path: Arc<str>,
        id: Box<Id>,
        why: String,
        /// Kustomize would change or drop more than the field.
        is_lost: bool,
    },
    #[error(
        "a copy of the value for `{path}` in {id} would be too deep: replacements copy it into itself: remove one of them"
    )]
    TooDeep { path: Arc<str>, id: Box<Id> },
    #[error("limit")]
    Limit(#[from] Exceeded),
}

/// Formats as kustomize does in messages.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id)?;
        if !self.path.is_empty() {
            write!(f, ":{}", self.path)?;
        }
        match &self.options {
            Some(options) if !options.delimiter.is_empty() || options.create => {
                write!(f, ":{}({}), create={}", options.delimiter, options.index, options.create)
            }
            _ => Ok(()),
        }
    }
}

/// Applies replacements in sequence. The origin of written texts is the replacement; copied maps
/// and lists keep their origin. Returns an error together with the place of the replacement.
pub fn replace(
    resources: &mut [Resource],
    replacements: &[Replacement],
    budget: &Budget,
) -> Result<(), (Origin, ReplacementError)> {
    let ids: Vec<Vec<Id>> = resources.iter().map(Resource::written_ids).collect();
    let mut work = Work { resources, ids: Vec::new(), called: BTreeMap::new(), origin: Origin::default(), budget };
    for (at, ids) in ids.into_iter().enumerate() {
        work.ids.push(Vec::new());
        work.learn(at, ids);
    }
    replacements.iter().try_for_each(|replacement| {
        work.origin = replacement.origin;
        work.replace(replacement).map_err(|error| (replacement.origin, error))
    })
}

/// The value to copy.
enum Value {
    Fixed(Node),
    /// The field of a source, read each time it is copied: an earlier target may be the source
    /// itself.
    Field {
        resource: usize,
        place: Vec<Step>,
    },
}

struct Work<'r> {
    resources: &'r mut [Resource],
    /// The current and former ids of each resource.
    ids: Vec<Vec<Id>>,
    /// The positions of the resources that have or had a name.
    called: BTreeMap<Arc<str>, BTreeSet<usize>>,
    /// The origin of the current replacement.
    origin: Origin,
    budget: &'r Budget,
}

impl Work<'_> {
    /// Records the ids of a resource, which may change.
    fn learn(&mut self, resource: usize, ids: Vec<Id>) {
        self.budget.spend(2 * ids.len());
        if self.ids[resource] == ids {
            return;
        }
        for former in std::mem::replace(&mut self.ids[resource], ids) {
            if let Some(places) = self.called.get_mut(&former.name) {
                places.remove(&resource);
            }
        }
        for id in &self.ids[resource] {
            self.called.entry(Arc::clone(&id.name)).or_default().insert(resource);
        }
    }

    /// Returns the positions of the resources that have or had a name, in their order; all
    /// resources for `None`.
    fn called(&self, name: Option<&str>) -> Vec<usize> {
        match name {
            Some(name) => self.called.get(name).into_iter().flatten().copied().collect(),
            None => {
                self.budget.spend(self.ids.len());
                (0..self.ids.len()).collect()
            }
        }
    }

    fn replace(&mut self, replacement: &Replacement) -> Result<(), ReplacementError> {
        let mut value = match (&replacement.source, &replacement.value, &replacement.targets) {
            (_, _, None) | (None, None, _) => return Err(ReplacementError::Incomplete),
            (Some(_), Some(_), _) => return Err(ReplacementError::Both),
            (None, Some(text), _) => {
                let scalar = Scalar::plain(Arc::clone(text));
                Value::Fixed(Node::new(Content::Scalar(scalar), self.origin))
            }
            (Some(source), None, _) => self.source(source)?,
        };
        for target in replacement.targets.iter().flatten() {
            self.target(target, &mut value)?;
        }
        Ok(())
    }

    fn source(&self, source: &Source) -> Result<Value, ReplacementError> {
        let is_it = |at: &usize| {
            self.budget.spend(2 * self.ids[*at].len());
            self.ids[*at].iter().any(|id| id.is_selected(&source.id))
        };
        let name = Some(&*source.id.name).filter(|name| !name.is_empty());
        let mut found = self.called(name).into_iter().filter(is_it);
        let source_text = || source.to_string();
        let resource = found.next().ok_or_else(|| ReplacementError::NoSource { source_text: source_text() })?;
        if found.next().is_some() {
            return Err(ReplacementError::ManySources { source_text: source_text() });
        }
        let path = or_default(&source.path);
        let root = &self.resources[resource].node;
        let wrong = |error| ReplacementError::SourcePath {
            path: Arc::clone(&path),
            id: Box::new(source.id.clone()),
            source: Box::new(error),
        };
        let found = field_path::split(&path).and_then(|parts| field_path::find_within(root, &parts, self.budget));
        let place = found.map_err(wrong)?;
        let no_value = || ReplacementError::NoValue { path: Arc::clone(&path), id: Box::new(source.id.clone()) };
        let place = place.ok_or_else(no_value)?;
        // For kustomize, the annotations are never empty if it has recorded something in them.
        let has_notes = self.resources[resource].is_annotated && holds_notes(&place);
        let node = at(root, &place).filter(|node| has_notes || !is_empty(node)).ok_or_else(no_value)?;
        let Some(options) = source.options.as_ref().filter(|options| !options.delimiter.is_empty()) else {
            return Ok(Value::Field { resource, place });
        };
        let Content::Scalar(scalar) = &node.content else { return Err(ReplacementError::Delimiter { path }) };
        self.budget.spend(scalar.text.len() / 8);
        let mut parts = scalar.text.split(&*options.delimiter);
        let part = usize::try_from(options.index).ok().and_then(|index| parts.nth(index));
        let count = || scalar.text.split(&*options.delimiter).count();
        let index = || ReplacementError::Index { index: options.index, path, parts: count() };
        let text = part.ok_or_else(index)?.into();
        Ok(Value::Fixed(Node::new(Content::Scalar(Scalar { text, tag: scalar.tag }), node.origin)))
    }

    fn target(&mut self, target: &Target, value: &mut Value) -> Result<(), ReplacementError> {
        let select = target.select.as_ref().ok_or(ReplacementError::NoSelect)?;
        let wrong = |bad| ReplacementError::Selector { source: Box::new(bad) };
        let selection = TargetSelection::new(select, &target.reject).map_err(wrong)?;
        self.budget.steps(selection.size())?;
        let default = [Arc::from(DEFAULT_PATH)];
        let paths = if target.paths.is_empty() { &default[..] } else { &target.paths };
        for resource in self.called(selection.only_name()) {
            if selection.is_about(&self.resources[resource], &self.ids[resource], self.budget).map_err(wrong)? {
                for path in paths {
                    self.write(resource, path, target.options.as_ref(), value)?;
                }
                self.learn(resource, self.resources[resource].written_ids());
            }
        }
        Ok(())
    }

    /// Writes the value to all fields of a resource that a path matches.
    fn write(
        &mut self,
        resource: usize,
        path: &Arc<str>,
        options: Option<&FieldOptions>,
        value: &mut Value,
    ) -> Result<(), ReplacementError> {
        let Some(current) = self.current(value) else { return Ok(()) };
        let (budget, weight) = (self.budget, Weight::of(current));
        budget.steps(WRITTEN + path.len() + CLONED * weight.nodes)?;
        budget.hold(weight.bytes)?;
        let current = current.clone();
        let done = self.write_copy(resource, path, options, value, &current);
        budget.release(weight.bytes);
        done
    }

    /// Writes the current value in the same way.
    fn write_copy(
        &mut self,
        resource: usize,
        path: &Arc<str>,
        options: Option<&FieldOptions>,
        value: &mut Value,
        current: &Node,
    ) -> Result<(), ReplacementError> {
        let (origin, budget) = (self.origin, self.budget);
        let create = options.is_some_and(|options| options.create).then(|| Leaf::of(current));
        let wrong = |error: Option<PathError>| ReplacementError::Field {
            path: Arc::clone(path),
            id: first(&self.ids[resource]),
            create: create.is_some(),
            source: error.map(Box::new),
        };
        let parts = field_path::split(path).map_err(|error| wrong(Some(error)))?;
        let root = &mut self.resources[resource].node;
        match structured::write(root, &parts, current, create, origin, budget) {
            Ok(true) => return Ok(budget.steps(0)?),
            Ok(false) => {}
            Err(Unwritten::Limit(exceeded)) => return Err(exceeded.into()),
            Err(why) => {
                let (path, id) = (Arc::clone(path), first(&self.ids[resource]));
                let is_lost = why.is_lost();
                return Err(ReplacementError::Text { path, id, why: why.to_string(), is_lost });
            }
        }
        let matching = Matching::of(root, &parts, create, origin, budget).map_err(|error| wrong(Some(error)))?;
        if matching.is_empty() {
            return Err(wrong(None));
        }
        if matching.has_lost_collection && options.is_some_and(|options| !options.delimiter.is_empty()) {
            return Err(ReplacementError::Delimiter { path: Arc::clone(path) });
        }
        matching.found.iter().try_for_each(|place| self.put(resource, place, path, options, value))?;
        Ok(budget.fields(&self.resources[resource].node)?)
    }

    /// Writes the value to one place.
    fn put(
        &mut self,
        resource: usize,
        place: &[Step],
        path: &Arc<str>,
        options: Option<&FieldOptions>,
        value: &mut Value,
    ) -> Result<(), ReplacementError> {
        let Some(current) = self.current(value) else { return Ok(()) };
        let Some(node) = at(&self.resources[resource].node, place) else { return Ok(()) };
        // A copy that exceeds the limit is not even created.
        account(node, current, options, self.budget)?;
        let mut copy = current.clone();
        if let Value::Field { resource: from, place: field } = value
            && *from == resource
            && field.len() > place.len()
            && field.starts_with(place)
        {
            // The node that contains the source is about to be replaced.
            *value = Value::Fixed(copy.clone());
        }
        if copy.as_scalar().is_none() && place.len() + depth(&copy) > MAX_DEPTH {
            return Err(ReplacementError::TooDeep { path: Arc::clone(path), id: first(&self.ids[resource]) });
        }
        let noted = self.noted(value, place, &copy);
        let (budget, resource) = (self.budget, &mut self.resources[resource]);
        let Some(node) = at_mut(&mut resource.node, place) else { return Ok(()) };
        let old = node.as_scalar().map(|scalar| Arc::clone(&scalar.text));
        if !resource.shared.is_empty() {
            own_texts(&mut copy);
        }
        set(node, copy, options, self.origin, path)?;
        settle(&mut resource.node, place);
        let Some(node) = at_mut(&mut resource.node, place) else { return Ok(()) };
        if let Some(old) = old.filter(|_| !resource.shared.is_empty()) {
            let new = node.clone();
            resource.spread(&old, &new, budget);
        }
        resource.forget_what_is_lost();
        if let Some(noted) = noted {
            resource.forget();
            noted.into_iter().for_each(|from| resource.note_as(from));
        }
        Ok(())
    }

    /// Returns the change of kustomize's records, if any. A map that replaces all annotations drops
    /// the records in them; if it was copied from annotations, it brings its own.
    fn noted(&self, value: &Value, place: &[Step], copy: &Node) -> Option<Option<Noted>> {
        if copy.as_scalar().is_some() || !holds_notes(place) {
            return None;
        }
        Some(match value {
            Value::Field { resource, place: from } if from == place => self.resources[*resource].noted(),
            _ => None,
        })
    }

    /// Returns the current value.
    fn current<'v>(&'v self, value: &'v Value) -> Option<&'v Node> {
        match value {
            Value::Fixed(node) => Some(node),
            Value::Field { resource, place } => at(&self.resources[*resource].node, place),
        }
    }
}

fn first(ids: &[Id]) -> Box<Id> {
    Box::new(ids.first().cloned().unwrap_or_default())
}

fn or_default(path: &Arc<str>) -> Arc<str> {
    if path.is_empty() { DEFAULT_PATH.into() } else { Arc::clone(path) }
}

fn is_empty(node: &Node) -> bool {
    match &node.content {
        Content::Scalar(scalar) => scalar.tag == Tag::Null,
        Content::Seq(items) => items.is_empty(),
        Content::Map(map) => map.is_empty(),
    }
}
