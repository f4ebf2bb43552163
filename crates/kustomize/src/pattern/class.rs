//! Sets of characters: bracket expressions and named classes.

use super::category::Category;
use super::letter_case::Cases;

/// A set of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Class {
    /// Sorted and disjoint.
    ranges: Vec<(char, char)>,
    /// Without duplicates.
    named: Vec<Named>,
    is_negated: bool,
    /// Case-insensitive.
    is_folded: bool,
}

/// A named set, or its complement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) set: Set,
    pub(super) is_negated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    Ascii(&'static [(char, char)]),
    Category(Category),
}

pub(super) const DIGIT: &[(char, char)] = &[('0', '9')];
pub(super) const SPACE: &[(char, char)] = &[('\t', '\n'), ('\x0c', '\r'), (' ', ' ')];
pub(super) const WORD: &[(char, char)] = &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];

/// Returns the class of a name between `[:` and `:]`.
pub(super) fn posix(name: &str) -> Option<&'static [(char, char)]> {
    Some(match name {
        "alnum" => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        "alpha" => &[('A', 'Z'), ('a', 'z')],
        "ascii" => &[('\0', '\x7f')],
        "blank" => &[('\t', '\t'), (' ', ' ')],
        "cntrl" => &[('\0', '\x1f'), ('\x7f', '\x7f')],
        "digit" => DIGIT,
        "graph" => &[('!', '~')],
        "lower" => &[('a', 'z')],
        "print" => &[(' ', '~')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "space" => &[('\t', '\r'), (' ', ' ')],
        "upper" => &[('A', 'Z')],
        "word" => WORD,
        "xdigit" => &[('0', '9'), ('A', 'F'), ('a', 'f')],
        _ => return None,
    })
}

impl Named {
    fn has(self, c: char, cases: &Cases) -> bool {
        let is_in = |c| match self.set {
            Set::Ascii(ranges) => ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)),
            Set::Category(category) => category.has(c),
        };
        cases.of(c).any(is_in) != self.is_negated
    }
}

impl Class {
    pub(super) fn new(is_negated: bool, is_folded: bool) -> Self {
        Self { ranges: Vec::new(), named: Vec::new(), is_negated, is_folded }
    }

    /// Adds a range. Duplicates take no additional memory.
    pub(super) fn add(&mut self, low: char, high: char) {
        if self.ranges.len() == self.ranges.capacity() {
            self.tidy();
            // The capacity doubles before the next cleanup.
            self.ranges.reserve(1 + self.ranges.len());
        }
        self.ranges.push((low, high));
    }

    pub(super) fn add_named(&mut self, named: Named) {
        if !self.named.contains(&named) {
            self.named.push(named);
        }
    }

    /// Completes the class, so that it can be searched.
    pub(super) fn finished(mut self) -> Self {
        self.tidy();
        self.ranges.shrink_to_fit();
        self
    }

    fn tidy(&mut self) {
        self.ranges.sort_unstable();
        self.ranges.dedup_by(|next, kept| {
            let is_joined = u32::from(next.0) <= u32::from(kept.1) + 1;
            if is_joined {
                kept.1 = kept.1.max(next.1);
            }
            is_joined
        });
    }

    /// Returns the number of steps to search for a character.
    pub(super) fn cost(&self) -> usize {
        let searched = self.ranges.len().checked_ilog2().map_or(0, |times| times as usize);
        let once = 1 + searched / 2 + 2 * self.named.len();
        if self.is_folded { once * 2 } else { once }
    }

    /// Returns the bytes that the class takes.
    pub(super) fn bytes(&self) -> usize {
        let (range, named) = (size_of::<(char, char)>(), size_of::<Named>());
        size_of::<Self>() + self.ranges.capacity() * range + self.named.capacity() * named
    }

    pub(super) fn is_folded(&self) -> bool {
        self.is_folded
    }

    /// Reports whether the class has a character. `cases` has all of its cases if any class is
    /// case-insensitive.
    pub(super) fn has(&self, c: char, cases: &Cases) -> bool {
        let plain = Cases::none();
        let cases = if self.is_folded { cases } else { &plain };
        let is_in = cases.of(c).any(|c| self.is_in_range(c)) || self.named.iter().any(|named| named.has(c, cases));
        is_in != self.is_negated
    }

    fn is_in_range(&self, c: char) -> bool {
        let behind = self.ranges.partition_point(|(low, _)| *low <= c);
        behind > 0 && c <= self.ranges[behind - 1].1
    }
}
