//! Field ownership: the effect of each write on `managedFields`.

use std::sync::LazyLock;

use serde_json::{Value as Json, json};

use crate::fields::{Fields, Path};
use crate::merge::{Comparison, Undeclared, check, fields_of, merged, with_bones, without};
use crate::refusal::Refused;
use crate::schema::Kind;

/// The way in which a writer came to hold fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Apply,
    Update,
}

/// The fields that one writer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) manager: String,
    pub(crate) operation: Operation,
    /// The subresource through which the fields were written, for example the status.
    pub(crate) subresource: &'static str,
    pub(crate) time: String,
    pub(crate) fields: Fields,
}

/// A writer, as it names itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer<'a> {
    pub(crate) manager: &'a str,
    pub(crate) subresource: &'static str,
    pub(crate) now: &'a str,
}

impl Entry {
    fn is_of(&self, writer: &Writer<'_>, operation: Operation) -> bool {
        self.manager == writer.manager && self.operation == operation && self.subresource == writer.subresource
    }

    /// Reads a `managedFields` entry as a client sent it; returns `None` if it is not an entry.
    pub(crate) fn from_json(entry: &Json) -> Option<Self> {
        let text = |field: &str| entry[field].as_str().unwrap_or_default();
        Some(Self {
            manager: text("manager").to_owned(),
            operation: match text("operation") {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return None,
            },
            subresource: ["", "status", "scale"].into_iter().find(|name| *name == text("subresource"))?,
            time: text("time").to_owned(),
            fields: Fields::from_json(&entry["fieldsV1"])?,
        })
    }

    pub(crate) fn to_json(&self, api_version: &str) -> Json {
        let operation = if self.operation == Operation::Apply { "Apply" } else { "Update" };
        let mut entry = json!({
            "apiVersion": api_version, "fieldsType": "FieldsV1", "fieldsV1": self.fields.to_json(),
            "manager": self.manager, "operation": operation, "time": self.time,
        });
        if !self.subresource.is_empty() {
            entry["subresource"] = json!(self.subresource);
        }
        entry
    }
}

/// The fields that identify an object. No manager holds them.
static IDENTITY: LazyLock<Fields> = LazyLock::new(|| {
    let top = ["apiVersion", "kind", "metadata"].iter().map(|name| Path::of_fields(&[name]));
    let of_metadata = ["creationTimestamp", "generation", "name", "namespace", "resourceVersion", "uid"];
    Fields::of(top.chain(of_metadata.iter().map(|name| Path::of_fields(&["metadata", name]))))
});

/// Returns the fields that a write cannot set: the status for writers of the object itself,
/// everything else for writers of the status.
fn reset(kind: &Kind, subresource: &str) -> Vec<Path> {
    let field = |name: &str| Path::of_fields(&[name]);
    match (kind.has_status || kind.kind == "Namespace", subresource) {
        (true, "") => vec![field("status")],
        (true, _) => vec![field("metadata"), field("spec")],
        _ => Vec::new(),
    }
}

/// Returns the fields of a written value that a manager can hold.
fn held(kind: &Kind, fields: &Fields, subresource: &str) -> Fields {
    fields.without(&IDENTITY).outside(&reset(kind, subresource))
}

pub(crate) fn boned(kind: &Kind, value: &Json) -> Json {
    let mut value = value.clone();
    if !kind.custom {
        with_bones(kind.schema, &mut value);
    }
    value
}

/// Records a write by any other method than apply. `before` is `None` for a new object.
pub(crate) fn update(
    kind: &Kind,
    before: Option<&Json>,
    after: &Json,
    entries: &[Entry],
    writer: &Writer<'_>,
) -> Vec<Entry> {
    if before.is_some() && entries.is_empty() {
        // Once `managedFields` was cleared, nothing is recorded until the next apply.
        return Vec::new();
    }
    let nothing = json!({});
    let comparison = Comparison::of(kind.schema, &boned(kind, before.unwrap_or(&nothing)), &boned(kind, after));
    let mut entries = taken_by(entries, &comparison, |entry| entry.is_of(writer, Operation::Update));
    if comparison.is_same() {
        return entries;
    }
    let own = entries.iter().position(|entry| entry.is_of(writer, Operation::Update));
    let known = own.map(|at| entries.remove(at).fields).unwrap_or_default();
    let fields = known.without(&comparison.removed).union(&comparison.written());
    let fields = held(kind, &fields, writer.subresource);
    if !fields.is_empty() {
        entries.push(Entry {
            manager: writer.manager.to_owned(),
            operation: Operation::Update,
            subresource: writer.subresource,
            time: writer.now.to_owned(),
            fields,
        });
    }
    entries
}

