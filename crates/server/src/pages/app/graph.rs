//! The drawing of a resource tree: nodes from left to right, with elbow edges. The server computes
//! all places, so that the browser needs no script.

use askama::Template;
use askama::filters::HtmlSafe;
use setpoint_api::answer::{AppTree, TreeObject};
use setpoint_core::live::Health;

use super::super::marks::{Mark, Tone};
use super::super::words;

const CARD_WIDTH: usize = 212;
const CARD_HEIGHT: usize = 44;
/// The height of the line with the reason.
const REASON_HEIGHT: usize = 18;
const COLUMN_GAP: usize = 44;
const ROW_GAP: usize = 10;
const MARGIN: usize = 8;

/// The most nodes that are drawn before groups collapse.
const MOST_NODES: usize = 60;

/// The number of characters that fit on a card.
const NAME_LENGTH: usize = 25;
const REASON_LENGTH: usize = 32;

/// A drawn tree.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/graph.html")]
pub(super) struct Graph {
    title: String,
    /// The page with the list of the objects; empty if it is this one.
    list: String,
    width: usize,
    height: usize,
    cards: Vec<Card>,
    edges: Vec<String>,
}

impl HtmlSafe for Graph {}

/// A drawn node.
#[derive(Clone, Debug)]
struct Card {
    node: Node,
    x: usize,
    y: usize,
}

/// The content of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    kind: String,
    name: String,
    /// The text for tooltips and screen readers.
    full: String,
    mark: Mark,
    reason: String,
    /// The row of the list that has the details.
    row: Option<usize>,
    style: Style,
}

/// The style of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Root,
    Plain,
    Absent,
    Collapsed,
}

impl Node {
    fn height(&self) -> usize {
        CARD_HEIGHT + if self.reason.is_empty() { 0 } else { REASON_HEIGHT }
    }

    fn class(&self) -> &'static str {
        match self.style {
            Style::Root => "root",
            Style::Plain => "plain",
            Style::Absent => "absent",
            Style::Collapsed => "collapsed",
        }
    }

    /// Returns the offset of the reason from the top of the card.
    fn height_of_name(&self) -> usize {
        CARD_HEIGHT
    }

    fn short_name(&self) -> String {
        cut(&self.name, NAME_LENGTH)
    }

    fn short_reason(&self) -> String {
        cut(&self.reason, REASON_LENGTH)
    }
}

/// Returns the beginning of a text, or for names with a meaning at their end both ends of it.
fn cut(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let end = if text.contains(' ') { 0 } else { most / 3 };
    let start: String = text.chars().take(most - end - 1).collect();
    let end: String = text.chars().skip(length - end).collect();
    format!("{start}…{end}")
}

/// A node with the nodes that it owns.
#[derive(Clone, Debug)]
struct Branch {
    node: Node,
    /// Nodes of one class can collapse together.
    class: String,
    /// Healthy, present and as declared: nothing is lost when it is not drawn.
    calm: bool,
    children: Vec<Branch>,
}

impl Branch {
    fn size(&self) -> usize {
        1 + self.children.iter().map(Self::size).sum::<usize>()
    }

    fn is_calm(&self) -> bool {
        self.calm && self.children.iter().all(Self::is_calm)
    }
}

impl Graph {
    /// Lays out the objects of an app, to the right of the app itself. Cards lead to rows of the
    /// list.
    pub(super) fn of(tree: &AppTree, state: Mark, list: String) -> Self {
        let mut roots = branches(tree);
        collapse(&mut roots);
        let name = tree.app.name.to_string();
        let full = format!("{}, {}", tree.app, state.text);
        let node = Node {
            kind: "App".to_owned(),
            name,
            full,
            mark: state,
            reason: String::new(),
            row: None,
            style: Style::Root,
        };
        let root = Branch { node, class: String::new(), calm: false, children: roots };
        let mut drawing = Drawing::default();
        let height = drawing.draw(&root, 0, MARGIN) + 2 * MARGIN;
        let width = 2 * MARGIN + CARD_WIDTH + drawing.deepest * (CARD_WIDTH + COLUMN_GAP);
        let title = format!("Objects of {}: {}", tree.app, words::counted(tree.objects.len(), "object"));
        Self { title, list, width, height, cards: drawing.cards, edges: drawing.edges }
    }
}

