//! Runs a pattern as a set of steps that are all active at once: a text is read once, whatever the
//! pattern.

use std::sync::Arc;

use super::class::Class;
use super::letter_case::Cases;
use crate::limits::Budget;

/// The maximum number of steps, including those from repetitions.
pub(super) const MAX_STEPS: usize = 100_000;
pub(super) const TOO_LARGE: &str = "expression too large";

/// A parsed pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    Character(char),
    /// Shared by all of its repetitions.
    Class(Arc<Class>),
    At(Place),
    All(Vec<Tree>),
    Any(Vec<Tree>),
    Repeat {
        tree: Box<Tree>,
        least: u32,
        most: Option<u32>,
        /// The number of repetitions of the innermost element, by all counts around it.
        times: u32,
    },
}

impl Tree {
    fn class_bytes(&self) -> usize {
        match self {
            Self::Character(_) | Self::At(_) => 0,
            Self::Class(class) => class.bytes(),
            Self::All(trees) | Self::Any(trees) => trees.iter().map(Self::class_bytes).sum(),
            Self::Repeat { tree, .. } => tree.class_bytes(),
        }
    }
}

/// A place between characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Start,
    End,
    LineStart,
    LineEnd,
    WordEdge,
    NoWordEdge,
}

#[derive(Clone, Debug)]
enum Step {
    Character(char),
    Class(Arc<Class>),
    At(Place),
    Fork(usize, usize),
    Goto(usize),
    Match,
}

impl Step {
    /// Returns the cost of this step for one character.
    fn cost(&self) -> usize {
        match self {
            Self::Class(class) => 2 + class.cost(),
            _ => 2,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Program {
    steps: Vec<Step>,
    /// The number of parts of the pattern, counted once per repetition, including parts without an
    /// effect.
    parts: usize,
    /// The bytes of all classes, each counted once.
    class_bytes: usize,
    is_folded: bool,
}

/// The active steps, without duplicates.
struct States {
    order: Vec<usize>,
    seen: Vec<bool>,
    cost: usize,
    /// Steps still to be followed, while others are added.
    open: Vec<usize>,
}

impl States {
    fn new(size: usize) -> Self {
        Self { order: Vec::new(), seen: vec![false; size], cost: 0, open: Vec::new() }
    }

    fn clear(&mut self) {
        self.cost = 0;
        for at in self.order.drain(..) {
            self.seen[at] = false;
        }
    }
}

impl Program {
    pub(super) fn new(tree: &Tree) -> Result<Self, &'static str> {
        let mut program = Self { steps: Vec::new(), parts: 0, class_bytes: tree.class_bytes(), is_folded: false };
        program.add(tree)?;
        program.push(Step::Match)?;
        program.steps.shrink_to_fit();
        Ok(program)
    }

    /// Returns the bytes that the program takes. Parts without an effect count too, because they
    /// take time to compile.
    pub(super) fn bytes(&self) -> usize {
        self.steps.len() * size_of::<Step>() + self.class_bytes + self.parts
    }

    fn push(&mut self, step: Step) -> Result<usize, &'static str> {
        if self.steps.len() >= MAX_STEPS {
            return Err(TOO_LARGE);
        }
        self.steps.push(step);
        Ok(self.steps.len() - 1)
    }

    fn add(&mut self, tree: &Tree) -> Result<(), &'static str> {
        self.parts += 1;
        if self.parts > 4 * MAX_STEPS {
            return Err(TOO_LARGE);
        }
        match tree {
            Tree::Character(c) => {
                self.push(Step::Character(*c))?;
            }
            Tree::Class(class) => {
                self.is_folded |= class.is_folded();
                self.push(Step::Class(Arc::clone(class)))?;
            }
            Tree::At(place) => {
                self.push(Step::At(*place))?;
            }
            Tree::All(trees) => trees.iter().try_for_each(|tree| self.add(tree))?,
            Tree::Any(trees) => self.alternatives(trees)?,
            Tree::Repeat { tree, least, most, .. } => self.repeat(tree, *least, *most)?,
        }
        Ok(())
    }

