//! Sets of characters by Unicode name: general categories and scripts.
//!
//! The names are those of Go 1.26, which knows Unicode 15.0. Case, blanks, `-` and `_` are ignored;
//! a category has a short name and a long one, and a script only the long one. Go accepts no script
//! whose name has more than one word (`\p{Old_Italic}`), and neither does this module. The
//! characters are those of a newer Unicode: characters added since have their category and script
//! here, and none in Go.

use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, Script};
use icu_properties::{CodePointMapData, PropertyNamesLong, PropertyParser};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Category {
    Any,
    Ascii,
    General(GeneralCategoryGroup),
    Script(Script),
}

/// Scripts that Go does not know: those added since, and `Unknown`.
const UNKNOWN: [&str; 5] = ["Garay", "Sidetic", "Sunuwar", "Todhri", "Unknown"];

impl Category {
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = canonical(name)?;
        let general = || PropertyParser::<GeneralCategoryGroup>::new().get_loose(&name).map(Self::General);
        Some(match &*name {
            "Any" => Self::Any,
            "Ascii" => Self::Ascii,
            "Assigned" => Self::General(GeneralCategoryGroup::Unassigned.complement()),
            _ => general().or_else(|| script(&name))?,
        })
    }

    pub(super) fn has(self, c: char) -> bool {
        match self {
            Self::Any => true,
            Self::Ascii => c.is_ascii(),
            Self::General(group) => group.contains(CodePointMapData::<GeneralCategory>::new().get(c)),
            Self::Script(script) => CodePointMapData::<Script>::new().get(c) == script,
        }
    }
}

fn script(name: &str) -> Option<Category> {
    let script = PropertyParser::<Script>::new().get_loose(name)?;
    let is_known = PropertyNamesLong::<Script>::new().get(script) == Some(name) && !UNKNOWN.contains(&name);
    is_known.then_some(Category::Script(script))
}

/// Returns the name with a capital first letter, all others small, and no separators.
fn canonical(name: &str) -> Option<String> {
    let letters: String = name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).collect();
    if letters.is_empty() || !letters.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    let (first, rest) = letters.split_at(1);
    Some(first.to_ascii_uppercase() + &rest.to_ascii_lowercase())
}
