//! Merges, compares and prunes values by their schema, as structured-merge-diff does.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use crate::fields::{Fields, Path, item_step, member_step};
use crate::schema::Schema;

/// A field that the schema does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Undeclared(pub(crate) String);

fn below<'s>(schema: &'s Schema, name: &str) -> Option<&'s Schema> {
    match schema {
        Schema::Struct(fields, _) => fields.iter().find(|(field, _)| *field == name).map(|(_, schema)| schema),
        Schema::Map(value) => Some(value),
        _ => None,
    }
}

/// Checks that a value has no field that is missing from its schema.
pub(crate) fn check(schema: &Schema, value: &Json, path: &mut Path) -> Result<(), Undeclared> {
    match (schema, value) {
        (Schema::Struct(..) | Schema::Map(_), Json::Object(fields)) => fields.iter().try_for_each(|(name, value)| {
            path.in_field(name, |path| match below(schema, name) {
                Some(schema) => check(schema, value, path),
                None => Err(Undeclared(path.text())),
            })
        }),
        (Schema::Keyed(keys, item), Json::Array(items)) => {
            items.iter().try_for_each(|value| path.in_item(&item_step(keys, value), |path| check(item, value, path)))
        }
        _ => Ok(()),
    }
}

fn is_nothing(value: &Json) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

/// Returns each item of a list with the step to it.
fn steps<'v>(schema: &Schema, items: &'v [Json]) -> impl Iterator<Item = (String, &'v Json)> {
    items.iter().map(move |item| match schema {
        Schema::Keyed(keys, _) => (item_step(keys, item), item),
        _ => (member_step(item), item),
    })
}

/// Collects the fields that a manager holds after it applies this value.
pub(crate) fn fields_of(schema: &Schema, value: &Json, path: &mut Path, fields: &mut Fields) {
    match (schema, value) {
        (Schema::Scalar | Schema::Atomic, _) => fields.insert(path),
        (Schema::Struct(..) | Schema::Map(_), Json::Object(members)) => {
            for (name, value) in members {
                let Some(schema_below) = below(schema, name) else { continue };
                path.in_field(name, |path| {
                    fields_of(schema_below, value, path, fields);
                    if is_nothing(value) || matches!(schema, Schema::Map(_)) {
                        fields.insert(path);
                    }
                });
            }
        }
        (Schema::Keyed(..) | Schema::Set, Json::Array(items)) => {
            for (step, item) in steps(schema, items) {
                path.in_item(&step, |path| {
                    if let Schema::Keyed(_, of_item) = schema {
                        fields_of(of_item, item, path, fields);
                    }
                    fields.insert(path);
                });
            }
        }
        _ => {}
    }
}

/// Merges an applied value over the live one.
pub(crate) fn merged(schema: &Schema, live: Option<&Json>, applied: &Json) -> Json {
    match (schema, live, applied) {
        (Schema::Struct(..) | Schema::Map(_), Some(Json::Object(live)), Json::Object(applied)) => {
            let mut all = live.clone();
            for (name, value) in applied {
                let value = match below(schema, name) {
                    Some(schema) => merged(schema, live.get(name), value),
                    None => value.clone(),
                };
                all.insert(name.clone(), value);
            }
            Json::Object(all)
        }
        (Schema::Keyed(..) | Schema::Set, Some(Json::Array(live)), Json::Array(applied)) => {
            Json::Array(merged_items(schema, live, applied))
        }
        _ => applied.clone(),
    }
}

/// Merges the items of both lists in the order of the applied list. The other items stay at their
/// places in between.
fn merged_items(schema: &Schema, live: &[Json], applied: &[Json]) -> Vec<Json> {
    let left: Vec<(String, &Json)> = steps(schema, live).collect();
    let right: Vec<(String, &Json)> = steps(schema, applied).collect();
    let one = |step: &str, item: &Json| match (schema, left.iter().find(|(known, _)| known == step)) {
        (Schema::Keyed(_, of_item), Some((_, live))) => merged(of_item, Some(live), item),
        _ => item.clone(),
    };
    let (mut out, mut l, mut r) = (Vec::new(), 0, 0);
    while l < left.len() || r < right.len() {
        if l < left.len() && r < right.len() && left[l].0 == right[r].0 {
            out.push(one(&right[r].0, right[r].1));
            (l, r) = (l + 1, r + 1);
            continue;
        }
        if l < left.len() {
            let at = right.iter().position(|(step, _)| *step == left[l].0);
            match at {
                None => {
                    out.push(left[l].1.clone());
                    l += 1;
                    continue;
                }
                // It was already taken together with the applied item.
                Some(at) if at < r => {
                    l += 1;
                    continue;
                }
                Some(_) => {}
            }
        }
        if r < right.len() {
            out.push(one(&right[r].0, right[r].1));
            r += 1;
        }
    }
    out
}

