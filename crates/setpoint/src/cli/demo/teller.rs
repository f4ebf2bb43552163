//! Writes the story down: chapters, what was done, what was seen. Live on a terminal, plain lines
//! elsewhere.

use std::io::{self, Write};
use std::path::Path;

use crate::show::{Paint, Screen, wrap};

/// Columns of a quotation.
const QUOTED: usize = 100;

pub(super) struct Teller<'a, W> {
    output: &'a mut W,
    colour: bool,
    /// A line may be written over.
    live: bool,
    chapter: u32,
}

impl<'a, W: Write> Teller<'a, W> {
    pub(super) fn new(output: &'a mut W, screen: &Screen) -> Self {
        Self { output, colour: screen.colour, live: screen.width.is_some(), chapter: 0 }
    }

    pub(super) fn opening(&mut self, folder: &Path) -> io::Result<()> {
        self.line(
            "Setpoint holds real systems at what a Git repository declares. This is a real agent on a small stage:",
        )?;
        self.line(&format!("everything happens in {}, and nothing else is touched.", folder.display()))
    }

    pub(super) fn chapter(&mut self, title: &str) -> io::Result<()> {
        self.chapter += 1;
        let title = Paint::Strong.on(&format!("{}. {title}", self.chapter), self.colour);
        self.line("")?;
        self.line(&title)
    }

    /// What somebody does.
    pub(super) fn act(&mut self, text: &str) -> io::Result<()> {
        self.line(&format!("   {text}"))
    }

    /// Something is waited for: shown on a terminal until it is seen.
    pub(super) fn wait(&mut self, text: &str) -> io::Result<()> {
        if self.live {
            write!(self.output, "   {}\r", Paint::Faint.on(&format!("… {text}"), self.colour))?;
            self.output.flush()?;
        }
        Ok(())
    }

    /// It was seen, and it is good.
    pub(super) fn seen(&mut self, text: &str) -> io::Result<()> {
        let mark = Paint::Good.on("✓", self.colour);
        self.over(&format!("   {mark} {text}"))
    }

    /// It was refused, held or kept: also good, and worth a second look.
    pub(super) fn stopped(&mut self, text: &str) -> io::Result<()> {
        let mark = Paint::Warn.on("■", self.colour);
        self.over(&format!("   {mark} {text}"))
    }

    /// What the agent says about it, word for word.
    pub(super) fn quote(&mut self, text: &str) -> io::Result<()> {
        // Also in a pipe: it is read by people.
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
