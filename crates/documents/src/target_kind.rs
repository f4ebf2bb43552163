//! The kinds of targets: the values of `kind` in Target documents, each with its own fields. The
//! crates of the targets declare them, and the callers of the reader pass them on.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::declaration::{Declaration, Node, Object};
use crate::reader::{Fields, Reader};

/// The fields of a Target document that belong to one kind of target.
pub trait Section: Any + fmt::Debug + Send + Sync {
    fn equals(&self, other: &dyn Section) -> bool;
}

impl<T: Object + Any + fmt::Debug + Eq + Send + Sync> Section for T {
    fn equals(&self, other: &dyn Section) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<T>().is_some_and(|other| self == other)
    }
}

/// A kind of targets, as documents see it.
#[derive(Clone, Copy)]
pub struct TargetKind {
    pub name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) keys: &'static [&'static str],
    pub(crate) declaration: fn() -> Declaration,
    pub(crate) take: fn(Node<'_>, &mut Fields<'_>, &mut Reader) -> Option<Arc<dyn Section>>,
}

impl TargetKind {
    /// Builds the kind whose own fields are those of `S`; `doc` explains it in one sentence.
    pub fn new<S: Object + Section>(name: &'static str, doc: &'static str) -> Self {
        let take = |node: Node<'_>, fields: &mut Fields<'_>, reader: &mut Reader| {
            let section = S::take(fields, reader).filter(|section| section.check(node, reader))?;
            Some(Arc::new(section) as Arc<dyn Section>)
        };
        Self { name, doc, keys: S::KEYS, declaration: S::declaration, take }
    }
}

impl fmt::Debug for TargetKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TargetKind").field(&self.name).finish()
    }
}

/// The kinds of targets that documents may declare. By default there are none.
#[derive(Clone, Debug, Default)]
pub struct TargetKinds(Arc<[TargetKind]>);

impl TargetKinds {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &TargetKind> {
        self.0.iter()
    }
}

impl FromIterator<TargetKind> for TargetKinds {
    fn from_iter<I: IntoIterator<Item = TargetKind>>(kinds: I) -> Self {
        Self(kinds.into_iter().collect())
    }
}
