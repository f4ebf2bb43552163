//! Samples for tests: objects as the server writes them, and generators of objects and of sets over
//! the same few names, so that they overlap.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::subsequence;
use setpoint_core::digest::DigestKey;
use setpoint_core::key::Key;
use setpoint_core::value::Value;

use crate::field_set::{FieldSet, Node, Own};
use crate::key::Scope;
use crate::object;
use crate::path::{Element, FieldPath};
use crate::project::HashKey;

pub(crate) fn digest_key() -> DigestKey {
    DigestKey::new([7; 32])
}

pub(crate) fn key() -> HashKey {
    HashKey::derived(&digest_key())
}

pub(crate) fn read(text: &str) -> Value {
    object::read(text.as_bytes()).unwrap()
}

pub(crate) fn set(text: &str) -> FieldSet {
    FieldSet::from_bytes(text.as_bytes()).unwrap()
}

/// Returns the key of an object that contains all parts of it, as a server's objects do.
pub(crate) fn key_of(live: &Value) -> Key {
    let (api_version, kind) = (object::api_version(live).unwrap(), object::kind(live).unwrap());
    crate::key::key(api_version, kind, live, Scope::Unknown).unwrap()
}

/// Builds a Deployment that we applied, that a controller reported on, and that a person edited.
pub(crate) fn deployment() -> Value {
    object::read(
        br#"{"apiVersion":"apps/v1","kind":"Deployment",
        "metadata":{"name":"shop","namespace":"web","uid":"6f0c","resourceVersion":"81","generation":2,"labels":{"app.kubernetes.io/name":"shop"},
          "managedFields":[
            {"manager":"setpoint-one","operation":"Apply","apiVersion":"apps/v1","time":"2026-11-15T10:00:00Z","fieldsType":"FieldsV1","fieldsV1":
              {"f:metadata":{"f:labels":{"f:app.kubernetes.io/name":{}}},
               "f:spec":{"f:selector":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:image":{},"f:name":{},
                 "f:ports":{"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}}}}}},
            {"manager":"kube-controller-manager","operation":"Update","apiVersion":"apps/v1","time":"2026-11-15T10:00:05Z","fieldsType":"FieldsV1",
             "subresource":"status","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:deployment.kubernetes.io/revision":{}}},
               "f:status":{"f:observedGeneration":{}}}},
            {"manager":"kubectl-edit","operation":"Update","apiVersion":"apps/v1","time":"2026-11-15T11:00:00Z","fieldsType":"FieldsV1",
             "fieldsV1":{"f:spec":{"f:paused":{},"f:replicas":{}}}}]},
        "spec":{"replicas":5,"paused":true,"selector":{"matchLabels":{"app":"shop"}},
          "template":{"spec":{"containers":[{"name":"app","image":"shop:1","imagePullPolicy":"IfNotPresent",
            "ports":[{"containerPort":8080,"protocol":"TCP"}]}]}}},
        "status":{"observedGeneration":2}}"#,
    )
    .unwrap()
}

/// Generates any value that JSON can hold.
pub(crate) fn any_plain() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::int),
        (any::<i64>(), -30i32..30).prop_map(|(m, e)| Value::Num(format!("{m}e{e}").parse().unwrap())),
        "[$a-z\"\\\\/\n\u{1}é😀]{0,6}".prop_map(|text| Value::str(&text)),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Seq),
            proptest::collection::btree_map("[$a-c]{0,3}", inner, 0..4).prop_map(Value::map),
        ]
    })
}

pub(crate) fn any_path() -> impl Strategy<Value = FieldPath> {
    let scalar = prop_oneof![
        "[a-c\"\\\\ ,\\]./é]{0,4}".prop_map(|text| Value::str(&text)),
        any::<i64>().prop_map(Value::int),
        any::<bool>().prop_map(Value::Bool),
    ];
    let element = prop_oneof![
        "[a-c./\"*-]{1,3}".prop_map(|name| Element::field(&name)),
        proptest::collection::btree_map("[a-c]{1,2}", scalar.clone(), 1..3).prop_map(Element::item),
        scalar.prop_map(Element::member),
        (0u32..4).prop_map(Element::Index),
    ];
    vec(element, 1..4).prop_map(FieldPath)
}

/// Generates paths of few names, so that many are above, below and next to each other.
pub(crate) fn any_paths() -> impl Strategy<Value = BTreeSet<FieldPath>> {
    let element = prop_oneof![
        "[a-c]".prop_map(|name| Element::field(&name)),
        "[ab]".prop_map(|name| Element::item([("name", Value::str(&name))])),
        (0i64..2).prop_map(|n| Element::member(n.into())),
    ];
    btree_set(vec(element, 1..4).prop_map(FieldPath), 0..8)
}

const NAMES: [&str; 3] = ["x", "y", "z"];

/// Generates an object and a set of fields that need not be in it: `v` is a value, `m` a map, `l` a
/// list with keys, `s` a set.
pub(crate) fn any_owned_object() -> impl Strategy<Value = (Value, FieldSet)> {
    (any_object(), any_set())
}

