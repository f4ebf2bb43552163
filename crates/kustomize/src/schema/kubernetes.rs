//! The kinds of Kubernetes, from `kubernetes.txt`, which `record/schema` writes. The file has four
//! parts with an empty line between them:
//!
//! - `apiVersion kind number`, sorted: the shape of a kind.
//! - `apiVersion kind scope`, sorted: whether a kind is namespaced.
//! - `definition number`, sorted: the shape of a definition, whose full name begins with `io.k8s.`.
//! - a line for each shape, counted from 0: its fields with the numbers of their shapes. `*` is a
//!   field of any other name, `[]` for the items of a list. With `+` the list is merged: by the
//!   keys after it, or as a set if there are none.

use std::cmp::Ordering;
use std::ops::Range;

use super::ListMerge;
use crate::identity::Gvk;

const TABLE: &str = include_str!("kubernetes.txt");

/// The starts of the lines, and the end of the last one. The compiler finds them, so that nothing
/// of the table is read before it is needed.
static LINES: [u32; count() + 1] = starts();
/// The numbers of the empty lines after the first three parts.
const PARTS: [usize; 3] = parts();

const fn count() -> usize {
    let (table, mut at, mut found) = (TABLE.as_bytes(), 0, 0);
    while at < table.len() {
        found += (table[at] == b'\n') as usize;
        at += 1;
    }
    found
}

const fn starts() -> [u32; count() + 1] {
    let mut starts = [0; count() + 1];
    let (table, mut at, mut line) = (TABLE.as_bytes(), 0, 0);
    while at < table.len() {
        if table[at] == b'\n' {
            line += 1;
            starts[line] = at as u32 + 1;
        }
        at += 1;
    }
    starts
}

const fn parts() -> [usize; 3] {
    let mut parts = [0; 3];
    let (starts, mut line, mut found) = (starts(), 0, 0);
    while found < 3 {
        if starts[line + 1] == starts[line] + 1 {
            parts[found] = line;
            found += 1;
        }
        line += 1;
    }
    parts
}

/// A shape, by its number.
#[derive(Clone, Copy, Debug)]
pub struct Cursor(usize);

fn line(number: usize) -> Option<&'static str> {
    let (start, end) = (*LINES.get(number)? as usize, *LINES.get(number + 1)? as usize);
    TABLE.get(start..end - 1)
}

pub(super) fn resource(api_version: &str, kind: &str) -> Option<Cursor> {
    find(0..PARTS[0], &[api_version, " ", kind, " "])?.parse().ok().map(Cursor)
}

/// Returns the shape of a definition.
pub(super) fn definition(name: &str) -> Option<Cursor> {
    find(PARTS[1] + 1..PARTS[2], &[name.strip_prefix("io.k8s.")?, " "])?.parse().ok().map(Cursor)
}

/// Returns `None` for an unknown kind.
pub(super) fn is_namespaced(gvk: &Gvk) -> Option<bool> {
    let slash = if gvk.group.is_empty() { "" } else { "/" };
    let name = [&*gvk.group, slash, &gvk.version, " ", &gvk.kind, " "];
    find(PARTS[0] + 1..PARTS[1], &name).map(|scope| scope == "namespaced")
}

/// Returns the rest of the line that begins with a name. The name is passed in parts and includes
/// the space after it.
fn find(lines: Range<usize>, name: &[&str]) -> Option<&'static str> {
    let (mut low, mut high) = (lines.start, lines.end);
    while low < high {
        let middle = low.midpoint(high);
        let found = line(middle)?;
        match compare(found.as_bytes(), name) {
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
            Ordering::Equal => return found.rsplit_once(' ').map(|(_, value)| value),
        }
    }
    None
}

/// Compares the beginning of a line with a text in parts.
fn compare(mut line: &[u8], parts: &[&str]) -> Ordering {
    for part in parts {
        let (head, rest) = line.split_at(part.len().min(line.len()));
        match head.cmp(part.as_bytes()) {
            Ordering::Equal => line = rest,
            other => return other,
        }
    }
    Ordering::Equal
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
        line(PARTS[2] + 1 + self.0)?.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }
}
