//! Parses expressions: `${NAME}` and the functions on its value, as fluxcd/pkg/envsubst does. A
//! text is parsed part by part, so that a caller may skip a part with an error and continue after
//! it.
//!
//! Some rules of the reference differ from those of a shell. In a text `$$` is one dollar sign; in
//! a default it is two. An argument is a text or one expression, never both; only a default may
//! have any number of them. A pattern to be replaced ends at `/` and may contain `}`.

use std::borrow::Cow;

use super::problem::{Fault, Problem, TOLD};

/// The maximum nesting of expressions.
const DEEPEST: usize = 32;

#[derive(Debug)]
pub(super) enum Part<'t> {
    Text(Cow<'t, str>),
    Expression(Expression<'t>),
}

#[derive(Debug)]
pub(super) struct Expression<'t> {
    /// From `${` to `}`.
    pub(super) written: &'t str,
    pub(super) name: &'t str,
    pub(super) function: Function<'t>,
}

/// The function applied to the value of a variable.
#[derive(Debug)]
pub(super) enum Function<'t> {
    Nothing,
    Length,
    Case { is_upper: bool, is_first_only: bool },
    Default { if_empty: bool, parts: Vec<Part<'t>> },
    Substring { from: Box<Part<'t>>, length: Option<Box<Part<'t>>> },
    Trim { end: End, is_longest: bool, pattern: Box<Part<'t>> },
    Replace { which: Which, old: Box<Part<'t>>, new: Option<Box<Part<'t>>> },
}

#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    Start,
    End,
}

/// The matches that are replaced.
#[derive(Clone, Copy, Debug)]
pub(super) enum Which {
    First,
    All,
    At(End),
}

/// The meaning of a dollar sign or a backslash in a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    None,
    /// `$$` is `$`.
    Dollars,
    /// As `Dollars`; also `\/` is `/`, `\\` is `\`.
    All,
}

