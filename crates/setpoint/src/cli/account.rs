//! `setpoint account`: the way back in on the machine of the agent, if no administrator can sign in.

use std::io::Write;
use std::net::IpAddr;
use std::path::Path;

use clap::{Args, Subcommand};
use serde_json::json;
use setpoint_accounts::{Accounts, AccountsError, Author, Change, Client, NewAccount};
use setpoint_api::server::user;

use super::asking::runtime;
use super::run::could_not;
use super::{Context, Failure, Form};
use crate::complaint::told;
use crate::doors::{self, Clock};
use crate::exit::Exit;

/// Get back in when no administrator can sign in to the web pages
///
/// For users who can read the data directory: root, and the owner of the agent. The agent may be
/// running. Each change is recorded in the ledger.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Reset(Reset),
    Trust(Trust),
}

/// Set the password of an administrator, read from standard input, and end its sessions
///
/// A missing account is created. A disabled one is enabled, and made an administrator.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint account reset erika --reason \"password lost\"")]
pub(super) struct Reset {
    /// Name of the local account
    name: String,
    /// Reason for the reset; recorded in the ledger
    #[arg(long)]
    reason: String,
}

/// Let an account sign in from an address while wrong passwords of others are being limited
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint account trust erika 192.0.2.7 --reason \"under attack\"")]
pub(super) struct Trust {
    /// Name of the local account
    name: String,
    /// Address that the account signs in from
    address: IpAddr,
    /// Reason; recorded in the ledger
    #[arg(long)]
    reason: String,
}

pub(super) fn run(command: Command, context: &Context, output: &mut impl Write) -> Result<Exit, Failure> {
    let data = context.data()?;
    let (name, reason) = match &command {
        Command::Reset(Reset { name, reason }) | Command::Trust(Trust { name, reason, .. }) => {
            (name.clone(), reason.clone())
        }
    };
    if reason.trim().is_empty() {
        return Err(could_not("a reason is required: `--reason \"…\"` is recorded with the change".to_owned()));
    }
    let actor = user(rustix::process::geteuid().as_raw());
    let by = Author { actor: &actor, via: "data directory", reason: reason.trim(), now: Clock::start().now() };
    let changed = runtime()?.block_on(async {
        let accounts = open(data).await?;
        let changed = change(&accounts, command, &by).await;
        accounts.close().await;
        changed
    })?;
    match context.form {
        Form::Text => {
            for change in &changed {
                writeln!(output, "{change}")?;
            }
        }
        Form::Json => writeln!(output, "{:#}", json!({ "account": name, "changes": changed }))?,
    }
    Ok(Exit::Done)
}

/// Opens the accounts of an agent that has run here. Never creates them.
async fn open(data: &Path) -> Result<Accounts, Failure> {
    if !data.join("access.db").exists() {
        let next = "set the data directory with `--data`, and serve the web pages once before";
        return Err(could_not(format!("there are no accounts in {}: {next}", data.display())));
    }
    Accounts::open(data).await.map_err(|error| could_not(told(&error)))
}

async fn change(accounts: &Accounts, command: Command, by: &Author<'_>) -> Result<Vec<Change>, Failure> {
    let failed = |error: AccountsError| could_not(told(&error));
    match command {
        Command::Reset(Reset { name, .. }) => {
            let unread = |error: std::io::Error| could_not(format!("cannot read the password: {error}"));
            let password = doors::secret("New password: ").map_err(unread)?;
            let password = setpoint_accounts::Password::new(password.to_string());
            reset(accounts, &name, &password, by).await.map_err(failed)
        }
        Command::Trust(Trust { name, address, .. }) => {
            let client = Client::new(address, "");
            Ok(vec![accounts.trust_address(&name, &client, by).await.map_err(failed)?])
        }
    }
}

async fn reset(
    accounts: &Accounts,
    name: &str,
    password: &setpoint_accounts::Password,
    by: &Author<'_>,
) -> Result<Vec<Change>, AccountsError> {
    let Some(account) = accounts.account(name).await? else {
        let new = NewAccount { name, password, groups: Vec::new(), administrator: true };
        return Ok(vec![accounts.create_account(new, by).await?.change]);
    };
    let mut changes = vec![accounts.set_password(name, password, None, by).await?];
    if !account.administrator {
        changes.push(accounts.set_administrator(name, true, by).await?);
    }
    if account.disabled {
        changes.push(accounts.enable_account(name, by).await?);
    }
    Ok(changes)
}
