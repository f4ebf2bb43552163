//! Prints the story: chapters, actions and results. On a terminal it updates lines in place;
//! elsewhere it prints plain lines.

use std::io::{self, Write};
use std::path::Path;

use crate::show::{Paint, Screen, wrap};

/// The width of a quotation in columns.
const QUOTED: usize = 100;

pub(super) struct Teller<'a, W> {
    output: &'a mut W,
    colour: bool,
    /// Lines can be overwritten: the output is a terminal.
    live: bool,
    chapter: u32,
}

impl<'a, W: Write> Teller<'a, W> {
    pub(super) fn new(output: &'a mut W, screen: &Screen) -> Self {
        Self { output, colour: screen.colour, live: screen.width.is_some(), chapter: 0 }
    }

    pub(super) fn opening(&mut self, folder: &Path) -> io::Result<()> {
        self.line(
            "Setpoint holds real systems at the state that a Git repository declares. This demo runs a real agent:",
        )?;
        self.line(&format!("everything happens in {}; nothing else is touched.", folder.display()))
    }

    pub(super) fn chapter(&mut self, title: &str) -> io::Result<()> {
        self.chapter += 1;
        let title = Paint::Strong.on(&format!("{}. {title}", self.chapter), self.colour);
        self.line("")?;
        self.line(&title)
    }

    /// Prints an action of a person or process.
    pub(super) fn act(&mut self, text: &str) -> io::Result<()> {
        self.line(&format!("   {text}"))
    }

    /// Shows on a terminal what the demo waits for, until the next line replaces it.
    pub(super) fn wait(&mut self, text: &str) -> io::Result<()> {
        if self.live {
            write!(self.output, "   {}\r", Paint::Faint.on(&format!("… {text}"), self.colour))?;
            self.output.flush()?;
        }
        Ok(())
    }

    /// Prints a good result that was observed.
    pub(super) fn seen(&mut self, text: &str) -> io::Result<()> {
        let mark = Paint::Good.on("✓", self.colour);
        self.over(&format!("   {mark} {text}"))
    }

    /// Prints that something was refused, held or not deleted: also good, and worth attention.
    pub(super) fn stopped(&mut self, text: &str) -> io::Result<()> {
        let mark = Paint::Warn.on("■", self.colour);
        self.over(&format!("   {mark} {text}"))
    }

    /// Prints a message of the agent, word for word.
    pub(super) fn quote(&mut self, text: &str) -> io::Result<()> {
        // Quotations are wrapped in a pipe, too, because people read them.
        for line in wrap(text, Some(QUOTED)).iter().take(6) {
            self.line(&format!("     {}", Paint::Faint.on(&format!("│ {line}"), self.colour)))?;
        }
        Ok(())
    }

    fn over(&mut self, text: &str) -> io::Result<()> {
        if self.live {
            write!(self.output, "\r\u{1b}[K")?;
        }
        self.line(text)
    }

    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.output, "{text}")?;
        self.output.flush()
    }
}
