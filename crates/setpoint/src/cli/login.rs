//! `setpoint login`, `logout` and `context`: signing in to servers, and choosing the one that
//! commands ask.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use setpoint_api::answer::SessionInfo;
use setpoint_api::{AskError, Client, Credentials};
use zeroize::Zeroizing;

use super::asking::{runtime, shown};
use super::contexts::{Contexts, SavedCredentials, SavedServer, Secret, server};
use super::run::could_not;
use super::{Context, Failure, Form};
use crate::complaint::told;
use crate::doors;
use crate::exit::Exit;

/// Sign in to a server, so that the commands ask it instead of an agent on this machine
///
/// The sign-in is stored in `~/.config/setpoint/contexts.json`, which only you can read. It becomes
/// the current context. A session ends like that of a browser; a machine token when it expires.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint login https://ops.example                 ask for account and password
  setpoint login https://ops.example --token-file ci.token
                                                     sign in with a machine token
  setpoint login https://ops.example --account erika < password.txt")]
pub(super) struct Login {
    /// The address of the server, as in a browser
    url: String,
    /// Local account; its password is asked for, or read from standard input
    #[arg(long, value_name = "NAME", conflicts_with = "token_file")]
    account: Option<String>,
    /// File with a machine token; `-` reads it from standard input
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// PEM file with the CA certificates of the server [default: those of the system]
    #[arg(long, value_name = "FILE")]
    authority: Option<PathBuf>,
    /// Name of the context [default: the address without `https://`]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// End a session and forget the server
#[derive(Debug, Args)]
pub(super) struct Logout {
    /// Name of the context [default: the current one]
    name: Option<String>,
}

/// List the servers that you are signed in to, or choose the current one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint context                 list all
  setpoint context ops.example     ask this server from now on
  setpoint context --local         ask the agent on this machine from now on")]
pub(super) struct Choose {
    /// Name of the context that commands use from now on
    #[arg(conflicts_with = "local")]
    name: Option<String>,
    /// Use the agent on this machine from now on
    #[arg(long)]
    local: bool,
}

pub(super) fn login(arguments: Login, context: &Context, output: &mut impl Write) -> Result<Exit, Failure> {
    let Login { url, account, token_file, authority, name } = arguments;
    let mut contexts = Contexts::read(context.contexts.as_deref())?;
    let authority = authority.map(|file| fs::canonicalize(&file).map_err(|error| super::unusable(&file, &error)));
    let authority = authority.transpose()?;
    let unsigned = server(&url, authority.as_deref(), Credentials::None)?;
    let url = unsigned.url().to_owned();
    let credentials = match token_file {
        Some(file) => SavedCredentials::Token(Secret(token(&file)?)),
        None => signed_in(unsigned, account)?,
    };
    let saved = SavedServer { url: url.clone(), authority, credentials };
    let info = session_of(&saved)?;
    let saved = with_csrf(saved, &info);
    let name = name.unwrap_or_else(|| name_of(&url));
    contexts.content.contexts.insert(name.clone(), saved);
    contexts.content.current = Some(name.clone());
    contexts.write()?;
    let SessionInfo { actor, via, .. } = info;
    match context.form {
        Form::Text => writeln!(output, "signed in to {url} as {actor} ({via}); commands ask this server from now on")?,
        Form::Json => writeln!(output, "{:#}", json!({ "context": name, "url": url, "actor": actor, "via": via }))?,
    }
    Ok(Exit::Done)
}

/// Reads the token in a file, or in standard input.
fn token(file: &PathBuf) -> Result<Zeroizing<String>, Failure> {
    let text = if file.as_os_str() == "-" { io::read_to_string(io::stdin()) } else { fs::read_to_string(file) };
    let text = Zeroizing::new(text.map_err(|error| super::unusable(file, &error))?);
    let token = Zeroizing::new(text.trim().to_owned());
    if token.is_empty() {
        return Err(could_not(format!("{} contains no token", file.display())));
    }
    Ok(token)
}

/// Signs in with a password. The token against forged requests is not known yet.
fn signed_in(server: setpoint_api::RemoteServer, account: Option<String>) -> Result<SavedCredentials, Failure> {
    let unread = |error: io::Error| could_not(format!("cannot read the password: {error}"));
    let account = match account {
        Some(account) => account,
        None => asked("Account: ").map_err(unread)?,
    };
    let password = doors::secret("Password: ").map_err(unread)?;
    let client = Client::remote(server);
    let cookie = runtime()?.block_on(client.sign_in(account.trim(), &password));
    let cookie = cookie.map_err(|error| could_not(shown(&told(&error))))?;
    Ok(SavedCredentials::Session { cookie: Secret(cookie), csrf: Secret(Zeroizing::default()) })
}

fn asked(question: &str) -> io::Result<String> {
    let mut complaints = doors::complaints();
    write!(complaints, "{question}")?;
    complaints.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line)
}

