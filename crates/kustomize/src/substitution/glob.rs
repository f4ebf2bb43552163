//! Patterns of `#` and `%`: `*` is any text, `?` any character, `[…]` one of some, `\` takes the
//! next as it is. Each `*` but the last takes as little as it can and is not asked again, as in the
//! reference; so all beginnings of a text are compared in one go, and nothing is tried twice.

/// A pattern.
#[derive(Debug)]
pub(super) struct Glob {
    /// Before the first `*`.
    head: Vec<One>,
    /// Behind a `*` each.
    starred: Vec<Vec<One>>,
    /// Ends with `*`.
    is_open: bool,
}

/// What one character is compared with.
#[derive(Debug)]
enum One {
    Any,
    Is(char),
    Of { is_negated: bool, ranges: Vec<(char, char)> },
}

/// Comparisons that may still be made.
pub(super) type Steps = u64;

/// There were none left.
#[derive(Debug)]
pub(super) struct OutOfSteps;

impl Glob {
    /// Reads a pattern; none if it is malformed.
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

    /// How long the shortest beginning of a text is that fits, or the longest. An empty one does
    /// not count.
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

/// The first place of which something is true.
fn first(
    mut places: impl Iterator<Item = usize>,
    mut is: impl FnMut(usize) -> Result<bool, OutOfSteps>,
) -> Result<Option<usize>, OutOfSteps> {
    places.find_map(|at| is(at).map(|is| is.then_some(at)).transpose()).transpose()
}

/// Whether a text begins with what a chunk says.
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
    /// Whether it is this character, and how many comparisons that took.
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

/// How far it is to the next `*` that is one.
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

/// A class, behind its `[`.
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

/// A character of a class, behind which something has to follow.
fn member(rest: &mut &[char]) -> Option<char> {
    let (c, behind) = match rest {
        [] | ['-' | ']', ..] | ['\\'] => return None,
        ['\\', c, behind @ ..] | [c, behind @ ..] => (*c, behind),
    };
    *rest = behind;
    (!behind.is_empty()).then_some(c)
}
