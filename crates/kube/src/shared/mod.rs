//! Fields of a declared object that others may set: the fields that are presently not ours, and the
//! request without them.
//!
//! An *ignored* field is sent when an object is created, and then neither compared nor written. A
//! field that a *co-owner* may write is left to it while it owns the field; otherwise the field is
//! ours like everything else.

mod fitting;

use std::sync::Arc;

use setpoint_core::resource::{Resource, SharedField, Treat};
use setpoint_core::value::Value;

use crate::compare::AdditionRule;
use crate::field_set::FieldSet;
use crate::managed::{ManagedFields, Operation, applied_by, present};
use crate::object;
use crate::path::{BadPath, Element, FieldPath};
use crate::pattern::FieldPattern;

/// The subresource that autoscalers and `kubectl scale` write. As a co-owner, this name means any
/// of them.
pub const SCALE: &str = "scale";

/// The field of the scale in kinds that can be scaled. Definitions may name another field, which
/// the server publishes only while a manager owns it.
const REPLICAS: [&str; 2] = ["spec", "replicas"];

/// The error for a text that does not name a field that can be shared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotShareable {
    #[error(transparent)]
    Unreadable(#[from] BadPath),
    #[error("`{text}` is a JSON pointer")]
    Pointer { text: String },
    #[error("`{text}` names a position in a list, which moves")]
    Position { text: String },
    #[error("`{text}` covers the identity of the object")]
    Identity { text: String },
}

impl NotShareable {
    /// Returns the correction.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Unreadable(_) | Self::Pointer { .. } => {
                "write it as `spec.replicas`, `metadata.annotations[example.com/x]` or `spec.containers[*].image`"
            }
            Self::Position { .. } => {
                "name the item by its keys, as `containers[name=app]`, or write `[*]` for all of them"
            }
            Self::Identity { .. } => "name a field below it, such as `metadata.annotations`",
        }
    }
}

/// Reads a path that a rule about shared fields may have.
pub fn shareable(text: &str) -> Result<FieldPattern, NotShareable> {
    if text.starts_with('/') {
        return Err(NotShareable::Pointer { text: text.to_owned() });
    }
    let pattern: FieldPattern = text.parse()?;
    if pattern.has_position() {
        return Err(NotShareable::Position { text: text.to_owned() });
    }
    let names = [&["apiVersion"][..], &["kind"], &["metadata", "name"], &["metadata", "namespace"]];
    if names.iter().any(|name| pattern.covers(&FieldPath::fields(name))) {
        return Err(NotShareable::Identity { text: text.to_owned() });
    }
    Ok(pattern)
}

/// The knowledge about autoscalers that target an object whose scale another writer has set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Autoscaler {
    #[default]
    None,
    /// One targets it: the value set through the scale subresource belongs to it.
    Aims,
    /// The autoscalers could not be determined. It counts as if there were none.
    Unknown,
}

/// A live object and its field owners.
#[derive(Clone, Copy, Debug)]
pub struct Holding<'o> {
    pub object: &'o Value,
    pub entries: &'o [ManagedFields],
}

/// The fields of one object that are presently not ours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    ignored: Vec<FieldPattern>,
    /// The app's rules for additions of others.
    added: Vec<AdditionRule>,
    /// The fields that co-owners own now, of those they may write.
    held: Vec<FieldPath>,
    /// The declared fields among these.
    lent: FieldSet,
    /// The fields of all owners, and our own among them.
    present: FieldSet,
    ours: FieldSet,
    /// The writer of the scale, if an autoscaler targets the object and the server names the
    /// writer.
    pub scaler: Option<Arc<str>>,
    /// Set if the lent scale has no owner: a write of it conflicts with no one.
    pub unheld: bool,
    pub autoscaler: Autoscaler,
}

/// The rules of a resource, parsed.
struct Rules {
    ignored: Vec<FieldPattern>,
    added: Vec<AdditionRule>,
    co_owned: Vec<(Arc<str>, FieldPattern)>,
}

impl Rules {
    fn of(resource: &Resource) -> Result<Self, NotShareable> {
        let mut rules = Self { ignored: Vec::new(), added: Vec::new(), co_owned: Vec::new() };
        let is_secret = &*resource.kind == "Secret" && &*resource.api_version == "v1";
        let read = |path: &str| -> Result<FieldPattern, NotShareable> {
            let pattern = shareable(path)?;
            // The server folds `stringData` into `data` and forgets it.
            Ok(if is_secret { pattern.with_first("stringData", "data") } else { pattern })
        };
        for rule in &resource.additions {
            rules.added.push(AdditionRule { path: read(&rule.path)?, treat: rule.then });
        }
        for SharedField { path, writer } in &resource.shared {
            let pattern = read(path)?;
            match writer {
                None => rules.ignored.push(pattern),
                Some(writer) => rules.co_owned.push((Arc::clone(writer), pattern)),
            }
        }
        Ok(rules)
    }

    fn lend(&self, entry: &ManagedFields, path: &FieldPath) -> bool {
        let is_writer = |writer: &str| *entry.manager == *writer || writer == SCALE && *entry.subresource == *SCALE;
        self.co_owned.iter().any(|(writer, pattern)| is_writer(writer) && pattern.covers(path))
    }

    /// Reports whether writers of the scale may write this field.
    fn lend_to_scalers(&self, path: &FieldPath) -> bool {
        self.co_owned.iter().any(|(writer, pattern)| **writer == *SCALE && pattern.covers(path))
    }

    fn ignore(&self, path: &FieldPath) -> bool {
        self.ignored.iter().any(|pattern| pattern.covers(path))
    }
}

