//! Matches the names of images. Kustomize treats the name as a regular expression, which is little
//! known: a dot is any character.

use std::sync::Arc;

use crate::limits::Budget;
use crate::pattern::{BadPattern, Pattern};

/// The name of images, which a tag and a digest may follow.
#[derive(Clone, Debug)]
pub(super) enum ImageName {
    /// The usual case: no special characters except dots.
    Plain(Arc<str>),
    Pattern(Pattern),
}

impl ImageName {
    /// Builds the pattern by concatenation, as in kustomize: `a|b` matches anything that begins
    /// with `a`, or ends with `b`.
    pub(super) fn new(written: &str) -> Result<Self, BadPattern> {
        if !written.contains(['\\', '+', '*', '?', '(', ')', '|', '[', ']', '{', '}', '^', '$']) {
            return Ok(Self::Plain(written.into()));
        }
        let end = "(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?$";
        let pattern = Pattern::new(&format!("^{written}{end}"));
        pattern.map(Self::Pattern).map_err(|bad| BadPattern { pattern: written.into(), ..bad })
    }

    /// Returns the number of steps to compile it.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Plain(_) => 1,
            Self::Pattern(pattern) => pattern.size(),
        }
    }

    /// Reports whether an image has this name, followed by at most a tag and a digest.
    pub(super) fn is_of(&self, image: &str, budget: &Budget) -> bool {
        let name = match self {
            Self::Plain(name) => name,
            Self::Pattern(pattern) => return pattern.is_match(image, budget),
        };
        budget.spend(1 + name.len().min(image.len()) / 8);
        let mut rest = image.chars();
        let has_name = name.chars().all(|own| rest.next().is_some_and(|c| own == c || own == '.' && c != '\n'));
        has_name && is_tag_and_digest(rest.as_str())
    }
}

/// Reports whether a text is only a tag and a digest, each of which is optional.
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
        let is = |name: &str, image: &str| ImageName::new(name).map(|name| name.is_of(image, &Budget::default()));
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
            ("a|b", "ax"),
            ("(web|app)", "app:2"),
            (r"\d{2}", "12"),
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
        for name in ["**a", "a**", "a(b", "[a", "[b-a]"] {
            assert!(ImageName::new(name).is_err(), "{name}");
        }
    }
}