/// Returns all entries without the fields that others lose by a write.
fn taken_by(entries: &[Entry], comparison: &Comparison, is_own: impl Fn(&Entry) -> bool) -> Vec<Entry> {
    let written = comparison.written();
    let left = |entry: &Entry| {
        if is_own(entry) {
            return entry.clone();
        }
        Entry { fields: entry.fields.without(&written).without(&comparison.removed), ..entry.clone() }
    };
    entries.iter().map(left).filter(|entry| !entry.fields.is_empty()).collect()
}

/// The result of an apply: the object, and its managers with their fields.
pub(crate) struct Applied {
    pub(crate) body: Json,
    pub(crate) entries: Vec<Entry>,
}

/// Applies a configuration. `before` is `None` for a new object.
pub(crate) fn apply(
    kind: &Kind,
    before: Option<(&Json, &[Entry])>,
    applied: &Json,
    writer: &Writer<'_>,
    force: bool,
) -> Result<Applied, Refused> {
    if let Err(Undeclared(field)) = check(kind.schema, applied, &mut Path::default()) {
        return Err(Refused::untyped(kind, &field));
    }
    let (live, mut entries) = match before {
        Some((live, entries)) => (live.clone(), entries.to_vec()),
        None => (json!({}), Vec::new()),
    };
    if before.is_some() && entries.is_empty() {
        entries = update(kind, None, &live, &[], &Writer { manager: "before-first-apply", ..*writer });
    }
    let own = entries.iter().position(|entry| entry.is_of(writer, Operation::Apply));
    let last = own.map(|at| entries.remove(at));
    let mut fields = Fields::default();
    fields_of(kind.schema, applied, &mut Path::default(), &mut fields);
    let fields = held(kind, &fields, writer.subresource);
    let whole = merged(kind.schema, Some(&live), applied);
    let body = match &last {
        Some(last) => pruned(kind, &whole, &last.fields, &fields, &entries),
        None => whole,
    };
    let comparison = Comparison::of(kind.schema, &boned(kind, &live), &boned(kind, &body));
    let written = comparison.written();
    let conflicts: Vec<(String, String)> = entries
        .iter()
        .flat_map(|entry| {
            let holder = holder(kind, entry);
            let taken: Vec<String> = entry.fields.both(&written).texts().collect();
            taken.into_iter().map(move |field| (holder.clone(), field))
        })
        .collect();
    if !force && !conflicts.is_empty() {
        return Err(Refused::conflicts(&conflicts));
    }
    let mut entries = taken_by(&entries, &comparison, |_| false);
    let same = last.filter(|last| last.fields == fields && comparison.is_same());
    let time = same.map_or_else(|| writer.now.to_owned(), |last| last.time);
    if !fields.is_empty() {
        entries.push(Entry {
            manager: writer.manager.to_owned(),
            operation: Operation::Apply,
            subresource: writer.subresource,
            time,
            fields,
        });
    }
    Ok(Applied { body, entries })
}

/// Returns the object without the fields that the applier held, no longer applies, and no other
/// manager holds.
fn pruned(kind: &Kind, whole: &Json, last: &Fields, now: &Fields, others: &[Entry]) -> Json {
    let managed = others.iter().fold(now.clone(), |all, entry| all.union(&entry.fields)).with_parents();
    let mut there = Fields::default();
    fields_of(kind.schema, whole, &mut Path::default(), &mut there);
    let gone = there.with_parents().both(&last.with_parents()).without(&managed).without(&IDENTITY);
    without(kind.schema, whole, &gone, &mut Path::default())
}

fn holder(kind: &Kind, entry: &Entry) -> String {
    let name = Json::String(entry.manager.clone());
    let subresource = if entry.subresource.is_empty() {
        String::new()
    } else {
        format!(" with subresource \"{}\"", entry.subresource)
    };
    let using =
        if entry.operation == Operation::Update { format!(" using {}", kind.api_version()) } else { String::new() };
    format!("conflict with {name}{subresource}{using}")
}
