//! `setpoint validate`: checks a working directory offline, before it is committed.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use setpoint_core::name::StoreName;
use setpoint_engine::accept::store_path;
use setpoint_store::StorePath;
use setpoint_yaml::visible_text;

use super::asking::write;
use super::run::could_not;
use super::{Context, Failure};
use crate::agent::bootstrap::Bootstrap;
use crate::complaint::told;
use crate::exit::Exit;
use crate::offline::{Checked, Directories, check};
use crate::show::Screen;

/// Check control documents and apps in a working directory
///
/// Runs the checks of acceptance that need no agent and no connection to a target: documents are
/// read strictly, references and permissions are checked, and every app is rendered. The history,
/// gates, and admission by a cluster are not checked: see `setpoint plan --rev`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint validate                check the repository in this directory
  setpoint validate state --config bootstrap.yaml
                                   with the `path` of the bootstrap document
  setpoint validate state --store bases=../bases
                                   with another store that apps read
  setpoint validate -o json | jq -r '.problems[] | \"\\(.file):\\(.line): \\(.message)\"'

Exit codes:
  0  everything that could be checked is valid
  1  could not run: a missing directory
  4  there are problems")]
pub(super) struct Validate {
    /// Working directory of the repository with the control documents
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Directory of the control documents below DIR [default: the `path` of `--config`, or
    /// `setpoint`]
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Bootstrap document of the agent that will follow the repository
    #[arg(long, value_name = "FILE", conflicts_with = "path")]
    config: Option<PathBuf>,
    /// Working directory of another store that apps read; can be repeated
    #[arg(long = "store", value_name = "NAME=DIR", value_parser = store)]
    stores: Vec<(StoreName, PathBuf)>,
}

fn store(text: &str) -> Result<(StoreName, PathBuf), String> {
    let (name, folder) = text.split_once('=').ok_or("expected NAME=DIR, for example `bases=../bases`")?;
    let name = StoreName::new(name).map_err(|bad| bad.to_string())?;
    Ok((name, folder.into()))
}

pub(super) fn run(arguments: Validate, context: &Context, output: &mut impl Write) -> Result<Exit, Failure> {
    let Validate { folder, path, config, stores } = arguments;
    let documents = documents_path(path.as_deref(), config.as_deref())?;
    let stores: BTreeMap<_, _> = stores.into_iter().collect();
    for folder in [&folder].into_iter().chain(stores.values()) {
        if !folder.is_dir() {
            return Err(could_not(format!("{} is not a directory; name a working directory", folder.display())));
        }
    }
    let checked = check(&Directories { root: folder, documents, stores }).map_err(|error| could_not(told(&error)))?;
    write(&checked, page, context, output)?;
    Ok(if checked.problems.is_empty() { Exit::Done } else { Exit::Failed })
}

/// Returns the directory of the control documents.
fn documents_path(path: Option<&str>, config: Option<&Path>) -> Result<StorePath, Failure> {
    if let Some(config) = config {
        let bootstrap = Bootstrap::read(config).map_err(|error| could_not(told(&error)))?;
        return store_path(&bootstrap.spec.path).map_err(|bad| could_not(bad.to_string()));
    }
    let path = path.unwrap_or("setpoint").trim_start_matches("./").trim_end_matches('/');
    let root = matches!(path, "" | ".").then(StorePath::root);
    root.map_or_else(|| StorePath::new(path), Ok).map_err(|bad| could_not(bad.to_string()))
}

/// Returns one line for each finding, in the form that editors understand, and a summary.
fn page(checked: &Checked, _: &Screen) -> String {
    let mut lines: Vec<String> = checked.problems.iter().map(|problem| visible_text(&problem.text)).collect();
    lines.extend(checked.warnings.iter().map(|warning| format!("warning: {warning}")));
    let unchecked = |(app, reason): (&_, &String)| format!("not checked: app {app}: {}", visible_text(reason));
    lines.extend(checked.unchecked.iter().map(unchecked));
    let counted = |count: usize, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
    let resources: usize = checked.apps.values().sum();
    let mut summary = format!(
        "{}; {} with {} are valid",
        counted(checked.problems.len(), "problem"),
        counted(checked.apps.len(), "app"),
        counted(resources, "resource")
    );
    if !checked.unchecked.is_empty() {
        summary.push_str(&format!("; {} not checked", counted(checked.unchecked.len(), "app")));
    }
    lines.push(summary);
    lines.join("\n") + "\n"
}
