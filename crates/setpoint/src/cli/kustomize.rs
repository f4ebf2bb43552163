//! `setpoint kustomize build`: renders a kustomization of the local disk, as kustomize itself would
//! write it. The other subcommand is in `compare.rs`.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Args, Subcommand, ValueEnum};
use setpoint_kustomize::build::{BadBuild, Built, MANAGER, Options, build};
use setpoint_kustomize::order::Order;
use setpoint_yaml::visible_text;

use super::compare::{self, Compare};
use super::disk::{Disk, folder};
use super::{Context, Failure, Form, unusable};
use crate::doors;
use crate::exit::Exit;

/// Render kustomizations as kustomize 5.8.1 does, and compare the two
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Build(Build),
    Compare(Compare),
}

/// Render a kustomization
///
/// Output and flags are those of `kustomize build`, so this command can replace it in scripts. It
/// fetches nothing and runs no other program: for remote bases, charts and plugins see `setpoint
/// schema app`. Flags for those (`--enable-helm`, `--enable-exec`, `--network` …) are accepted and
/// have no effect.
#[derive(Debug, Args)]
#[command(args_override_self = true, mut_args(switch_as_in_go))]
#[command(after_help = "\
Examples:
  setpoint kustomize build overlays/prod | kubectl apply -f -
  setpoint kustomize build overlays/prod -o out.yaml
  setpoint kustomize build overlays/prod -o out/
                                   write one file per resource into an existing directory
  setpoint explain Deployment/web spec.replicas -k overlays/prod
                                   show which file set a field

Exit codes:
  0  success
  1  could not run: a missing directory, a full disk
  4  the kustomization is invalid; the error names the place")]
pub(super) struct Build {
    /// Directory of the kustomization
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Write to this file, or one file per resource into this directory
    #[arg(short = 'o', long = "output", value_name = "PATH", id = "to")]
    to: Option<PathBuf>,
    /// Replaces the `--output` of all other commands, because the `--output` here is that of
    /// kustomize. As this argument has no flag, a second directory is parsed as its value.
    #[arg(hide = true, value_name = "DIR", value_parser = one_folder, id = "output")]
    form: Option<Form>,
    /// Order of the resources, unless the kustomization has `sortOptions`: by kind, or unsorted
    #[arg(long, value_enum, value_name = "ORDER", default_value_t = Reorder::Legacy)]
    reorder: Reorder,
    /// Files that a kustomization may load: only those in its own directory, or any
    #[arg(long, value_enum, value_name = "RESTRICTION", default_value_t = Restriction::RootOnly)]
    load_restrictor: Restriction,
    /// Add the label that marks resources as managed by kustomize
    #[arg(long)]
    enable_managedby_label: bool,
    #[command(flatten)]
    of_programs: OfPrograms,
}

/// Flags of kustomize for the programs that it starts. Scripts pass them whether or not a
/// kustomization needs them; a kustomization that does is refused.
#[derive(Debug, Args)]
struct OfPrograms {
    #[arg(hide = true, long)]
    enable_helm: bool,
    #[arg(hide = true, long)]
    helm_command: Option<OsString>,
    #[arg(hide = true, long)]
    helm_kube_version: Option<OsString>,
    #[arg(hide = true, long)]
    helm_api_versions: Vec<OsString>,
    #[arg(hide = true, long)]
    helm_debug: bool,
    #[arg(hide = true, long)]
    enable_alpha_plugins: bool,
    #[arg(hide = true, long)]
    enable_exec: bool,
    #[arg(hide = true, long)]
    as_current_user: bool,
    #[arg(hide = true, long)]
    network: bool,
    #[arg(hide = true, long)]
    network_name: Option<OsString>,
    #[arg(hide = true, long, short)]
    env: Vec<OsString>,
    #[arg(hide = true, long)]
    mount: Vec<OsString>,
    #[arg(hide = true, long)]
    stack_trace: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Reorder {
    Legacy,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Restriction {
    // kustomize accepts an empty value for the default, too.
    #[value(name = "LoadRestrictionsRootOnly", alias = "")]
    RootOnly,
    #[value(name = "LoadRestrictionsNone")]
    None,
}

/// Makes a switch behave like a flag in Go: `--flag`, `--flag=true` and `--flag=false`.
fn switch_as_in_go(flag: Arg) -> Arg {
    if !matches!(flag.get_action(), ArgAction::SetTrue) {
        return flag;
    }
    flag.action(ArgAction::Set)
        .num_args(0..=1)
        .require_equals(true)
        .value_name("BOOLEAN")
        .default_value("false")
        .default_missing_value("true")
        .hide_default_value(true)
        .value_parser(boolean_of_go)
}

/// Reads a boolean as Go's `strconv.ParseBool` does.
fn boolean_of_go(text: &str) -> Result<bool, &'static str> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("expected `true` or `false`"),
    }
}

fn one_folder(_: &str) -> Result<Form, &'static str> {
    Err("only one directory can be built at a time")
}

pub(super) fn run(command: &Command, context: &Context, output: &mut impl Write) -> Result<Exit, Failure> {
    match command {
        Command::Build(arguments) => run_build(arguments, output).map(|()| Exit::Done),
        Command::Compare(arguments) => compare::run_compare(arguments, context, output),
    }
}

fn run_build(arguments: &Build, output: &mut impl Write) -> Result<(), Failure> {
    let options = Options {
        is_restricted: arguments.load_restrictor == Restriction::RootOnly,
        order: match arguments.reorder {
            Reorder::Legacy => Order::legacy(),
            Reorder::None => Order::AsTheyCome,
        },
        managed_by: arguments.enable_managedby_label.then(|| MANAGER.into()),
        ..Options::default()
    };
    let built = built(&arguments.folder, &options)?;
    for warning in &built.warnings {
        // Warnings must not go into a pipe; if one cannot be written, there is no way left to
        // report it.
        let _ = writeln!(doors::complaints(), "warning: {}", visible_text(warning));
    }
    match &arguments.to {
        Some(folder) if folder.is_dir() => write_each(&built, folder),
        Some(file) => {
            let text = built.to_yaml().map_err(|bad| wrong(&bad))?;
            fs::write(file, text).map_err(|error| unusable(file, &error))
        }
        None => Ok(output.write_all(built.to_yaml().map_err(|bad| wrong(&bad))?.as_bytes())?),
    }
}

/// Builds the kustomization of a directory.
pub(super) fn built(path: &Path, options: &Options) -> Result<Built, Failure> {
    let folder = folder(path)?;
    build(&Disk::new(), &folder, options).map_err(|bad| wrong(&bad))
}

fn wrong(bad: &BadBuild) -> Failure {
    Failure::Told(Exit::Failed, visible_text(&Disk::new().complaint(bad)))
}

fn write_each(built: &Built, folder: &Path) -> Result<(), Failure> {
    for (name, text) in built.to_files().map_err(|bad| wrong(&bad))? {
        let file = folder.join(name);
        fs::write(&file, text).map_err(|error| unusable(&file, &error))?;
    }
    Ok(())
}
