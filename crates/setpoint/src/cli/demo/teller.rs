//! Prints the story: chapters, actions and results. On a terminal it updates lines in place, and
//! wraps them between words; elsewhere it prints plain lines.

use std::io::{self, Write};
use std::path::Path;

use crate::show::{Paint, Screen, wrap};

/// The width of a quotation in columns.
const QUOTED: usize = 100;

pub(super) struct Teller<'a, W> {
    output: &'a mut W,
    colour: bool,
    /// Columns of the terminal, where lines can be overwritten; `None` if the output is no terminal.
    width: Option<usize>,
    chapter: u32,
}

impl<'a, W: Write> Teller<'a, W> {
    pub(super) fn new(output: &'a mut W, screen: &Screen) -> Self {
        Self { output, colour: screen.colour, width: screen.width, chapter: 0 }
    }

    pub(super) fn opening(&mut self, folder: &Path) -> io::Result<()> {
        let lines = [
            "Setpoint holds real systems at the state that a Git repository declares. This demo runs a real agent:"
                .to_owned(),
            format!("everything happens in {}; nothing else is touched.", folder.display()),
        ];
        lines.iter().try_for_each(|line| self.hang("", Paint::Plain, line, Paint::Plain))
    }

    pub(super) fn chapter(&mut self, title: &str) -> io::Result<()> {
        self.chapter += 1;
        let number = format!("{}. ", self.chapter);
        self.line("")?;
        self.hang(&number, Paint::Strong, title, Paint::Strong)
    }

    /// Prints an action of a person or process.
    pub(super) fn act(&mut self, text: &str) -> io::Result<()> {
        self.hang("   ", Paint::Plain, text, Paint::Plain)
    }

    /// Shows on a terminal what the demo waits for, until the next line replaces it.
    pub(super) fn wait(&mut self, text: &str) -> io::Result<()> {
        let Some(columns) = self.width else { return Ok(()) };
        // Only one line can be replaced by the next.
        let text: String = format!("… {text}").chars().take(columns.saturating_sub(4)).collect();
        write!(self.output, "   {}\r", Paint::Faint.on(&text, self.colour))?;
        self.output.flush()
    }

    /// Prints a good result that was observed.
    pub(super) fn seen(&mut self, text: &str) -> io::Result<()> {
        self.hang("   ✓ ", Paint::Good, text, Paint::Plain)
    }

    /// Prints that something was refused, held or not deleted: also good, and worth attention.
    pub(super) fn stopped(&mut self, text: &str) -> io::Result<()> {
        self.hang("   ■ ", Paint::Warn, text, Paint::Plain)
    }

    /// Prints a message of the agent, word for word.
    pub(super) fn quote(&mut self, text: &str) -> io::Result<()> {
        // Quotations are wrapped in a pipe, too, because people read them.
        let columns = self.width.map_or(QUOTED, |columns| columns.saturating_sub(7).min(QUOTED));
        for line in wrap(text, Some(columns)).iter().take(6) {
            self.line(&format!("     {}", Paint::Faint.on(&format!("│ {line}"), self.colour)))?;
        }
        Ok(())
    }

    /// Prints a text after a mark, and wraps it under its own beginning. It replaces the line that
    /// shows what the demo waits for.
    fn hang(&mut self, mark: &str, mark_paint: Paint, text: &str, paint: Paint) -> io::Result<()> {
        if self.width.is_some() {
            write!(self.output, "\r\u{1b}[K")?;
        }
        let indent = mark.chars().count();
        let columns = self.width.map(|columns| columns.saturating_sub(indent));
        for (number, line) in wrap(text, columns).iter().enumerate() {
            let before = if number == 0 { mark_paint.on(mark, self.colour) } else { " ".repeat(indent) };
            self.line(&format!("{before}{}", paint.on(line, self.colour)))?;
        }
        Ok(())
    }

    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.output, "{text}")?;
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use setpoint_core::time::Timestamp;

    use super::*;

    fn story(width: Option<usize>) -> String {
        let mut output = Vec::new();
        let mut teller =
            Teller::new(&mut output, &Screen { width, colour: false, rows: None, now: Timestamp::default() });
        let told = [
            teller.chapter("A repository declares a directory and two files"),
            teller.act("A process edits a file: echo \"I was here\" >> config/greeting"),
            teller.wait("the agent reads the repository, accepts the first commit and creates the objects"),
            teller.seen("/config/greeting (content): detected after 3 ms, healed after 38 ms"),
            teller.quote("apps/hello/extra.yaml:6:3: unknown field `contents`; did you mean `content`?"),
        ];
        told.into_iter().collect::<io::Result<Vec<()>>>().expect("a buffer takes everything");
        String::from_utf8(output).expect("text")
    }

    #[test]
    fn a_narrow_terminal_breaks_the_story_between_words() {
        let story = story(Some(40));
        let lines: Vec<&str> = story.lines().map(|line| line.rsplit('\r').next().unwrap_or_default()).collect();
        let lines: Vec<&str> = lines.into_iter().map(|line| line.trim_start_matches("\u{1b}[K")).collect();
        let expected = [
            "",
            "1. A repository declares a directory and",
            "   two files",
            "   A process edits a file: echo \"I was",
            "   here\" >> config/greeting",
            "   ✓ /config/greeting (content):",
            "     detected after 3 ms, healed after",
            "     38 ms",
            "     │ apps/hello/extra.yaml:6:3:",
            "     │ unknown field `contents`; did you",
            "     │ mean `content`?",
        ];
        assert_eq!(lines, expected);
        let waiting = story.split(['\n', '\r']).find(|line| line.contains('…')).expect("it says what it waits for");
        assert!(waiting.chars().count() < 40, "{waiting}");
    }

    #[test]
    fn a_pipe_gets_a_line_for_each_sentence() {
        assert!(story(None).contains("\n   ✓ /config/greeting (content): detected after 3 ms, healed after 38 ms\n"));
    }
}
