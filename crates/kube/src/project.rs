//! The projection of an object to our fields, reduced to keyed hashes: enough to find later which
//! of our fields changed, without keeping a value.

use hmac::{Hmac, KeyInit, Mac};
use setpoint_core::canonical;
use setpoint_core::digest::DigestKey;
use setpoint_core::value::Value;
use sha2::Sha256;

use crate::field_set::{FieldSet, Node, Own, path_of};
use crate::managed::{BadManagedFields, ManagedFields, applied_by, managed_fields, present};
use crate::object;
use crate::path::{Element, FieldPath, at};
use crate::pattern::FieldPattern;
use crate::request::{FENCED_ANNOTATION, INSTALLATION_LABEL, INTENT_ANNOTATION};

/// The key of the hashes. Without it, a hash of a short secret would confirm a guess.
#[derive(Clone)]
pub struct HashKey {
    keyed: Hmac<Sha256>,
}

impl HashKey {
    pub fn derived(key: &DigestKey) -> Self {
        let seed = canonical::to_bytes(&key.digest(b"setpoint.dev/kube/projection/1"));
        Self { keyed: Hmac::new_from_slice(&seed).expect("HMAC takes a key of any length") }
    }

    fn hash(&self, parts: &[&[u8]]) -> [u8; 16] {
        let mut mac = self.keyed.clone();
        for part in parts {
            mac.update(part);
        }
        let hash: [u8; 32] = mac.finalize().into_bytes().into();
        *hash.first_chunk().expect("a hash has 32 bytes")
    }

    /// Returns the hash of one observation. An absent, an existing and a set field never hash the
    /// same.
    pub(crate) fn of(&self, sight: &Sight<'_>) -> [u8; 16] {
        match sight {
            Sight::Absent => self.hash(&[b"-"]),
            Sight::Exists => self.hash(&[b"+"]),
            Sight::Value(value) => self.hash(&[b"=", &canonical::to_bytes(value)]),
            Sight::Order(order) => {
                let bytes: Vec<u8> = order.iter().flat_map(|at| at.to_le_bytes()).collect();
                self.hash(&[b"#", &bytes])
            }
        }
    }

    pub(crate) fn whole(&self, leaves: &[[u8; 16]]) -> u128 {
        u128::from_le_bytes(self.hash(&[b"*", leaves.as_flattened()]))
    }
}

impl std::fmt::Debug for HashKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HashKey(…)")
    }
}

/// Shortens the hash of a leaf to the bytes that are stored.
pub(crate) fn short(hash: &[u8; 16]) -> u32 {
    u32::from_le_bytes(*hash.first_chunk().expect("a hash has 16 bytes"))
}

/// An observation of one of our fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sight<'v> {
    Absent,
    Exists,
    Value(&'v Value),
    /// The order of our items of a list with keys, by their numbers in the set.
    Order(Vec<u32>),
}

/// Visits all of our fields in an object, in an order that depends on the set only. Null counts as
/// absent, as on the server: which of the two it writes changes from version to version.
pub(crate) fn walk<'n>(
    node: &'n Node,
    value: Option<&Value>,
    path: &mut Vec<&'n Element>,
    visit: &mut impl FnMut(&[&'n Element], &'n Node, Sight<'_>),
) {
    let value = value.filter(|value| **value != Value::Null);
    match (node.own, value) {
        (Own::No | Own::Claim, _) => {}
        (_, None) => visit(path, node, Sight::Absent),
        (Own::Existence, Some(_)) => visit(path, node, Sight::Exists),
        // A member's value is its path, so it can only exist or not.
        (Own::Whole, Some(_)) if matches!(path.last(), Some(Element::Member(_))) => visit(path, node, Sight::Exists),
        (Own::Whole, Some(value)) => visit(path, node, Sight::Value(value)),
    }
    if has_order(node) {
        visit(path, node, Sight::Order(order_of(node, value)));
    }
    for (element, child) in &node.children {
        path.push(element);
        walk(child, value.and_then(|value| element.step(value)), path, visit);
        path.pop();
    }
}

/// Reports whether a list has two or more of our items, so that their order matters: an environment
/// variable may use an earlier one, and init containers run one after the other.
fn has_order(node: &Node) -> bool {
    node.children.iter().filter(|(element, _)| matches!(element, Element::Item(_))).count() > 1
}

/// Returns the numbers of our items in the order of the live list. An item that occurs twice counts
/// twice: it is not as we applied it.
pub(crate) fn order_of(node: &Node, value: Option<&Value>) -> Vec<u32> {
    let Some(Value::Seq(items)) = value else { return Vec::new() };
    let ours = |item: &Value| {
        let one = std::slice::from_ref(item);
        node.children
            .iter()
            .position(|(element, _)| matches!(element, Element::Item(_)) && element.position(one).is_some())
    };
    items.iter().filter_map(ours).filter_map(|at| u32::try_from(at).ok()).collect()
}

/// The hashes of an object right after we applied it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// The hash of all our fields.
    pub whole: u128,
    /// One short hash per field, so that the changed ones are found without the values.
    pub leaves: Box<[u32]>,
}

