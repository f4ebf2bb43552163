//! `setpoint kustomize compare`: folders of this machine's disk, rendered by us and by a real
//! kustomize, and what differs. For whoever thinks of moving, before there is an agent.

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

/// Renders folders both ways and tells what differs
///
/// The other program is run in a sandbox of the kernel: it reads the repository of the folder, has
/// no network, and starts nothing. Its digest is shown, to be written into documents.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint kustomize compare overlays/* --with /usr/local/bin/kustomize
  setpoint kustomize compare overlays/prod --with $(which kustomize) --output json

To have an agent go on comparing, version by version, see `kustomize.shadow` in
`setpoint schema app`; to have it render with the other program, `kustomize.external`.

Exit codes:
  0  all folders are rendered alike, byte for byte
  1  could not run: no such folder, a program that cannot be run
  2  something differs
  4  nothing differs, but neither of the two renders some folder")]
pub(super) struct Compare {
    /// The folders of kustomizations
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// The other program: a kustomize that is linked statically, as its releases are
    #[arg(long, value_name = "PROGRAM")]
    with: PathBuf,
    /// All that it may read [default: the Git repository that the folder is in]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Whether a kustomization may name files outside of its own folder
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
            // Nothing is lost if nobody sees it.
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

    /// What the other program writes, or its reason not to.
    fn theirs(&self, full: &str) -> Result<Result<String, String>, Failure> {
        let could_not = |text: String| Failure::Told(Exit::CouldNotRun, text);
        let root = match &self.arguments.root {
            Some(root) => PathBuf::from(format!("/{}", folder(root)?)),
            None => repository_of(Path::new(&format!("/{full}"))).ok_or_else(|| {
                could_not(format!(
                    "/{full} is in no Git repository: say with `--root DIR` what the other program may read, with all bases in it"
                ))
            })?,
        };
        let Ok(within) = Path::new(&format!("/{full}")).strip_prefix(&root).map(Path::to_owned) else {
            return Err(could_not(format!("/{full} is not below {}: name another `--root`", root.display())));
        };
        let within = within.to_str().filter(|within| !within.is_empty()).unwrap_or(".");
        let (limits, stop) = (Limits::default(), Stop::default());
        let job =
            Job { tree: &root, folder: within, is_restricted: self.is_restricted(), limits: &limits, stop: &stop };
        match run(&self.pinned, &job, &doors::running_program()) {
            Ok(output) => Ok(String::from_utf8(output.rendered).map_err(|_| "what it wrote is not UTF-8".to_owned())),
            Err(error @ NotRun::Failed { .. }) => {
                Ok(Err(format!("{} (it could read {})", told(&error), root.display())))
            }
            Err(error) if error.is_about_the_files() => Ok(Err(told(&error))),
            Err(error) => Err(could_not(told(&error))),
        }
    }
}

/// The nearest folder above that holds a repository.
fn repository_of(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|above| above.join(".git").exists()).map(Path::to_owned)
}
