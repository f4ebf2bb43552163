//! Marks: a word with a colour and a shape. Every colour has a shape of its own, so that no meaning
//! depends on colour alone.

use askama::Template;
use askama::filters::HtmlSafe;

/// The names of the pictures in `templates/icons.html`.
pub(super) mod icon {
    pub(in crate::pages) const ACCESS: &str = "access";
    pub(in crate::pages) const APPS: &str = "apps";
    pub(in crate::pages) const AUDIT: &str = "audit";
    pub(in crate::pages) const CHANGES: &str = "changes";
    pub(in crate::pages) const DRIFT: &str = "drift";
    pub(in crate::pages) const STORES: &str = "stores";
    pub(in crate::pages) const TARGETS: &str = "targets";
}

/// The meaning of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tone {
    Bad,
    Warn,
    Hold,
    Busy,
    Mute,
    Good,
}

impl Tone {
    /// Returns the class of the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Warn => "warn",
            Self::Hold => "hold",
            Self::Busy => "busy",
            Self::Mute => "mute",
            Self::Good => "good",
        }
    }
}

/// A word with a tone and a shape.
#[derive(Clone, Debug, PartialEq, Eq, Template)]
#[template(
    source = r##"<span class="mark {{ tone.class() }}"><svg class="i" aria-hidden="true"><use href="#{{ icon }}"/></svg>{{ text }}</span>"##,
    ext = "html"
)]
pub(crate) struct Mark {
    pub(crate) tone: Tone,
    pub(crate) icon: &'static str,
    pub(crate) text: String,
}

impl HtmlSafe for Mark {}

impl Mark {
    pub(crate) fn new(tone: Tone, icon: &'static str, text: impl Into<String>) -> Self {
        Self { tone, icon, text: text.into() }
    }

    pub(crate) fn good(text: impl Into<String>) -> Self {
        Self::new(Tone::Good, "check", text)
    }

    pub(crate) fn bad(text: impl Into<String>) -> Self {
        Self::new(Tone::Bad, "triangle", text)
    }

    pub(crate) fn warn(text: impl Into<String>) -> Self {
        Self::new(Tone::Warn, "diamond", text)
    }

    pub(crate) fn mute(text: impl Into<String>) -> Self {
        Self::new(Tone::Mute, "dash", text)
    }
}
