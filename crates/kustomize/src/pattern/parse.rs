//! Parses patterns. Patterns that Go rejects are rejected with the same words.

use std::sync::Arc;

use super::category::Category;
use super::class::{Class, DIGIT, Named, SPACE, Set, WORD, posix};
use super::letter_case::Cases;
use super::program::{MAX_STEPS, Place, TOO_LARGE, Tree};

/// The maximum number of repetitions, including nested ones.
const MAX_REPEAT: u32 = 1000;
/// The maximum nesting of groups.
const MAX_DEPTH: usize = 200;

type Parsed<T> = Result<T, &'static str>;

#[derive(Clone, Copy, Default)]
struct Flags {
    ignores_case: bool,
    by_lines: bool,
    dot_is_all: bool,
}

struct Parser<'p> {
    rest: &'p str,
    flags: Flags,
    depth: usize,
    /// The number of parts read so far.
    parts: usize,
    /// No later text closes the name of a class.
    has_no_names: bool,
}

pub(super) fn parse(pattern: &str) -> Parsed<Tree> {
    let mut parser = Parser { rest: pattern, flags: Flags::default(), depth: 0, parts: 0, has_no_names: false };
    let tree = parser.alternatives()?;
    if !parser.rest.is_empty() {
        return Err("unexpected )");
    }
    Ok(tree)
}

