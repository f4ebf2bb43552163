//! Edits of declared values by path. Items are found as the declaration writes them, without the
//! keys that the server fills in.

use std::sync::Arc;

use setpoint_core::fields::Fields;
use setpoint_core::value::Value;

use crate::path::{Element, FieldPath};

/// Sets the value at a path, and creates the missing levels above it.
pub(crate) fn put(into: &mut Value, path: &[Element], value: Value) {
    let Some((element, rest)) = path.split_first() else {
        *into = value;
        return;
    };
    match element {
        Element::Field(name) => put(field(into, name), rest, value),
        _ => put(item(into, element), rest, value),
    }
}

fn field<'v>(into: &'v mut Value, name: &Arc<str>) -> &'v mut Value {
    if !matches!(into, Value::Map(_)) {
        *into = Value::Map(Fields::new());
    }
    let Value::Map(fields) = into else { unreachable!("it was just made a map") };
    if !fields.contains_key(name) {
        fields.insert(Arc::clone(name), Value::Null);
    }
    fields.get_mut(name).expect("it is there now")
}

fn item<'v>(into: &'v mut Value, element: &Element) -> &'v mut Value {
    if !matches!(into, Value::Seq(_)) {
        *into = Value::Seq(Vec::new());
    }
    let Value::Seq(items) = into else { unreachable!("it was just made a list") };
    let at = element.declared_position(items).unwrap_or_else(|| {
        items.push(bare(element));
        items.len() - 1
    });
    &mut items[at]
}

/// Returns an item that contains only its keys.
fn bare(element: &Element) -> Value {
    match element {
        Element::Item(keys) => Value::Map(keys.iter().map(|(name, key)| (Arc::clone(name), key.0.clone())).collect()),
        Element::Member(member) => member.0.clone(),
        Element::Field(_) | Element::Index(_) => Value::Null,
    }
}

/// Removes the value at a path, if there is one.
pub(super) fn remove(from: &mut Value, path: &[Element]) {
    let Some((element, rest)) = path.split_first() else { return };
    match (element, from) {
        (Element::Field(name), Value::Map(fields)) => {
            if rest.is_empty() {
                fields.remove(name);
            } else if let Some(below) = fields.get_mut(name) {
                remove(below, rest);
            }
        }
        (_, Value::Seq(items)) => {
            let Some(at) = element.declared_position(items) else { return };
            if rest.is_empty() {
                items.remove(at);
            } else {
                remove(&mut items[at], rest);
            }
        }
        _ => {}
    }
}

/// Puts the items of the list at a path into an order; the other items follow, as they were.
pub(super) fn reorder(value: &mut Value, path: &FieldPath, order: &[Element]) {
    let mut list = value;
    for element in &path.0 {
        let next = match (element, list) {
            (Element::Field(name), Value::Map(fields)) => fields.get_mut(name),
            (_, Value::Seq(items)) => element.declared_position(items).map(|at| &mut items[at]),
            _ => None,
        };
        let Some(next) = next else { return };
        list = next;
    }
    let Value::Seq(items) = list else { return };
    let mut ordered = Vec::with_capacity(items.len());
    for element in order {
        match element.declared_position(items) {
            Some(at) => ordered.push(items.remove(at)),
            // The live list has the item twice: it was declared once, and is shown twice.
            None => ordered.extend(element.declared_position(&ordered).map(|at| ordered[at].clone())),
        }
    }
    ordered.append(items);
    *items = ordered;
}