fn any_object() -> impl Strategy<Value = Value> {
    let fields = |v: Option<i64>, s: Vec<&'static str>| {
        let v = v.map(|v| ("v", Value::int(v)));
        let s = (!s.is_empty()).then(|| ("s", Value::Seq(s.into_iter().map(Value::str).collect())));
        v.into_iter().chain(s).collect::<BTreeMap<_, _>>()
    };
    let flat = (option::of(0i64..3), subsequence(NAMES.to_vec(), 0..3).prop_shuffle())
        .prop_map(move |(v, s)| Value::map(fields(v, s)));
    flat.prop_recursive(3, 24, 4, |inner| {
        let items = subsequence(NAMES.to_vec(), 0..=3).prop_shuffle().prop_flat_map({
            let inner = inner.clone();
            move |names| {
                let count = names.len();
                (Just(names), vec(inner.clone(), count))
            }
        });
        (inner.clone(), option::of(inner), items).prop_map(|(base, m, items)| {
            let Value::Map(mut fields) = base else { unreachable!("objects are maps") };
            if let Some(m) = m {
                fields.insert("m".into(), m);
            }
            let named = |(name, item)| {
                let Value::Map(mut fields) = item else { unreachable!("objects are maps") };
                fields.insert("name".into(), Value::str(name));
                Value::Map(fields)
            };
            let items: Vec<Value> = items.0.into_iter().zip(items.1).map(named).collect();
            if !items.is_empty() {
                fields.insert("l".into(), Value::Seq(items));
            }
            Value::Map(fields)
        })
    })
}

fn any_set() -> impl Strategy<Value = FieldSet> {
    let own = prop_oneof![Just(Own::No), Just(Own::Existence), Just(Own::Whole)];
    let leaf = |own| Arc::new(Node::new(own, Vec::new()));
    let member = |name: &&str| Element::member(Value::str(name));
    let flat = (own.clone(), subsequence(NAMES.to_vec(), 0..3)).prop_map(move |(v, s)| {
        let members = s.iter().map(|name| (member(name), leaf(Own::Whole))).collect();
        Node::new(
            Own::No,
            vec![(Element::field("s"), Arc::new(Node::new(Own::No, members))), (Element::field("v"), leaf(v))],
        )
    });
    let node = flat.prop_recursive(3, 24, 4, move |inner| {
        let items = proptest::collection::btree_map(subsequence(NAMES.to_vec(), 1), inner.clone(), 0..4);
        (own.clone(), inner.clone(), own.clone(), inner, items).prop_map(|(own, base, m_own, m, items)| {
            let item = |(name, node): (Vec<&str>, Node)| {
                let element = Element::item([("name", Value::str(name[0]))]);
                (element, Arc::new(Node::new(Own::Existence, node.children.into_vec())))
            };
            let list = Arc::new(Node::new(Own::No, items.into_iter().map(item).collect()));
            let map = Arc::new(Node::new(m_own, m.children.into_vec()));
            let rest = base
                .children
                .into_vec()
                .into_iter()
                .filter(|(element, _)| *element == Element::field("s") || *element == Element::field("v"));
            let children = [(Element::field("l"), list), (Element::field("m"), map)].into_iter().chain(rest).collect();
            Node::new(own, children)
        })
    });
    node.prop_map(|node| FieldSet::of(Node::new(Own::No, node.children.into_vec())))
}

/// Returns an object that is the same for the owner of the set: the items of others in lists are
/// moved, and more are added.
pub(crate) fn shuffled(object: &Value, ours: &FieldSet, seed: u64) -> Value {
    fn shuffle(value: &Value, node: Option<&Node>, seed: u64) -> Value {
        if node.is_some_and(|node| node.own == Own::Whole) {
            return value.clone();
        }
        let below = |element: &Element, value: &Value| {
            shuffle(value, node.and_then(|node| node.child(element)), seed.rotate_left(7))
        };
        match value {
            Value::Map(fields) => Value::Map(
                fields
                    .iter()
                    .map(|(name, value)| (name.clone(), below(&Element::Field(name.clone()), value)))
                    .collect(),
            ),
            Value::Seq(items) => {
                let name_of = |item: &Value| item.get("name").cloned().unwrap_or_default();
                let element = |item: &Value| Element::item([("name", name_of(item))]);
                let is_ours = |item: &&Value| node.is_some_and(|node| node.child(&element(item)).is_some());
                let (mine, mut others): (Vec<&Value>, Vec<&Value>) = items.iter().partition(is_ours);
                let foreign = Value::map([("name", Value::str("foreign"))]);
                others.push(&foreign);
                others.reverse();
                let (mut mine, mut others) = (mine.into_iter().peekable(), others.into_iter().peekable());
                let mut shuffled = Vec::new();
                while mine.peek().is_some() || others.peek().is_some() {
                    let turn = seed >> (shuffled.len() % 64) & 1 == 0;
                    let next = if turn {
                        mine.next().or_else(|| others.next())
                    } else {
                        others.next().or_else(|| mine.next())
                    };
                    shuffled.extend(next.map(|item| below(&element(item), item)));
                }
                Value::Seq(shuffled)
            }
            other => other.clone(),
        }
    }
    shuffle(object, Some(&ours.0), seed)
}
