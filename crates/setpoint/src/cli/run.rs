//! `setpoint run`: the agent, until it is stopped. `setpoint apply`: the same agent, once, for
//! pipelines.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use setpoint_core::name::AppId;
use setpoint_core::time::Span;
use setpoint_engine::Settings;
use setpoint_engine::machine::{AppStatus, Standing};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Context, Failure};
use crate::agent::bootstrap::Bootstrap;
use crate::agent::{AgentOptions, RunningAgent, set_back_of};
use crate::complaint::told;
use crate::doors::{self, Clock, duration};
use crate::exit::Exit;
use crate::families::families;
use crate::log::{self, Log};

/// Run the agent, which holds the apps of this installation
///
/// The agent reads the bootstrap document, follows the store that it names, and holds every app
/// that the accepted control documents declare. It serves the other commands on the socket
/// DATA/agent.sock. SIGTERM and Ctrl-C stop it gracefully: it waits for changes in flight and
/// records their results. SIGHUP reads the bootstrap document again: a new store or path comes into
/// force at once, and the log names changes that need a restart.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint init lab && setpoint run --config lab/bootstrap.yaml --data lab/data
                                   try it in a directory of your own
  setpoint run --config /etc/setpoint/bootstrap.yaml
                                   run as a service, with data in /var/lib/setpoint")]
pub(super) struct Run {
    /// Path of the bootstrap document
    #[arg(long, value_name = "FILE", default_value = "/etc/setpoint/bootstrap.yaml")]
    config: PathBuf,
    #[command(flatten)]
    log: LogArguments,
}

/// Converge once and print the result, for pipelines
///
/// Uses the same gates, budgets and ledger as the agent. The data directory must not be in use by a
/// running agent.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint apply --once --config bootstrap.yaml --data ./data

Exit codes:
  0  everything is as declared, nothing had to be changed
  1  could not run
  2  something was changed, and everything is as declared now
  4  something is not as declared
  6  something was changed, and something is not as declared")]
pub(super) struct Apply {
    /// Path of the bootstrap document
    #[arg(long, value_name = "FILE", default_value = "/etc/setpoint/bootstrap.yaml")]
    config: PathBuf,
    /// Converge once and exit; required, as there is no other mode yet
    #[arg(long, required = true)]
    once: bool,
    /// Maximum time to converge, such as `90s` or `10m`
    #[arg(long, value_name = "SPAN", default_value = "10m", value_parser = span)]
    timeout: Span,
    #[command(flatten)]
    log: LogArguments,
}

/// The options of the log, which is written to the standard error.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct LogArguments {
    /// Least important events that the log contains
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = LogLevel::Info)]
    log_level: LogLevel,
    /// Format of the log, on standard error: text, or one JSON object for each event
    #[arg(long, value_enum, value_name = "FORM", default_value_t = LogForm::Text)]
    log_format: LogForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogForm {
    Text,
    Json,
}

impl LogArguments {
    /// The defaults, for commands without these options.
    pub(super) const DEFAULT: Self = Self { log_level: LogLevel::Info, log_format: LogForm::Text };

    fn open(self, context: &Context) -> Log {
        let level = match self.log_level {
            LogLevel::Error => tracing::Level::ERROR,
            LogLevel::Warn => tracing::Level::WARN,
            LogLevel::Info => tracing::Level::INFO,
            LogLevel::Debug => tracing::Level::DEBUG,
        };
        let form = match self.log_format {
            LogForm::Text => log::Form::Text { colour: context.log_colour },
            LogForm::Json => log::Form::Json,
        };
        Log::to_standard_error(log::Style { level, form })
    }
}

fn span(text: &str) -> Result<Span, String> {
    setpoint_documents::read_span(text).ok_or_else(|| "expected a duration such as `90s` or `1h30m`".to_owned())
}

pub(super) fn could_not(text: impl Into<String>) -> Failure {
    Failure::Told(Exit::CouldNotRun, text.into())
}

pub(super) fn options(config: &Path, log: LogArguments, context: &Context) -> Result<AgentOptions, Failure> {
    let Some(data) = context.data.clone() else {
        return Err(could_not("cannot choose a data directory: there is no home directory; set it with `--data`"));
    };
    let bootstrap = Bootstrap::read(config).map_err(|error| could_not(told(&error)))?;
    Ok(AgentOptions {
        bootstrap,
        data,
        clock: Clock::start(),
        settings: Settings::default(),
        families: families(doors::own_cluster()),
        program: doors::running_program(),
        log: log.open(context),
    })
}

pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    doors::runtime().map_err(|error| could_not(format!("cannot start threads: {error}")))
}

