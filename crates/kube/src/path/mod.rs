//! Field paths in an object, by the names and keys that the server uses: positions in lists move,
//! keys stay.

mod text;

use std::cmp::Ordering;
use std::sync::Arc;

use setpoint_core::canonical;
use setpoint_core::value::Value;

pub use text::BadPath;
pub(crate) use text::{Part, parts, show};

/// A value within a path: the key of a list's item, or the member of a set. Ordered, so that sets
/// of paths are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom(pub Value);

/// One step into an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    Field(Arc<str>),
    /// The item of a list that has these keys, in order of their names.
    Item(Box<[(Arc<str>, Atom)]>),
    /// The member of a set that is this value.
    Member(Box<Atom>),
    Index(u32),
}

/// A path, such as `spec.template.spec.containers[name="app"].image`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath(pub Vec<Element>);

impl Ord for Atom {
    fn cmp(&self, other: &Self) -> Ordering {
        order(&self.0, &other.0)
    }
}

impl PartialOrd for Atom {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compares two values. Any total order that agrees with equality is sufficient.
fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Str(a), Value::Str(b)) => a.cmp(b),
        (Value::Num(a), Value::Num(b)) => match (a.as_i128(), b.as_i128()) {
            (Some(a), Some(b)) => a.cmp(&b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => a.to_string().cmp(&b.to_string()),
        },
        _ => rank(a).cmp(&rank(b)).then_with(|| canonical::to_bytes(a).cmp(&canonical::to_bytes(b))),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Num(_) => 2,
        Value::Str(_) => 3,
        Value::Seq(_) => 4,
        Value::Map(_) => 5,
        Value::Secret(_) => 6,
        Value::Deferred(_) => 7,
    }
}

impl Element {
    pub fn field(name: &str) -> Self {
        Self::Field(name.into())
    }

    /// Returns the item with these keys, in any order.
    pub fn item<K: Into<Arc<str>>>(keys: impl IntoIterator<Item = (K, Value)>) -> Self {
        let mut keys: Vec<_> = keys.into_iter().map(|(name, value)| (name.into(), Atom(value))).collect();
        keys.sort();
        Self::Item(keys.into())
    }

    pub fn member(value: Value) -> Self {
        Self::Member(Box::new(Atom(value)))
    }

    /// Returns the value that this step leads to.
    pub(crate) fn step<'v>(&self, from: &'v Value) -> Option<&'v Value> {
        match (self, from) {
            (Self::Field(name), Value::Map(fields)) => fields.get(name),
            (_, Value::Seq(items)) => self.position(items).map(|at| &items[at]),
            _ => None,
        }
    }

    /// Returns the position of the item in a list of the server.
    pub(crate) fn position(&self, items: &[Value]) -> Option<usize> {
        match self {
            Self::Field(_) => None,
            Self::Item(keys) => items.iter().position(|item| has_keys(item, keys)),
            Self::Member(member) => items.iter().position(|item| *item == member.0),
            Self::Index(index) => usize::try_from(*index).ok().filter(|index| *index < items.len()),
        }
    }

    /// Returns the position of the item in a *declared* list. The server fills defaults into keys
    /// (`protocol: TCP`), while people leave them out: an item matches if no key differs and at
    /// least one is equal, and no other item matches better.
    pub(crate) fn declared_position(&self, items: &[Value]) -> Option<usize> {
        let Self::Item(keys) = self else { return self.position(items) };
        self.position(items).or_else(|| {
            let mut fitting = items.iter().enumerate().filter(|(_, item)| fits(item, keys));
            let (at, _) = fitting.next()?;
            fitting.next().is_none().then_some(at)
        })
    }

    /// Returns the server's element for a declared item of a list with these keys, and whether it
    /// exists there. Keys that the server fills in are taken from there.
    pub(crate) fn of_declared(item: &Value, keys: &[Arc<str>], live: &[Value]) -> (Self, bool) {
        let named = Self::item(keys.iter().filter_map(|key| Some((Arc::clone(key), item.get(key)?.clone()))));
        match named.declared_position(live) {
            Some(at) => {
                let key = |key: &Arc<str>| (Arc::clone(key), live[at].get(key).cloned().unwrap_or_default());
                (Self::item(keys.iter().map(key)), true)
            }
            None => (named, false),
        }
    }

    /// Returns the value of the same step into a declared value.
    pub(crate) fn declared_step<'v>(&self, from: &'v Value) -> Option<&'v Value> {
        match from {
            Value::Seq(items) => self.declared_position(items).map(|at| &items[at]),
            _ => self.step(from),
        }
    }
}

