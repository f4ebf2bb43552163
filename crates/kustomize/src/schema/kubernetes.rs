//! The kinds of Kubernetes, from `kubernetes.txt`, which `record/schema` writes. It has four parts with an empty line between them:
//!
//! - `apiVersion kind number`, sorted: which shape a kind has.
//! - `apiVersion kind scope`, sorted: whether a kind is in a namespace.
//! - `definition number`, sorted: which shape a definition has. Each is called `io.k8s.` and that.
//! - a line for each shape, counted from 0: its fields with the numbers of their shapes; `*` are those of any other name, `[]` the items of a list. With `+` the
//!   list is merged: by the keys behind it, or if there are none as a set.

use std::cmp::Ordering;
use std::sync::OnceLock;

use super::ListMerge;

const TABLE: &str = include_str!("kubernetes.txt");

/// Where the lines are.
struct Lines {
    kinds: Vec<&'static str>,
    scopes: Vec<&'static str>,
    definitions: Vec<&'static str>,
    shapes: Vec<&'static str>,
}

/// A shape, by its number.
#[derive(Clone, Copy, Debug)]
pub struct Cursor(usize);

/// Two thousand lines, found in some ten microseconds by whoever asks first.
fn lines() -> &'static Lines {
    static LINES: OnceLock<Lines> = OnceLock::new();
    LINES.get_or_init(|| {
        let mut lines = TABLE.lines();
        let kinds = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        let scopes = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        let definitions = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        Lines { kinds, scopes, definitions, shapes: lines.collect() }
    })
}

pub(super) fn resource(api_version: &str, kind: &str) -> Option<Cursor> {
    find(&lines().kinds, &[api_version, " ", kind])?.parse().ok().map(Cursor)
}

/// What is defined under a name.
pub(super) fn definition(name: &str) -> Option<Cursor> {
    find(&lines().definitions, &[name.strip_prefix("io.k8s.")?])?.parse().ok().map(Cursor)
}

/// None if it is not known.
pub(super) fn is_namespaced(api_version: &str, kind: &str) -> Option<bool> {
    find(&lines().scopes, &[api_version, " ", kind]).map(|scope| scope == "namespaced")
}

/// What stands behind a name, which comes in parts.
fn find(lines: &[&'static str], name: &[&str]) -> Option<&'static str> {
    let compare = |line: &&str| -> Ordering {
        let (known, _) = line.rsplit_once(' ').unwrap_or_default();
        known.bytes().cmp(name.iter().flat_map(|part| part.bytes()))
    };
    let at = lines.binary_search_by(compare).ok()?;
    lines[at].rsplit_once(' ').map(|(_, value)| value)
}

impl Cursor {
    pub(super) fn field(self, name: &str) -> Option<Self> {
        let is_name = !matches!(name, "*" | "[]" | "+");
        self.word(name).filter(|_| is_name).or_else(|| self.word("*")).and_then(Self::of)
    }

    pub(super) fn items(self) -> Option<Self> {
        self.word("[]").and_then(Self::of)
    }

    pub(super) fn list(self) -> ListMerge<'static> {
        match self.word("+") {
            None => ListMerge::Replace,
            Some("") => ListMerge::Set,
            Some(keys) => ListMerge::ByKeys(keys.split(',').collect()),
        }
    }

    fn of(number: &str) -> Option<Self> {
        number.parse().ok().map(Self)
    }

    fn word(self, name: &str) -> Option<&'static str> {
        let line: &'static str = lines().shapes.get(self.0)?;
        line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }
}
