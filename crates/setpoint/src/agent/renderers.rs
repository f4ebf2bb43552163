//! External renderers, as the bootstrap document lists them. Each is identified by its digest, and
//! runs in a sandbox in which it can only read one version and write its output. If one cannot be
//! run, the apps that name it report that and try again with their next render; other apps are not
//! delayed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use setpoint_core::name::StoreName;
use setpoint_documents::Renderer;
use setpoint_render::external::{Found, TreeLimits, Wanted, each_file};
use setpoint_render::{External, NotGiven};
use setpoint_render_external::{Job, Limits, NotRun, NotWritten, Pinned, Stop, Tree, run};
use setpoint_store::{ObjectId, StorePath};

use crate::complaint::told;

/// Less than the machine waits for a render, which leaves time for the steps before and after it.
/// Overlays take a second.
const LONGEST: Duration = Duration::from_secs(30);

/// The number of omitted files that a message names.
const NAMED: usize = 5;

#[derive(Debug)]
pub(super) struct Renderers {
    declared: Vec<Renderer>,
    /// The directory in which versions are written for them to read.
    folder: PathBuf,
    /// The path of this program, which replaces itself with the external one.
    program: PathBuf,
    limits: Limits,
    stop: Stop,
    /// The opened programs. Once read, they no longer depend on their files.
    opened: Mutex<Vec<Arc<Pinned>>>,
    /// The most recently written version: consecutive renders of a store's apps mostly use the same
    /// one.
    written: Mutex<Option<(Root, Written)>>,
}

/// The same programs for a single render, without any version that was written earlier. The inputs
/// of a render are mostly from the same version.
#[derive(Debug)]
pub(super) struct Afresh<'a> {
    renderers: &'a Renderers,
    written: RefCell<BTreeMap<Root, Written>>,
}

/// The content of a version. Its ID is unique only within a store.
type Root = (StoreName, ObjectId);

/// A version on disk.
#[derive(Clone, Debug)]
struct Written {
    tree: Arc<Tree>,
    left_out: Arc<[StorePath]>,
}

impl Renderers {
    /// Creates the renderers. Removes the remains of a killed agent from the directory.
    pub(super) fn new(declared: Vec<Renderer>, folder: PathBuf, program: PathBuf) -> Self {
        // An error shows when the directory is written.
        let _ = fs::remove_dir_all(&folder);
        let limits = Limits { time: LONGEST, ..Limits::default() };
        let (stop, opened, written) = (Stop::default(), Mutex::default(), Mutex::default());
        Self { declared, folder, program, limits, stop, opened, written }
    }

    /// Ends running programs, and starts no more.
    pub(super) fn stop(&self) {
        self.stop.tell();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.is_told()
    }

    fn pinned(&self, digest: &str) -> Result<Arc<Pinned>, NotGiven> {
        // Locked while one is read: other renders of it wait for that, and not for a run.
        let mut opened = locked(&self.opened);
        if let Some(known) = opened.iter().find(|known| known.digest() == digest) {
            return Ok(Arc::clone(known));
        }
        let Some(declared) = self.declared.iter().find(|declared| declared.digest.as_str() == digest) else {
            return Err(NotGiven::Unavailable { what: self.undeclared(digest) });
        };
        let pinned = Pinned::open(Path::new(declared.binary.as_str()), digest)
            .map_err(|error| NotGiven::Unavailable { what: told(&error) })?;
        let pinned = Arc::new(pinned);
        opened.push(Arc::clone(&pinned));
        Ok(pinned)
    }

    /// Returns an error with the text to add to the document, ready to be copied.
    fn undeclared(&self, digest: &str) -> String {
        let known: Vec<&str> = self.declared.iter().map(|declared| declared.digest.as_str()).collect();
        let known = match known.as_slice() {
            [] => "none".to_owned(),
            known => known.join(", "),
        };
        format!(
            "the App names the renderer {digest}, which the Bootstrap document of this agent does not list; the operator of the agent adds \
             `renderers: [{{ binary: /usr/local/bin/kustomize, digest: \"{digest}\" }}]` to its spec and restarts it (listed: {known})"
        )
    }