fn session_of(saved: &SavedServer) -> Result<SessionInfo, Failure> {
    let client = Client::remote(saved.server()?);
    runtime()?.block_on(client.session()).map_err(|error| could_not(shown(&told(&error))))
}

fn with_csrf(mut saved: SavedServer, info: &SessionInfo) -> SavedServer {
    if let (SavedCredentials::Session { csrf, .. }, Some(known)) = (&mut saved.credentials, &info.csrf) {
        *csrf = Secret(Zeroizing::new(known.clone()));
    }
    saved
}

/// Returns the host of an address, with its path if it has one.
fn name_of(url: &str) -> String {
    url.split_once("://").map_or(url, |(_, rest)| rest).to_owned()
}

fn unknown_context(name: &str) -> String {
    format!("there is no context `{name}`: `setpoint context` lists all")
}

pub(super) fn logout(arguments: Logout, context: &Context, output: &mut impl Write) -> Result<Exit, Failure> {
    let mut contexts = Contexts::read(context.contexts.as_deref())?;
    let name = arguments.name.or_else(|| contexts.content.current.clone());
    let Some(name) = name else {
        return Err(could_not("no context is chosen: name one of those that `setpoint context` lists".to_owned()));
    };
    let Some(saved) = contexts.content.contexts.remove(&name) else { return Err(could_not(unknown_context(&name))) };
    contexts.content.current = contexts.content.current.filter(|current| *current != name);
    contexts.write()?;
    let ended = match &saved.credentials {
        // Only an administrator can revoke a token.
        SavedCredentials::Token(_) => Ok(()),
        SavedCredentials::Session { .. } => runtime()?.block_on(Client::remote(saved.server()?).sign_out()),
    };
    let note = match ended {
        Ok(()) => String::new(),
        Err(AskError::Refused(problem)) if problem.kind == setpoint_api::ProblemKind::Unauthenticated => String::new(),
        Err(error) => format!("; the session may still be open: {}", shown(&told(&error))),
    };
    match context.form {
        Form::Text => writeln!(output, "signed out of {}{note}", saved.url)?,
        Form::Json => writeln!(output, "{:#}", json!({ "url": saved.url }))?,
    }
    Ok(Exit::Done)
}

pub(super) fn choose(arguments: Choose, context: &Context, output: &mut impl Write) -> Result<Exit, Failure> {
    let mut contexts = Contexts::read(context.contexts.as_deref())?;
    if let Some(name) = arguments.name {
        if !contexts.content.contexts.contains_key(&name) {
            return Err(could_not(unknown_context(&name)));
        }
        contexts.content.current = Some(name);
        contexts.write()?;
    } else if arguments.local {
        contexts.content.current = None;
        contexts.write()?;
    }
    let content = &contexts.content;
    match context.form {
        Form::Text => {
            for (name, saved) in &content.contexts {
                let mark = if content.current.as_ref() == Some(name) { "*" } else { " " };
                let url = if name_of(&saved.url) == *name { String::new() } else { format!("  {}", saved.url) };
                writeln!(output, "{mark} {name}{url}")?;
            }
            if content.current.is_none() {
                writeln!(output, "commands ask the agent on this machine")?;
            }
        }
        Form::Json => {
            let urls = content.contexts.iter().map(|(name, saved)| (name, &saved.url));
            let urls: std::collections::BTreeMap<_, _> = urls.collect();
            writeln!(output, "{:#}", json!({ "current": content.current, "contexts": urls }))?;
        }
    }
    Ok(Exit::Done)
}
