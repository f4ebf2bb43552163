//! kustomize itself: a process that builds cases line by line, built with Go by xtask.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::case::{BUILT, Case};

#[path = "../record/peer/place.rs"]
mod place;

/// A peer process that runs until the value is dropped.
pub(crate) struct Peer {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    #[expect(clippy::disallowed_methods, reason = "the peer is in the home directory of the user who runs the tests")]
    pub(crate) fn start() -> Self {
        let home = std::env::home_dir().expect("a home directory");
        let file: PathBuf = home.join(".cache/setpoint").join(place::file_name());
        let child = Command::new(&file).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.unwrap_or_else(|error| {
            panic!("{} does not start ({error}): run `cargo xtask fuzz kustomize`, which builds it", file.display())
        });
        let questions = child.stdin.take().expect("stdin was piped above");
        let answers = BufReader::new(child.stdout.take().expect("stdout was piped above"));
        Self { child, questions, answers }
    }

    /// Returns kustomize's output for a case, or its error.
    pub(crate) fn ask(&mut self, case: &Case) -> Result<String, String> {
        // A schema stays loaded in a process, so these cases need a fresh one. Other cases share a
        // process, because loading the built-in schema again takes time.
        let has_schema = case.files.values().any(|text| text.contains("openapi"));
        let question = json!({
            "files": case.files, "folder": BUILT, "fresh": has_schema, "unrestricted": case.is_unrestricted,
        });
        writeln!(self.questions, "{question}").expect("the peer listens");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the peer answers");
        // Go ends a program on stack overflow; nothing can catch that.
        if line.is_empty() {
            *self = Self::start();
            return Err("kustomize ended".to_owned());
        }
        let answer: Value = serde_json::from_str(&line).expect("an answer is JSON");
        match answer["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            // A peer does not know its release.
            None => {
                let output = answer["output"].as_str().expect("an output");
                Ok(output.replace("managed-by: kustomize-(devel)", "managed-by: kustomize-v5.8.1"))
            }
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
