//! Patterns of `#` and `%`: `*` matches any text, `?` any character, `[…]` one of a class, and `\`
//! takes the next character literally. As in the reference, each `*` but the last matches as little
//! as possible and never backtracks. All prefixes of a text are therefore compared in one pass.

/// A pattern.
#[derive(Debug)]
pub(super) struct Glob {
    /// The part before the first `*`.
    head: Vec<One>,
    /// The parts after each `*`.
    starred: Vec<Vec<One>>,
    /// The pattern ends with `*`.
    is_open: bool,
}

/// The pattern for one character.
#[derive(Debug)]
enum One {
    Any,
    Is(char),
    Of { is_negated: bool, ranges: Vec<(char, char)> },
}

/// The number of comparisons left.
pub(super) type Steps = u64;

/// No comparisons are left.
#[derive(Debug)]
pub(super) struct OutOfSteps;

impl Glob {
    /// Parses a pattern; `None` if it is malformed.
    pub(super) fn parse(pattern: &[char]) -> Option<Self> {
        let mut glob = Self { head: Vec::new(), starred: Vec::new(), is_open: false };
        let mut rest = pattern;
        while !rest.is_empty() {
            let stars = rest.iter().take_while(|c| **c == '*').count();
            let (chunk, behind) = rest[stars..].split_at(chunk_length(&rest[stars..]));
            rest = behind;
            let ones = ones(chunk)?;
            match stars {
                0 => glob.head = ones,
                _ if ones.is_empty() => glob.is_open = true,
                _ => glob.starred.push(ones),
            }
        }
        Some(glob)
    }

    /// Returns the length of the shortest or longest matching prefix of a text. An empty prefix
    /// does not count.
    pub(super) fn fit(&self, text: &[char], is_longest: bool, steps: &mut Steps) -> Result<Option<usize>, OutOfSteps> {
        let mut fits = |chunk: &[One], at: usize| fits(chunk, &text[at..], steps);
        if !fits(&self.head, 0)? {
            return Ok(None);
        }
        let mut from = self.head.len();
        let (last, before) = match self.starred.split_last() {
            Some((last, before)) if !self.is_open => (Some(last), before),
            _ => (None, &*self.starred),
        };
        for chunk in before {
            let Some(found) = first(from..text.len(), |at| fits(chunk, at))? else { return Ok(None) };
            from = found + chunk.len();
        }
        let length = match last {
            Some(last) if is_longest => first((from..text.len()).rev(), |at| fits(last, at))?.map(|at| at + last.len()),
            Some(last) => first(from..text.len(), |at| fits(last, at))?.map(|at| at + last.len()),
            None if self.is_open && is_longest => Some(text.len()),
            None if self.is_open => Some(from.max(1)),
            None => Some(from),
        };
        Ok(length.filter(|length| (1..=text.len()).contains(length)))
    }
}

/// Returns the first place for which a condition is true.
fn first(
    mut places: impl Iterator<Item = usize>,
    mut is: impl FnMut(usize) -> Result<bool, OutOfSteps>,
) -> Result<Option<usize>, OutOfSteps> {
    places.find_map(|at| is(at).map(|is| is.then_some(at)).transpose()).transpose()
}

/// Reports whether a text begins with a match of this chunk.
fn fits(chunk: &[One], text: &[char], steps: &mut Steps) -> Result<bool, OutOfSteps> {
    if chunk.len() > text.len() {
        return Ok(false);
    }
    for (one, c) in chunk.iter().zip(text) {
        let (is, cost) = one.is(*c);
        *steps = steps.checked_sub(cost).ok_or(OutOfSteps)?;
        if !is {
            return Ok(false);
        }
    }
    Ok(true)
}

impl One {
    /// Reports whether a character matches, and the number of comparisons.
    fn is(&self, c: char) -> (bool, Steps) {
        match self {
            Self::Any => (true, 1),
            Self::Is(own) => (*own == c, 1),
            Self::Of { is_negated, ranges } => {
                let is_in = ranges.iter().any(|(low, high)| (*low..=*high).contains(&c));
                (is_in != *is_negated, 1 + ranges.len() as Steps)
            }
        }
    }
}

/// Returns the distance to the next `*` that is a wildcard.
fn chunk_length(pattern: &[char]) -> usize {
    let (mut at, mut is_in_class) = (0, false);
    while let Some(c) = pattern.get(at) {
        match c {
            '\\' if at + 1 < pattern.len() => at += 1,
            '[' => is_in_class = true,
            ']' => is_in_class = false,
            '*' if !is_in_class => break,
            _ => {}
        }
        at += 1;
    }
    at
}

fn ones(chunk: &[char]) -> Option<Vec<One>> {
    let mut ones = Vec::with_capacity(chunk.len());
    let mut rest = chunk;
    while let [c, behind @ ..] = rest {
        rest = behind;
        ones.push(match c {
            '?' => One::Any,
            '[' => class(&mut rest)?,
            '\\' => {
                let (c, behind) = rest.split_first()?;
                rest = behind;
                One::Is(*c)
            }
            c => One::Is(*c),
        });
    }
    Some(ones)
}

/// Parses a class after its `[`.
fn class(rest: &mut &[char]) -> Option<One> {
    let is_negated = rest.first() == Some(&'^');
    *rest = &rest[usize::from(is_negated)..];
    let mut ranges = Vec::new();
    while rest.first() != Some(&']') || ranges.is_empty() {
        let low = member(rest)?;
        let is_range = rest.first() == Some(&'-');
        *rest = &rest[usize::from(is_range)..];
        ranges.push((low, if is_range { member(rest)? } else { low }));
    }
    *rest = &rest[1..];
    Some(One::Of { is_negated, ranges })
}

/// Parses a character of a class, which another one must follow.
fn member(rest: &mut &[char]) -> Option<char> {
    let (c, behind) = match rest {
        [] | ['-' | ']', ..] | ['\\'] => return None,
        ['\\', c, behind @ ..] | [c, behind @ ..] => (*c, behind),
    };
    *rest = behind;
    (!behind.is_empty()).then_some(c)
}