/// Builds the branches of a tree whose objects are in display order.
fn branches(tree: &AppTree) -> Vec<Branch> {
    let mut open: Vec<(usize, Branch)> = Vec::new();
    let mut roots = Vec::new();
    let close = |open: &mut Vec<(usize, Branch)>, roots: &mut Vec<Branch>| {
        if let Some((_, branch)) = open.pop() {
            match open.last_mut() {
                Some((_, parent)) => parent.children.push(branch),
                None => roots.push(branch),
            }
        }
    };
    for (row, object) in tree.objects.iter().enumerate() {
        while open.last().is_some_and(|(depth, _)| *depth >= object.depth) {
            close(&mut open, &mut roots);
        }
        open.push((object.depth, branch(object, row, tree)));
    }
    while !open.is_empty() {
        close(&mut open, &mut roots);
    }
    roots
}

fn branch(object: &TreeObject, row: usize, tree: &AppTree) -> Branch {
    let drifted = tree.drifts.iter().any(|drift| drift.key == object.key);
    let reason = super::objects::why(object, tree);
    let mark = match object {
        TreeObject { present: false, .. } => Mark::new(Tone::Bad, "dash", "does not exist"),
        _ if drifted => Mark::warn("not as declared"),
        TreeObject { health, .. } => words::health(*health),
    };
    let full = format!("{} {}, {}", words::kind(&object.key), object.key.name(), mark.text);
    let reason = if object.present || !reason.is_empty() { reason } else { "does not exist".to_owned() };
    let calm = object.present && object.health == Health::Healthy && reason.is_empty();
    let style = if object.present { Style::Plain } else { Style::Absent };
    let (kind, name) = (words::kind(&object.key).to_owned(), object.key.name().to_owned());
    let node = Node { kind, name, full, mark, reason, row: Some(row), style };
    Branch { node, class: object.key.class().to_owned(), calm, children: Vec::new() }
}

/// Collapses ever more until the tree can be read: long runs of equal leaves always, then short
/// runs, then everything below healthy objects, then healthy objects.
fn collapse(roots: &mut Vec<Branch>) {
    let size = |roots: &[Branch]| roots.iter().map(Branch::size).sum::<usize>();
    collapse_leaves(roots, 6);
    if size(roots) > MOST_NODES {
        collapse_leaves(roots, 2);
    }
    if size(roots) > MOST_NODES {
        for root in roots.iter_mut().filter(|root| root.is_calm() && !root.children.is_empty()) {
            let count = root.children.iter().map(Branch::size).sum();
            root.children = vec![collapsed(count, "objects", "")];
        }
        collapse_leaves(roots, 2);
    }
    if size(roots) > MOST_NODES {
        // Stable: what needs attention comes first, the rest stays in its order.
        roots.sort_by_key(Branch::is_calm);
        let mut drawn = 0;
        let fits = |root: &Branch, drawn: &mut usize| {
            *drawn += root.size();
            *drawn <= MOST_NODES
        };
        let keep = roots.iter().take_while(|root| fits(root, &mut drawn)).count().max(1);
        let rest: usize = roots.drain(keep..).map(|root| root.size()).sum();
        if rest > 0 {
            roots.push(collapsed(rest, "objects", ""));
        }
    }
}

/// Replaces the calm leaves of one class below one owner by one node, if they are more than `most`.
fn collapse_leaves(branches: &mut Vec<Branch>, most: usize) {
    branches.iter_mut().for_each(|branch| collapse_leaves(&mut branch.children, most));
    let is_leaf = |branch: &Branch| branch.calm && branch.children.is_empty() && branch.node.style == Style::Plain;
    let mut classes: Vec<String> = branches.iter().filter(|b| is_leaf(b)).map(|b| b.class.clone()).collect();
    classes.sort();
    classes.dedup();
    for class in classes {
        let alike = |branch: &Branch| is_leaf(branch) && branch.class == class;
        let count = branches.iter().filter(|branch| alike(branch)).count();
        if count > most {
            let first = branches.iter().position(alike).unwrap_or_default();
            let kind = branches[first].node.kind.clone();
            branches[first] = collapsed(count, &plural(&kind), &class);
            branches.retain(|branch| !alike(branch));
        }
    }
}