    /// Replaces the output of a program, which may contain secrets: this text is stored and shown
    /// to people who may not read the store.
    fn unsaid(&self, wanted: &Wanted<'_>) -> String {
        let declared = self.declared.iter().find(|declared| declared.digest.as_str() == wanted.digest);
        let program = declared.map_or_else(|| "PROGRAM".to_owned(), |declared| shell_word(declared.binary.as_str()));
        let folder = match folder_of(wanted) {
            // Otherwise it would be parsed as an option.
            dashed if dashed.starts_with('-') => shell_word(&format!("./{dashed}")),
            folder => shell_word(folder),
        };
        let lifted = if wanted.is_restricted { "" } else { " --load-restrictor LoadRestrictionsNone" };
        format!(
            "something that is not kept, as it may hold values of Secrets; to see it, run \
             `setpoint kustomize compare {folder} --with {program}{lifted}` in a checkout"
        )
    }

    /// Returns renderers that read only versions they have just written themselves. A render that
    /// may lead to a delete must depend on the store, and not on files that were already on the
    /// disk.
    pub(super) fn afresh(&self) -> Afresh<'_> {
        Afresh { renderers: self, written: RefCell::default() }
    }

    /// Returns the version on disk, and writes it if necessary.
    fn written(&self, wanted: &Wanted<'_>) -> Result<Written, NotGiven> {
        let of = root_of(wanted)?;
        let mut last = locked(&self.written);
        if let Some((_, there)) = last.as_ref().filter(|(there, _)| *there == of) {
            return Ok(there.clone());
        }
        // Frees its space before another one is written.
        *last = None;
        let written = self.write(wanted)?;
        *last = Some((of, written.clone()));
        Ok(written)
    }

    fn write(&self, wanted: &Wanted<'_>) -> Result<Written, NotGiven> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(|source| {
            let path = self.folder.display().to_string();
            unwritten(&NotWritten::Unwritable { path, source })
        })?;
        let mut tree = Tree::begin(&self.folder).map_err(|error| unwritten(&error))?;
        let left_out = each_file(wanted.tree, TreeLimits::default(), &mut |path, found| {
            let added = match found {
                Found::File { bytes, executable } => tree.file(path.as_str(), bytes, executable),
                Found::Link { to } => tree.link(path.as_str(), to.as_str()),
            };
            added.map_err(|error| unwritten(&error))
        })?;
        let tree = Arc::new(tree.finish().map_err(|error| unwritten(&error))?);
        Ok(Written { tree, left_out: left_out.into() })
    }

    fn render_from(&self, written: &Written, wanted: &Wanted<'_>) -> Result<String, NotGiven> {
        let pinned = self.pinned(wanted.digest)?;
        let folder = folder_of(wanted);
        let (tree, is_restricted) = (written.tree.path(), wanted.is_restricted);
        let job = Job { tree, folder, is_restricted, limits: &self.limits, stop: &self.stop };
        match run(&pinned, &job, &self.program) {
            Ok(output) => String::from_utf8(output.rendered).map_err(|_| {
                let what = "the external renderer wrote output that is not UTF-8; is it kustomize?";
                NotGiven::Refused { what: what.to_owned() }
            }),
            Err(error) => Err(not_given(&error.saying(|| self.unsaid(wanted)), &written.left_out)),
        }
    }
}

impl External for Renderers {
    fn render(&self, wanted: &Wanted<'_>) -> Result<String, NotGiven> {
        // Checked before anything is written for it.
        self.pinned(wanted.digest)?;
        self.render_from(&self.written(wanted)?, wanted)
    }
}

impl Afresh<'_> {
    fn written(&self, wanted: &Wanted<'_>) -> Result<Written, NotGiven> {
        let of = root_of(wanted)?;
        if let Some(there) = self.written.borrow().get(&of) {
            return Ok(there.clone());
        }
        let written = self.renderers.write(wanted)?;
        self.written.borrow_mut().insert(of, written.clone());
        Ok(written)
    }
}

impl External for Afresh<'_> {
    fn render(&self, wanted: &Wanted<'_>) -> Result<String, NotGiven> {
        self.renderers.pinned(wanted.digest)?;
        self.renderers.render_from(&self.written(wanted)?, wanted)
    }
}

fn folder_of<'a>(wanted: &Wanted<'a>) -> &'a str {
    if wanted.folder.is_root() { "." } else { wanted.folder.as_str() }
}

/// Quotes a word for any shell, if necessary.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+,=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn root_of(wanted: &Wanted<'_>) -> Result<Root, NotGiven> {
    let root = wanted.tree.list(&StorePath::root())?.map(|listing| listing.id);
    let root = root.ok_or_else(|| NotGiven::Refused { what: "the store is empty".to_owned() })?;
    Ok((wanted.store.clone(), root))
}

