//! The page of `setpoint tree`.

use setpoint_api::answer::{AppTree, TreeObject};
use setpoint_core::key::Key;
use setpoint_core::live::Health;

use super::app::{drifts, remarks};
use super::page::Page;
use super::paint::{Paint, Painted};
use super::table::Table;
use super::{Screen, time, words};

/// The number of healthy objects of one kind that are named below one owner. JSON output has all of
/// them.
const NAMED: usize = 5;

pub(crate) fn tree(tree: &AppTree, screen: &Screen) -> String {
    // Ages are relative to the agent's clock, which may be closer to the cluster's clock than the
    // user's.
    let screen = Screen { now: tree.now, ..*screen };
    let mut page = Page::new(&screen);
    page.field("app", Painted::new(tree.app.to_string(), Paint::Strong));
    page.field("target", words::target(tree.target_name.as_ref(), &tree.target));
    page.field("objects", tally(&tree.objects));
    if tree.objects.is_empty() {
        page.line(0, "the app declares and owns no objects");
        return page.into_text();
    }
    page.heading("Objects");
    page.table(0, &rows(tree, &screen));
    drifts(&tree.drifts, &mut page);
    remarks(&tree.remarks, &mut page);
    if !tree.unseen.is_empty() {
        page.heading("Not observed");
        for line in &tree.unseen {
            page.line(2, Painted::new(line, Paint::Warn));
        }
    }
    page.into_text()
}

/// Returns `15, 11 healthy`.
fn tally(objects: &[TreeObject]) -> Painted {
    let healthy = objects.iter().filter(|object| object.health == Health::Healthy).count();
    let paint = if healthy == objects.len() { Paint::Good } else { Paint::Warn };
    Painted::new(format!("{}, {healthy} healthy", objects.len()), paint)
}

/// A line of the table: an object, or the number of omitted objects.
enum Line<'a> {
    Object(&'a TreeObject),
    Folded { depth: usize, kind: &'a str, count: usize },
}

impl Line<'_> {
    fn depth(&self) -> usize {
        match self {
            Self::Object(object) => object.depth,
            Self::Folded { depth, .. } => *depth,
        }
    }
}

fn rows(tree: &AppTree, screen: &Screen) -> Table<4> {
    let lines = folded(&tree.objects);
    let namespaced = has_several_namespaces(&tree.objects);
    let mut table = Table::new(["OBJECT", "HEALTH", "AGE", "WHY"]).whole(&["OBJECT", "AGE"]).spare(&["AGE"]);
    for (number, line) in lines.iter().enumerate() {
        let branch = branch(&lines, number, screen);
        match line {
            Line::Folded { kind, count, .. } => {
                let text = format!("{branch}… {count} more of {kind}");
                table.row([Painted::new(text, Paint::Faint), words::health(Health::Healthy), "".into(), "".into()]);
            }
            Line::Object(object) => {
                let paint = if object.depth == 0 { Paint::Strong } else { Paint::Plain };
                let name = format!("{branch}{}", named(&object.key, namespaced));
                let age = object.created.map(|at| time::length(screen.now.since(at))).unwrap_or_default();
                table.row([Painted::new(name, paint), health(object), age.into(), why(object, tree).into()]);
            }
        }
    }
    table
}

fn health(object: &TreeObject) -> Painted {
    if object.present { words::health(object.health) } else { Painted::new("–", Paint::Bad) }
}

fn why(object: &TreeObject, tree: &AppTree) -> String {
    let of_the_app = object.depth == 0;
    let drifted = tree.drifts.iter().any(|drift| drift.key == object.key);
    let standing = [
        (of_the_app && object.owned && !object.declared, "no longer declared"),
        (of_the_app && object.present && !object.owned && tree.observed, "only observed"),
        (of_the_app && object.present && !object.owned && !tree.observed, "not owned yet"),
        (of_the_app && object.present && drifted, "not as declared"),
    ];
    let standing = standing.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word);
    standing.chain(object.reason.as_deref()).collect::<Vec<_>>().join("; ")
}

/// Returns `Deployment/front`, in the form that `setpoint logs` accepts.
fn named(key: &Key, namespaced: bool) -> String {
    let kind = key.class().rsplit('/').next().unwrap_or_default();
    let name = if kind.chars().next().is_some_and(char::is_uppercase) {
        format!("{kind}/{}", key.name())
    } else {
        // Keys of a host are paths: a slash before them would be confusing.
        format!("{kind} {}", key.name())
    };
    if namespaced && !key.namespace().is_empty() { format!("{name} in {}", key.namespace()) } else { name }
}

fn has_several_namespaces(objects: &[TreeObject]) -> bool {
    let mut namespaces = objects.iter().map(|object| object.key.namespace()).filter(|namespace| !namespace.is_empty());
    let first = namespaces.next();
    namespaces.any(|namespace| Some(namespace) != first)
}

/// Folds many healthy leaves of one kind below one owner into the first few and a count.
fn folded(objects: &[TreeObject]) -> Vec<Line<'_>> {
    let is_leaf = |index: usize| objects.get(index + 1).is_none_or(|next| next.depth <= objects[index].depth);
    let is_plain = |index: usize| {
        let object = &objects[index];
        object.depth > 0 && object.health == Health::Healthy && object.present && is_leaf(index)
    };
    let mut lines = Vec::new();
    let mut index = 0;
    while index < objects.len() {
        let object = &objects[index];
        let alike = |other: usize| {
            let other_object = &objects[other];
            is_plain(other) && other_object.owner == object.owner && other_object.key.class() == object.key.class()
        };
        let run = (index..objects.len()).take_while(|other| alike(*other)).count();
        let shown = if run > NAMED + 1 { NAMED } else { run.max(1) };
        lines.extend(objects[index..index + shown].iter().map(Line::Object));
        if run > shown {
            let kind = object.key.class().rsplit('/').next().unwrap_or_default();
            lines.push(Line::Folded { depth: object.depth, kind, count: run - shown });
        }
        index += run.max(1);
    }
    lines
}

/// Returns the prefix of a line: branches on a terminal, spaces in a pipe.
fn branch(lines: &[Line<'_>], number: usize, screen: &Screen) -> String {
    let depth = lines[number].depth();
    if depth == 0 {
        return String::new();
    }
    if screen.width.is_none() {
        return "  ".repeat(depth);
    }
    let goes_on = |level: usize| {
        let after = lines[number + 1..].iter().map(Line::depth).find(|depth| *depth <= level);
        after == Some(level)
    };
    let mut branch = String::new();
    for level in 1..depth {
        branch.push_str(if goes_on(level) { "│  " } else { "   " });
    }
    branch.push_str(if goes_on(depth) { "├─ " } else { "└─ " });
    branch
}