    fn alternatives(&mut self, trees: &[Tree]) -> Result<(), &'static str> {
        let mut ends = Vec::new();
        for (at, tree) in trees.iter().enumerate() {
            let is_last = at + 1 == trees.len();
            let fork = if is_last { None } else { Some(self.push(Step::Fork(0, 0))?) };
            self.add(tree)?;
            if let Some(fork) = fork {
                ends.push(self.push(Step::Goto(0))?);
                self.steps[fork] = Step::Fork(fork + 1, self.steps.len());
            }
        }
        for end in ends {
            self.steps[end] = Step::Goto(self.steps.len());
        }
        Ok(())
    }

    fn repeat(&mut self, tree: &Tree, least: u32, most: Option<u32>) -> Result<(), &'static str> {
        for _ in 0..least {
            self.add(tree)?;
        }
        match most {
            None => {
                let fork = self.push(Step::Fork(0, 0))?;
                self.add(tree)?;
                self.push(Step::Goto(fork))?;
                self.steps[fork] = Step::Fork(fork + 1, self.steps.len());
            }
            Some(most) => {
                let mut forks = Vec::new();
                for _ in least..most {
                    forks.push(self.push(Step::Fork(0, 0))?);
                    self.add(tree)?;
                }
                for fork in forks {
                    self.steps[fork] = Step::Fork(fork + 1, self.steps.len());
                }
            }
        }
        Ok(())
    }

    pub(super) fn is_match(&self, text: &str, budget: &Budget) -> bool {
        budget.spend(10 + self.steps.len() / 4);
        let mut now = States::new(self.steps.len());
        let mut then = States::new(self.steps.len());
        let mut before = None;
        let mut rest = text.chars();
        loop {
            let next = rest.clone().next();
            if self.reach(0, before, next, &mut now) {
                return true;
            }
            let Some(c) = rest.next() else { return false };
            if budget.steps(now.cost).is_err() {
                return false;
            }
            let after = rest.clone().next();
            let cases = if self.is_folded { Cases::others(c) } else { Cases::none() };
            for &at in &now.order {
                let is_passed = match &self.steps[at] {
                    Step::Character(own) => *own == c,
                    Step::Class(class) => class.has(c, &cases),
                    _ => false,
                };
                if is_passed && self.reach(at + 1, Some(c), after, &mut then) {
                    return true;
                }
            }
            now.clear();
            std::mem::swap(&mut now, &mut then);
            before = Some(c);
        }
    }

    /// Adds a step and all steps reachable from it without reading a character. Reports whether the
    /// end is among them.
    fn reach(&self, from: usize, before: Option<char>, next: Option<char>, states: &mut States) -> bool {
        states.open.push(from);
        while let Some(at) = states.open.pop() {
            if std::mem::replace(&mut states.seen[at], true) {
                continue;
            }
            let step = &self.steps[at];
            states.order.push(at);
            states.cost += step.cost();
            match step {
                Step::Match => return true,
                Step::Goto(to) => states.open.push(*to),
                Step::Fork(one, other) => states.open.extend([*other, *one]),
                Step::At(place) if place.is_between(before, next) => states.open.push(at + 1),
                Step::At(_) | Step::Character(_) | Step::Class(_) => {}
            }
        }
        false
    }
}

impl Place {
    fn is_between(self, before: Option<char>, next: Option<char>) -> bool {
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        match self {
            Self::Start => before.is_none(),
            Self::End => next.is_none(),
            Self::LineStart => before.is_none_or(|c| c == '\n'),
            Self::LineEnd => next.is_none_or(|c| c == '\n'),
            Self::WordEdge => is_word(before) != is_word(next),
            Self::NoWordEdge => is_word(before) == is_word(next),
        }
    }
}
