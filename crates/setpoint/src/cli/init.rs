//! `setpoint init`: creates a starter state repository that works without edits.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use clap::Args;
use setpoint_store::StorePath;
use setpoint_store_git::{Author, Branch, Change, LocalRepository, Parent};

use super::{Context, Failure};
use crate::complaint::told;
use crate::doors::{self, Clock};
use crate::exit::Exit;

/// Create a starter state repository
///
/// Writes DIR/state.git, a bare Git repository with one commit (no `git` needed), and
/// DIR/bootstrap.yaml, which points to it. The repository declares files below DIR/managed; nothing
/// else on this machine is touched.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  setpoint init lab
  setpoint run --config lab/bootstrap.yaml --data lab/data
  git clone lab/state.git work     change it, commit, push, and watch `setpoint status --data lab/data`")]
pub(super) struct Init {
    /// Directory to create, or an empty directory
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Address of the web pages and the API; default: the first free port of this machine from
    /// 7070 on
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
}

pub(super) fn run(arguments: &Init, _: &Context, output: &mut impl Write) -> Result<Exit, Failure> {
    let could_not = |text: String| Failure::Told(Exit::CouldNotRun, text);
    let folder = doors::absolute(&arguments.folder)
        .map_err(|error| could_not(format!("cannot resolve {}: {error}", arguments.folder.display())))?;
    let listen = arguments.listen.unwrap_or_else(free_address);
    let made = Starter::make(&folder, Some(listen), Clock::start()).map_err(could_not)?;
    let shown = arguments.folder.display();
    writeln!(output, "created {} with commit {}", made.repository.display(), &made.version[..12])?;
    writeln!(output, "created {}", made.bootstrap.display())?;
    writeln!(output, "\nnext:\n  setpoint run --config {shown}/bootstrap.yaml --data {shown}/data")?;
    writeln!(output, "      runs the agent, and prints a link to its web pages at http://{listen}")?;
    writeln!(output, "  git clone {shown}/state.git work")?;
    writeln!(output, "      then change something, commit and push it")?;
    Ok(Exit::Done)
}

/// The port that pages have by default, and the number of ports that are tried.
const PORT: u16 = 7070;
const PORTS: u16 = 100;

/// Returns the first address of this machine on which no program listens.
pub(super) fn free_address() -> SocketAddr {
    let addresses = (PORT..PORT + PORTS).map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let is_free = |address: &SocketAddr| TcpListener::bind(address).is_ok();
    addresses.clone().find(is_free).unwrap_or(SocketAddr::from(([127, 0, 0, 1], PORT)))
}

/// The paths of a new starter.
#[derive(Debug)]
pub(super) struct Starter {
    pub(super) repository: PathBuf,
    pub(super) bootstrap: PathBuf,
    pub(super) managed: PathBuf,
    version: String,
}

impl Starter {
    /// Creates a repository, a bootstrap document and the managed directory. Web pages are served at
    /// `listen`, if it is set. The error is a message for people.
    pub(super) fn make(folder: &Path, listen: Option<SocketAddr>, clock: Clock) -> Result<Self, String> {
        let failed = |path: &Path| {
            let path = path.display().to_string();
            move |error: std::io::Error| format!("cannot create {path}: {error}")
        };
        if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(format!(
                "{} is not empty; name a directory that is empty or does not exist yet",
                folder.display()
            ));
        }
        let managed = folder.join("managed");
        fs::create_dir_all(&managed).map_err(failed(&managed))?;
        let repository = folder.join("state.git");
        let written = LocalRepository::init(&repository).map_err(|error| told(&error))?;
        let changes: Vec<Change> = starter_files(&managed).into_iter().map(|(path, text)| write(path, &text)).collect();
        let author = author(clock);
        let branch = Branch::parse("main").map_err(|error| told(&error))?;
        let version = written
            .commit(&branch, &changes, &author, "Declare two files and a directory\n", Parent::Head)
            .map_err(|error| told(&error))?;
        let bootstrap = folder.join("bootstrap.yaml");
        fs::write(&bootstrap, bootstrap_text(&repository, listen)).map_err(failed(&bootstrap))?;
        Ok(Self { repository, bootstrap, managed, version: version.to_string() })
    }
}

pub(super) fn author(clock: Clock) -> Author {
    Author { name: "Setpoint".to_owned(), email: "setpoint@localhost".to_owned(), at: clock.now() }
}

pub(super) fn write(path: &str, text: &str) -> Change {
    Change::Write { path: StorePath::new(path).expect("a plain path"), bytes: text.as_bytes().to_vec() }
}

fn bootstrap_text(repository: &Path, listen: Option<SocketAddr>) -> String {
    let server = listen.map(|listen| {
        let comment = "# Web pages and API. `setpoint run` prints a link that creates the first account.";
        format!("  {comment}\n  server:\n    listen: {listen}\n")
    });
    format!(
        "apiVersion: setpoint.dev/v1
kind: Bootstrap
spec:
  store:
    url: {}
    interval: 1s
  path: setpoint/
{}",
        repository.display(),
        server.unwrap_or_default()
    )
}

fn starter_files(managed: &Path) -> Vec<(&'static str, String)> {
    vec![
        (
            "setpoint/host.yaml",
            format!(
                "# This machine, limited to one directory: nothing outside of it is touched.
apiVersion: setpoint.dev/v1
kind: Target
metadata: {{ name: lab }}
spec:
  kind: host
  root: {}
",
                managed.display()
            ),
        ),
        (
            "setpoint/hello.yaml",
            "# An app: its inputs, and the target it is held on.
apiVersion: setpoint.dev/v1
kind: App
metadata: { name: hello }
spec:
  component: hello
  environment: lab
  inputs: [{ name: main, store: bootstrap, path: apps/hello }]
  target: lab
"
            .to_owned(),
        ),
        (
            "apps/hello/hello.yaml",
            "apiVersion: host.setpoint.dev/v1
kind: Directory
metadata: { name: config }
spec:
  path: /config
  mode: \"0755\"
---
apiVersion: host.setpoint.dev/v1
kind: File
metadata: { name: greeting }
spec:
  path: /config/greeting
  content: |
    Hello. Change me, and I come back.
---
apiVersion: host.setpoint.dev/v1
kind: File
metadata: { name: colours }
spec:
  path: /config/colours
  mode: \"0600\"
  contentFrom: colours.txt
"
            .to_owned(),
        ),
        ("apps/hello/colours.txt", "red\ngreen\nblue\n".to_owned()),
    ]
}
