//! Names by which resources refer to each other. If a resource was renamed, references to a former
//! name are changed to the current one.

mod choice;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::defaults::NameReference;
use crate::field_spec::{FieldSpec, field_name, set_plain};
use crate::identity::{Gvk, Id};
use crate::limits::{Budget, Exceeded, NODE, found_among};
use crate::node::{Content, Map, Node, Tag};
use crate::origin::Origin;
use crate::resource::Resource;
use choice::{Choice, Referrer};

/// The path leads through a node that has no fields.
pub(crate) const NO_FIELDS: &str = "expected sequence or mapping node";

/// The last part of the path is not a field of a map.
const NO_NAME: &str = "a number, `-`, `*` or a name in brackets names a list item, but the node is a map";

/// Applies a function to the value of a field, unless it is missing or null.
pub(crate) fn follow_field<P: From<&'static str> + From<Exceeded>>(
    field: &FieldSpec,
    node: &mut Node,
    budget: &Budget,
    found: &mut impl FnMut(&mut Node) -> Result<(), (Origin, P)>,
) -> Result<(), (Origin, P)> {
    budget.spend(8 + field.path.len() / 2);
    follow(node, &parts(field), budget, found)
}

fn follow<P: From<&'static str> + From<Exceeded>>(
    node: &mut Node,
    path: &[String],
    budget: &Budget,
    found: &mut impl FnMut(&mut Node) -> Result<(), (Origin, P)>,
) -> Result<(), (Origin, P)> {
    budget.steps(1).map_err(|exceeded| (node.origin, exceeded.into()))?;
    if node.is_null() {
        return Ok(());
    }
    let Some((field, rest)) = path.split_first() else { return found(node) };
    match &mut node.content {
        Content::Seq(items) => items.iter_mut().try_for_each(|item| follow(item, path, budget, found)),
        Content::Map(map) => {
            let field = field_name(field).map_err(|_| (node.origin, NO_NAME.into()))?;
            budget.spend(found_among(map.len()));
            map.get_mut(field).map_or(Ok(()), |node| follow(node, rest, budget, found))
        }
        Content::Scalar(_) => Err((node.origin, NO_FIELDS.into())),
    }
}

/// A name that cannot be corrected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadReference {
    pub field: Arc<str>,
    pub of: Box<Id>,
    pub origin: Origin,
    pub problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The name is ambiguous; these are the candidates.
    Several(Vec<Id>),
    /// The field holds a map without a name.
    NoName,
    /// The field holds a list within a list.
    NoText,
    /// The path leads through a node that has no fields.
    NoFields,
    /// A service account without a namespace, a subject that is not a map, or a subject whose kind
    /// is not a string.
    NoNamespace,
    /// The version of the referrer is null or begins with a slash, and kustomize cannot find the
    /// resource by it again.
    NoVersion,
    Limit(Exceeded),
}

impl From<&'static str> for Problem {
    fn from(_: &'static str) -> Self {
        Self::NoFields
    }
}

impl From<Exceeded> for Problem {
    fn from(exceeded: Exceeded) -> Self {
        Self::Limit(exceeded)
    }
}

impl fmt::Display for BadReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "updating name reference in '{}' field of '{}': ", self.field, self.of)?;
        match &self.problem {
            Problem::Several(ids) => {
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                write!(f, "found multiple possible referrals: {}: give them different names", ids.join(", "))
            }
            Problem::NoName => f.write_str("path config error; no 'name' field in node: correct the field's path"),
            Problem::NoText => f.write_str("expected a name or a map with a name: correct it"),
            Problem::NoNamespace => {
                write!(
                    f,
                    "Invalid Input: namespace is blank for resource \"{}\": write kind and namespace of subjects as texts, or leave them out",
                    self.of
                )
            }
            Problem::NoVersion => f.write_str(
                "node-referrerOriginal 'APIVersion' mismatch: it is null or has no group before its slash: write one, or leave the field out",
            ),
            Problem::Limit(_) => f.write_str("limit"),
            Problem::NoFields => write!(f, "{NO_FIELDS}: correct it, or the field's path"),
        }
    }
}

impl std::error::Error for BadReference {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Limit(exceeded) => Some(exceeded),
            _ => None,
        }
    }
}

/// Corrects all references to renamed resources. `ids` are the current ids of the resources, in
/// their order.
pub fn correct(
    resources: &mut [Resource],
    ids: &[Id],
    known: &[NameReference],
    origin: Origin,
    budget: &Budget,
) -> Result<(), BadReference> {
    let by_kind = by_kind(known);
    let choice = Choice::among(resources, ids);
    let mut referrals: Vec<(usize, Id)> = Vec::new();
    for (at, resource) in resources.iter_mut().enumerate() {
        let original = choice.original_gvk(at);
        let fields = fields_of(&by_kind, &original, known, budget).map_err(|exceeded| BadReference {
            field: "nameReference".into(),
            of: Box::new(ids[at].clone()),
            origin: resource.node.origin,
            problem: Problem::Limit(exceeded),
        })?;
        if fields.is_empty() {
            continue;
        }
        let referrer = Referrer::of(resource, &ids[at]).ok_or_else(|| BadReference {
            field: "subjects".into(),
            of: Box::new(ids[at].clone()),
            origin: resource.node.origin,
            problem: Problem::NoNamespace,
        })?;
        if has_no_version(&resource.node) {
            let (field, of) = ("apiVersion".into(), Box::new(ids[at].clone()));
            return Err(BadReference { field, of, origin: resource.node.origin, problem: Problem::NoVersion });
        }
        for (of, field) in fields {
            let mut naming =
                Naming { choice: &choice, referrer: &referrer, of, field, origin, budget, referrals: &mut referrals };
            follow_field(field, &mut resource.node, budget, &mut |node| naming.name(node)).map_err(
                |(origin, problem)| BadReference {
                    field: Arc::clone(&field.path),
                    of: Box::new(ids[at].clone()),
                    origin,
                    problem,
                },
            )?;
        }
    }
    drop(choice);
    for (named, by) in referrals {
        let named = &mut resources[named];
        // Most are referred to once.
        if named.referred_by.is_empty() {
            named.referred_by.reserve_exact(1);
        }
        named.referred_by.push(by);
        named.is_annotated = true;
    }
    Ok(())
}