fn not_given(error: &NotRun, left_out: &[StorePath]) -> NotGiven {
    let mut what = told(error).replace('\n', "; ");
    if !error.is_about_the_files() {
        return NotGiven::Unavailable { what };
    }
    if !left_out.is_empty() {
        let some: Vec<String> = left_out.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
        let more = left_out.len() - some.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        what.push_str(&format!("; it did not get {}{more}, which exceed the size limit of files", some.join(", ")));
    }
    NotGiven::Refused { what }
}

fn unwritten(error: &NotWritten) -> NotGiven {
    let what = told(error);
    match error {
        NotWritten::Unwritable { .. } => NotGiven::Unavailable { what },
        NotWritten::LeadsOut { .. } | NotWritten::Twice { .. } => NotGiven::Refused { what },
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use setpoint_documents::{AbsolutePath, ProgramDigest};
    use setpoint_store::MemoryTree;

    use super::*;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    /// Returns an input of an app, in a store of this name.
    fn wanted<'a>(store: &'a StoreName, tree: &'a MemoryTree, folder: &'a StorePath) -> Wanted<'a> {
        Wanted { digest: DIGEST, store, tree, folder, is_restricted: true }
    }

    fn store(name: &str) -> StoreName {
        StoreName::new(name).expect("a name")
    }

    #[test]
    fn a_fresh_render_writes_each_version_once_however_many_inputs_it_has_and_takes_none_from_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let renderers = Renderers::new(Vec::new(), folder.path().join("trees"), PathBuf::from("/nowhere/setpoint"));
        let [main, base] = ["main", "base"].map(store);
        let [one, two] = ["1", "2"].map(|text| MemoryTree::of([("a/file", text), ("b/file", text)]));
        let [a, b] = ["a", "b"].map(|path| StorePath::new(path).expect("a path"));
        let before = renderers.written(&wanted(&main, &one, &a)).expect("it is written");
        let afresh = renderers.afresh();
        let written = |wanted: &Wanted<'_>| afresh.written(wanted).expect("it is written").tree;
        let first = written(&wanted(&main, &one, &a));
        assert!(!Arc::ptr_eq(&first, &before.tree), "that version was already on the disk");
        let (second, third) = (written(&wanted(&base, &one, &a)), written(&wanted(&main, &two, &a)));
        assert!(!Arc::ptr_eq(&first, &second) && !Arc::ptr_eq(&first, &third), "another store, another version");
        assert!(Arc::ptr_eq(&first, &written(&wanted(&main, &one, &b))), "another folder of the same");
        let next = renderers.afresh().written(&wanted(&main, &one, &a)).expect("it is written");
        assert!(!Arc::ptr_eq(&first, &next.tree), "another render");
    }

    #[test]
    fn the_command_that_shows_what_a_program_said_can_be_copied_into_a_shell_and_renders_as_the_app_does() {
        let folder = tempfile::tempdir().expect("a folder");
        let renderers = Renderers::new(Vec::new(), folder.path().join("trees"), PathBuf::from("/nowhere/setpoint"));
        let (main, tree) = (store("main"), MemoryTree::default());
        let said = |path: &str, is_restricted: bool| {
            let folder = StorePath::new(path).expect("a path");
            renderers.unsaid(&Wanted { is_restricted, ..wanted(&main, &tree, &folder) })
        };
        for (path, is_restricted, command) in [
            ("apps/web", true, "`setpoint kustomize compare apps/web --with PROGRAM`"),
            ("", true, "`setpoint kustomize compare . --with PROGRAM`"),
            (
                "apps/web",
                false,
                "`setpoint kustomize compare apps/web --with PROGRAM --load-restrictor LoadRestrictionsNone`",
            ),
            ("it's $HOME; true", true, r"`setpoint kustomize compare 'it'\''s $HOME; true' --with PROGRAM`"),
            ("-o/web", true, "`setpoint kustomize compare ./-o/web --with PROGRAM`"),
        ] {
            let said = said(path, is_restricted);
            assert!(said.contains(command), "{said}");
        }
        let binary = AbsolutePath::new("/opt/my tools/kustomize").expect("a path");
        let declared = Renderer { binary, digest: ProgramDigest::new(DIGEST).expect("a digest") };
        let renderers = Renderers { declared: vec![declared], ..renderers };
        let said = renderers.unsaid(&wanted(&main, &tree, &StorePath::root()));
        assert!(said.contains("--with '/opt/my tools/kustomize'`"), "{said}");
    }
}
