//! Limits on the cost of one build. All counts follow from the files alone, never from a clock: the
//! same files are rejected with the same words everywhere.
//!
//! A build holds one [`Budget`]. Code that walks resources, or adds to them, spends from it.
//!
//! A caller may have less time than a build takes. For this there is a flag
//! ([`Budget::stopped_by`]), which the budget checks at each expense: once it is set, the build
//! ends with [`Exceeded::Stopped`]. This is no limit and no verdict on the files: they are neither
//! built nor rejected. As long as the flag is not set, it does not change the build.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::node::{Content, Map, Node};

/// The limits of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Kustomizations, each counted once per reference: a base that two bases name, each of which
    /// two more name, doubles at each level.
    pub kustomizations: u64,
    /// The deepest nesting of bases.
    pub depth: usize,
    /// Resources in memory at the same time.
    pub resources: u64,
    /// Bytes of files, counted each time a file is read.
    pub read_bytes: u64,
    /// Bytes of all nodes: [`NODE`] each, plus its text. A text shared by many nodes counts in each
    /// of them, because it is written for each.
    pub held_bytes: u64,
    /// Nodes visited by patches, selectors, field specs, replacements and references: about twenty
    /// nanoseconds each.
    pub steps: u64,
    /// Bytes of output.
    pub output_bytes: u64,
}

impl Limits {
    /// Generous for real inputs: ten thousand resources through ten levels of bases take less than
    /// a tenth of each limit. `cargo xtask bench render limits` measures inputs made to reach the
    /// limits: at most about ten seconds of one processor, and 600 MiB.
    pub const DEFAULT: Self = Self {
        kustomizations: 10_000,
        depth: 100,
        resources: 50_000,
        read_bytes: 64 << 20,
        held_bytes: 512 << 20,
        steps: 500_000_000,
        output_bytes: 128 << 20,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The bytes that a node takes in addition to its text.
pub(crate) const NODE: usize = 96;

/// The bytes of text that one step covers.
pub(crate) const BYTES: usize = 8;

/// The maximum number of fields at the top of a resource, and in its metadata. Each selector and
/// field spec finds these fields by a linear search. No real kind has nearly as many; labels,
/// annotations and data are below these levels and not limited.
pub const MOST_FIELDS: usize = 1_000;

/// A search among so few fields is included in the cost of its caller.
const FEW_FIELDS: usize = 32;

/// Returns the number of steps to find one of `fields` fields.
pub(crate) const fn found_among(fields: usize) -> usize {
    if fields > FEW_FIELDS { fields } else { fields / 8 }
}

/// Returns the number of steps to read the identity of a resource.
pub(crate) fn named(resource: &Node) -> usize {
    let (top, metadata) = fields(resource);
    found_among(top) + found_among(metadata)
}

/// Returns the number of fields at the top of a resource, and in its metadata.
fn fields(resource: &Node) -> (usize, usize) {
    let Some(top) = resource.as_map() else { return (0, 0) };
    (top.len(), top.get("metadata").and_then(Node::as_map).map_or(0, Map::len))
}

/// One of the [`Limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Kustomizations,
    Depth,
    Resources,
    Read,
    Held,
    Steps,
    Output,
    /// [`MOST_FIELDS`] of one resource.
    Fields,
    /// A single text is too large, too deep, or has too many nodes or aliases. These are limits of
    /// the reader.
    Text,
}

/// The reason why a build ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    /// The build exceeds a limit.
    Limit { limit: Limit, most: u64 },
    /// The caller stopped the build. It may succeed at another time.
    Stopped,
}

impl Exceeded {
    /// Returns the limit, unless the build was stopped.
    pub fn limit(&self) -> Option<Limit> {
        match self {
            Self::Limit { limit, .. } => Some(*limit),
            Self::Stopped => None,
        }
    }
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Limit { limit, most } = self else {
            return f.write_str("the build was stopped before it was done: try again");
        };
        match limit {
            Limit::Kustomizations => write!(
                f,
                "more than {most} kustomizations are built, each as often as it is named: name fewer, or split the app"
            ),
            Limit::Depth => write!(f, "more than {most} bases name each other: name fewer"),
            Limit::Resources => write!(f, "there are more than {most} resources: split the app"),
            Limit::Read => write!(
                f,
                "more than {most} bytes of files are read, each file as often as it is named: name fewer, or split the app"
            ),
            Limit::Held => {
                write!(f, "the resources grow to more than {most} bytes: put less into them, or split the app")
            }
            Limit::Steps => write!(
                f,
                "the build takes more than {most} steps: use fewer patches, replacements and field specs, let them select less, or split the app"
            ),
            Limit::Fields => write!(
                f,
                "a resource has more than {most} fields at its top or in its metadata: move them below one field"
            ),
            Limit::Text => write!(f, "the text has more than {most} nodes, with those of its aliases: split it"),
            Limit::Output => write!(f, "more than {most} bytes are written: split the app"),
        }
    }
}

