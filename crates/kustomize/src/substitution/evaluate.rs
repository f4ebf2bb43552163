//! Evaluates expressions. As in the reference implementation, the arguments of an expression are
//! always evaluated, lengths and offsets count bytes, and inserted text is not expanded again.

use std::borrow::Cow;

use super::expression::{End, Expression, Function, Part, Parts, Which};
use super::glob::Glob;
use super::letter_case::{lower, upper};
use super::problem::{Fault, Problem};
use super::{Undeclared, Variables};
use crate::node::{Scalar, Tag};

pub(super) struct Evaluation<'v> {
    variables: &'v Variables,
    undeclared: Undeclared,
    /// The maximum number of inserted bytes and comparisons.
    most: u64,
    left: u64,
}

impl<'v> Evaluation<'v> {
    pub(super) fn new(variables: &'v Variables, undeclared: Undeclared, most: u64) -> Self {
        Self { variables, undeclared, most, left: most }
    }

    /// Returns a text with its expressions replaced.
    pub(super) fn text(&mut self, text: &str) -> Result<String, Fault> {
        let mut result = String::with_capacity(text.len());
        let mut parts = Parts::of(text);
        while let Some(part) = parts.next() {
            match part {
                Ok(Part::Text(text)) => self.push(&mut result, &text, "")?,
                Ok(Part::Expression(expression)) => match self.expression(&expression) {
                    Err(fault) if self.keeps(&fault) => self.push(&mut result, expression.written, "")?,
                    value => self.push(&mut result, &value?, expression.written)?,
                },
                // This is an expression for a shell, unless it names one of our variables.
                Err(_) if self.undeclared == Undeclared::Keep && !self.variables.has(parts.name_ahead()) => {
                    self.push(&mut result, "${", "")?;
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(result)
    }

    /// Returns the value, with its type, of a text that is exactly one expression without a
    /// function; `None` for any other text.
    pub(super) fn typed(&mut self, text: &str) -> Result<Option<Scalar>, Fault> {
        match Parts::of(text).next() {
            Some(Ok(Part::Expression(whole))) if whole.written.len() == text.len() => match self.scalar(&whole) {
                Ok(Some(scalar)) => {
                    self.charge(scalar.text.len()).map_err(|problem| Fault::new(text, problem))?;
                    Ok(Some(scalar))
                }
                Err(fault) if !self.keeps(&fault) => Err(fault),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn keeps(&self, fault: &Fault) -> bool {
        self.undeclared == Undeclared::Keep && fault.problem == Problem::Undeclared
    }

    fn scalar(&mut self, expression: &Expression<'_>) -> Result<Option<Scalar>, Fault> {
        let own = self.variables.get(expression.name);
        let parts = match &expression.function {
            Function::Nothing => return own.cloned().map(Some).ok_or_else(|| undeclared(expression)),
            Function::Default { if_empty, parts } => {
                let default = self.joined(parts, expression)?;
                match (own, &**parts) {
                    (Some(own), _) if !(*if_empty && own.text.is_empty()) => return Ok(Some(own.clone())),
                    (_, [] | [Part::Text(_)]) => return Ok(Some(as_plain(&default))),
                    (_, parts) => parts,
                }
            }
            _ => return Ok(None),
        };
        match parts {
            [Part::Expression(inner)] => self.scalar(inner),
            _ => Ok(None),
        }
    }

    fn expression(&mut self, expression: &Expression<'_>) -> Result<Cow<'v, str>, Fault> {
        let variables: &'v Variables = self.variables;
        let own = variables.get(expression.name).map(|scalar| &*scalar.text);
        if let Function::Default { if_empty, parts } = &expression.function {
            let default = self.joined(parts, expression)?;
            return Ok(match own {
                Some(own) if !(*if_empty && own.is_empty()) => own.into(),
                _ => default.into(),
            });
        }
        let arguments = self.arguments(&expression.function)?;
        let own = own.ok_or_else(|| undeclared(expression))?;
        self.applied(&expression.function, own, &arguments).map_err(|problem| Fault::new(expression.written, problem))
    }

    fn arguments(&mut self, function: &Function<'_>) -> Result<[String; 2], Fault> {
        let (first, second) = match function {
            Function::Nothing | Function::Length | Function::Case { .. } | Function::Default { .. } => (None, None),
            Function::Substring { from, length } => (Some(from), length.as_ref()),
            Function::Trim { pattern, .. } => (Some(pattern), None),
            Function::Replace { old, new, .. } => (Some(old), new.as_ref()),
        };
        let mut value = |part: Option<&Box<Part<'_>>>| match part.map(|part| &**part) {
            None => Ok(String::new()),
            Some(Part::Text(text)) => Ok(text.to_string()),
            Some(Part::Expression(expression)) => self.expression(expression).map(Cow::into_owned),
        };
        Ok([value(first)?, value(second)?])
    }

    fn joined(&mut self, parts: &[Part<'_>], whole: &Expression<'_>) -> Result<String, Fault> {
        let mut joined = String::new();
        for part in parts {
            match part {
                Part::Text(text) => self.push(&mut joined, text, whole.written)?,
                Part::Expression(expression) => {
                    let value = self.expression(expression)?;
                    self.push(&mut joined, &value, expression.written)?;
                }
            }
        }
        Ok(joined)
    }

    fn push(&mut self, onto: &mut String, text: &str, written: &str) -> Result<(), Fault> {
        self.charge(text.len()).map_err(|problem| Fault::new(written, problem))?;
        onto.push_str(text);
        Ok(())
    }

    fn charge(&mut self, bytes: usize) -> Result<(), Problem> {
        self.left = self.left.checked_sub(bytes as u64).ok_or(Problem::TooMuch(self.most))?;
        Ok(())
    }

    /// Applies a function to a value and its arguments.
    fn applied(
        &mut self,
        function: &Function<'_>,
        own: &'v str,
        [first, second]: &[String; 2],
    ) -> Result<Cow<'v, str>, Problem> {
        Ok(match function {
            Function::Nothing | Function::Default { .. } => own.into(),
            Function::Length => own.len().to_string().into(),
            Function::Case { is_upper, is_first_only } => {
                self.charge(own.len())?;
                cased(own, if *is_upper { upper } else { lower }, *is_first_only).into()
            }
            Function::Substring { length, .. } => substring(own, first, length.as_ref().map(|_| &**second))?.into(),
            Function::Trim { end, is_longest, .. } => self.trimmed(own, first, *end, *is_longest)?.into(),
            Function::Replace { which, .. } => self.replaced(own, *which, first, second)?,
        })
    }

    fn trimmed(&mut self, own: &'v str, pattern: &str, end: End, is_longest: bool) -> Result<&'v str, Problem> {
        self.charge(own.len() + pattern.len())?;
        let characters = |text: &str| -> Vec<char> {
            match end {
                End::Start => text.chars().collect(),
                // The pattern is reversed as text, too, which breaks character classes.
                End::End => text.chars().rev().collect(),
            }
        };
        let glob = Glob::parse(&characters(pattern)).ok_or(Problem::Pattern)?;
        let text = characters(own);
        let fit = glob.fit(&text, is_longest, &mut self.left).map_err(|_| Problem::TooMuch(self.most))?;
        let bytes = text[..fit.unwrap_or(0)].iter().map(|c| c.len_utf8()).sum();
        Ok(match end {
            End::Start => &own[bytes..],
            End::End => &own[..own.len() - bytes],
        })
    }

    fn replaced(&mut self, own: &'v str, which: Which, old: &str, new: &str) -> Result<Cow<'v, str>, Problem> {
        let count = match which {
            Which::All => own.matches(old).count(),
            _ => 1,
        };
        self.charge(own.len().saturating_add(count.saturating_mul(new.len())))?;
        Ok(match which {
            Which::First => own.replacen(old, new, 1).into(),
            Which::All => own.replace(old, new).into(),
            Which::At(End::Start) => own.strip_prefix(old).map_or(own.into(), |rest| format!("{new}{rest}").into()),
            Which::At(End::End) => own.strip_suffix(old).map_or(own.into(), |rest| format!("{rest}{new}").into()),
        })
    }
}

fn undeclared(expression: &Expression<'_>) -> Fault {
    Fault::new(expression.written, Problem::Undeclared)
}

/// Reads a default like a scalar without quotes. A timestamp is a string, and so is a number that
/// JSON does not have.
fn as_plain(text: &str) -> Scalar {
    let scalar = Scalar { text: text.into(), tag: Tag::of(text) };
    match scalar.tag {
        Tag::Time => Scalar::text(text),
        _ if scalar.value().is_err() => Scalar::text(text),
        _ => scalar,
    }
}

fn cased(own: &str, case: fn(char) -> char, is_first_only: bool) -> String {
    own.chars().enumerate().map(|(at, c)| if at > 0 && is_first_only { c } else { case(c) }).collect()
}

/// Returns a part of a text. An argument that is not a number is ignored, together with the other
/// one.
fn substring<'o>(own: &'o str, from: &str, length: Option<&str>) -> Result<&'o str, Problem> {
    let Ok(from) = from.parse::<i64>() else { return Ok(own) };
    let size = own.len() as i64;
    let from = if from < 0 { size.saturating_add(from).max(0) } else { from };
    let to = match length.map(str::parse::<i64>) {
        None => size,
        Some(Err(_)) => return Ok(own),
        // Counted from the end.
        Some(Ok(length)) if length < 0 => size.saturating_add(length),
        Some(Ok(length)) => from.saturating_add(length).min(size),
    };
    if from >= to {
        return Ok("");
    }
    own.get(from as usize..to as usize).ok_or(Problem::Splits)
}