pub(super) fn run(arguments: &Run, context: &Context, output: &mut (impl Write + Send)) -> Result<Exit, Failure> {
    let options = options(&arguments.config, arguments.log, context)?;
    runtime()?.block_on(async {
        // First of all: the signal would end a process that does not listen.
        let mut reload = listen(SignalKind::hangup())?;
        let mut agent = RunningAgent::start(options).await.map_err(|error| could_not(told(&error)))?;
        writeln!(
            output,
            "holding; data in {}, socket {}",
            agent.folder().path().display(),
            agent.folder().socket().display()
        )?;
        if let Some(links) = agent.links() {
            writeln!(output, "serving {}", links.pages)?;
            if let Some(set_up) = &links.set_up {
                writeln!(output, "create the first account, an administrator, within the hour: {set_up}")?;
            }
        }
        output.flush()?;
        let stop = told_to_stop();
        tokio::pin!(stop);
        loop {
            tokio::select! {
                told = &mut stop => {
                    told?;
                    writeln!(output, "stopping: waiting for changes in flight, to record their results")?;
                    output.flush()?;
                    break;
                }
                () = agent.ended() => break,
                // If the agent has ended meanwhile, the next turn finds it.
                Some(()) = reload.recv() => drop(agent.reload().await),
            }
        }
        agent.stop().await.map_err(|error| could_not(told(&error)))?;
        Ok(Exit::Done)
    })
}

fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| could_not(format!("cannot listen for signals: {error}")))
}

/// Waits for SIGTERM or Ctrl-C.
pub(super) async fn told_to_stop() -> Result<(), Failure> {
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

pub(super) fn apply(arguments: &Apply, context: &Context, output: &mut (impl Write + Send)) -> Result<Exit, Failure> {
    let options = options(&arguments.config, arguments.log, context)?;
    runtime()?.block_on(async {
        let mut agent = RunningAgent::start(options).await.map_err(|error| could_not(told(&error)))?;
        let settled = tokio::time::timeout(duration(arguments.timeout), settled(&mut agent)).await;
        let standing = match settled {
            Ok(standing) => standing,
            Err(_elapsed) => agent.standing().await.map_err(|ended| could_not(ended.to_string())),
        };
        let stopped = agent.stop().await.map_err(|error| could_not(told(&error)));
        // An error of stopping says why the agent ended: it comes before the error that it did.
        stopped?;
        let standing = standing?;
        report(&standing, output)?;
        Ok(exit(&standing))
    })
}

/// Waits until the agent has nothing left to do by itself.
async fn settled(agent: &mut RunningAgent) -> Result<Standing, Failure> {
    loop {
        let standing = agent.standing().await.map_err(|ended| could_not(ended.to_string()))?;
        if is_settled(&standing) {
            return Ok(standing);
        }
        agent.stepped().await.map_err(|ended| could_not(ended.to_string()))?;
    }
}

fn is_settled(standing: &Standing) -> bool {
    let answered = standing.stores.values().all(|store| store.head.is_some() || store.failures > 0);
    let root_failed = standing.apps.values().any(|app| app.refused.is_some())
        || standing.stores.values().any(|store| store.failures > 0);
    let controlled = standing.controlled || root_failed;
    standing.holding && answered && controlled && standing.apps.values().all(|app| !app.pending)
}

/// Returns the problem of an app, if it has one. A person's decision (a suspension, a requested
/// hold) is no failure.
fn failure(app: &AppId, status: &AppStatus) -> Option<String> {
    if let Some(refused) = &status.refused {
        return Some(format!("{} is refused: {}", refused.revision, refused.problem));
    }
    let left_alone = status.facts.suspension.is_some() || status.facts.frozen || status.facts.retiring;
    if let Some(set_back) = set_back_of(app, status).filter(|_| !left_alone && status.facts.hold.is_none()) {
        return Some(set_back.to_string());
    }
    if status.converged || left_alone {
        return None;
    }
    if let Some(hold) = &status.facts.hold {
        return Some(hold.why.to_string());
    }
    let withheld = status.report.iter().map(|withheld| format!("{}: {}", withheld.key, withheld.why));
    let withheld = withheld.collect::<Vec<_>>().join("\n    ");
    Some(if withheld.is_empty() { "it has not converged".to_owned() } else { withheld })
}

fn report(standing: &Standing, output: &mut impl Write) -> Result<(), Failure> {
    for (name, store) in &standing.stores {
        if let Some(problem) = &store.problem {
            writeln!(output, "store {name}: {problem}")?;
        }
    }
    for (app, status) in &standing.apps {
        match failure(app, status) {
            Some(problem) => writeln!(output, "{app}: not as declared\n    {problem}")?,
            None if status.converged => {
                writeln!(output, "{app}: as declared")?;
                // Deletes are withheld for a while, or until a person permits them: this is no failure.
                for withheld in &status.report {
                    writeln!(output, "    not done: {}: {}", withheld.key, withheld.why)?;
                }
            }
            None => writeln!(output, "{app}: left alone")?,
        }
    }
    writeln!(output, "{} changed, {} failed", standing.steps_done, standing.steps_failed)?;
    Ok(())
}

fn exit(standing: &Standing) -> Exit {
    let changed = standing.steps_done > 0;
    let stale = standing.stores.values().any(|store| store.problem.is_some());
    let failed =
        !standing.controlled || stale || standing.apps.iter().any(|(app, status)| failure(app, status).is_some());
    match (changed, failed) {
        (false, false) => Exit::Done,
        (true, false) => Exit::Changed,
        (false, true) => Exit::Failed,
        (true, true) => Exit::ChangedAndFailed,
    }
}
