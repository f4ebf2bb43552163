//! Structural difference of two values: path, before, after. Secrets show as keyed digests, never
//! in plain text.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::fields::Fields;
use crate::value::{Path, Segment, Value};

/// One place where two values differ. `None` means that the value is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    pub path: Path,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<Value>,
}

impl Difference {
    /// Reports whether the value here was not declared.
    pub fn is_addition(&self) -> bool {
        self.before.is_none()
    }

    /// Returns the difference with its two sides swapped.
    #[must_use]
    pub fn turned(self) -> Self {
        Self { path: self.path, before: self.after, after: self.before }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} → {}", self.path, Shown(self.before.as_ref()), Shown(self.after.as_ref()))
    }
}

struct Shown<'a>(Option<&'a Value>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("(absent)"),
            Some(Value::Null) => f.write_str("null"),
            Some(Value::Bool(b)) => write!(f, "{b}"),
            Some(Value::Num(n)) => write!(f, "{n}"),
            Some(Value::Str(text)) => write!(f, "{text:?}"),
            Some(Value::Seq(items)) => write!(f, "[{} items]", items.len()),
            Some(Value::Map(map)) => write!(f, "{{{} fields}}", map.len()),
            Some(Value::Secret(secret)) => write!(f, "{}", secret.digest),
            Some(Value::Deferred(deferred)) => write!(f, "(from {} {})", deferred.resource, deferred.path),
        }
    }
}

/// Returns all places where `after` differs from `before`, in path order. Empty exactly when the
/// two are equal.
///
/// Sequences are compared by position. Only the target knows the meaning of a list, so it projects
/// values before it compares them.
pub fn diff(before: &Value, after: &Value) -> Vec<Difference> {
    let mut walk = Walk { path: Vec::new(), found: Vec::new() };
    walk.compare(before, after);
    walk.found
}

struct Walk {
    path: Vec<Segment>,
    found: Vec<Difference>,
}

impl Walk {
    fn compare(&mut self, before: &Value, after: &Value) {
        match (before, after) {
            (Value::Map(a), Value::Map(b)) => self.compare_maps(a, b),
            (Value::Seq(a), Value::Seq(b)) => self.compare_seqs(a, b),
            _ if before == after => {}
            _ => self.found(Some(before), Some(after)),
        }
    }

    fn compare_maps(&mut self, before: &Fields, after: &Fields) {
        let (mut left, mut right) = (before.iter().peekable(), after.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some((a, _)), Some((b, _))) => a.cmp(b),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (None, None) => return,
            };
            let a = if order.is_le() { left.next() } else { None };
            let b = if order.is_ge() { right.next() } else { None };
            let field = a.or(b).map(|(field, _)| field.clone()).expect("one side had a next field");
            self.at(Segment::Field(field), a.map(|(_, value)| value), b.map(|(_, value)| value));
        }
    }

    fn compare_seqs(&mut self, before: &[Value], after: &[Value]) {
        for index in 0..before.len().max(after.len()) {
            self.at(Segment::Index(index), before.get(index), after.get(index));
        }
    }

    fn at(&mut self, segment: Segment, before: Option<&Value>, after: Option<&Value>) {
        self.path.push(segment);
        match (before, after) {
            (Some(before), Some(after)) => self.compare(before, after),
            _ => self.found(before, after),
        }
        self.path.pop();
    }

    /// Records a difference. If one side is a secret, the other one is hidden too, even if its
    /// author did not mark it as a secret.
    fn found(&mut self, before: Option<&Value>, after: Option<&Value>) {
        let secret = [before, after].into_iter().flatten().any(|value| matches!(value, Value::Secret(_)));
        let shown = |side: Option<&Value>| match side {
            Some(Value::Secret(_)) | None => side.cloned(),
            Some(_) if secret => Some(Value::str("(hidden)")),
            Some(_) => side.cloned(),
        };
        self.found.push(Difference { path: Path(self.path.clone()), before: shown(before), after: shown(after) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::DigestKey;
    use crate::secret::SecretRef;

    #[test]
    fn a_plain_text_beside_a_secret_is_not_shown() {
        let digest = DigestKey::new([7; 32]).digest(b"other");
        let secret = Value::Secret(SecretRef { name: "password".into(), digest });
        for (before, after) in [(Value::str("hunter2"), secret.clone()), (secret, Value::str("hunter2"))] {
            let found = diff(&before, &after);
            assert_eq!(found.len(), 1);
            assert!(!found[0].to_string().contains("hunter2"), "{}", found[0]);
        }
    }
    use crate::canonical::tests::any_value;
    use proptest::prelude::*;

    #[test]
    fn differences_name_their_place() {
        let before = Value::map([("spec", Value::map([("replicas", Value::int(3)), ("gone", Value::Bool(true))]))]);
        let after = Value::map([(
            "spec",
            Value::map([("replicas", Value::int(5)), ("ports", Value::Seq(vec![Value::int(80)]))]),
        )]);
        let shown: Vec<_> = diff(&before, &after).iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["spec.gone: true → (absent)", "spec.ports: (absent) → [1 items]", "spec.replicas: 3 → 5"]);
    }

    #[test]
    fn secrets_show_as_keyed_digests() {
        let secret = |text: &str| {
            let digest = crate::digest::DigestKey::new([1; 32]).digest(text.as_bytes());
            Value::Secret(crate::secret::SecretRef { name: "db".into(), digest })
        };
        let shown = diff(&secret("hunter2"), &secret("hunter3"))[0].to_string();
        assert!(shown.starts_with("(whole): secret:") && !shown.contains("hunter"), "{shown}");
    }

    proptest! {
        #[test]
        fn no_difference_means_equal(a in any_value(), b in any_value()) {
            prop_assert_eq!(diff(&a, &b).is_empty(), a == b);
            prop_assert!(diff(&a, &a).is_empty());
        }
    }
}
