//! `setpoint logs`: streams the logs of an app's pods.

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

/// Print the logs of an app's pods
///
/// With several containers, each line begins with the name of its pod and container. Logs that
/// cannot be read are reported on standard error, and the others are still printed. With `--output
/// json`, each line is a JSON value.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint logs web/shop           print the logs of all its pods
  setpoint logs web/shop/Deployment/front -f --tail 20
                                   follow the pods of one Deployment, from their last 20 lines
  setpoint logs web/shop/Pod/front-77b0-q8 --previous
                                   print the log of the container before its last restart")]
pub(super) struct Logs {
    /// The app, as `name` or `scope/name`; append `/Kind/name` for one of its objects and the pods
    /// that it owns
    #[arg(value_name = "APP[/KIND/NAME]", value_parser = subject)]
    subject: Subject,
    /// Follow the logs until Ctrl-C, including pods and containers that start later
    #[arg(short, long, conflicts_with = "previous")]
    follow: bool,
    /// Print only lines newer than this, such as `10m` or `2h`
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    since: Option<Span>,
    /// Print only the last lines of each container, up to this number
    #[arg(long, value_name = "LINES")]
    tail: Option<u64>,
    /// Print only containers with this name [default: all regular containers, without init and
    /// ephemeral ones]
    #[arg(long, value_name = "NAME")]
    container: Option<String>,
    /// Print the logs from before the last restart
    #[arg(long)]
    previous: bool,
}

/// An app, or one of its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Subject {
    app: AppId,
    object: Option<ObjectName>,
}

/// Parses `shop`, `web/shop`, `shop/Deployment/front` or `web/shop/Deployment/front`.
fn subject(text: &str) -> Result<Subject, String> {
    let parts: Vec<&str> = text.split('/').collect();
    let (of, object) = match parts.as_slice() {
        [.., kind, name] if parts.len() > 2 => (parts[..parts.len() - 2].join("/"), Some((*kind, *name))),
        _ => (text.to_owned(), None),
    };
    let app = app(&of).map_err(|bad| bad.to_string())?;
    if object.is_some_and(|(kind, name)| kind.is_empty() || name.is_empty()) {
        return Err("expected an object as `Kind/name`, for example `web/shop/Deployment/front`".to_owned());
    }
    let object = object.map(|(kind, name)| ObjectName { kind: kind.to_owned(), name: name.to_owned() });
    Ok(Subject { app, object })
}

fn length(text: &str) -> Result<Span, String> {
    read_span(text).ok_or_else(|| "expected a duration such as `30s`, `10m` or `2h`".to_owned())
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
    // No lines because no log could be read: that is not an empty log.
    Ok(if lines == 0 && notes > 0 { Exit::Failed } else { Exit::Done })
}

/// Writes the parts of a log stream as they arrive.
struct Writer<'a, W> {
    context: &'a Context,
    output: &'a mut W,
    /// Several containers write: each line begins with its source.
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
                // The user may wait for exactly this line.
                self.output.flush()
            }
        }
    }

    /// Formats a line. On a terminal, control characters are escaped; a pipe gets the original
    /// text.
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
