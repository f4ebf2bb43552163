//! Merging, comparing and cutting values by their schema, as structured-merge-diff does it.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use crate::fields::{Fields, Path, Step};
use crate::schema::Schema;

/// A field that no schema has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Undeclared(pub(crate) String);

fn below<'s>(schema: &'s Schema, name: &str) -> Option<&'s Schema> {
    match schema {
        Schema::Struct(fields, _) => fields.iter().find(|(field, _)| *field == name).map(|(_, schema)| schema),
        Schema::Map(value) => Some(value),
        _ => None,
    }
}

/// Checks that a value has no field that its schema does not have.
pub(crate) fn check(schema: &Schema, value: &Json, path: &mut Path) -> Result<(), Undeclared> {
    match (schema, value) {
        (Schema::Struct(..) | Schema::Map(_), Json::Object(fields)) => {
            for (name, value) in fields {
                path.push(Step::field(name));
                let Some(schema) = below(schema, name) else {
                    return Err(Undeclared(crate::fields::text_of(path)));
                };
                check(schema, value, path)?;
                path.pop();
            }
            Ok(())
        }
        (Schema::Keyed(keys, item), Json::Array(items)) => items.iter().try_for_each(|value| {
            path.push(Step::item(keys, value));
            check(item, value, path)?;
            path.pop();
            Ok(())
        }),
        _ => Ok(()),
    }
}

fn is_nothing(value: &Json) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

fn steps<'v>(schema: &'v Schema, items: &'v [Json]) -> impl Iterator<Item = (Step, &'v Json)> {
    items.iter().map(move |item| match schema {
        Schema::Keyed(keys, _) => (Step::item(keys, item), item),
        _ => (Step::member(item), item),
    })
}

/// The fields that somebody who applies this takes hold of.
pub(crate) fn fields_of(schema: &Schema, value: &Json, path: &mut Path, fields: &mut Fields) {
    match (schema, value) {
        (Schema::Scalar | Schema::Atomic, _) => fields.insert(path),
        (Schema::Struct(..) | Schema::Map(_), Json::Object(members)) => {
            for (name, value) in members {
                let Some(schema_below) = below(schema, name) else { continue };
                path.push(Step::field(name));
                fields_of(schema_below, value, path, fields);
                if is_nothing(value) || matches!(schema, Schema::Map(_)) {
                    fields.insert(path);
                }
                path.pop();
            }
        }
        (Schema::Keyed(..) | Schema::Set, Json::Array(items)) => {
            for (step, item) in steps(schema, items) {
                path.push(step);
                if let Schema::Keyed(_, of_item) = schema {
                    fields_of(of_item, item, path, fields);
                }
                fields.insert(path);
                path.pop();
            }
        }
        _ => {}
    }
}

/// What is there, with what is applied over it.
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

/// Items of both lists, in the order of what is applied, with the others where they stood between.
fn merged_items(schema: &Schema, live: &[Json], applied: &[Json]) -> Vec<Json> {
    let left: Vec<(Step, &Json)> = steps(schema, live).collect();
    let right: Vec<(Step, &Json)> = steps(schema, applied).collect();
    let one = |step: &Step, item: &Json| match (schema, left.iter().find(|(known, _)| known == step)) {
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
                // It was taken with the applied one already.
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

/// How two values differ.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) removed: Fields,
    pub(crate) modified: Fields,
    pub(crate) added: Fields,
}

impl Comparison {
    pub(crate) fn of(schema: &Schema, before: &Json, after: &Json) -> Self {
        let mut comparison = Self::default();
        comparison.compare(schema, Some(before), Some(after), &mut Path::new());
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

    fn compare(&mut self, schema: &Schema, before: Option<&Json>, after: Option<&Json>, path: &mut Path) {
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
                let names = |value: Option<&'_ Json>| {
                    value.and_then(Json::as_object).into_iter().flat_map(Map::keys).cloned().collect::<Vec<_>>()
                };
                let of = |value: Option<&Json>, name: &str| value.and_then(|value| value.get(name)).cloned();
                let all: BTreeSet<String> = names(before).into_iter().chain(names(after)).collect();
                for name in all {
                    let Some(schema) = below(schema, &name) else { continue };
                    path.push(Step::field(&name));
                    self.compare(schema, of(before, &name).as_ref(), of(after, &name).as_ref(), path);
                    path.pop();
                }
            }
            _ => {
                let of = |value: Option<&Json>| value.and_then(Json::as_array).cloned().unwrap_or_default();
                let (left, right) = (of(before), of(after));
                let (left, right): (Vec<_>, Vec<_>) = (steps(schema, &left).collect(), steps(schema, &right).collect());
                let mut all: Vec<&Step> = left.iter().chain(&right).map(|(step, _)| step).collect();
                all.sort();
                all.dedup();
                for step in all {
                    let find = |items: &[(Step, &'_ Json)]| {
                        items.iter().find(|(known, _)| known == step).map(|(_, item)| (*item).clone())
                    };
                    let (one, other) = (find(&left), find(&right));
                    path.push(step.clone());
                    match schema {
                        Schema::Keyed(_, of_item) => self.compare(of_item, one.as_ref(), other.as_ref(), path),
                        _ => self.leaf(one.as_ref(), other.as_ref(), path),
                    }
                    path.pop();
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

/// The value without these paths.
pub(crate) fn without(schema: &Schema, value: &Json, remove: &Fields, path: &mut Path) -> Json {
    if !remove.0.iter().any(|removed| removed.starts_with(path)) {
        return value.clone();
    }
    match (schema, value) {
        (Schema::Struct(..) | Schema::Map(_), Json::Object(fields)) => {
            let mut kept = Map::new();
            for (name, value) in fields {
                path.push(Step::field(name));
                if !remove.0.contains(path) {
                    let value = match below(schema, name) {
                        Some(schema) => without(schema, value, remove, path),
                        None => value.clone(),
                    };
                    kept.insert(name.clone(), value);
                }
                path.pop();
            }
            Json::Object(kept)
        }
        (Schema::Keyed(..) | Schema::Set, Json::Array(items)) => {
            let mut kept = Vec::new();
            for (step, item) in steps(schema, items) {
                path.push(step);
                if !remove.0.contains(path) {
                    kept.push(match schema {
                        Schema::Keyed(_, of_item) => without(of_item, item, remove, path),
                        _ => item.clone(),
                    });
                }
                path.pop();
            }
            Json::Array(kept)
        }
        _ => value.clone(),
    }
}

/// The value with what the server's own types always have.
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