impl std::error::Error for Exceeded {}

/// The amounts that a build has spent.
#[derive(Debug, Default)]
pub struct Budget {
    limits: Limits,
    kustomizations: Cell<u64>,
    read: Cell<u64>,
    held: Cell<u64>,
    steps: Cell<u64>,
    stop: Option<Arc<AtomicBool>>,
    /// The budget has reported that the build is stopped. This is permanent, even if the flag is
    /// cleared.
    is_stopped: Cell<bool>,
}

impl Budget {
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Sets a flag that stops the build, from any thread.
    pub fn stopped_by(self, stop: Option<Arc<AtomicBool>>) -> Self {
        Self { stop, ..self }
    }

    /// Reports whether the budget has stopped the build. Errors found after that may be due to the
    /// stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.get()
    }

    fn go_on(&self) -> Result<(), Exceeded> {
        if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            self.is_stopped.set(true);
        }
        if self.is_stopped.get() { Err(Exceeded::Stopped) } else { Ok(()) }
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Counts one more kustomization, at this depth.
    pub(crate) fn kustomization(&self, depth: usize) -> Result<(), Exceeded> {
        check(Limit::Depth, depth as u64, self.limits.depth as u64)?;
        check(Limit::Kustomizations, add(&self.kustomizations, 1), self.limits.kustomizations)
    }

    /// Checks the number of resources in memory.
    pub(crate) fn resources(&self, count: usize) -> Result<(), Exceeded> {
        check(Limit::Resources, count as u64, self.limits.resources)
    }

    pub(crate) fn read(&self, bytes: usize) -> Result<(), Exceeded> {
        self.go_on()?;
        check(Limit::Read, add(&self.read, bytes), self.limits.read_bytes)
    }

    /// Counts bytes added to the resources.
    pub(crate) fn hold(&self, bytes: usize) -> Result<(), Exceeded> {
        self.go_on()?;
        check(Limit::Held, add(&self.held, bytes), self.limits.held_bytes)
    }

    /// Counts one more node with a text.
    pub(crate) fn hold_text(&self, text: &str) -> Result<(), Exceeded> {
        self.hold(NODE + text.len())
    }

    /// Updates the count for a resource that changed in size.
    pub(crate) fn grow(&self, before: Weight, after: &Node) -> Result<(), Exceeded> {
        self.fields(after)?;
        self.release(before.bytes);
        self.hold(Weight::of(after).bytes)
    }

    /// Checks the number of fields of a resource: reading its identity, which happens often,
    /// searches them.
    pub(crate) fn fields(&self, resource: &Node) -> Result<(), Exceeded> {
        let (top, metadata) = fields(resource);
        check(Limit::Fields, top.max(metadata) as u64, MOST_FIELDS as u64)
    }

    /// Subtracts bytes that were released.
    pub(crate) fn release(&self, bytes: usize) {
        self.held.set(self.held.get().saturating_sub(bytes as u64));
    }

    pub(crate) fn steps(&self, count: usize) -> Result<(), Exceeded> {
        self.go_on()?;
        check(Limit::Steps, add(&self.steps, count), self.limits.steps)
    }

    /// Counts steps without checking the limit; the next call of `steps` reports an excess.
    pub(crate) fn spend(&self, count: usize) {
        add(&self.steps, count);
    }

    pub(crate) fn output(&self, bytes: usize) -> Result<(), Exceeded> {
        check(Limit::Output, bytes as u64, self.limits.output_bytes)
    }

    /// Returns the amounts spent, for measurements.
    pub fn spent(&self) -> Spent {
        Spent {
            kustomizations: self.kustomizations.get(),
            read_bytes: self.read.get(),
            held_bytes: self.held.get(),
            steps: self.steps.get(),
        }
    }
}

/// The amounts that a build has spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub kustomizations: u64,
    pub read_bytes: u64,
    pub held_bytes: u64,
    pub steps: u64,
}

fn add(cell: &Cell<u64>, count: usize) -> u64 {
    let sum = cell.get().saturating_add(count as u64);
    cell.set(sum);
    sum
}