fn plural(kind: &str) -> String {
    let es = ["s", "x", "ch", "sh"].iter().any(|end| kind.ends_with(end));
    match kind.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if es => format!("{kind}es"),
        _ => format!("{kind}s"),
    }
}

fn collapsed(count: usize, plural: &str, class: &str) -> Branch {
    let name = format!("+{} {plural}", words::number(count));
    let node = Node {
        kind: "all healthy".to_owned(),
        full: format!("{} more {plural}, all healthy", words::number(count)),
        name,
        mark: Mark::good("healthy"),
        reason: String::new(),
        row: None,
        style: Style::Collapsed,
    };
    Branch { node, class: class.to_owned(), calm: true, children: Vec::new() }
}

/// The cards and edges that are placed.
#[derive(Default)]
struct Drawing {
    cards: Vec<Card>,
    edges: Vec<String>,
    deepest: usize,
}

impl Drawing {
    /// Draws a branch at a depth, with its upper edge at `top`. Returns its height.
    fn draw(&mut self, branch: &Branch, depth: usize, top: usize) -> usize {
        self.deepest = self.deepest.max(depth);
        let own = branch.node.height();
        let below = total(&branch.children);
        let height = own.max(below);
        let x = MARGIN + depth * (CARD_WIDTH + COLUMN_GAP);
        let mut y = top + (height - below) / 2;
        let mut middles = Vec::new();
        for child in &branch.children {
            let taken = self.draw(child, depth + 1, y);
            middles.push(y + taken / 2);
            y += taken + ROW_GAP;
        }
        let middle = match (middles.first(), middles.last()) {
            // The app stays at the upper end of a tall tree, where the reader begins.
            (Some(first), Some(_)) if depth == 0 => (*first).max(top + own / 2),
            (Some(first), Some(last)) => usize::midpoint(*first, *last).clamp(top + own / 2, top + height - own / 2),
            _ => top + height / 2,
        };
        let right = x + CARD_WIDTH;
        self.edges.extend(middles.iter().map(|end| elbow(right, middle, right + COLUMN_GAP, *end)));
        self.cards.push(Card { node: branch.node.clone(), x, y: middle - own / 2 });
        height
    }
}

/// Returns the height of branches with the gaps between them.
fn total(branches: &[Branch]) -> usize {
    let heights: usize = branches.iter().map(|branch| branch.node.height().max(total(&branch.children))).sum();
    heights + ROW_GAP * branches.len().saturating_sub(1)
}

/// Returns the path from a card to one in the next column: two quarter turns, or a line.
fn elbow(x1: usize, y1: usize, x2: usize, y2: usize) -> String {
    let turn = x1 + (x2 - x1) / 2;
    let radius = 8.min(y1.abs_diff(y2) / 2);
    if radius == 0 {
        return format!("M{x1} {y1}H{x2}");
    }
    let (sign, before) = if y2 > y1 { ("", y2 - radius) } else { ("-", y2 + radius) };
    format!(
        "M{x1} {y1}H{}q{radius} 0 {radius} {sign}{radius}V{before}q0 {sign}{radius} {radius} {sign}{radius}H{x2}",
        turn - radius
    )
}

#[cfg(test)]
mod tests {
    use setpoint_api::canned::CannedAgent;
    use setpoint_core::key::Key;

    use super::*;

    fn object(class: &str, name: &str, depth: usize) -> TreeObject {
        TreeObject {
            key: Key::new(class, "web", name).unwrap(),
            depth,
            owner: None,
            declared: depth == 0,
            owned: depth == 0,
            present: true,
            health: Health::Healthy,
            reason: None,
            created: None,
        }
    }

