//! Sets of characters: what stands in brackets, and the ones that have a name.

use unicode_properties::UnicodeGeneralCategory as _;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup};

/// A set of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) items: Vec<Item>,
    pub(super) is_negated: bool,
    /// Without regard to case.
    pub(super) is_folded: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Range(char, char),
    /// Of ASCII, by ranges; or whatever is not in them.
    Named(&'static [(char, char)], bool),
    Category(Category, bool),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Category {
    Any,
    Group(GeneralCategoryGroup),
    One(GeneralCategory),
}

pub(super) const DIGIT: &[(char, char)] = &[('0', '9')];
pub(super) const SPACE: &[(char, char)] = &[('\t', '\n'), ('\x0c', '\r'), (' ', ' ')];
pub(super) const WORD: &[(char, char)] = &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];

/// A class by the name it has between `[:` and `:]`.
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

impl Category {
    /// By its short name.
    pub(super) fn named(name: &str) -> Option<Self> {
        use {GeneralCategory as C, GeneralCategoryGroup as G};
        Some(match name {
            "Any" => Self::Any,
            "L" => Self::Group(G::Letter),
            "M" => Self::Group(G::Mark),
            "N" => Self::Group(G::Number),
            "P" => Self::Group(G::Punctuation),
            "S" => Self::Group(G::Symbol),
            "Z" => Self::Group(G::Separator),
            "Lu" => Self::One(C::UppercaseLetter),
            "Ll" => Self::One(C::LowercaseLetter),
            "Lt" => Self::One(C::TitlecaseLetter),
            "Lm" => Self::One(C::ModifierLetter),
            "Lo" => Self::One(C::OtherLetter),
            "Nd" => Self::One(C::DecimalNumber),
            "Nl" => Self::One(C::LetterNumber),
            "No" => Self::One(C::OtherNumber),
            "Pc" => Self::One(C::ConnectorPunctuation),
            "Pd" => Self::One(C::DashPunctuation),
            "Ps" => Self::One(C::OpenPunctuation),
            "Pe" => Self::One(C::ClosePunctuation),
            "Po" => Self::One(C::OtherPunctuation),
            "Sc" => Self::One(C::CurrencySymbol),
            "Sm" => Self::One(C::MathSymbol),
            "Zs" => Self::One(C::SpaceSeparator),
            "Cc" => Self::One(C::Control),
            _ => return None,
        })
    }

    fn has(&self, c: char) -> bool {
        match self {
            Self::Any => true,
            Self::Group(group) => c.general_category_group() == *group,
            Self::One(one) => c.general_category() == *one,
        }
    }
}

impl Item {
    fn has(&self, c: char) -> bool {
        match self {
            Self::Range(low, high) => (*low..=*high).contains(&c),
            Self::Named(ranges, _) => ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)),
            Self::Category(category, _) => category.has(c),
        }
    }

    fn is_negated(&self) -> bool {
        matches!(self, Self::Named(_, true) | Self::Category(_, true))
    }
}

impl Class {
    pub(super) fn of(item: Item, is_folded: bool) -> Self {
        Self { items: vec![item], is_negated: false, is_folded }
    }

    pub(super) fn has(&self, c: char) -> bool {
        let is_in = |item: &Item| {
            let found = if self.is_folded { variants(c).any(|c| item.has(c)) } else { item.has(c) };
            found != item.is_negated()
        };
        self.items.iter().any(is_in) != self.is_negated
    }
}

/// A character in all its cases.
fn variants(c: char) -> impl Iterator<Item = char> {
    let lower = one(c.to_lowercase()).unwrap_or(c);
    let upper = one(c.to_uppercase()).unwrap_or(c);
    // The signs for kelvin and the long s are the only ones that are another case of a letter of ASCII.
    let sign = match lower {
        'k' => '\u{212a}',
        's' => '\u{17f}',
        _ => c,
    };
    let base = match c {
        '\u{17f}' => 's',
        _ => lower,
    };
    [c, lower, upper, sign, base].into_iter()
}

fn one(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}