/// The error for stored bytes that are not a baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a stored baseline has the invalid length of {length} bytes; remove state.db, and Setpoint stores a new one")]
pub struct BadBaseline {
    pub length: usize,
}

impl Baseline {
    /// Writes the stored form, which can be read back.
    pub fn to_bytes(&self) -> Vec<u8> {
        let leaves = self.leaves.iter().flat_map(|leaf| leaf.to_le_bytes());
        self.whole.to_le_bytes().into_iter().chain(leaves).collect()
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BadBaseline> {
        let bad = BadBaseline { length: bytes.len() };
        let (whole, leaves) = bytes.split_first_chunk().ok_or(bad)?;
        let (leaves, []) = leaves.as_chunks::<4>() else { return Err(bad) };
        Ok(Self {
            whole: u128::from_le_bytes(*whole),
            leaves: leaves.iter().map(|leaf| u32::from_le_bytes(*leaf)).collect(),
        })
    }
}

/// Returns the baseline of an object in its present state.
pub fn baseline(object: &Value, ours: &FieldSet, key: &HashKey) -> Baseline {
    let mut hashes = Vec::new();
    walk(&ours.0, Some(object), &mut Vec::new(), &mut |_, _, sight| hashes.push(key.of(&sight)));
    Baseline { whole: key.whole(&hashes), leaves: hashes.iter().map(short).collect() }
}

/// The field ownership and the baseline after an apply, from the server's response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedFields {
    /// Our fields.
    pub ours: FieldSet,
    /// The fields that others owned then: not additions, now or later.
    pub beside: FieldSet,
    pub baseline: Baseline,
}

/// The error for a response that does not name our fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyNotUnderstood {
    #[error(
        "the response has no entry of `{manager}` in managedFields, so our fields are unknown; apply the same values again"
    )]
    NoEntry { manager: String },
    #[error("the response does not name our fields")]
    Unreadable { source: BadManagedFields },
}

/// Takes our fields and their state from the response to our apply. The server has computed them,
/// with a schema that we need not know.
///
/// `not_ours` names fields that are left to others. Of a field that was declared as empty only the
/// existence is ours. If the server left it out altogether, it is only claimed: filling it is an
/// addition, and an apply that would empty it again may be forced.
pub fn take(
    answer: &Value,
    manager: &str,
    declared: &Value,
    not_ours: &[FieldPattern],
    key: &HashKey,
) -> Result<AppliedFields, ApplyNotUnderstood> {
    let entries = managed_fields(answer).map_err(|source| ApplyNotUnderstood::Unreadable { source })?;
    take_among(answer, &entries, manager, declared, not_ours, key)
}

/// Does the same as [`take`] with entries that are already read.
pub fn take_among(
    answer: &Value,
    entries: &[ManagedFields],
    manager: &str,
    declared: &Value,
    not_ours: &[FieldPattern],
    key: &HashKey,
) -> Result<AppliedFields, ApplyNotUnderstood> {
    let entry =
        applied_by(entries, manager).ok_or_else(|| ApplyNotUnderstood::NoEntry { manager: manager.to_owned() })?;
    let own_marks = marks();
    let applied = entry.fields.without(&own_marks).without(not_ours);
    let applied = applied.with_empties_of(declared, &|path| is_closed(declared, path));
    let claims = claims(&applied, answer);
    let ours = applied.difference(&claims).union(&claims);
    let beside = present(entries).without(&own_marks).difference(&ours);
    let baseline = baseline(answer, &ours, key);
    Ok(AppliedFields { ours, beside, baseline })
}

/// Returns the label and the annotations that we put on objects: ours, but never compared.
pub(crate) fn marks() -> [FieldPattern; 3] {
    mark_paths().map(FieldPattern::from)
}

/// Returns the paths of these marks.
pub(crate) fn mark_paths() -> [FieldPath; 3] {
    let mark = |map, name| FieldPath::fields(&["metadata", map, name]);
    [mark("labels", INSTALLATION_LABEL), mark("annotations", INTENT_ANNOTATION), mark("annotations", FENCED_ANNOTATION)]
}

/// Returns the leaves whose existence would be ours, if the server had stored them.
fn claims(applied: &FieldSet, answer: &Value) -> FieldSet {
    let mut claims = FieldSet::empty();
    applied.0.visit(&mut Vec::new(), &mut |path, node| {
        if node.own == Own::Existence && node.children.is_empty() {
            let path = path_of(path);
            if at(answer, &path).is_none() {
                claims = claims.union(&FieldSet::alone(path, Own::Claim));
            }
        }
    });
    claims
}

/// Reports whether "empty" has a meaning of its own at this path, so that filling it is a change:
/// no rights, no rule that lets traffic in, a selector of everything. Selectors are whole values
/// throughout Kubernetes.
fn is_closed(declared: &Value, path: &[&Element]) -> bool {
    let selector = matches!(path.last(), Some(Element::Field(name))
        if matches!(&**name, "selector" | "podSelector" | "namespaceSelector" | "objectSelector" | "labelSelector"));
    let closed_kind = match object::kind(declared) {
        // The cluster fills in the rules of an aggregated role.
        Some("ClusterRole") => declared.get("aggregationRule").is_none(),
        Some(kind) => CLOSED_KINDS.contains(&kind),
        None => false,
    };
    let metadata = matches!(path.first(), Some(Element::Field(name)) if &**name == "metadata");
    selector || closed_kind && !metadata
}

