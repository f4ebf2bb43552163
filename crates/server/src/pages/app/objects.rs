//! The objects of an app as a list: the same as the drawing, for everyone who does not use it.

use setpoint_api::answer::{AppTree, TreeObject};

use super::super::marks::{Mark, Tone};
use super::super::moment;
use super::super::words;

/// The most objects that are listed. The command line lists all of them.
const MOST: usize = 500;

/// One object of the list.
#[derive(Clone, Debug)]
pub(super) struct ObjectRow {
    pub(super) depth: usize,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) health: Mark,
    pub(super) age: String,
    pub(super) why: String,
}

pub(super) fn rows(tree: &AppTree) -> Vec<ObjectRow> {
    let row = |object: &TreeObject| ObjectRow {
        depth: object.depth.min(6),
        kind: words::kind(&object.key).to_owned(),
        name: object.key.name().to_owned(),
        namespace: object.key.namespace().to_owned(),
        health: health(object),
        age: object.created.map(|at| moment::length(tree.now.since(at))).unwrap_or_default(),
        why: why(object, tree),
    };
    tree.objects.iter().take(MOST).map(row).collect()
}

/// Returns the number of objects that the list leaves out.
pub(super) fn left_out(tree: &AppTree) -> usize {
    tree.objects.len().saturating_sub(MOST)
}

fn health(object: &TreeObject) -> Mark {
    if object.present { words::health(object.health) } else { Mark::new(Tone::Bad, "dash", "does not exist") }
}

/// Returns the reason why an object is not as it should be; empty if it is.
pub(super) fn why(object: &TreeObject, tree: &AppTree) -> String {
    let of_the_app = object.depth == 0;
    let drifted = tree.drifts.iter().any(|drift| drift.key == object.key);
    let conditions = [
        (of_the_app && object.owned && !object.declared, "no longer declared"),
        (of_the_app && object.present && !object.owned && tree.observed, "only observed"),
        (of_the_app && object.present && !object.owned && !tree.observed, "not owned yet"),
        (of_the_app && object.present && drifted, "not as declared"),
    ];
    let conditions = conditions.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word);
    let reason = object.reason.as_deref().filter(|reason| object.present || *reason != "it is not there");
    conditions.chain(reason).collect::<Vec<_>>().join("; ")
}
