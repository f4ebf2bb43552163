//! The request for a declaration over a live object of which others may set some fields.

use std::sync::Arc;

use setpoint_core::value::Value;

use super::Sharing;
use crate::field_set::{Node, Own};
use crate::path::{Element, at};
use crate::project::mark_paths;
use crate::shape::edit;

impl Sharing {
    /// Returns the object to send over a live object:
    ///
    /// - A co-owner's fields are left out.
    /// - An ignored field is sent with its live value while it is still ours, since leaving it out
    ///   would remove it. Otherwise it is left out.
    /// - A list item that this request creates, such as a new container, is sent whole.
    /// - Our own marks are always sent.
    pub fn fitted(&self, body: Value, live: &Value) -> Value {
        if self.ignored.is_empty() && self.held.is_empty() {
            return body;
        }
        let root = At { live: Some(live), present: Some(&self.present.0), ours: Some(&self.ours.0) };
        let Some(mut fitted) = self.fit(&body, root, &mut Vec::new()) else { return body };
        for mark in mark_paths() {
            if let Some(value) = at(&body, &mark) {
                edit::put(&mut fitted, &mark.0, value.clone());
            }
        }
        fitted
    }

    fn fit(&self, declared: &Value, at: At<'_>, path: &mut Vec<Element>) -> Option<Value> {
        if self.held.iter().any(|held| held.0 == *path) {
            return None;
        }
        if self.ignored.iter().any(|pattern| pattern.covers_elements(path)) {
            return as_it_stands(declared, at);
        }
        match declared {
            Value::Map(fields) if !at.is_whole() => {
                let fitted = fields.iter().filter_map(|(name, value)| {
                    let element = Element::Field(Arc::clone(name));
                    let below = at.step(&element);
                    path.push(element);
                    let fitted = self.fit(value, below, path);
                    path.pop();
                    fitted.map(|fitted| (Arc::clone(name), fitted))
                });
                Some(Value::Map(fitted.collect()))
            }
            Value::Seq(items) if !at.is_whole() => Some(Value::Seq(self.fit_items(items, at, path))),
            other => Some(other.clone()),
        }
    }

    /// Identifies items as the server does. If it does not identify them, the list is one value.
    fn fit_items(&self, items: &[Value], at: At<'_>, path: &mut Vec<Element>) -> Vec<Value> {
        let mut fitted = Vec::with_capacity(items.len());
        for item in items {
            let Some((element, is_there)) = at.element_of(item) else { return items.to_vec() };
            let below = at.step(&element);
            path.push(element);
            let is_ignored = self.ignored.iter().any(|pattern| pattern.covers_elements(path));
            fitted.extend(if is_there || is_ignored { self.fit(item, below, path) } else { Some(item.clone()) });
            path.pop();
        }
        fitted
    }
}

/// Returns the declared fields of an ignored value with their live values, as far as they are ours.
fn as_it_stands(declared: &Value, at: At<'_>) -> Option<Value> {
    let (ours, live) = (at.ours?, at.live?);
    match declared {
        Value::Map(fields) if !ours.children.is_empty() => {
            let kept = fields.iter().filter_map(|(name, value)| {
                let kept = as_it_stands(value, at.step(&Element::Field(Arc::clone(name))))?;
                Some((Arc::clone(name), kept))
            });
            Some(Value::Map(kept.collect()))
        }
        Value::Seq(items) if !ours.children.is_empty() => {
            let kept = items.iter().filter_map(|item| as_it_stands(item, at.step(&at.element_of(item)?.0)));
            Some(Value::Seq(kept.collect()))
        }
        // Content that others put into a field declared as empty is theirs.
        Value::Map(fields) if fields.is_empty() => Some(declared.clone()),
        Value::Seq(items) if items.is_empty() => Some(declared.clone()),
        _ => ours.owns().then(|| live.clone()),
    }
}

/// A position in the live object, and the fields owned there.
#[derive(Clone, Copy)]
struct At<'a> {
    live: Option<&'a Value>,
    present: Option<&'a Node>,
    ours: Option<&'a Node>,
}

impl<'a> At<'a> {
    fn step(self, element: &Element) -> Self {
        Self {
            live: self.live.and_then(|live| element.step(live)),
            present: self.present.and_then(|node| node.child(element)),
            ours: self.ours.and_then(|node| node.child(element)),
        }
    }

    /// Reports whether the server treats this as one value.
    fn is_whole(self) -> bool {
        self.present.is_some_and(|node| node.own == Own::Whole)
    }

    /// Returns the server's element for a declared item, and whether it exists; `None` if the
    /// server does not identify items.
    fn element_of(self, item: &Value) -> Option<(Element, bool)> {
        let node = self.present?;
        let live = match self.live {
            Some(Value::Seq(items)) => items.as_slice(),
            _ => &[],
        };
        match node.item_keys() {
            Some(keys) => Some(Element::of_declared(item, &keys, live)),
            None => {
                let element = Element::member(item.clone());
                let of_a_set = node.children.iter().any(|(known, _)| matches!(known, Element::Member(_)));
                of_a_set.then(|| (element, live.contains(item)))
            }
        }
    }
}
