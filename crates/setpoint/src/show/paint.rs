//! Colours, by their meaning.

use setpoint_yaml::visible_text;

/// The meaning of a text for its reader. Colour is never the only sign: each meaning has its word,
/// too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Paint {
    #[default]
    Plain,
    /// As intended.
    Good,
    /// In progress, or worth attention.
    Warn,
    /// Not as intended.
    Bad,
    /// Headings and names.
    Strong,
    /// Less important than its neighbours.
    Faint,
}

impl Paint {
    /// Returns the text in this colour, if it has one.
    pub(crate) fn on(self, text: &str, colour: bool) -> String {
        let code = match self {
            Self::Plain => return text.to_owned(),
            Self::Good => "32",
            Self::Warn => "33",
            Self::Bad => "31",
            Self::Strong => "1",
            Self::Faint => "2",
        };
        if colour && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// A text with its meaning. All control characters are escaped except line breaks, so it cannot
/// steer a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Painted {
    pub(super) text: String,
    pub(super) paint: Paint,
}

impl Painted {
    pub(crate) fn new(text: impl AsRef<str>, paint: Paint) -> Self {
        let lines: Vec<String> = text.as_ref().lines().map(visible_text).collect();
        Self { text: lines.join("\n"), paint }
    }
}

impl From<String> for Painted {
    fn from(text: String) -> Self {
        Self::new(text, Paint::Plain)
    }
}

impl From<&str> for Painted {
    fn from(text: &str) -> Self {
        Self::new(text, Paint::Plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_steer_a_terminal_is_shown_and_not_obeyed() {
        let subject = Painted::from("fix\u{1b}[2J all\u{202e}\r");
        assert_eq!(subject.text, "fix\\u{1b}[2J all\\u{202e}\\u{d}");
    }

    #[test]
    fn without_colour_a_text_is_itself() {
        assert_eq!(Paint::Bad.on("degraded", false), "degraded");
        assert_eq!(Paint::Bad.on("degraded", true), "\u{1b}[31mdegraded\u{1b}[0m");
    }
}
