//! The command line: its commands and their arguments, and the way results are written.
//!
//! One file per command or small group of them. Each has its arguments and a `run`; the layout of
//! the output is in [`crate::show`].

mod account;
mod asking;
mod compare;
mod contexts;
mod demo;
mod diff;
mod disk;
mod erase;
mod explain;
mod filter;
mod gap;
mod init;
mod kustomize;
mod ledger;
mod login;
mod logs;
mod looking;
mod manual;
mod notify;
mod ordering;
mod plan;
mod recover;
mod run;
mod schema;
mod validate;
mod watch;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::builder::StyledStr;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::doors::{self, Clock, EnvironmentVariables};
use crate::exit::Exit;
use crate::show::Screen;

/// Hold real systems at the state you declare
///
/// Setpoint pulls declared state from versioned stores, admits a version only through gates, and
/// continuously holds real systems at it. It names the author of drift where the target knows one,
/// proves its own actions, and measures the results.
#[derive(Debug, Parser)]
#[command(name = "setpoint", version, after_long_help = TODAY, after_help = TODAY)]
struct Arguments {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Demo),
    Init(init::Init),
    Run(run::Run),
    Apply(run::Apply),
    Status(looking::Status),
    Get(looking::Get),
    Why(looking::Why),
    Tree(looking::Tree),
    Logs(logs::Logs),
    Plan(plan::Arguments),
    Diff(diff::Arguments),
    History(looking::History),
    Drift(looking::Drift),
    Explain(explain::Explain),
    Validate(validate::Validate),
    #[command(subcommand)]
    Kustomize(kustomize::Command),
    Sync(ordering::Sync),
    Suspend(ordering::Suspend),
    Resume(ordering::Resume),
    Hold(ordering::Hold),
    Release(ordering::Release),
    Settle(ordering::Settle),
    Login(login::Login),
    Logout(login::Logout),
    Context(login::Choose),
    #[command(subcommand)]
    Account(account::Command),
    Recover(recover::Recover),
    #[command(subcommand)]
    Notify(notify::Command),
    #[command(subcommand)]
    Ledger(ledger::Command),
    Schema(schema::Arguments),
    Completions(manual::Completions),
    Man(manual::Manual),
}

/// The options of every command.
#[derive(Debug, Args)]
struct Global {
    /// Directory with the agent's data [default: /var/lib/setpoint for root, else
    /// $XDG_STATE_HOME/setpoint or ~/.local/state/setpoint]
    #[arg(long, value_name = "DIR", global = true, help_heading = "Global options")]
    data: Option<PathBuf>,
    /// Server to ask: the name of a context or its address, after `setpoint login` [default: the
    /// current context, or else the agent on this machine]
    #[arg(long, value_name = "SERVER", global = true, conflicts_with = "data", help_heading = "Global options")]
    server: Option<String>,
    /// Output format: text for people, or one JSON value for programs
    #[arg(short, long, value_enum, value_name = "FORM", default_value_t = Form::Text, global = true, help_heading = "Global options")]
    output: Form,
    /// When to use colour; `auto` uses it on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Colour::Auto, global = true, help_heading = "Global options")]
    color: Colour,
}

/// The output format. The help of the option explains the values: with a comment on each, clap
/// would list them in the help of every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Text,
    Json,
}

/// When to use colour
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Colour {
    Auto,
    Always,
    Never,
}

impl Colour {
    fn is_used(self, environment: &EnvironmentVariables) -> bool {
        self.is_used_on(environment.terminal.is_some(), environment)
    }

    fn is_used_on(self, terminal: bool, environment: &EnvironmentVariables) -> bool {
        match self {
            Self::Auto => terminal && !environment.colourless,
            Self::Always => true,
            Self::Never => false,
        }
    }
}

/// The state of this version, in the first help that a new user reads.
const TODAY: &str = "\
What works today:
  The agent holds files, directories, links and commands of this machine, and objects of
  Kubernetes clusters, at the state that a Git repository declares. The other commands show
  its state, give it orders, explain documents, and verify the ledger.

Examples:
  setpoint run --config bootstrap.yaml
                                   run the agent until Ctrl-C or SIGTERM
  setpoint status                  show the state of the agent and all apps
  setpoint why web/shop            explain why an app is not as declared, and what to do
  setpoint tree web/shop           show the objects of an app, with their health
  setpoint plan --rev 3f2a91c      show what a commit would change
  setpoint diff web/shop           show how live objects differ from their declarations
  setpoint kustomize build DIR     render a kustomization, as kustomize does
  setpoint kustomize compare DIR --with kustomize
                                   compare our output with that of a real kustomize
  setpoint explain Deployment/web spec.replicas -k DIR
                                   show which base, patch or generator set a field
  setpoint validate                check documents and apps in a working directory
  setpoint drift                   show what others changed, and when it was healed
  setpoint suspend web/shop --for 2h --reason \"restoring the database\"
  setpoint login https://ops.example
                                   ask a server instead of the agent on this machine
  setpoint schema app              explain every field of an App document
  setpoint ledger verify data/ledger.db --key \"$KEY\"
                                   verify a ledger
  setpoint COMMAND --help          show more about one command, with examples

Exit codes:
  0  success
  1  could not run: wrong usage, no agent, an unknown app, an unreadable file, a full disk
  2  there are changes (plan, diff), changes were made (apply), or outputs differ
     (kustomize compare)
  4  ran, with a bad result: a version would be refused, a ledger is not sound or in trouble,
     a notifier rejected the test message, an app failed, no log could be read, there are
     problems (validate)
  6  changes were made, and an app failed (apply)
";