/// An iterator over the parts of a text. After an error it continues behind the `${`.
pub(super) struct Parts<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Parts<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn eat(&mut self, wanted: &str) -> bool {
        let is_there = self.rest().starts_with(wanted);
        if is_there {
            self.at += wanted.len();
        }
        is_there
    }

    /// Returns the variable name after `${`, as far as it can be parsed.
    pub(super) fn name_ahead(&self) -> &'t str {
        let rest = self.rest();
        name_of(rest.strip_prefix('#').unwrap_or(rest))
    }

    /// Parses an expression after its `${`.
    fn expression(&mut self) -> Result<Expression<'t>, Problem> {
        let start = self.at - 2;
        if self.depth == DEEPEST {
            return Err(Problem::TooDeep(DEEPEST));
        }
        self.depth += 1;
        let (name, function) = if self.eat("#") {
            (self.name()?, self.closed(Function::Length)?)
        } else {
            (self.name()?, self.function()?)
        };
        self.depth -= 1;
        Ok(Expression { written: &self.text[start..self.at], name, function })
    }

    fn name(&mut self) -> Result<&'t str, Problem> {
        match name_of(self.rest()) {
            "" => Err(Problem::NoName),
            name => {
                self.at += name.len();
                Ok(name)
            }
        }
    }

    /// Parses the function after the name, and the closing brace.
    fn function(&mut self) -> Result<Function<'t>, Problem> {
        match self.peek() {
            Some(':') => self.default_or_substring(),
            // As the reference implements it: also if the variable is empty, although its
            // documentation says "not set".
            Some('=') => self.default(true, 1),
            // The reference documents this form but cannot parse it.
            Some('-') => self.default(false, 1),
            Some('+' | '?') => Err(Problem::Unsupported),
            Some(letter @ (',' | '^')) => self.case(letter),
            Some('/') => self.replace(),
            Some('#') => self.trim("#", End::Start),
            Some('%') => self.trim("%", End::End),
            _ if self.eat("}") => Ok(Function::Nothing),
            _ => Err(Problem::NoBrace),
        }
    }

    fn default_or_substring(&mut self) -> Result<Function<'t>, Problem> {
        match self.rest().chars().nth(1) {
            Some('=' | '-') => self.default(true, 2),
            Some('+' | '?') => Err(Problem::Unsupported),
            Some(other) if other.is_ascii() => self.substring(),
            // The reference loses its position here.
            _ => Err(Problem::Bad),
        }
    }

    fn default(&mut self, if_empty: bool, length: usize) -> Result<Function<'t>, Problem> {
        self.at += length;
        let mut parts = Vec::new();
        while !self.eat("}") {
            parts.push(self.argument(Escapes::None, |c| c == '}')?);
        }
        Ok(Function::Default { if_empty, parts })
    }

    fn substring(&mut self) -> Result<Function<'t>, Problem> {
        self.at += 1;
        let from = Box::new(self.argument(Escapes::None, |c| matches!(c, ':' | '}'))?);
        if self.eat("}") {
            return Ok(Function::Substring { from, length: None });
        }
        self.delimiter(':')?;
        let length = Some(Box::new(self.argument(Escapes::None, |c| c == '}')?));
        self.closed(Function::Substring { from, length })
    }

    fn case(&mut self, letter: char) -> Result<Function<'t>, Problem> {
        self.at += 1;
        let is_first_only = self.peek() != Some(letter);
        self.at += usize::from(!is_first_only);
        self.closed(Function::Case { is_upper: letter == '^', is_first_only })
    }

    fn trim(&mut self, sign: &str, end: End) -> Result<Function<'t>, Problem> {
        self.at += 1;
        let is_longest = self.eat(sign);
        let pattern = Box::new(self.argument(Escapes::None, |c| c == '}')?);
        self.closed(Function::Trim { end, is_longest, pattern })
    }

    fn replace(&mut self) -> Result<Function<'t>, Problem> {
        self.at += 1;
        let signs = [("/", Which::All), ("#", Which::At(End::Start)), ("%", Which::At(End::End))];
        let which = signs.into_iter().find(|(sign, _)| self.eat(sign)).map_or(Which::First, |(_, which)| which);
        let old = Box::new(self.argument(Escapes::All, |c| c == '/')?);
        self.delimiter('/')?;
        if self.eat("}") {
            return match which {
                // The reference does nothing at all in this case.
                Which::At(_) => Err(Problem::NothingInPlace),
                _ => Ok(Function::Replace { which, old, new: None }),
            };
        }
        let new = Some(Box::new(self.argument(Escapes::All, |c| c == '}')?));
        self.closed(Function::Replace { which, old, new })
    }

    /// Parses an argument: one expression, or a non-empty text.
    fn argument(&mut self, escapes: Escapes, stops: impl Fn(char) -> bool) -> Result<Part<'t>, Problem> {
        if self.eat("${") {
            return self.expression().map(Part::Expression);
        }
        let start = self.at;
        let text = self.literal(escapes, stops);
        if self.at == start { Err(Problem::NoArgument) } else { Ok(Part::Text(text)) }
    }

    /// Parses the separator of two arguments, which may be repeated.
    fn delimiter(&mut self, sign: char) -> Result<(), Problem> {
        let rest = self.rest();
        let behind = rest.trim_start_matches(sign);
        self.at += rest.len() - behind.len();
        if behind.len() == rest.len() { Err(Problem::Bad) } else { Ok(()) }
    }

    fn closed(&mut self, function: Function<'t>) -> Result<Function<'t>, Problem> {
        if self.eat("}") { Ok(function) } else { Err(Problem::Bad) }
    }

    /// Parses a text up to an expression or a stop character.
    fn literal(&mut self, escapes: Escapes, stops: impl Fn(char) -> bool) -> Cow<'t, str> {
        let mut text = Cow::Borrowed("");
        let mut start = self.at;
        loop {
            let ahead = self.rest().find(|c| matches!(c, '$' | '\\') || stops(c));
            self.at += ahead.unwrap_or(self.rest().len());
            let rest = self.rest();
            let is_escape = escapes != Escapes::None && rest.starts_with("$$")
                || escapes == Escapes::All && (rest.starts_with("\\/") || rest.starts_with("\\\\"));
            if is_escape {
                text += &self.text[start..self.at];
                start = self.at + 1;
                self.at += 2;
            } else if rest.is_empty() || rest.starts_with("${") || rest.starts_with(&stops) {
                break;
            } else {
                self.at += 1;
            }
        }
        text += &self.text[start..self.at];
        text
    }
}

impl<'t> Iterator for Parts<'t> {
    type Item = Result<Part<'t>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest().is_empty() {
            return None;
        }
        if !self.eat("${") {
            return Some(Ok(Part::Text(self.literal(Escapes::Dollars, |_| false))));
        }
        let start = self.at;
        Some(self.expression().map(Part::Expression).map_err(|problem| {
            (self.at, self.depth) = (start, 0);
            // The quoted text is limited: an expression may have no end, and there may be any
            // number of them.
            let written = &self.text[start - 2..];
            let end = written.char_indices().find(|(at, c)| *at > TOLD || matches!(c, '}' | '\n'));
            Fault::new(end.map_or(written, |(at, c)| &written[..at + c.len_utf8()]).trim_end(), problem)
        }))
    }
}

/// Returns the name at the beginning of a text. Only such names can be declared.
pub(super) fn name_of(text: &str) -> &str {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    if text.starts_with(|c: char| c.is_ascii_digit()) { "" } else { &text[..end] }
}