impl<'p> Parser<'p> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn eat(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Parses up to the end, or to the bracket that closes a group.
    fn alternatives(&mut self) -> Parsed<Tree> {
        let mut all = Vec::new();
        let mut one = Vec::new();
        loop {
            match self.peek() {
                None | Some(')') => break,
                Some('|') => {
                    self.next();
                    self.count()?;
                    all.push(Tree::All(std::mem::take(&mut one)));
                }
                Some(_) => self.piece(&mut one)?,
            }
        }
        all.push(Tree::All(one));
        Ok(if all.len() == 1 { all.remove(0) } else { Tree::Any(all) })
    }

    /// Parses one element, or a repetition of the one before it.
    fn piece(&mut self, one: &mut Vec<Tree>) -> Parsed<()> {
        if self.eat("\\Q") {
            let (literal, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
            self.rest = rest;
            for c in literal.chars() {
                self.count()?;
                one.push(self.character(c));
            }
            return Ok(());
        }
        if let Some((least, most)) = self.repetition()? {
            let tree = one.pop().ok_or("missing argument to repetition operator")?;
            one.push(repeat(tree, least, most)?);
            let mut ahead = Self { ..*self };
            return match ahead.repetition()? {
                Some(_) => Err("invalid nested repetition operator"),
                None => Ok(()),
            };
        }
        if let Some(tree) = self.atom()? {
            self.count()?;
            one.push(tree);
        }
        Ok(())
    }

    /// Counts one more part. This happens before the repetitions are known, because a parsed text
    /// is much larger than its source.
    fn count(&mut self) -> Parsed<()> {
        self.parts += 1;
        if self.parts > MAX_STEPS { Err(TOO_LARGE) } else { Ok(()) }
    }

    fn repetition(&mut self) -> Parsed<Option<(u32, Option<u32>)>> {
        let found = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                let Some((found, rest)) = counts(self.rest) else { return Ok(None) };
                let is_valid =
                    found.0 <= MAX_REPEAT && found.1.is_none_or(|most| most <= MAX_REPEAT && found.0 <= most);
                if !is_valid {
                    return Err("invalid repeat count");
                }
                self.rest = rest;
                self.eat("?");
                return Ok(Some(found));
            }
            _ => return Ok(None),
        };
        self.next();
        self.eat("?");
        Ok(Some(found))
    }

    fn atom(&mut self) -> Parsed<Option<Tree>> {
        let Some(c) = self.next() else { return Ok(None) };
        Ok(Some(match c {
            '(' => return self.group(),
            '[' => Tree::Class(Arc::new(self.brackets()?)),
            '.' => {
                let mut class = Class::new(true, false);
                if !self.flags.dot_is_all {
                    class.add('\n', '\n');
                }
                Tree::Class(Arc::new(class.finished()))
            }
            '^' => Tree::At(if self.flags.by_lines { Place::LineStart } else { Place::Start }),
            '$' => Tree::At(if self.flags.by_lines { Place::LineEnd } else { Place::End }),
            '\\' => self.escape()?,
            c => self.character(c),
        }))
    }

    fn character(&self, c: char) -> Tree {
        if !self.flags.ignores_case {
            return Tree::Character(c);
        }
        let mut class = Class::new(false, false);
        Cases::others(c).of(c).for_each(|c| class.add(c, c));
        Tree::Class(Arc::new(class.finished()))
    }

    fn group(&mut self) -> Parsed<Option<Tree>> {
        let outer = self.flags;
        if self.eat("?P<") || self.eat("?<") {
            let (name, rest) = self.rest.split_once('>').ok_or("invalid named capture")?;
            let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !is_name {
                return Err("invalid named capture");
            }
            self.rest = rest;
        } else if self.eat("?") && !self.set_flags()? {
            return Ok(None);
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("expression nests too deeply");
        }
        let tree = self.alternatives()?;
        self.depth -= 1;
        if !self.eat(")") {
            return Err("missing closing )");
        }
        self.flags = outer;
        Ok(Some(tree))
    }

    /// Parses flags and reports whether they apply to the group that follows; otherwise they apply
    /// to the rest of the enclosing group.
    fn set_flags(&mut self) -> Parsed<bool> {
        const UNSUPPORTED: &str = "invalid or unsupported Perl syntax";
        let (mut value, mut flags) = (true, self.flags);
        let mut is_empty = true;
        loop {
            match self.next().ok_or(UNSUPPORTED)? {
                'i' => flags.ignores_case = value,
                'm' => flags.by_lines = value,
                's' => flags.dot_is_all = value,
                'U' => {}
                '-' if value => {
                    value = false;
                    is_empty = true;
                    continue;
                }
                end @ (':' | ')') => {
                    // `(?-)` sets no flag and is an error; `(?)` and `(?:` are valid.
                    if is_empty && !value {
                        return Err(UNSUPPORTED);
                    }
                    self.flags = flags;
                    return Ok(end == ':');
                }
                _ => return Err(UNSUPPORTED),
            }
            is_empty = false;
        }
    }

    fn escape(&mut self) -> Parsed<Tree> {
        let place = match self.peek() {
            None => return Err("trailing backslash at end of expression"),
            Some('A') => Some(Place::Start),
            Some('z') => Some(Place::End),
            Some('b') => Some(Place::WordEdge),
            Some('B') => Some(Place::NoWordEdge),
            Some(_) => None,
        };
        if let Some(place) = place {
            self.next();
            return Ok(Tree::At(place));
        }
        if let Some(named) = self.named()? {
            let mut class = Class::new(false, self.flags.ignores_case);
            class.add_named(named);
            return Ok(Tree::Class(Arc::new(class.finished())));
        }
        let c = self.escaped()?;
        Ok(self.character(c))
    }

    /// Parses a named class after its backslash.
    fn named(&mut self) -> Parsed<Option<Named>> {
        let Some(c) = self.peek() else { return Ok(None) };
        let ranges = match c.to_ascii_lowercase() {
            'd' => DIGIT,
            's' => SPACE,
            'w' => WORD,
            'p' => {
                self.next();
                return self.category(c == 'P').map(Some);
            }
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(Named { set: Set::Ascii(ranges), is_negated: c.is_ascii_uppercase() }))
    }

    fn category(&mut self, mut is_negated: bool) -> Parsed<Named> {
        const UNKNOWN: &str = "invalid character class range";
        let name = if self.eat("{") {
            let (name, rest) = self.rest.split_once('}').ok_or(UNKNOWN)?;
            self.rest = rest;
            match name.strip_prefix('^') {
                Some(name) => {
                    is_negated = !is_negated;
                    name
                }
                None => name,
            }
        } else {
            let (name, rest) = self.rest.split_at(self.peek().ok_or(UNKNOWN)?.len_utf8());
            self.rest = rest;
            name
        };
        let set = Category::named(name).map(Set::Category).ok_or(UNKNOWN)?;
        Ok(Named { set, is_negated })
    }

    /// Parses an escaped character after its backslash.
    fn escaped(&mut self) -> Parsed<char> {
        const INVALID: &str = "invalid escape sequence";
        let c = self.next().ok_or("trailing backslash at end of expression")?;
        Ok(match c {
            'a' => '\x07',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            'x' => return self.hexadecimal().ok_or(INVALID),
            '1'..='7' if !self.peek().is_some_and(|c| c.is_digit(8)) => return Err(INVALID),
            '0'..='7' => {
                let mut code = c.to_digit(8).unwrap_or_default();
                for _ in 0..2 {
                    let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) else { break };
                    self.next();
                    code = code * 8 + digit;
                }
                char::from_u32(code).ok_or(INVALID)?
            }
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
            _ => return Err(INVALID),
        })
    }

    fn hexadecimal(&mut self) -> Option<char> {
        let digits = if self.eat("{") {
            let (digits, rest) = self.rest.split_once('}')?;
            self.rest = rest;
            digits
        } else {
            let digits = self.rest.get(..2)?;
            self.rest = &self.rest[2..];
            digits
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        char::from_u32(u32::from_str_radix(digits, 16).ok()?)
    }

    fn brackets(&mut self) -> Parsed<Class> {
        let is_negated = self.eat("^");
        let mut class = Class::new(is_negated, self.flags.ignores_case);
        let mut is_first = true;
        loop {
            match self.peek().ok_or("missing closing ]")? {
                ']' if !is_first => {
                    self.next();
                    return Ok(class.finished());
                }
                _ => {}
            }
            is_first = false;
            if let Some(named) = self.posix()? {
                class.add_named(named);
                continue;
            }
            if self.rest.starts_with('\\') {
                let before = self.rest;
                self.next();
                if let Some(named) = self.named()? {
                    class.add_named(named);
                    continue;
                }
                self.rest = before;
            }
            let low = self.class_character()?;
            let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]") && self.rest.len() > 1;
            let high = if is_range {
                self.next();
                self.class_character()?
            } else {
                low
            };
            if high < low {
                return Err("invalid character class range");
            }
            class.add(low, high);
        }
    }

    fn class_character(&mut self) -> Parsed<char> {
        match self.next().ok_or("missing closing ]")? {
            '\\' => self.escaped(),
            c => Ok(c),
        }
    }

    fn posix(&mut self) -> Parsed<Option<Named>> {
        let Some(inner) = self.rest.strip_prefix("[:").filter(|_| !self.has_no_names) else { return Ok(None) };
        let Some((name, rest)) = inner.split_once(":]") else {
            self.has_no_names = true;
            return Ok(None);
        };
        let (name, is_negated) = name.strip_prefix('^').map_or((name, false), |name| (name, true));
        let ranges = posix(name).ok_or("invalid character class range")?;
        self.rest = rest;
        Ok(Some(Named { set: Set::Ascii(ranges), is_negated }))
    }
}