impl Sharing {
    /// Returns the sharing of an object that does not exist yet.
    pub fn of_new(resource: &Resource) -> Result<Self, NotShareable> {
        let Rules { ignored, added, .. } = Rules::of(resource)?;
        Ok(Self { ignored, added, ..Self::default() })
    }

    /// Returns the sharing of a live object; `manager` is ours.
    pub fn of(
        resource: &Resource,
        holding: Holding<'_>,
        manager: &str,
        autoscaler: Autoscaler,
    ) -> Result<Self, NotShareable> {
        let (rules, entries) = (Rules::of(resource)?, holding.entries);
        let aims = autoscaler == Autoscaler::Aims;
        if resource.shared.is_empty() && !aims {
            return Ok(Self { autoscaler, added: rules.added, ..Self::default() });
        }
        let others = entries.iter().filter(|entry| *entry.manager != *manager && !entry.is_status());
        let is_lent = |entry: &ManagedFields, path: &FieldPath| rules.lend(entry, path) || aims && is_scaling(entry);
        let of_entry = |entry: &ManagedFields| {
            entry.fields.values().into_iter().filter(|path| is_lent(entry, path)).collect::<Vec<_>>()
        };
        let scale = unheld_scale(resource, holding).filter(|path| aims || rules.lend_to_scalers(path));
        let unheld = scale.is_some();
        let held: Vec<FieldPath> = others.flat_map(of_entry).chain(scale).collect();
        let scaler = entries.iter().find(|entry| aims && is_scaling(entry)).map(|entry| Arc::clone(&entry.manager));
        let declared = held.iter().filter(|path| is_declared(&resource.body, path)).cloned();
        Ok(Self {
            lent: FieldSet::from_paths(declared),
            held,
            ignored: rules.ignored,
            added: rules.added,
            present: present(entries),
            ours: applied_by(entries, manager).map(|entry| entry.fields.clone()).unwrap_or_default(),
            scaler,
            unheld,
            autoscaler,
        })
    }

    /// Adds our previous fields. If the object's `managedFields` were cleared, they still contain
    /// the keys of list items.
    pub fn knowing(mut self, ours_before: &FieldSet) -> Self {
        if !self.ignored.is_empty() {
            self.present = self.present.union(ours_before);
        }
        self
    }

    /// Returns the declared fields that co-owners own now. While they stay the same, so do ours.
    pub fn lent(&self) -> &FieldSet {
        &self.lent
    }

    /// Returns the fields that are neither compared nor taken over.
    pub fn not_ours(&self) -> Vec<FieldPattern> {
        self.ignored.iter().cloned().chain(self.held.iter().cloned().map(FieldPattern::from)).collect()
    }

    /// Returns the rules for additions of others: a field that others may set, they may also add
    /// to.
    pub fn additions(&self) -> Vec<AdditionRule> {
        let theirs = self.not_ours().into_iter().map(|path| AdditionRule { path, treat: Treat::Ignore });
        self.added.iter().cloned().chain(theirs).collect()
    }
}

/// Returns the writers of a declared scale that no rule covers: then it matters whether an
/// autoscaler targets the object. `None` is a writer that the server does not name.
pub fn scalers<'o>(resource: &Resource, holding: Holding<'o>) -> Result<Vec<Option<&'o Arc<str>>>, NotShareable> {
    let unheld = unheld_scale(resource, holding);
    if unheld.is_none() && !holding.entries.iter().any(is_scaling) {
        return Ok(Vec::new());
    }
    let rules = Rules::of(resource)?;
    let matters = |entry: &&ManagedFields| {
        let is_open =
            |path: &FieldPath| is_declared(&resource.body, path) && !rules.ignore(path) && !rules.lend(entry, path);
        is_scaling(entry) && entry.fields.values().iter().any(is_open)
    };
    let named = holding.entries.iter().filter(matters).map(|entry| Some(&entry.manager));
    let unheld = unheld.filter(|path| !rules.ignore(path) && !rules.lend_to_scalers(path));
    Ok(named.chain(unheld.map(|_| None)).collect())
}

/// Returns the path of a declared scale that differs from the live one, and that no one owns. A
/// server leaves a zero out of the scale subresource: scaling to zero takes the field from its
/// owner and gives it to no one. From then on the server records no scaling at all, since it does
/// not start to record a field without an owner.
fn unheld_scale(resource: &Resource, Holding { object, entries }: Holding<'_>) -> Option<FieldPath> {
    let replicas = |object: &Value| object::number(object, &REPLICAS);
    let (declared, live) = (replicas(&resource.body)?, replicas(object)?);
    let path = FieldPath::fields(&REPLICAS);
    let is_unheld = || !entries.is_empty() && !entries.iter().any(|entry| entry.fields.touches(&path));
    (declared != live && is_unheld()).then_some(path)
}

fn is_scaling(entry: &ManagedFields) -> bool {
    entry.operation == Operation::Update && *entry.subresource == *SCALE
}

/// Reports whether a declaration has a value at a path of the server. Data of a Secret may be
/// declared as text.
fn is_declared(declared: &Value, path: &FieldPath) -> bool {
    let has =
        |path: &[Element]| path.iter().try_fold(declared, |value, element| element.declared_step(value)).is_some();
    let as_text = |name: &Element| has(&[Element::field("stringData"), name.clone()]);
    has(&path.0)
        || object::kind(declared) == Some("Secret")
            && matches!(path.0.as_slice(), [Element::Field(data), name] if &**data == "data" && as_text(name))
}

#[cfg(test)]
mod tests;
