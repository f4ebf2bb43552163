//! SPDX licence expressions: the decision whether a crate under an expression may be used, given
//! the allowed licences.

use anyhow::bail;

/// Reports whether allowed licences alone meet the expression: one side of an `OR`, both sides of
/// an `AND`.
///
/// `A/B` is the old spelling of `A OR B`. `X WITH exception` must be allowed as a whole, because an
/// exception is a grant of its own.
pub(crate) fn is_met(expression: &str, allowed: &[String]) -> anyhow::Result<bool> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut reader = Reader { words: spaced.split_whitespace().collect(), at: 0, allowed };
    let met = reader.either()?;
    match reader.peek() {
        None => Ok(met),
        Some(word) => bail!("`{word}` is not expected there in the licence expression `{expression}`"),
    }
}

struct Reader<'a> {
    words: Vec<&'a str>,
    at: usize,
    allowed: &'a [String],
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).copied()
    }

    fn take(&mut self, word: &str) -> bool {
        let taken = self.peek() == Some(word);
        self.at += usize::from(taken);
        taken
    }

    fn either(&mut self) -> anyhow::Result<bool> {
        let mut met = self.both()?;
        while self.take("OR") {
            met |= self.both()?;
        }
        Ok(met)
    }

    fn both(&mut self) -> anyhow::Result<bool> {
        let mut met = self.one()?;
        while self.take("AND") {
            met &= self.one()?;
        }
        Ok(met)
    }

    fn one(&mut self) -> anyhow::Result<bool> {
        if self.take("(") {
            let met = self.either()?;
            if !self.take(")") {
                bail!("a licence expression lacks its closing parenthesis");
            }
            return Ok(met);
        }
        let Some(name) = self.peek() else { bail!("a licence expression ends where a licence is expected") };
        self.at += 1;
        let mut licence = name.to_owned();
        if self.take("WITH") {
            let Some(exception) = self.peek() else { bail!("a licence expression ends after WITH") };
            self.at += 1;
            licence = format!("{name} WITH {exception}");
        }
        Ok(self.allowed.contains(&licence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(expression: &str) -> bool {
        is_met(expression, &["MIT".to_owned(), "Unicode-3.0".to_owned()]).unwrap()
    }

    #[test]
    fn one_allowed_side_of_an_or_is_enough() {
        assert!(met("MIT OR GPL-3.0"));
        assert!(met("GPL-3.0/MIT"));
        assert!(!met("GPL-3.0 OR LGPL-3.0"));
    }

    #[test]
    fn both_sides_of_an_and_are_needed_and_it_binds_tighter() {
        assert!(met("(MIT OR GPL-3.0) AND Unicode-3.0"));
        assert!(!met("MIT AND GPL-3.0"));
        assert!(met("MIT OR GPL-3.0 AND Unicode-3.0"));
        assert!(!met("GPL-3.0 AND MIT OR LGPL-3.0"));
    }

    #[test]
    fn an_exception_is_a_licence_of_its_own() {
        assert!(!met("MIT WITH LLVM-exception"));
        assert!(met("Apache-2.0 WITH LLVM-exception OR MIT"));
    }

    #[test]
    fn a_broken_expression_is_an_error_and_never_met() {
        for broken in ["", "MIT OR", "(MIT", "MIT)", "MIT MIT", "MIT WITH"] {
            assert!(is_met(broken, &["MIT".to_owned()]).is_err(), "{broken}");
        }
    }
}
