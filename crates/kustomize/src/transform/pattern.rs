//! Whether an image is meant by a name. Kustomize takes the name for a regular expression, which most people do not know: a dot is any character.

/// A regular expression of single characters, each of which may be repeated. Groups and alternatives are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Atom>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Atom {
    set: Set,
    may_miss: bool,
    may_repeat: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Set {
    /// Any but a line break.
    Any,
    One(char),
    /// Ranges, and whether what is not in them is meant.
    Of(Vec<(char, char)>, bool),
}

/// An image name that is no regular expression, or none that we know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPattern {
    #[error("`{0}` has nothing before it to repeat; write `\\{0}` if the character is meant")]
    NothingToRepeat(char),
    #[error("`{0}` has no end; write `\\{0}` if the character is meant")]
    NoEnd(char),
    #[error("`{0}` is not known to us in it; write `\\{0}` if the character is meant, or name each image")]
    Unknown(char),
}

impl Pattern {
    pub(super) fn new(written: &str) -> Result<Self, NoPattern> {
        let mut atoms: Vec<Atom> = Vec::new();
        // Before the name stands the start of the text, which is what a first sign repeats. If it may be missing, anything may stand before.
        let rest = written.strip_prefix(['*', '?']);
        if rest.is_some() {
            atoms.push(Atom { set: Set::Of(Vec::new(), true), may_miss: true, may_repeat: true });
        }
        let mut chars = rest.or_else(|| written.strip_prefix('+')).unwrap_or(written).chars().peekable();
        while let Some(c) = chars.next() {
            let set = match c {
                '*' | '+' | '?' => {
                    let last = atoms.last_mut().filter(|last| !(last.may_miss || last.may_repeat));
                    let last = last.ok_or(NoPattern::NothingToRepeat(c))?;
                    last.may_miss |= c != '+';
                    last.may_repeat |= c != '?';
                    continue;
                }
                '.' => Set::Any,
                '[' => set(&mut chars)?,
                '\\' => Set::One(escaped(chars.next())?),
                '{' if chars.peek().is_some_and(char::is_ascii_digit) => return Err(NoPattern::Unknown(c)),
                '(' | ')' | '|' | '^' | '$' => return Err(NoPattern::Unknown(c)),
                c => Set::One(c),
            };
            atoms.push(Atom { set, may_miss: false, may_repeat: false });
        }
        Ok(Self(atoms))
    }

    /// Whether an image has such a name, and behind it nothing but a tag and a digest.
    pub(super) fn is_of(&self, image: &str) -> bool {
        let mut states = vec![false; self.0.len() + 1];
        states[0] = true;
        self.skip(&mut states);
        if states[self.0.len()] && is_tag_and_digest(image) {
            return true;
        }
        for (at, c) in image.char_indices() {
            let mut next = vec![false; states.len()];
            for (state, atom) in self.0.iter().enumerate() {
                if states[state] && atom.set.has(c) {
                    next[state + 1] = true;
                    next[state] |= atom.may_repeat;
                }
            }
            self.skip(&mut next);
            states = next;
            if states[self.0.len()] && is_tag_and_digest(&image[at + c.len_utf8()..]) {
                return true;
            }
            if !states.contains(&true) {
                return false;
            }
        }
        false
    }

    fn skip(&self, states: &mut [bool]) {
        for (state, atom) in self.0.iter().enumerate() {
            // One that may repeat is behind itself once it was there, so that its own state stands for both.
            states[state + 1] |= states[state] && atom.may_miss;
        }
    }
}

impl Set {
    fn has(&self, c: char) -> bool {
        match self {
            Self::Any => c != '\n',
            Self::One(own) => *own == c,
            Self::Of(ranges, is_negated) => ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != *is_negated,
        }
    }
}

fn escaped(c: Option<char>) -> Result<char, NoPattern> {
    match c {
        Some(c) if c.is_ascii_punctuation() => Ok(c),
        Some(c) => Err(NoPattern::Unknown(c)),
        None => Err(NoPattern::NoEnd('\\')),
    }
}

/// What stands behind `[`, up to `]`.
fn set(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Set, NoPattern> {
    let is_negated = chars.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    loop {
        let from = match chars.next().ok_or(NoPattern::NoEnd('['))? {
            ']' if !ranges.is_empty() => return Ok(Set::Of(ranges, is_negated)),
            '[' if chars.peek() == Some(&':') => return Err(NoPattern::Unknown('[')),
            '\\' => escaped(chars.next())?,
            c => c,
        };
        let mut ahead = chars.clone();
        let to = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(to)) if to != ']' => {
                chars.nth(1);
                if to == '\\' { escaped(chars.next())? } else { to }
            }
            _ => from,
        };
        if to < from {
            return Err(NoPattern::Unknown('-'));
        }
        ranges.push((from, to));
    }
}

/// Whether a text is nothing but a tag and a digest, each of which may be missing.
fn is_tag_and_digest(text: &str) -> bool {
    let rest = |text: &str| {
        let at = text.find(|c: char| !(c.is_ascii_alphanumeric() || "_.{}-".contains(c)));
        at.unwrap_or(text.len())
    };
    let text = text.strip_prefix(':').map_or(text, |tag| &tag[rest(tag)..]);
    let text = text.strip_prefix("@sha256:").map_or(text, |digest| &digest[rest(digest)..]);
    text.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_regular_expression_with_a_tag_and_a_digest_behind_it() {
        let is = |name: &str, image: &str| Pattern::new(name).map(|pattern| pattern.is_of(image));
        for (name, image) in [
            ("nginx", "nginx"),
            ("nginx", "nginx:"),
            ("nginx", "nginx:1.2-{x}"),
            ("nginx", "nginx:1@sha256:00"),
            ("nginx", "nginx@sha256:"),
            ("a.b/c", "axb/c:1"),
            (".*/web", "host:5000/team/web"),
            ("w[a-e]+b?", "weeeb:1"),
            ("[^a]", "b"),
            ("[-a]x", "-x"),
            (r"a\.b", "a.b"),
            ("a*", ":1"),
            ("{x}", "{x}"),
            ("*/web", "a/b/web:1"),
            ("+web", "web"),
        ] {
            assert_eq!(is(name, image), Ok(true), "{name} {image}");
        }
        for (name, image) in [
            ("nginx", "nginx2"),
            ("nginx", "my/nginx"),
            ("nginx", "nginx:1:2"),
            ("nginx", "nginx@sha512:0"),
            ("nginx", "nginx:1\n"),
            (r"a\.b", "axb"),
            ("a+", ":1"),
            ("+web", "xweb"),
            ("a.b", "a\nb"),
        ] {
            assert_eq!(is(name, image), Ok(false), "{name} {image}");
        }
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for name in ["**a", "a**", "a(b)", "a|b", "[a", r"a\", r"\d", "a{2}", "^a", "[b-a]"] {
            assert!(Pattern::new(name).is_err(), "{name}");
        }
    }
}