fn has_no_version(node: &Node) -> bool {
    let version = node.at(&["apiVersion"]).and_then(Node::as_scalar);
    version.is_some_and(|version| match version.tag {
        Tag::Null => !version.text.is_empty(),
        _ => version.text.starts_with('/'),
    })
}

/// Groups the reference fields by the kind of the referrer; those of any kind are under the empty
/// name.
fn by_kind(known: &[NameReference]) -> BTreeMap<&str, Vec<(usize, usize)>> {
    let mut by_kind: BTreeMap<&str, Vec<(usize, usize)>> = BTreeMap::new();
    for (of, reference) in known.iter().enumerate() {
        for (at, field) in reference.fields.iter().enumerate() {
            by_kind.entry(&*field.gvk.kind).or_default().push((of, at));
        }
    }
    by_kind
}

/// Returns the fields by which a kind refers to others, in their order.
fn fields_of<'k>(
    by_kind: &BTreeMap<&str, Vec<(usize, usize)>>,
    gvk: &Gvk,
    known: &'k [NameReference],
    budget: &Budget,
) -> Result<Vec<(&'k Gvk, &'k FieldSpec)>, Exceeded> {
    let of = |kind: &str| by_kind.get(kind).map(Vec::as_slice).unwrap_or_default();
    let any = if gvk.kind.is_empty() { &[][..] } else { of("") };
    let mut places: Vec<(usize, usize)> = of(&gvk.kind).iter().chain(any).copied().collect();
    places.sort_unstable();
    // Fields of another group or version are checked, too.
    budget.steps(2 * places.len())?;
    let fields = places.into_iter().map(|(of, at)| (&known[of].referred, &known[of].fields[at]));
    Ok(fields.filter(|(_, field)| gvk.is_selected(&field.gvk)).collect())
}

/// Returns the parts of a field's path. The mark of lists has no effect here.
fn parts(field: &FieldSpec) -> Vec<String> {
    field.names().iter().map(|name| name.strip_suffix("[]").unwrap_or(name).to_owned()).collect()
}

/// A field that may refer to a resource, while a referrer is walked.
struct Naming<'a> {
    choice: &'a Choice,
    referrer: &'a Referrer<'a>,
    of: &'a Gvk,
    field: &'a FieldSpec,
    origin: Origin,
    budget: &'a Budget,
    referrals: &'a mut Vec<(usize, Id)>,
}

impl Naming<'_> {
    fn name(&mut self, node: &mut Node) -> Result<(), (Origin, Problem)> {
        if node.is_null() {
            return Ok(());
        }
        let at = node.origin;
        match &mut node.content {
            Content::Scalar(scalar) => {
                let named = self.choose(&scalar.text, None, at)?;
                match named.map(|named| self.choice.name(named)).filter(|name| **name != *scalar.text) {
                    Some(name) => set_plain(node, &name, self.origin).map_err(|_| (at, Problem::NoText)),
                    None => Ok(()),
                }
            }
            Content::Map(map) => self.map(map, at),
            Content::Seq(items) => items.iter_mut().try_for_each(|item| match &mut item.content {
                Content::Seq(_) => Err((item.origin, Problem::NoText)),
                _ => self.name(item),
            }),
        }
    }

    /// Corrects a map that refers to a resource by `name` and `namespace`.
    fn map(&mut self, map: &mut Map, at: Origin) -> Result<(), (Origin, Problem)> {
        self.budget.spend(found_among(map.len()));
        let name = map.get("name").ok_or((at, Problem::NoName))?.as_text().unwrap_or_default().to_owned();
        let namespace = map.get("namespace").and_then(Node::as_text).map(ToOwned::to_owned);
        let Some(named) = self.choose(&name, Some(namespace.as_deref()), at)? else { return Ok(()) };
        let (new_name, new_namespace) = (self.choice.name(named), self.choice.namespace(named));
        if *new_name == *name && new_namespace.is_empty() {
            return Ok(());
        }
        let mut put = |field: &str, value: &str| match map.get_mut(field) {
            Some(node) if node.as_text() == Some(value) => Ok(()),
            Some(node) => set_plain(node, value, self.origin).map_err(|_| (at, Problem::NoText)),
            None => {
                map.set(field, Node::untagged(value, self.origin));
                Ok(())
            }
        };
        put("name", &new_name)?;
        if new_namespace.is_empty() { Ok(()) } else { put("namespace", &new_namespace) }
    }

    /// Chooses the resource that a name refers to. `within` is the namespace next to the name, if
    /// one is possible.
    fn choose(
        &mut self,
        name: &str,
        within: Option<Option<&str>>,
        at: Origin,
    ) -> Result<Option<usize>, (Origin, Problem)> {
        let limit = |exceeded| (at, Problem::Limit(exceeded));
        self.budget.steps(self.choice.cost(name, within)).map_err(limit)?;
        let chosen = self.choice.choose(name, self.of, self.referrer, &self.field.path, within);
        let chosen = chosen.map_err(|several| (at, Problem::Several(several)))?;
        if let Some(named) = chosen {
            self.budget.hold(NODE + self.choice.name(named).len()).map_err(limit)?;
            self.referrals.push((named, self.referrer.id.clone()));
        }
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests;
