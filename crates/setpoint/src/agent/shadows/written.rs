//! The comparisons of an app and their file format: one file for each app, written completely or
//! not at all.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use setpoint_core::digest::Digest;
use setpoint_core::name::AppId;
use setpoint_core::time::Timestamp;
use setpoint_core::version::Revision;
use setpoint_documents::Shadow;
use setpoint_engine::accept::AppSource;

use super::outcome::Outcome;

/// The number of different versions whose differences are all stored; of further ones, only the
/// first is.
const IN_FULL: usize = 20;
/// The extension of a file that is not complete yet.
const UNFINISHED: &str = "next";
/// The length of file names: enough to distinguish digests.
const SHORT: usize = 32;

/// All comparisons with one program, while an app was rendered from the same inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Comparisons {
    pub(super) app: AppId,
    pub(super) digest: String,
    /// The inputs of the app's kustomizations. Earlier builds did not write them, so their files
    /// count as those of other inputs.
    #[serde(default)]
    recipe: Option<Digest>,
    pub(super) compared: Vec<Compared>,
    /// The number of versions that were not compared, because newer ones came.
    pub(super) passed_over: u64,
    /// The number of versions that neither renders. They do not count as compared, because they
    /// show nothing about the two.
    #[serde(default)]
    pub(super) refused: u64,
    /// The newest of them.
    #[serde(default)]
    pub(super) last_refused: Option<Revision>,
}

/// A version that at least one of the two renders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Compared {
    pub(super) revision: Revision,
    pub(super) at: Timestamp,
    /// The differences, one per line.
    pub(super) differences: Vec<String>,
}

impl Comparisons {
    pub(super) fn new(source: &AppSource, shadow: &Shadow) -> Self {
        Self {
            app: source.app.clone(),
            digest: shadow.digest.as_str().to_owned(),
            recipe: Some(source.recipe_of_kustomizations()),
            compared: Vec::new(),
            passed_over: 0,
            refused: 0,
            last_refused: None,
        }
    }

    /// Reports whether these comparisons are of this program and of the app as it is declared now.
    pub(super) fn is_of(&self, source: &AppSource, shadow: &Shadow) -> bool {
        self.digest == shadow.digest.as_str() && self.recipe == Some(source.recipe_of_kustomizations())
    }

    pub(super) fn is_over(&self, versions: u32) -> bool {
        self.compared.len() >= usize::try_from(versions).unwrap_or(usize::MAX)
    }

    pub(super) fn has(&self, revision: &Revision) -> bool {
        self.compared.iter().map(|one| &one.revision).chain(&self.last_refused).any(|one| one == revision)
    }

    pub(super) fn different(&self) -> impl Iterator<Item = &Compared> {
        self.compared.iter().filter(|one| !one.differences.is_empty())
    }

    pub(super) fn add(&mut self, revision: &Revision, at: Timestamp, outcome: Outcome) {
        let mut differences = match outcome {
            Outcome::Alike => Vec::new(),
            Outcome::Different(lines) => lines,
            Outcome::Refused(_) => {
                self.refused += 1;
                self.last_refused = Some(revision.clone());
                return;
            }
        };
        if self.different().count() >= IN_FULL {
            differences.truncate(1);
        }
        self.compared.push(Compared { revision: revision.clone(), at, differences });
    }

    /// Returns the final result of the comparison.
    pub(super) fn verdict(&self) -> String {
        let different: Vec<String> = self.different().map(|one| one.revision.to_string()).collect();
        let all = self.compared.len();
        match different.as_slice() {
            [] => format!("it has ended: {all} versions rendered alike: safe to leave"),
            some => format!("it has ended: {} of {all} versions rendered otherwise: {}", some.len(), some.join(", ")),
        }
    }
}

/// The reason why a file is not used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    #[error("cannot read its file")]
    Unreadable {
        #[from]
        source: io::Error,
    },
    #[error("its file is damaged")]
    Damaged {
        #[from]
        source: serde_json::Error,
    },
    #[error("its file belongs to {of}")]
    OfAnother { of: AppId },
}

/// The directory of the files.
#[derive(Debug)]
pub(super) struct ComparisonFiles {
    pub(super) folder: PathBuf,
}

impl ComparisonFiles {
    /// Returns `None` if nothing was written yet.
    pub(super) fn read(&self, app: &AppId) -> Result<Option<Comparisons>, Unusable> {
        let bytes = match fs::read(self.folder.join(name(app))) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let read: Comparisons = serde_json::from_slice(&bytes)?;
        if read.app == *app { Ok(Some(read)) } else { Err(Unusable::OfAnother { of: read.app }) }
    }