/// The reason why a command did not complete.
enum Failure {
    /// The output could not be written.
    Output(io::Error),
    /// Any other failure, with the message for the user.
    Told(Exit, String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Reports a file or directory that cannot be read or written.
fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::Told(Exit::CouldNotRun, format!("cannot access {}: {error}", path.display()))
}

/// The environment of a command, besides its own arguments.
struct Context {
    form: Form,
    screen: Screen,
    /// The data directory; `None` if none was set and there is no home directory to search.
    data: Option<PathBuf>,
    /// The data directory was given, and is not the default one.
    is_data_given: bool,
    /// The server to ask, as given.
    server: Option<String>,
    /// The file with the contexts; `None` if there is no home directory.
    contexts: Option<PathBuf>,
    /// Whether the log has colours.
    log_colour: bool,
}

impl Context {
    /// Returns the data directory of the agent.
    fn data(&self) -> Result<&Path, Failure> {
        self.data.as_deref().ok_or_else(|| {
            let text = "cannot find the agent's data directory: there is no home directory; set it with `--data`";
            Failure::Told(Exit::CouldNotRun, text.to_owned())
        })
    }

    fn new(global: Global, environment: &EnvironmentVariables) -> Self {
        let colour = global.color.is_used(environment);
        Self {
            form: global.output,
            screen: Screen { width: environment.terminal, colour, rows: None, now: Clock::start().now() },
            log_colour: global.color.is_used_on(doors::complaints_are_watched(), environment),
            is_data_given: global.data.is_some(),
            server: global.server,
            contexts: environment.contexts.clone(),
            data: global.data.or_else(|| environment.data.clone()),
        }
    }
}

/// Runs the command that the arguments name. Results go to `output`, everything else to
/// `complaints`.
pub(crate) fn run(
    arguments: impl Iterator<Item = OsString>,
    environment: &EnvironmentVariables,
    output: &mut (impl Write + Send),
    complaints: &mut impl Write,
) -> Exit {
    let answered = match Arguments::try_parse_from(arguments) {
        Ok(Arguments { global, command }) => answer(command, &Context::new(global, environment), output),
        Err(told) if !told.use_stderr() => {
            let colour = Colour::Auto.is_used(environment);
            write_help(&told.render(), colour, output).map(|()| Exit::Done).map_err(Into::into)
        }
        Err(wrong) => {
            // If even this cannot be written, there is no way left to report it.
            let _ = write!(complaints, "{}", wrong.render());
            return Exit::CouldNotRun;
        }
    };
    let flushed = answered.and_then(|exit| output.flush().map(|()| exit).map_err(Into::into));
    match flushed {
        Ok(exit) => exit,
        // A reader that closed the pipe early (`setpoint … | head`) is no failure; any other error
        // of the output is.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(Failure::Output(error)) => {
            let _ = writeln!(
                complaints,
                "error: cannot write the output: {error}; check where standard output goes and run the command again"
            );
            Exit::CouldNotRun
        }
        Err(Failure::Told(exit, text)) => {
            let _ = writeln!(complaints, "error: {text}");
            exit
        }
    }
}

fn write_help(help: &StyledStr, colour: bool, output: &mut impl Write) -> io::Result<()> {
    if colour { write!(output, "{}", help.ansi()) } else { write!(output, "{help}") }
}

fn answer(command: Option<Command>, context: &Context, output: &mut (impl Write + Send)) -> Result<Exit, Failure> {
    let Some(command) = command else {
        write_help(&Arguments::command().render_help(), context.screen.colour, output)?;
        return Ok(Exit::Done);
    };
    match command {
        Command::Demo(arguments) => return demo::run(&arguments, context, output),
        Command::Init(arguments) => return init::run(&arguments, context, output),
        Command::Run(arguments) => return run::run(&arguments, context, output),
        Command::Apply(arguments) => return run::apply(&arguments, context, output),
        Command::Status(arguments) => return looking::status(&arguments, context, output),
        Command::Get(arguments) => looking::get(&arguments, context, output)?,
        Command::Why(arguments) => looking::why(&arguments, context, output)?,
        Command::Tree(arguments) => looking::tree(arguments, context, output)?,
        Command::Logs(arguments) => return logs::run(arguments, context, output),
        Command::Plan(arguments) => return plan::run(arguments, context, output),
        Command::Diff(arguments) => return diff::run(arguments, context, output),
        Command::History(arguments) => looking::history(arguments, context, output)?,
        Command::Drift(arguments) => looking::drift(arguments, context, output)?,
        Command::Explain(arguments) => explain::run(&arguments, context, output)?,
        Command::Validate(arguments) => return validate::run(arguments, context, output),
        Command::Kustomize(command) => return kustomize::run(&command, context, output),
        Command::Sync(order) => ordering::run(order, context, output)?,
        Command::Suspend(order) => ordering::run(order, context, output)?,
        Command::Resume(order) => ordering::run(order, context, output)?,
        Command::Hold(order) => ordering::run(order, context, output)?,
        Command::Release(order) => ordering::release(order, context, output)?,
        Command::Settle(order) => ordering::run(order, context, output)?,
        Command::Login(arguments) => return login::login(arguments, context, output),
        Command::Logout(arguments) => return login::logout(arguments, context, output),
        Command::Context(arguments) => return login::choose(arguments, context, output),
        Command::Account(command) => return account::run(command, context, output),
        Command::Recover(arguments) => return recover::run(arguments, context, output),
        Command::Notify(command) => return notify::run(&command, context, output),
        Command::Ledger(command) => return ledger::run(&command, context, output),
        Command::Schema(arguments) => schema::run(&arguments, output)?,
        Command::Completions(arguments) => manual::completions(&arguments, Arguments::command(), output)?,
        Command::Man(arguments) => manual::manual(&arguments, Arguments::command(), output)?,
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declaration_of_the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }
}
