//! `--watch`: shows a response again whenever it changes. A terminal is redrawn; a pipe gets each
//! state in turn.

use std::io::Write;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use setpoint_api::{AskError, Client};
use tokio::time::{MissedTickBehavior, interval};

use super::asking::{ask, shown};
use super::{Context, Failure, Form};
use crate::complaint::told;
use crate::doors::Clock;
use crate::show::Screen;

/// The interval at which the agent is asked.
const INTERVAL: Duration = Duration::from_secs(1);

/// Fields of responses that change although nothing has happened: the time, and counts of requests.
const RESTLESS: [&str; 3] = ["now", "answered", "requests"];

/// Clears a terminal and moves its cursor to the top.
const CLEAR: &str = "\u{1b}[2J\u{1b}[H";

/// Shows a response until the command is interrupted. An error of the first request ends the
/// command; a later one is shown, because the agent may return.
pub(super) fn watch<T: Serialize>(
    context: &Context,
    output: &mut impl Write,
    mut question: impl AsyncFnMut(&Client) -> Result<T, AskError>,
    page: impl Fn(&T, &Screen) -> String,
) -> Result<(), Failure> {
    let (clock, mut view) = (Clock::start(), View { context, output, last: None });
    ask(context, async |client| {
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let answer = question(client).await;
            let screen = Screen { now: clock.now(), ..context.screen };
            let drawn = match answer {
                Ok(answer) => view.show(&json!(answer), || page(&answer, &screen)),
                Err(error) if view.last.is_none() => return Err(error),
                Err(error) => {
                    let text = shown(&told(&error));
                    view.show(&json!({ "error": text }), || format!("error: {text}\n"))
                }
            };
            if let Err(failure) = drawn {
                return Ok(Err(failure));
            }
        }
    })?
}

struct View<'a, W> {
    context: &'a Context,
    output: &'a mut W,
    /// The last state that was shown.
    last: Option<Value>,
}

impl<W: Write> View<'_, W> {
    /// Shows a state: on a terminal always, because the times in it move, elsewhere if it changed.
    fn show(&mut self, answer: &Value, page: impl FnOnce() -> String) -> Result<(), Failure> {
        let state = at_rest(answer.clone());
        let (is_terminal, is_new) = (self.context.screen.width.is_some(), self.last.as_ref() != Some(&state));
        match self.context.form {
            Form::Json if is_new => writeln!(self.output, "{answer}")?,
            Form::Text if is_terminal => write!(self.output, "{CLEAR}{}", page())?,
            Form::Text if is_new => {
                let line = if self.last.is_some() { "\n---\n\n" } else { "" };
                write!(self.output, "{line}{}", page())?;
            }
            Form::Json | Form::Text => {}
        }
        self.output.flush()?;
        self.last = Some(state);
        Ok(())
    }
}

/// Removes the fields that change by themselves.
fn at_rest(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.retain(|name, _| !RESTLESS.contains(&name.as_str()));
            fields.values_mut().for_each(|field| *field = at_rest(field.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = at_rest(item.take())),
        _ => {}
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_response_is_no_change() {
        let at = |now: u64, state: &str| json!({ "now": now, "stores": [{ "answered": now }], "apps": [{ "requests": { "get": now }, "state": state }] });
        assert_eq!(at_rest(at(1, "converged")), at_rest(at(2, "converged")));
        assert_ne!(at_rest(at(1, "converged")), at_rest(at(1, "degraded")));
    }
}