    pub(super) fn write(&self, comparisons: &Comparisons) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let file = name(&comparisons.app);
        let next = self.folder.join(format!("{file}.{UNFINISHED}"));
        let mut written = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&next)?;
        written.write_all(&serde_json::to_vec(comparisons)?)?;
        fs::rename(&next, self.folder.join(file))
    }

    /// Removes the files of other apps, and all unknown files. A file that cannot be removed is not
    /// read either.
    pub(super) fn keep_only<'a>(&self, apps: impl Iterator<Item = &'a AppId>) {
        let kept: BTreeSet<String> = apps.map(name).collect();
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let gone = files.filter(|file| file.file_name().to_str().is_none_or(|name| !kept.contains(name)));
        gone.for_each(|file| drop(fs::remove_file(file.path())));
    }
}

fn name(app: &AppId) -> String {
    let mut name = Digest::of(app.to_string().as_bytes()).to_string();
    name.truncate(SHORT);
    name
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use setpoint_core::name::{StoreName, VersionId};

    use super::super::tests::declared;
    use super::*;

    fn app(name: &str) -> AppId {
        format!("default/{name}").parse().expect("a valid app")
    }

    fn of(name: &str) -> Comparisons {
        let (source, shadow) = declared("web", '1');
        Comparisons::new(&AppSource { app: app(name), ..source }, &shadow)
    }

    fn revision(number: usize) -> Revision {
        let version = VersionId::new(&format!("{number:040}")).expect("a version");
        Revision::from(BTreeMap::from([(StoreName::new("main").expect("a name"), version)]))
    }

    fn add(to: &mut Comparisons, number: usize, outcome: Outcome) {
        to.add(&revision(number), Timestamp::from_millis(1), outcome);
    }

    fn different(lines: usize) -> Outcome {
        Outcome::Different((0..lines).map(|line| format!("Service a: line {line}")).collect())
    }

    #[test]
    fn what_is_written_is_there_for_the_next_process_and_only_for_its_app() {
        let folder = tempfile::tempdir().expect("a folder");
        let shelf = ComparisonFiles { folder: folder.path().join("shadows") };
        assert!(shelf.read(&app("one")).expect("nothing is wrong").is_none());
        let mut one = of("one");
        add(&mut one, 1, Outcome::Alike);
        add(&mut one, 2, different(3));
        add(&mut one, 3, Outcome::Refused(Vec::new()));
        shelf.write(&one).expect("it is written");
        shelf.write(&of("two")).expect("it is written");
        assert_eq!(shelf.read(&app("one")).expect("it is whole"), Some(one));
        fs::rename(shelf.folder.join(name(&app("one"))), shelf.folder.join(name(&app("two")))).expect("it is ours");
        assert!(matches!(shelf.read(&app("two")), Err(Unusable::OfAnother { .. })));
        fs::write(shelf.folder.join(name(&app("two"))), "{").expect("it is ours");
        assert!(matches!(shelf.read(&app("two")), Err(Unusable::Damaged { .. })));
        shelf.keep_only([app("one")].iter());
        assert!(shelf.read(&app("two")).expect("it is gone").is_none());
    }

    #[test]
    fn the_end_names_what_differs_and_of_many_only_a_little_is_kept() {
        let mut all = of("one");
        (0..3).for_each(|number| add(&mut all, number, Outcome::Alike));
        assert_eq!(all.verdict(), "it has ended: 3 versions rendered alike: safe to leave");
        assert!(all.is_over(3) && !all.is_over(4) && all.has(&revision(2)) && !all.has(&revision(3)));
        (3..40).for_each(|number| add(&mut all, number, different(5)));
        assert!(all.verdict().starts_with("it has ended: 37 of 40 versions rendered otherwise: "), "{}", all.verdict());
        let lines: usize = all.compared.iter().map(|one| one.differences.len()).sum();
        assert_eq!(lines, IN_FULL * 5 + 17);
    }

    #[test]
    fn what_both_refuse_brings_the_end_no_nearer_and_is_not_compared_again() {
        let mut all = of("one");
        (0..10).for_each(|number| add(&mut all, number, Outcome::Refused(vec!["a: we refuse it: bad".to_owned()])));
        assert!(!all.is_over(1) && all.has(&revision(9)) && all.compared.is_empty());
        add(&mut all, 10, Outcome::Alike);
        assert!(all.is_over(1));
        assert_eq!(
            (all.refused, all.verdict().as_str()),
            (10, "it has ended: 1 versions rendered alike: safe to leave")
        );
    }

    #[test]
    fn what_an_earlier_build_wrote_can_be_read_and_is_of_nothing_that_is_declared_now() {
        let folder = tempfile::tempdir().expect("a folder");
        let shelf = ComparisonFiles { folder: folder.path().to_owned() };
        let (source, shadow) = declared("web", '1');
        let digest = shadow.digest.as_str();
        let text = format!(r#"{{"app":"default/web","digest":"{digest}","compared":[],"passed_over":3}}"#);
        fs::write(shelf.folder.join(name(&source.app)), text).expect("it is ours");
        let read = shelf.read(&source.app).expect("it is whole").expect("it is there");
        assert!(read.passed_over == 3 && !read.is_of(&source, &shadow));
        assert!(Comparisons::new(&source, &shadow).is_of(&source, &shadow));
    }
}