/// Parses `{2}`, `{2,}` or `{2,3}`, and returns the rest. Anything else is literal text.
fn counts(text: &str) -> Option<((u32, Option<u32>), &str)> {
    let (least, rest) = number(text.strip_prefix('{')?)?;
    let (most, rest) = match rest.strip_prefix(',') {
        None => (Some(least), rest),
        Some(rest) if rest.starts_with('}') => (None, rest),
        Some(rest) => number(rest).map(|(most, rest)| (Some(most), rest))?,
    };
    Some(((least, most), rest.strip_prefix('}')?))
}

/// Parses a number at the beginning of a text, and returns the rest.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let is_number = !digits.is_empty() && (digits == "0" || !digits.starts_with('0'));
    // A number that does not fit is above the maximum anyway.
    is_number.then(|| (digits.parse().unwrap_or(u32::MAX), rest))
}

fn repeat(tree: Tree, least: u32, most: Option<u32>) -> Parsed<Tree> {
    let own = match (least, most) {
        (0 | 1, None) | (0, Some(1)) => 1,
        (least, None) => least,
        (_, Some(most)) => most,
    };
    let times = repeated(&tree).saturating_mul(own.max(1));
    if times > MAX_REPEAT {
        return Err("invalid repeat count");
    }
    Ok(Tree::Repeat { tree: Box::new(tree), least, most, times })
}

/// Returns how often the innermost element is repeated by counts.
fn repeated(tree: &Tree) -> u32 {
    match tree {
        Tree::Character(_) | Tree::Class(_) | Tree::At(_) => 1,
        Tree::All(trees) | Tree::Any(trees) => trees.iter().map(repeated).max().unwrap_or(1),
        Tree::Repeat { times, .. } => *times,
    }
}
