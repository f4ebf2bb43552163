//! `setpoint kustomize compare`: renders directories of the local disk with our code and with a
//! real kustomize, and shows the differences. It serves users who consider a migration and run no
//! agent yet.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use setpoint_kustomize::build::{Options, build};
use setpoint_render_external::{Job, Limits, NotRun, Pinned, Stop, run};
use setpoint_yaml::visible_text;

use super::asking::write;
use super::disk::{Disk, folder};
use super::kustomize::Restriction;
use super::{Context, Failure};
use crate::complaint::told;
use crate::doors;
use crate::exit::Exit;
use crate::show::{self, ComparedFolder, Comparison, Verdict};
use crate::sides::{Compared, Pair};

/// Render directories with Setpoint and with kustomize, and show the differences
///
/// The other program runs in a sandbox of the kernel: it can read the Git repository of the
/// directory, has no network, and cannot start other programs. The output includes its digest, for
/// use in documents.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint kustomize compare overlays/* --with /usr/local/bin/kustomize
  setpoint kustomize compare overlays/prod --with $(which kustomize) --output json

To have an agent compare every new version, see `kustomize.shadow` in
`setpoint schema app`; to have it render with the other program, see `kustomize.external`.

Exit codes:
  0  both programs render all directories alike, byte for byte
  1  could not run: a missing directory, a program that cannot be run
  2  there are differences
  4  no differences, but there are directories that neither program renders")]
pub(super) struct Compare {
    /// Directories of kustomizations
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// The program to compare with: a statically linked kustomize, such as its releases
    #[arg(long, value_name = "PROGRAM")]
    with: PathBuf,
    /// The only directory that the program may read [default: the Git repository of the
    /// kustomization]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Files that a kustomization may load: only those in its own directory, or any
    #[arg(long, value_enum, value_name = "RESTRICTION", default_value_t = Restriction::RootOnly)]
    load_restrictor: Restriction,
}

pub(super) fn run_compare(arguments: &Compare, context: &Context, output: &mut impl Write) -> Result<Exit, Failure> {
    let pinned = Pinned::as_found(&arguments.with).map_err(|error| Failure::Told(Exit::CouldNotRun, told(&error)))?;
    let comparing = Comparing { arguments, pinned };
    let mut folders = Vec::new();
    for (number, path) in arguments.folders.iter().enumerate() {
        if doors::complaints_are_watched() {
            let (at, of) = (number + 1, arguments.folders.len());
            // A progress line that no one reads is no loss.
            let _ = writeln!(doors::complaints(), "{at}/{of} {}", visible_text(&path.to_string_lossy()));
        }
        folders.push(comparing.compared(path)?);
    }
    let answer = Comparison { renderer: comparing.pinned.digest(), folders };
    write(&answer, show::comparison, context, output)?;
    let is = |verdict| answer.folders.iter().any(|folder| folder.verdict == verdict);
    Ok(match (is(Verdict::Different), is(Verdict::Refused)) {
        (true, _) => Exit::Changed,
        (false, true) => Exit::Failed,
        (false, false) => Exit::Done,
    })
}

struct Comparing<'a> {
    arguments: &'a Compare,
    pinned: Pinned,
}

impl Comparing<'_> {
    fn compared(&self, path: &Path) -> Result<ComparedFolder, Failure> {
        let full = folder(path)?;
        let options = Options { is_restricted: self.is_restricted(), ..Options::default() };
        let disk = Disk::new();
        let ours = build(&disk, &full, &options).and_then(|built| built.to_yaml()).map_err(|bad| disk.complaint(&bad));
        let theirs = self.theirs(&full)?;
        let pair =
            Pair { ours: ours.as_deref().map_err(String::as_str), theirs: theirs.as_deref().map_err(String::as_str) };
        let compared = pair.compare();
        let verdict = match compared {
            Compared::Alike => Verdict::Alike,
            Compared::Different(_) => Verdict::Different,
            Compared::Refused { .. } => Verdict::Refused,
        };
        Ok(ComparedFolder { folder: path.to_string_lossy().into_owned(), verdict, told: compared.lines() })
    }

    fn is_restricted(&self) -> bool {
        self.arguments.load_restrictor == Restriction::RootOnly
    }

    /// Returns the output of the other program, or its reason for rendering nothing.
    fn theirs(&self, full: &str) -> Result<Result<String, String>, Failure> {
        let could_not = |text: String| Failure::Told(Exit::CouldNotRun, text);
        let root = match &self.arguments.root {
            Some(root) => PathBuf::from(format!("/{}", folder(root)?)),
            None => repository_of(Path::new(&format!("/{full}"))).ok_or_else(|| {
                could_not(format!(
                    "/{full} is not in a Git repository; name the directory that the other program may read, with all bases in it, with `--root DIR`"
                ))
            })?,
        };
        let Ok(within) = Path::new(&format!("/{full}")).strip_prefix(&root).map(Path::to_owned) else {
            return Err(could_not(format!("/{full} is not below {}; pass another `--root`", root.display())));
        };
        let within = within.to_str().filter(|within| !within.is_empty()).unwrap_or(".");
        let (limits, stop) = (Limits::default(), Stop::default());
        let job =
            Job { tree: &root, folder: within, is_restricted: self.is_restricted(), limits: &limits, stop: &stop };
        match run(&self.pinned, &job, &doors::running_program()) {
            Ok(output) => Ok(String::from_utf8(output.rendered).map_err(|_| "its output is not UTF-8".to_owned())),
            Err(error @ NotRun::Failed { .. }) => {
                Ok(Err(format!("{} (it was permitted to read {})", told(&error), root.display())))
            }
            Err(error) if error.is_about_the_files() => Ok(Err(told(&error))),
            Err(error) => Err(could_not(told(&error))),
        }
    }
}

/// Returns the nearest parent directory that holds a repository.
fn repository_of(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|above| above.join(".git").exists()).map(Path::to_owned)
}
