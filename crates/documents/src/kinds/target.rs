//! `kind: Target`. The fields of each kind of target are declared where that kind is implemented.

use std::any::Any;
use std::sync::Arc;

use setpoint_yaml::{Class, Node};

use crate::declaration::{Declaration, Field, FieldDeclaration, Presence, Shape};
use crate::document::Content;
use crate::reader::{Fields, Reader};
use crate::target_kind::{Section, TargetKind, TargetKinds};
use crate::text::Line;

/// A system that Setpoint manages.
#[derive(Clone, Debug)]
pub struct TargetSpec {
    /// The kind of system.
    pub kind: &'static str,
    /// The identity that the system must have.
    pub identity: Option<Line>,
    section: Arc<dyn Section>,
}

impl PartialEq for TargetSpec {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.identity == other.identity && self.section.equals(other.section.as_ref())
    }
}

impl Eq for TargetSpec {}

impl TargetSpec {
    /// Returns the fields of the target's kind; `None` if it is of another kind.
    pub fn section<S: Section>(&self) -> Option<&S> {
        let section: &dyn Any = self.section.as_ref();
        section.downcast_ref()
    }
}

/// The fields of every kind of target.
const COMMON: [&str; 2] = ["kind", "identity"];

impl Content for TargetSpec {
    fn declaration(targets: &TargetKinds) -> Declaration {
        let values = targets.iter().map(|kind| (kind.name, kind.doc)).collect();
        let kind = FieldDeclaration {
            name: "kind",
            doc: "The kind of system.",
            shape: Shape::Enum(values),
            presence: Presence::Required,
        };
        let identity = FieldDeclaration {
            name: "identity",
            doc: "The expected identity of the system: the UID of a cluster's `kube-system` namespace, or a host's \
                  machine ID. If omitted, it is recorded at the first connection.",
            shape: Option::<Line>::shape(),
            presence: Presence::Optional(String::new()),
        };
        let own = targets.iter().flat_map(|kind| (kind.declaration)().fields);
        Declaration {
            doc: "A system that Setpoint manages.",
            fields: [kind, identity].into_iter().chain(own).collect(),
        }
    }

    fn read(node: Node<'_>, reader: &mut Reader, targets: &TargetKinds) -> Option<Self> {
        let mut fields = Fields::of(node, reader)?;
        let values: Vec<_> = targets.iter().map(|kind| (kind.name, kind.doc)).collect();
        let kind = fields.take_with("kind", reader, |node, reader| reader.enum_value(node, &values));
        let kind = kind.and_then(|name| targets.iter().find(|kind| kind.name == name));
        let identity = fields.take::<Option<Line>>("identity", Some(|| None), reader);
        let known: Vec<&str> = COMMON.into_iter().chain(targets.iter().flat_map(|kind| kind.keys).copied()).collect();
        let Some(kind) = kind else {
            // Report the other mistakes too, but no missing fields: they depend on the kind.
            let mut fields = fields.lenient();
            targets.iter().for_each(|kind| drop((kind.take)(node, &mut fields, reader)));
            fields.finish(&known, reader);
            return None;
        };
        let section = (kind.take)(node, &mut fields, reader);
        let is_own = take_misplaced(&mut fields, targets, reader);
        let complete = fields.finish(&known, reader);
        Some(Self { kind: kind.name, identity: identity?, section: section? }).filter(|_| is_own && complete)
    }
}

/// Reports fields of other kinds of targets, which would have no effect. Returns whether there are
/// none.
fn take_misplaced(fields: &mut Fields<'_>, targets: &TargetKinds, reader: &mut Reader) -> bool {
    let owner = |field: &str| targets.iter().find(|kind| kind.keys.contains(&field));
    let misplaced: Vec<(&str, Node<'_>, &TargetKind)> =
        fields.remaining().filter_map(|(field, value)| Some((field, value, owner(field)?))).collect();
    for (field, value, kind) in &misplaced {
        let message = format!("`{field}` has no effect on this kind of target");
        let help = format!("remove it, or set `kind: {}`", kind.name);
        reader.report::<()>(Class::Value, *value, message, help);
        fields.remove(field);
    }
    misplaced.is_empty()
}
