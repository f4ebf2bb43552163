//! The kustomize library in a process that keeps running, with one request per line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::overlays::Overlay;
use super::tools::{LIBRARY, path};
use crate::agent::program::program;

/// A process that ends when the value is dropped.
pub(super) struct Library {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Library {
    pub(super) fn start() -> anyhow::Result<Self> {
        let mut command = program(path(LIBRARY)?);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let questions = child.stdin.take().context("it was asked for")?;
        let answers = BufReader::new(child.stdout.take().context("it was asked for")?);
        Ok(Self { child, questions, answers })
    }

    /// Returns the rendered overlay, and the processor time that its process took, including
    /// garbage collection.
    pub(super) fn render(&mut self, overlay: &Overlay) -> anyhow::Result<(String, Duration)> {
        self.ask(&json!({ "disk": overlay.root, "folder": overlay.target }))
    }

    pub(super) fn ask(&mut self, question: &Value) -> anyhow::Result<(String, Duration)> {
        writeln!(self.questions, "{question}").context("the library does not listen")?;
        let mut line = String::new();
        self.answers.read_line(&mut line).context("the library does not answer")?;
        let answer: Value = serde_json::from_str(&line).context("the library has ended")?;
        if let Some(error) = answer["error"].as_str() {
            bail!("the library refuses it: {error}");
        }
        let output = answer["output"].as_str().context("an answer has an output")?.to_owned();
        let taken = answer["cpu"].as_u64().context("the response has no time; build the peer again")?;
        Ok((output, Duration::from_nanos(taken)))
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // The process may have ended already; either way nothing of it is left.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