/// The difference between two values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) removed: Fields,
    pub(crate) modified: Fields,
    pub(crate) added: Fields,
}

impl Comparison {
    pub(crate) fn of(schema: &Schema, before: &Json, after: &Json) -> Self {
        let mut comparison = Self::default();
        comparison.compare(schema, Some(before), Some(after), &mut Path::default());
        comparison
    }

    pub(crate) fn written(&self) -> Fields {
        self.modified.clone().union(&self.added)
    }

    pub(crate) fn is_same(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }

    fn leaf(&mut self, before: Option<&Json>, after: Option<&Json>, path: &Path) {
        match (before, after) {
            (None, _) => self.added.insert(path),
            (_, None) => self.removed.insert(path),
            (Some(before), Some(after)) if before != after => self.modified.insert(path),
            _ => {}
        }
    }

    fn compare<'v>(&mut self, schema: &Schema, before: Option<&'v Json>, after: Option<&'v Json>, path: &mut Path) {
        let empty = |value: Option<&Json>| match value {
            None | Some(Json::Null) => true,
            Some(Json::Object(fields)) => fields.is_empty(),
            Some(Json::Array(items)) => items.is_empty(),
            _ => false,
        };
        let whole = matches!(schema, Schema::Scalar | Schema::Atomic) || empty(before) && empty(after);
        if whole {
            return self.leaf(before, after, path);
        }
        match schema {
            Schema::Struct(..) | Schema::Map(_) => {
                let fields = |value: Option<&'v Json>| value.and_then(Json::as_object).into_iter().flatten();
                let of = |value: Option<&'v Json>, name: &str| value.and_then(|value| value.get(name));
                let all: BTreeSet<&str> = fields(before).chain(fields(after)).map(|(name, _)| name.as_str()).collect();
                for name in all {
                    let Some(schema) = below(schema, name) else { continue };
                    path.in_field(name, |path| self.compare(schema, of(before, name), of(after, name), path));
                }
            }
            _ => {
                let of =
                    |value: Option<&'v Json>| value.and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
                let (left, right): (Vec<_>, Vec<_>) =
                    (steps(schema, of(before)).collect(), steps(schema, of(after)).collect());
                let all: BTreeSet<&str> = left.iter().chain(&right).map(|(step, _)| step.as_str()).collect();
                for step in all {
                    let find = |items: &[(String, &'v Json)]| {
                        items.iter().find(|(known, _)| known == step).map(|(_, item)| *item)
                    };
                    let (one, other) = (find(&left), find(&right));
                    path.in_item(step, |path| match schema {
                        Schema::Keyed(_, of_item) => self.compare(of_item, one, other, path),
                        _ => self.leaf(one, other, path),
                    });
                }
            }
        }
        if before.is_none() {
            self.added.insert(path);
        } else if after.is_none() {
            self.removed.insert(path);
        }
    }
}

/// Returns the value without these paths.
pub(crate) fn without(schema: &Schema, value: &Json, remove: &Fields, path: &mut Path) -> Json {
    if !remove.reaches(path) {
        return value.clone();
    }
    match (schema, value) {
        (Schema::Struct(..) | Schema::Map(_), Json::Object(fields)) => {
            let kept = fields.iter().filter_map(|(name, value)| {
                let kept = path.in_field(name, |path| {
                    (!remove.contains(path)).then(|| match below(schema, name) {
                        Some(schema) => without(schema, value, remove, path),
                        None => value.clone(),
                    })
                });
                Some((name.clone(), kept?))
            });
            Json::Object(kept.collect())
        }
        (Schema::Keyed(..) | Schema::Set, Json::Array(items)) => {
            let kept = steps(schema, items).filter_map(|(step, item)| {
                path.in_item(&step, |path| {
                    (!remove.contains(path)).then(|| match schema {
                        Schema::Keyed(_, of_item) => without(of_item, item, remove, path),
                        _ => item.clone(),
                    })
                })
            });
            Json::Array(kept.collect())
        }
        _ => value.clone(),
    }
}

/// Adds the fields that the server's own types always have.
pub(crate) fn with_bones(schema: &Schema, value: &mut Json) {
    let Schema::Struct(fields, bones) = schema else {
        if let (Schema::Keyed(_, of_item), Json::Array(items)) = (schema, value) {
            items.iter_mut().for_each(|item| with_bones(of_item, item));
        }
        return;
    };
    let Json::Object(members) = value else { return };
    for bone in *bones {
        let keyed = fields.iter().any(|(name, schema)| name == bone && matches!(schema, Schema::Keyed(..)));
        let blank = if keyed { Json::Null } else { Json::Object(Map::new()) };
        members.entry((*bone).to_owned()).or_insert(blank);
    }
    for (name, schema) in *fields {
        if let Some(value) = members.get_mut(*name) {
            with_bones(schema, value);
        }
    }
}