/// Reports whether an item has these keys. The element contains a null for each key without a
/// value.
fn has_keys(item: &Value, keys: &[(Arc<str>, Atom)]) -> bool {
    keys.iter().all(|(name, wanted)| item.get(name).unwrap_or(&Value::Null) == &wanted.0)
}

fn fits(item: &Value, keys: &[(Arc<str>, Atom)]) -> bool {
    let (mut for_it, mut against) = (0, 0);
    for (name, wanted) in keys {
        match item.get(name) {
            Some(found) if *found == wanted.0 => for_it += 1,
            Some(_) => against += 1,
            None => {}
        }
    }
    for_it > 0 && against == 0
}

impl FieldPath {
    /// Returns a path of fields only.
    pub fn fields(names: &[&str]) -> Self {
        Self(names.iter().map(|name| Element::field(name)).collect())
    }

    /// Reports whether the path is `other` or below it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }
}

/// Returns the value at a path of an object.
pub fn at<'v>(object: &'v Value, path: &FieldPath) -> Option<&'v Value> {
    path.0.iter().try_fold(object, |value, element| element.step(value))
}

/// Returns the JSON pointer (RFC 6901) to the value at a path of this very object; `None` if there
/// is none.
pub fn pointer(object: &Value, path: &FieldPath) -> Option<String> {
    let (mut value, mut pointer) = (object, String::new());
    for element in &path.0 {
        pointer.push('/');
        match (element, value) {
            (Element::Field(name), _) => pointer.push_str(&name.replace('~', "~0").replace('/', "~1")),
            (_, Value::Seq(items)) => pointer.push_str(&element.position(items)?.to_string()),
            _ => return None,
        }
        value = element.step(value)?;
    }
    Some(pointer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object;

    fn service() -> Value {
        object::read(
            br#"{"metadata":{"annotations":{"example.com/a~b":"x"},"finalizers":["a/b","c/d"]},
            "spec":{"ports":[{"port":53,"protocol":"TCP"},{"port":53,"protocol":"UDP","nodePort":7}]}}"#,
        )
        .unwrap()
    }

    fn path(text: &str) -> FieldPath {
        text.parse().unwrap()
    }

    #[test]
    fn class_9_items_with_composite_keys_are_told_apart() {
        let service = service();
        assert_eq!(at(&service, &path(r#"spec.ports[port=53,protocol="UDP"].nodePort"#)), Some(&Value::int(7)));
        assert_eq!(at(&service, &path(r#"spec.ports[port=53,protocol="TCP"].nodePort"#)), None);
    }

    #[test]
    fn a_pointer_leads_to_the_item_where_it_stands_now() {
        let service = service();
        for (text, wanted) in [
            (r#"spec.ports[port=53,protocol="UDP"]"#, Some("/spec/ports/1")),
            ("metadata.annotations[example.com/a~b]", Some("/metadata/annotations/example.com~1a~0b")),
            (r#"metadata.finalizers[="c/d"]"#, Some("/metadata/finalizers/1")),
            ("spec.ports[9]", None),
            ("spec.nothing", None),
        ] {
            assert_eq!(pointer(&service, &path(text)).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn a_declared_item_is_found_without_the_keys_the_server_fills_in() {
        let declared =
            object::read(br#"{"p":[{"port":80},{"port":53,"protocol":"UDP"},{"port":53,"name":"t"}]}"#).unwrap();
        let Some(Value::Seq(items)) = declared.get("p") else { panic!("a list") };
        let item = |port: i64, protocol: &str| Element::item([("port", port.into()), ("protocol", protocol.into())]);
        assert_eq!(item(80, "TCP").declared_position(items), Some(0));
        assert_eq!(item(53, "UDP").declared_position(items), Some(1), "an exact match wins");
        assert_eq!(item(53, "TCP").declared_position(items), Some(2));
        assert_eq!(item(9, "TCP").declared_position(items), None);
    }
}
