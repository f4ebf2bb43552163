//! A pattern as steps, all of which that are possible are taken at once: a text is read once, whatever the pattern.

use super::class::Class;
use crate::limits::Budget;

/// More are refused.
const MAX_STEPS: usize = 100_000;

/// A pattern as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    Class(Class),
    At(Place),
    All(Vec<Tree>),
    Any(Vec<Tree>),
    Repeat { tree: Box<Tree>, least: u32, most: Option<u32> },
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
    Class(Class),
    At(Place),
    Fork(usize, usize),
    Goto(usize),
    Match,
}

#[derive(Clone, Debug)]
pub(super) struct Program {
    steps: Vec<Step>,
}

/// Steps that are possible now, each once.
struct States {
    order: Vec<usize>,
    seen: Vec<bool>,
}

impl States {
    fn new(size: usize) -> Self {
        Self { order: Vec::new(), seen: vec![false; size] }
    }

    fn clear(&mut self) {
        for at in self.order.drain(..) {
            self.seen[at] = false;
        }
    }
}

impl Program {
    pub(super) fn new(tree: &Tree) -> Result<Self, &'static str> {
        let mut program = Self { steps: Vec::new() };
        program.add(tree)?;
        program.push(Step::Match)?;
        Ok(program)
    }

    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    fn push(&mut self, step: Step) -> Result<usize, &'static str> {
        if self.steps.len() >= MAX_STEPS {
            return Err("expression too large");
        }
        self.steps.push(step);
        Ok(self.steps.len() - 1)
    }

    fn add(&mut self, tree: &Tree) -> Result<(), &'static str> {
        match tree {
            Tree::Class(class) => {
                self.push(Step::Class(class.clone()))?;
            }
            Tree::At(place) => {
                self.push(Step::At(*place))?;
            }
            Tree::All(trees) => trees.iter().try_for_each(|tree| self.add(tree))?,
            Tree::Any(trees) => self.alternatives(trees)?,
            Tree::Repeat { tree, least, most } => self.repeat(tree, *least, *most)?,
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
            if budget.steps(2 * now.order.len()).is_err() {
                return false;
            }
            let after = rest.clone().next();
            for &at in &now.order {
                if let Step::Class(class) = &self.steps[at]
                    && class.has(c)
                    && self.reach(at + 1, Some(c), after, &mut then)
                {
                    return true;
                }
            }
            now.clear();
            std::mem::swap(&mut now, &mut then);
            before = Some(c);
        }
    }

    /// Adds a step and all that follow from it without reading. Whether the end is among them.
    fn reach(&self, from: usize, before: Option<char>, next: Option<char>, states: &mut States) -> bool {
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut states.seen[at], true) {
                continue;
            }
            states.order.push(at);
            match &self.steps[at] {
                Step::Match => return true,
                Step::Goto(to) => open.push(*to),
                Step::Fork(one, other) => open.extend([*other, *one]),
                Step::At(place) if place.is_between(before, next) => open.push(at + 1),
                Step::At(_) | Step::Class(_) => {}
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
