//! Sends requests to an agent, through the socket of its data directory or to its server, and explains
//! a missing response.

use std::io::Write;

use serde::Serialize;
use setpoint_api::{AskError, Client, ProblemKind, socket_in};
use setpoint_core::name::{AppId, BadName, Scope};
use setpoint_yaml::visible_text;
use tokio::runtime::{Builder, Runtime};

use super::contexts::Contexts;
use super::run::could_not;
use super::{Context, Failure, Form};
use crate::complaint::told;
use crate::show::Screen;

/// Sends one request to the agent and waits for its response.
pub(super) fn ask<T>(
    context: &Context,
    question: impl AsyncFnOnce(&Client) -> Result<T, AskError>,
) -> Result<T, Failure> {
    let client = client(context)?;
    runtime()?.block_on(question(&client)).map_err(|error| {
        let is_over = matches!(&error, AskError::Refused(problem) if problem.kind == ProblemKind::Unauthenticated);
        let next = if is_over { "; run `setpoint login` again" } else { "" };
        could_not(format!("{}{next}", shown(&told(&error))))
    })
}

/// Returns the client of the agent to ask: the one of `--server`, else the one whose data directory
/// is given, else that of the current context, else the one on this machine.
fn client(context: &Context) -> Result<Client, Failure> {
    let local = || context.data().map(|data| Client::new(socket_in(data)));
    if context.server.is_none() && (context.is_data_given || context.contexts.is_none()) {
        return local();
    }
    let contexts = Contexts::read(context.contexts.as_deref())?;
    match contexts.find(context.server.as_deref())? {
        Some(saved) => Ok(Client::remote(saved.server()?)),
        None => local(),
    }
}

pub(super) fn runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread().enable_all().build().map_err(|error| could_not(told(&error)))
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
