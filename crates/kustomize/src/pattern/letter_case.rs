//! Characters that are equal without regard to case.

/// Characters with more than two cases, as in Go. For all others upper and lower case suffice.
const MORE: [&str; 27] = [
    "\u{4b}\u{6b}\u{212a}",
    "\u{53}\u{73}\u{17f}",
    "\u{b5}\u{39c}\u{3bc}",
    "\u{c5}\u{e5}\u{212b}",
    "\u{1c4}\u{1c5}\u{1c6}",
    "\u{1c7}\u{1c8}\u{1c9}",
    "\u{1ca}\u{1cb}\u{1cc}",
    "\u{1f1}\u{1f2}\u{1f3}",
    "\u{345}\u{399}\u{3b9}\u{1fbe}",
    "\u{392}\u{3b2}\u{3d0}",
    "\u{395}\u{3b5}\u{3f5}",
    "\u{398}\u{3b8}\u{3d1}\u{3f4}",
    "\u{39a}\u{3ba}\u{3f0}",
    "\u{3a0}\u{3c0}\u{3d6}",
    "\u{3a1}\u{3c1}\u{3f1}",
    "\u{3a3}\u{3c2}\u{3c3}",
    "\u{3a6}\u{3c6}\u{3d5}",
    "\u{3a9}\u{3c9}\u{2126}",
    "\u{412}\u{432}\u{1c80}",
    "\u{414}\u{434}\u{1c81}",
    "\u{41e}\u{43e}\u{1c82}",
    "\u{421}\u{441}\u{1c83}",
    "\u{422}\u{442}\u{1c84}\u{1c85}",
    "\u{42a}\u{44a}\u{1c86}",
    "\u{462}\u{463}\u{1c87}",
    "\u{1c88}\u{a64a}\u{a64b}",
    "\u{1e60}\u{1e61}\u{1e9b}",
];

/// The other cases of a character.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cases {
    others: [Option<char>; 3],
}

impl Cases {
    /// Returns no other cases.
    pub(super) fn none() -> Self {
        Self::default()
    }

    pub(super) fn others(c: char) -> Self {
        // No other ASCII letter has more than two cases.
        if c.is_ascii() && !matches!(c, 'K' | 'k' | 'S' | 's') {
            return Self::plain(c);
        }
        let Some(all) = MORE.iter().find(|all| all.contains(c)) else { return Self::plain(c) };
        let mut found = all.chars().filter(|other| *other != c);
        Self { others: [found.next(), found.next(), found.next()] }
    }

    fn plain(c: char) -> Self {
        // For Go, the dotless i is not a small I.
        if c == 'ı' {
            return Self::none();
        }
        let other = |found: Option<char>| found.filter(|found| *found != c);
        let upper = one_letter(c).or_else(|| one(c.to_uppercase()));
        Self { others: [other(one(c.to_lowercase())), other(upper), None] }
    }

    /// Returns all cases, with the character itself first.
    pub(super) fn of(&self, c: char) -> impl Iterator<Item = char> {
        std::iter::once(c).chain(self.others.into_iter().flatten())
    }
}

/// Returns the single-letter case of a letter whose upper case has two letters.
fn one_letter(c: char) -> Option<char> {
    let distance = match c {
        'ß' => return Some('ẞ'),
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => 8,
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => 9,
        _ => return None,
    };
    char::from_u32(u32::from(c) + distance)
}

fn one(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}
