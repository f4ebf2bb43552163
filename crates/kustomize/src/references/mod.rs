//! The names that resources have of each other. Where one was renamed, whoever names it by a name
//! that it had before is given the one it has now.

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

/// The field leads through something that has no fields.
pub(crate) const NO_FIELDS: &str = "expected sequence or mapping node";

/// The field is none of a map.
const NO_NAME: &str = "a number, `-`, `*` or what is in brackets names an item of a list, and there is a map";

/// Does something with what stands in a field; nothing where it is not there or null.
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
    /// It may be any of these.
    Several(Vec<Id>),
    /// The field leads to a map without a name.
    NoName,
    /// The field leads to a list within a list.
    NoText,
    /// The field leads through something that has no fields.
    NoFields,
    /// An account is named, and its namespace is left empty; or a subject is no map, or its kind no
    /// text.
    NoNamespace,
    /// The version of who names others is null or begins with a slash, by which kustomize does not
    /// know it again.
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
            Problem::NoText => f.write_str("a name or a map with a name is expected: correct it"),
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

/// Gives every name that was changed to those who have the former one. `ids` are those of the
/// resources, in their order.
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
        // Most are named once.
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

/// The fields that name something, by the kind of who has them; those of any kind under the empty
/// one.
fn by_kind(known: &[NameReference]) -> BTreeMap<&str, Vec<(usize, usize)>> {
    let mut by_kind: BTreeMap<&str, Vec<(usize, usize)>> = BTreeMap::new();
    for (of, reference) in known.iter().enumerate() {
        for (at, field) in reference.fields.iter().enumerate() {
            by_kind.entry(&*field.gvk.kind).or_default().push((of, at));
        }
    }
    by_kind
}

/// The fields by which something of a kind names others, in the order they are known.
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
    // Those of another group or version are looked at, too.
    budget.steps(2 * places.len())?;
    let fields = places.into_iter().map(|(of, at)| (&known[of].referred, &known[of].fields[at]));
    Ok(fields.filter(|(_, field)| gvk.is_selected(&field.gvk)).collect())
}

/// The names of a field's path. A mark of lists says nothing here.
fn parts(field: &FieldSpec) -> Vec<String> {
    field.names().iter().map(|name| name.strip_suffix("[]").unwrap_or(name).to_owned()).collect()
}

/// A field that may name something, on the way through a resource.
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

    /// A map that names something by `name` and `namespace`.
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

    /// What a name is of. `within`: the namespace that stands beside the name, if one can.
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