    fn graph(objects: Vec<TreeObject>) -> Graph {
        let tree = AppTree { objects, drifts: Vec::new(), remarks: Vec::new(), ..CannedAgent::example().tree };
        Graph::of(&tree, Mark::good("converged"), String::new())
    }

    fn names(graph: &Graph) -> Vec<&str> {
        graph.cards.iter().map(|card| card.node.name.as_str()).collect()
    }

    #[test]
    fn objects_stand_to_the_right_of_their_owners() {
        let graph = graph(vec![
            object("apps/Deployment", "front", 0),
            object("apps/ReplicaSet", "front-1", 1),
            object("Pod", "front-1-a", 2),
            object("Service", "front", 0),
        ]);
        let x = |kind: &str| graph.cards.iter().find(|card| card.node.kind == kind).map(|card| card.x);
        assert_eq!([x("App"), x("Deployment"), x("Service")], [Some(8), Some(264), Some(264)]);
        assert_eq!([x("ReplicaSet"), x("Pod")], [Some(520), Some(776)]);
        assert_eq!((graph.width, graph.edges.len()), (996, 4));
    }

    #[test]
    fn cards_of_a_column_never_overlap() {
        let mut objects = Vec::new();
        for n in 0..6 {
            let reason = (n % 2 == 0).then(|| "container web: ImagePullBackOff".to_owned());
            objects.push(TreeObject { reason, ..object("apps/Deployment", &format!("d{n}"), 0) });
            objects.extend((0..n).map(|pod| object("Pod", &format!("d{n}-{pod}"), 1)));
        }
        let graph = graph(objects);
        let mut cards = graph.cards.clone();
        cards.sort_by_key(|card| (card.x, card.y));
        for pair in cards.windows(2).filter(|pair| pair[0].x == pair[1].x) {
            assert!(pair[0].y + pair[0].node.height() <= pair[1].y, "{pair:?}");
        }
        assert!(cards.iter().all(|card| card.y + card.node.height() <= graph.height));
    }

    #[test]
    fn equal_healthy_leaves_collapse_and_others_stay() {
        let mut objects = vec![object("apps/ReplicaSet", "front", 0)];
        objects.extend((0..14).map(|n| object("Pod", &format!("front-{n}"), 1)));
        objects.push(TreeObject { health: Health::Degraded, ..object("Pod", "front-bad", 1) });
        assert_eq!(names(&graph(objects)), ["+14 Pods", "front-bad", "front", "shop"]);
    }

    #[test]
    fn a_large_tree_is_reduced_to_a_size_that_can_be_read() {
        let mut objects = Vec::new();
        for n in 0..500 {
            objects.push(object("apps/Deployment", &format!("d{n}"), 0));
            objects.push(object("apps/ReplicaSet", &format!("d{n}-1"), 1));
        }
        let bad = TreeObject { health: Health::Degraded, ..object("apps/Deployment", "broken", 0) };
        objects.push(bad.clone());
        assert!(graph(objects.clone()).cards.len() <= MOST_NODES + 2);
        assert!(names(&graph(objects.clone())).contains(&"broken"));
        objects.extend((0..500).map(|n| TreeObject { key: object("Pod", &format!("p{n}"), 0).key, ..bad.clone() }));
        assert!(graph(objects).cards.len() <= MOST_NODES + 2);
    }

    #[test]
    fn edges_turn_in_both_directions() {
        assert_eq!(elbow(0, 10, 40, 10), "M0 10H40");
        assert_eq!(elbow(0, 10, 40, 50), "M0 10H12q8 0 8 8V42q0 8 8 8H40");
        assert_eq!(elbow(0, 50, 40, 10), "M0 50H12q8 0 8 -8V18q0 -8 8 -8H40");
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(cut("checkout-frontend-5f9c7d8b6-x2k1p", 15), "checkout-…x2k1p");
        assert_eq!(cut("the pods do not start", 10), "the pods …");
    }
}