const CLOSED_KINDS: [&str; 8] = [
    "MutatingWebhookConfiguration",
    "NetworkPolicy",
    "Role",
    "RoleBinding",
    "ClusterRoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::samples::{any_owned_object, deployment, key, read, set, shuffled};

    proptest! {
        #[test]
        fn others_items_and_the_order_of_fields_do_not_matter((object, ours) in any_owned_object(), seed in any::<u64>()) {
            prop_assert_eq!(baseline(&shuffled(&object, &ours, seed), &ours, &key()), baseline(&object, &ours, &key()));
        }

        #[test]
        fn a_baseline_survives_its_stored_form((object, ours) in any_owned_object()) {
            let baseline = baseline(&object, &ours, &key());
            prop_assert_eq!(Baseline::from_bytes(&baseline.to_bytes()), Ok(baseline));
        }
    }

    #[test]
    fn a_baseline_depends_on_the_key() {
        let ours = set(r#"{"f:spec":{"f:replicas":{}}}"#);
        let other = HashKey::derived(&DigestKey::new([9; 32]));
        assert_ne!(baseline(&deployment(), &ours, &key()), baseline(&deployment(), &ours, &other));
    }

    #[test]
    fn bytes_that_are_no_baseline_are_refused() {
        for length in [0, 15, 17, 19] {
            assert_eq!(Baseline::from_bytes(&vec![0; length]), Err(BadBaseline { length }));
        }
    }

    fn answer(kind: &str, body: &str, fields: &str) -> Value {
        read(&format!(
            r#"{{"kind":"{kind}","metadata":{{"name":"x","managedFields":[
            {{"manager":"setpoint-one","operation":"Apply","apiVersion":"v1","fieldsV1":{fields}}}]}},{body}}}"#
        ))
    }

    fn paths(set: &FieldSet) -> Vec<String> {
        set.paths().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn our_own_marks_and_co_owned_fields_are_not_ours_to_compare() {
        let fields = r#"{"f:metadata":{"f:labels":{"f:app":{},"f:setpoint.dev/installation":{}},
            "f:annotations":{"f:setpoint.dev/intent":{}}},"f:spec":{"f:replicas":{},"f:paused":{}}}"#;
        let answer = answer("Deployment", r#""spec":{"replicas":3,"paused":true}"#, fields);
        let co_owned = ["spec.replicas".parse().unwrap()];
        let taken = take(&answer, "setpoint-one", &Value::Null, &co_owned, &key()).unwrap();
        assert_eq!(paths(&taken.ours), ["metadata.labels.app", "spec.paused"]);
        assert_eq!(paths(&taken.beside), ["spec.replicas"], "a co-owner's write is no addition");
    }

    #[test]
    fn an_answer_without_our_entry_says_what_to_do() {
        let error = take(&deployment(), "setpoint-two", &Value::Null, &[], &key()).unwrap_err();
        assert_eq!(error, ApplyNotUnderstood::NoEntry { manager: "setpoint-two".into() });
        assert!(error.to_string().contains("apply the same values again"));
    }

    #[test]
    fn class_3_what_was_declared_empty_is_ours_only_as_far_as_it_exists() {
        let declared = read(r#"{"kind":"Deployment","spec":{"emptyDir":{},"shortNames":[],"selector":{}}}"#);
        let fields = r#"{"f:spec":{"f:emptyDir":{},"f:shortNames":{},"f:selector":{}}}"#;
        let answer = answer("Deployment", r#""spec":{"emptyDir":{},"selector":{}}"#, fields);
        let taken = take(&answer, "setpoint-one", &declared, &[], &key()).unwrap();
        assert_eq!(
            String::from_utf8(taken.ours.to_bytes()).unwrap(),
            r#"{"f:spec":{"f:emptyDir":{".":{}},"f:selector":{},"f:shortNames":{"-":{}}}}"#,
            "existence; a selector is a whole; left out by the server"
        );
        assert!(taken.beside.is_empty(), "filling a field that the server left out is an addition");
    }

    #[test]
    fn no_rights_and_no_way_in_are_whole_values() {
        let fields = r#"{"f:spec":{"f:ingress":{},"f:podSelector":{}}}"#;
        let declared = read(r#"{"kind":"NetworkPolicy","spec":{"ingress":[],"podSelector":{}}}"#);
        let answer = answer("NetworkPolicy", r#""spec":{"podSelector":{}}"#, fields);
        let taken = take(&answer, "setpoint-one", &declared, &[], &key()).unwrap();
        assert_eq!(paths(&taken.ours), ["spec.ingress", "spec.podSelector"]);
        let opened = read(r#"{"kind":"NetworkPolicy","spec":{"podSelector":{},"ingress":[{}]}}"#);
        assert_ne!(baseline(&opened, &taken.ours, &key()), taken.baseline);
    }
}
