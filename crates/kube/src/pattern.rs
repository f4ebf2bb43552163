//! Paths as people write them in rules: one field, or many with `[*]`.

use std::fmt;
use std::str::FromStr;

use crate::path::{BadPath, Element, FieldPath, Part, parts, show};

/// A pattern such as `spec.replicas`, `metadata.annotations[example.com/x]` or
/// `spec.template.spec.containers[*].image`.
///
/// Items of lists with keys are named by their keys, of which some suffice: `ports[port=53]`
/// matches both the TCP and the UDP port. A position (`[0]`) has a meaning only in lists without
/// keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPattern(Vec<Part>);

impl FieldPattern {
    /// Reports whether the path is one of those matched, or below one.
    pub fn covers(&self, path: &FieldPath) -> bool {
        self.covers_elements(&path.0)
    }

    pub(crate) fn covers_elements(&self, path: &[Element]) -> bool {
        self.0.len() <= path.len() && self.0.iter().zip(path).all(|(part, element)| part.means(element))
    }

    /// Reports whether the pattern's step at this depth, if it has one, matches an element.
    pub(crate) fn means_at(&self, depth: usize, element: &Element) -> bool {
        self.0.get(depth).is_none_or(|part| part.means(element))
    }

    /// Reports whether the pattern names a position of a list.
    pub(crate) fn has_position(&self) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Exactly(Element::Index(_))))
    }

    /// Returns the same pattern, with `to` instead of `from` as the first step.
    pub(crate) fn with_first(mut self, from: &str, to: &str) -> Self {
        if let Some(Part::Exactly(first)) = self.0.first_mut()
            && *first == Element::field(from)
        {
            *first = Element::field(to);
        }
        self
    }

    /// Returns the number of steps: of two patterns that cover a path, the longer one is more
    /// specific.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Part {
    fn means(&self, element: &Element) -> bool {
        match (self, element) {
            (Self::Any, _) => true,
            (Self::Exactly(Element::Item(wanted)), Element::Item(keys)) => {
                wanted.iter().all(|wanted| keys.iter().any(|key| key == wanted))
            }
            (Self::Exactly(wanted), element) => wanted == element,
        }
    }
}

impl From<FieldPath> for FieldPattern {
    fn from(path: FieldPath) -> Self {
        Self(path.0.into_iter().map(Part::Exactly).collect())
    }
}

impl FromStr for FieldPattern {
    type Err = BadPath;

    fn from_str(text: &str) -> Result<Self, BadPath> {
        parts(text).map(Self)
    }
}

impl fmt::Display for FieldPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(pattern: &str, path: &str) -> bool {
        pattern.parse::<FieldPattern>().unwrap().covers(&path.parse().unwrap())
    }

    #[test]
    fn a_pattern_covers_what_it_names_and_all_below() {
        assert!(covers("spec.replicas", "spec.replicas"));
        assert!(covers("spec", "spec.replicas"));
        assert!(!covers("spec.replicas", "spec"));
        assert!(covers("spec.containers[*].image", r#"spec.containers[name="a"].image"#));
        assert!(!covers("spec.containers[*].image", r#"spec.containers[name="a"].env"#));
        assert!(covers("data.*", "data[a.b]") && covers("data[*]", "data.x"));
    }

    #[test]
    fn some_keys_of_an_item_suffice() {
        assert!(covers("ports[port=53]", r#"ports[port=53,protocol="UDP"].name"#));
        assert!(!covers("ports[port=54]", r#"ports[port=53,protocol="UDP"].name"#));
    }

    #[test]
    fn a_pattern_survives_its_text() {
        let pattern: FieldPattern = "spec.containers[*].ports[port=53].name".parse().unwrap();
        assert_eq!(pattern.to_string().parse(), Ok(pattern));
    }
}
