//! `setpoint logs`: what the pods of an app have logged, as it comes.

use std::io::{self, Write};
use std::ops::ControlFlow;

use clap::Args;
use setpoint_api::answer::LogPart;
use setpoint_api::question::{LogQuestion, ObjectName};
use setpoint_core::name::AppId;
use setpoint_core::time::Span;
use setpoint_documents::read_span;
use setpoint_yaml::visible_text;

use super::asking::{app, ask};
use super::{Context, Exit, Failure, Form};
use crate::doors;
use crate::show::Paint;

/// Shows what the pods of an app have logged
///
/// Lines of several containers begin with the name of their pod and container. What cannot be read
/// is told on standard error, and the rest is shown all the same. With `--output json` each line is
/// a JSON value.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint logs web/shop           everything its pods have logged
  setpoint logs web/shop/Deployment/front -f --tail 20
                                   the newest lines of one Deployment's pods, and those to come, until Ctrl-C
  setpoint logs web/shop/Pod/front-77b0-q8 --previous
                                   what a container said before it was restarted")]
pub(super) struct Logs {
    /// The app, as `name` or `scope/name`; `/Kind/name` after it for one of its objects and what
    /// that owns
    #[arg(value_name = "APP[/KIND/NAME]", value_parser = subject)]
    subject: Subject,
    /// Go on as more is written, until Ctrl-C. Pods and containers that start later are taken up
    /// within seconds
    #[arg(short, long, conflicts_with = "previous")]
    follow: bool,
    /// Only what was written in this last while, as `10m` or `2h`
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    since: Option<Span>,
    /// Only the last so many lines of each container
    #[arg(long, value_name = "LINES")]
    tail: Option<u64>,
    /// Only containers of this name; without it, those that run beside each other and none that ran
    /// before
    #[arg(long, value_name = "NAME")]
    container: Option<String>,
    /// What was logged before the last restart
    #[arg(long)]
    previous: bool,
}

/// An app, or one of its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Subject {
    app: AppId,
    object: Option<ObjectName>,
}

/// `shop`, `web/shop`, `shop/Deployment/front`, `web/shop/Deployment/front`.
fn subject(text: &str) -> Result<Subject, String> {
    let parts: Vec<&str> = text.split('/').collect();
    let (of, object) = match parts.as_slice() {
        [.., kind, name] if parts.len() > 2 => (parts[..parts.len() - 2].join("/"), Some((*kind, *name))),
        _ => (text.to_owned(), None),
    };
    let app = app(&of).map_err(|bad| bad.to_string())?;
    if object.is_some_and(|(kind, name)| kind.is_empty() || name.is_empty()) {
        return Err("write an object as `Kind/name`: `web/shop/Deployment/front`".to_owned());
    }
    let object = object.map(|(kind, name)| ObjectName { kind: kind.to_owned(), name: name.to_owned() });
    Ok(Subject { app, object })
}

fn length(text: &str) -> Result<Span, String> {
    read_span(text).ok_or_else(|| "give a length as `30s`, `10m` or `2h`".to_owned())
}

pub(super) fn run(arguments: Logs, context: &Context, output: &mut (impl Write + Send)) -> Result<Exit, Failure> {
    let Logs { subject: Subject { app, object }, follow, since, tail, container, previous } = arguments;
    let question = LogQuestion { app, object, follow, since, tail, container, previous };
    let mut writer = Writer { context, output, several: false, lines: 0, notes: 0, broken: None };
    ask(context, async |client| client.logs(&question, |part| writer.take(&part)).await)?;
    let Writer { lines, notes, broken, .. } = writer;
    if let Some(error) = broken {
        return Err(error.into());
    }
    // Nothing came because nothing could be read: that is not an empty log.
    Ok(if lines == 0 && notes > 0 { Exit::Failed } else { Exit::Done })
}

/// Writes pieces as they come.
struct Writer<'a, W> {
    context: &'a Context,
    output: &'a mut W,
    /// Lines say where they are from.
    several: bool,
    lines: u64,
    notes: u64,
    broken: Option<io::Error>,
}

impl<W: Write> Writer<'_, W> {
    fn take(&mut self, part: &LogPart) -> ControlFlow<()> {
        match self.write(part) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.broken = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn write(&mut self, part: &LogPart) -> io::Result<()> {
        match part {
            LogPart::Sources { names } => {
                self.several = names.len() > 1;
                Ok(())
            }
            LogPart::Note { text } => {
                self.notes += 1;
                writeln!(doors::complaints(), "note: {}", visible_text(text))
            }
            LogPart::Line { source, text } => {
                self.lines += 1;
                match self.context.form {
                    Form::Json => {
                        serde_json::to_writer(&mut *self.output, &serde_json::json!({"source": source, "text": text}))?;
                        writeln!(self.output)?;
                    }
                    Form::Text => writeln!(self.output, "{}", self.shown(source, text))?,
                }
                // Somebody may be waiting for just this line.
                self.output.flush()
            }
        }
    }

    /// On a terminal what could steer it is shown and not obeyed; a pipe gets what was written.
    fn shown(&self, source: &str, text: &str) -> String {
        let screen = &self.context.screen;
        let line = if screen.width.is_some() {
            text.split('\t').map(visible_text).collect::<Vec<_>>().join("\t")
        } else {
            text.to_owned()
        };
        if self.several { format!("{} {line}", Paint::Faint.on(source, screen.colour)) } else { line }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(String, Option<(String, String)>)> {
        let Subject { app, object } = subject(text).ok()?;
        Some((app.to_string(), object.map(|object| (object.kind, object.name))))
    }

    #[test]
    fn an_app_may_be_followed_by_one_of_its_objects() {
        let object = |kind: &str, name: &str| Some((kind.to_owned(), name.to_owned()));
        assert_eq!(read("shop"), Some(("default/shop".to_owned(), None)));
        assert_eq!(read("web/shop"), Some(("web/shop".to_owned(), None)));
        assert_eq!(read("shop/Pod/a"), Some(("default/shop".to_owned(), object("Pod", "a"))));
        assert_eq!(read("web/shop/Pod/a"), Some(("web/shop".to_owned(), object("Pod", "a"))));
        for wrong in ["", "web/", "web/shop//a", "web/shop/Pod/", "a/web/shop/Pod/a", "Shop/Pod/a"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
