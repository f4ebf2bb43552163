//! Sends requests to the agent through the socket of its data directory, and explains a missing
//! response.

use std::io::Write;

use serde::Serialize;
use setpoint_api::{AskError, Client, socket_in};
use setpoint_core::name::{AppId, BadName, Scope};
use setpoint_yaml::visible_text;
use tokio::runtime::Builder;

use super::{Context, Failure, Form};
use crate::complaint::told;
use crate::exit::Exit;
use crate::show::Screen;

/// Sends one request to the agent and waits for its response.
pub(super) fn ask<T>(
    context: &Context,
    question: impl AsyncFnOnce(&Client) -> Result<T, AskError>,
) -> Result<T, Failure> {
    let could_not = |text: String| Failure::Told(Exit::CouldNotRun, text);
    let data = context.data()?;
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| could_not(told(&error)))?;
    let client = Client::new(socket_in(data));
    runtime.block_on(question(&client)).map_err(|error| could_not(shown(&told(&error))))
}

/// Escapes an agent's message, which may hold names from outside. Its line breaks stay.
pub(super) fn shown(text: &str) -> String {
    text.lines().map(visible_text).collect::<Vec<_>>().join("\n")
}

/// Writes a response: as a page for people, or as JSON for programs.
pub(super) fn write<T: Serialize>(
    answer: &T,
    page: impl FnOnce(&T, &Screen) -> String,
    context: &Context,
    output: &mut impl Write,
) -> Result<(), Failure> {
    match context.form {
        Form::Text => output.write_all(page(answer, &context.screen).as_bytes())?,
        Form::Json => {
            serde_json::to_writer_pretty(&mut *output, answer).map_err(|error| Failure::Output(error.into()))?;
            writeln!(output)?;
        }
    }
    Ok(())
}

/// Reads the name of an app: `scope/name`, or `name` alone in the scope `default`.
pub(super) fn app(text: &str) -> Result<AppId, BadName> {
    if text.contains('/') { text.parse() } else { Ok(AppId::new(Scope::default_scope(), text.parse()?)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_says_moves_no_cursor() {
        assert_eq!(shown("there is no `a`;\nthere are `\u{1b}[31m`"), "there is no `a`;\nthere are `\\u{1b}[31m`");
    }

    #[test]
    fn an_app_without_a_scope_is_in_the_default_one() {
        assert_eq!(app("shop").map(|app| app.to_string()), Ok("default/shop".to_owned()));
        assert_eq!(app("web/shop").map(|app| app.to_string()), Ok("web/shop".to_owned()));
        assert!(app("web/").is_err() && app("Shop").is_err());
    }
}