fn check(limit: Limit, count: u64, most: u64) -> Result<(), Exceeded> {
    if count > most { Err(Exceeded::Limit { limit, most }) } else { Ok(()) }
}

/// The number of nodes of a tree, and its bytes as in [`Limits::held_bytes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) nodes: usize,
    pub(crate) bytes: usize,
}

impl Weight {
    pub(crate) fn of(node: &Node) -> Self {
        let mut weight = Self::default();
        weight.add(node);
        weight.bytes = weight.bytes.saturating_add(weight.nodes * NODE);
        weight
    }

    /// Returns the bytes of texts and names alone.
    pub(crate) fn texts(self) -> usize {
        self.bytes.saturating_sub(self.nodes * NODE)
    }

    fn add(&mut self, node: &Node) {
        self.nodes += 1;
        match &node.content {
            Content::Scalar(scalar) => self.bytes = self.bytes.saturating_add(scalar.text.len()),
            Content::Seq(items) => items.iter().for_each(|item| self.add(item)),
            Content::Map(map) => {
                for (name, node) in map.iter() {
                    self.bytes = self.bytes.saturating_add(name.len());
                    self.add(node);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::Origin;
    use crate::read::read_document;

    #[test]
    fn a_limit_holds_what_it_says_and_no_more() {
        let budget = Budget::new(Limits { steps: 10, held_bytes: 100, ..Limits::default() });
        assert_eq!(budget.steps(10), Ok(()));
        assert_eq!(budget.steps(1), Err(Exceeded::Limit { limit: Limit::Steps, most: 10 }));
        assert_eq!(budget.hold(100), Ok(()));
        budget.release(50);
        assert_eq!(budget.hold(50), Ok(()));
        assert_eq!(budget.hold(1), Err(Exceeded::Limit { limit: Limit::Held, most: 100 }));
        assert_eq!(
            Budget::default().steps(usize::MAX),
            Err(Exceeded::Limit { limit: Limit::Steps, most: 500_000_000 })
        );
    }

    #[test]
    fn what_is_spent_is_told_when_more_is_asked_for() {
        let budget = Budget::new(Limits { steps: 10, ..Limits::default() });
        budget.spend(11);
        assert!(budget.steps(0).is_err());
    }

    #[test]
    fn a_budget_that_is_stopped_gives_nothing_more_and_says_so() {
        let stop = Arc::new(AtomicBool::new(false));
        let budget = Budget::default().stopped_by(Some(Arc::clone(&stop)));
        assert_eq!((budget.steps(1), budget.read(1), budget.hold(1)), (Ok(()), Ok(()), Ok(())));
        assert!(!budget.is_stopped());
        stop.store(true, Ordering::Relaxed);
        let stopped = Err(Exceeded::Stopped);
        assert_eq!((budget.steps(0), budget.read(0), budget.hold(0)), (stopped, stopped, stopped));
        stop.store(false, Ordering::Relaxed);
        assert_eq!(budget.steps(0), stopped);
        assert!(budget.is_stopped());
    }

    #[test]
    fn many_fields_are_looked_through_for_their_number_and_few_for_nothing_more() {
        let of = |top: usize, metadata: usize| {
            let fields = |count: usize| (0..count).map(|at| format!("f{at}: 0, ")).collect::<String>();
            let text = format!("{{metadata: {{{}}}, {}}}", fields(metadata), fields(top - 1));
            read_document("a.yaml", &text, Origin::default()).unwrap().unwrap()
        };
        assert_eq!((named(&of(4, 3)), named(&of(40, 3)), named(&of(4, 40))), (0, 40, 40));
        let exceeded = Err(Exceeded::Limit { limit: Limit::Fields, most: MOST_FIELDS as u64 });
        let budget = Budget::default();
        assert_eq!(budget.fields(&of(MOST_FIELDS, MOST_FIELDS)), Ok(()));
        assert_eq!(budget.fields(&of(MOST_FIELDS + 1, 1)), exceeded);
        assert_eq!(budget.fields(&of(1, MOST_FIELDS + 1)), exceeded);
    }

    #[test]
    fn a_weight_is_that_of_all_nodes_and_texts() {
        let node = read_document("a.yaml", "{a: [bc, d], e: null}", Origin::default()).unwrap().unwrap();
        assert_eq!(Weight::of(&node), Weight { nodes: 5, bytes: 5 * NODE + 5 + "null".len() });
    }
}
