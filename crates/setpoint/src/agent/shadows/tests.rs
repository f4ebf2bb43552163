//! Recorded shadows match the current declaration of an app, regardless of running threads and
//! waiting versions.

use setpoint_core::name::{StoreName, VersionId};
use setpoint_core::time::Timestamp;
use setpoint_engine::accept::documents_of;
use setpoint_store::{MemoryTree, StorePath};

use super::*;
use crate::families::families;
use crate::log::{CollectedLines, Log};

/// An agent's shadows, whose programs cannot be run.
struct Scene {
    shadows: Shadows,
    said: CollectedLines,
    _folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let (folder, said) = (tempfile::tempdir().expect("a folder"), CollectedLines::default());
        let renderers = Renderers::new(Vec::new(), folder.path().join("trees"), PathBuf::from("/nowhere/setpoint"));
        let clock = Clock::at(Timestamp::from_millis(1));
        let shadows = Shadows::new(folder.path().join("shadows"), Arc::new(renderers), clock, Log::collecting(&said));
        Self { shadows, said, _folder: folder }
    }

    /// Returns the state of the shadow of an app with this declaration.
    fn standing(&self, folder: &str, digit: char) -> ShadowStanding {
        let (source, shadow) = declared(folder, digit);
        self.shadows.standing(&source, &shadow)
    }

    fn said(&self, text: &str) -> bool {
        self.said.all().iter().any(|line| line.contains(text))
    }
}

/// Returns the app `web`, rendered from this directory, with a shadow whose digest repeats this
/// digit.
pub(super) fn declared(folder: &str, digit: char) -> (AppSource, Shadow) {
    let digest = digit.to_string().repeat(64);
    let text = format!(
        "apiVersion: setpoint.dev/v1\nkind: Store\nmetadata: {{ name: state }}\nspec: {{ url: 'https://git.example/x.git' }}\n\
         ---\napiVersion: setpoint.dev/v1\nkind: Target\nmetadata: {{ name: here }}\nspec: {{ kind: host, root: /srv/here }}\n\
         ---\napiVersion: setpoint.dev/v1\nkind: App\nmetadata: {{ name: web }}\nspec:\n  component: x\n  environment: test\n  \
         inputs: [{{ name: main, store: state, path: {folder} }}]\n  target: here\n  kustomize: {{ shadow: {{ digest: 'sha256:{digest}' }} }}\n"
    );
    let tree = MemoryTree::of([("control/all.yaml", text.as_str())]);
    let folder = StorePath::new("control").expect("a path");
    let Ok((documents, _)) = documents_of(&tree, &folder, &families(None)) else { panic!("the documents are valid") };
    let shadow = documents.apps()[&app()].spec.kustomize.shadow.clone();
    (documents.source(&app()).expect("the app is declared"), shadow.expect("it has one"))
}

fn app() -> AppId {
    "default/web".parse().expect("an app")
}

fn revision(number: usize) -> Revision {
    let version = VersionId::new(&format!("{number:040}")).expect("a version");
    Revision::from(BTreeMap::from([(StoreName::new("state").expect("a name"), version)]))
}

fn job(folder: &str, digit: char, number: usize) -> Job {
    let tree = MemoryTree::of([
        ("web/kustomization.yaml", "resources: [map.yaml]\n"),
        ("web/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n"),
    ]);
    let trees = Trees::from([(StoreName::new("state").expect("a name"), Arc::new(tree) as _)]);
    let (source, shadow) = declared(folder, digit);
    Job { source, shadow, revision: revision(number), trees }
}

#[test]
fn trouble_with_a_program_is_not_told_of_the_next_one() {
    let scene = Scene::new();
    assert!(scene.shadows.take(job("web", '1', 1)));
    scene.shadows.work();
    let trouble = scene.standing("web", '1').trouble.expect("the program is not listed");
    assert!(trouble.contains("could not be compared"), "{trouble}");
    assert!(scene.said("; it is tried again with the next commit"));
    assert_eq!(scene.standing("web", '2').trouble, None);
}

#[test]
fn a_version_without_a_kustomization_is_not_rendered_alike() {
    let scene = Scene::new();
    assert!(scene.shadows.take(job("elsewhere", '1', 1)));
    scene.shadows.work();
    let standing = scene.standing("elsewhere", '1');
    assert_eq!(standing.compared, 0);
    assert!(scene.said("could not be compared: none of its inputs is a kustomization"));
}

#[test]
fn an_app_that_is_rendered_from_something_else_is_counted_anew_which_is_said() {
    let scene = Scene::new();
    let first = job("web", '1', 1);
    assert!(scene.shadows.wants(&first.source, &first.shadow, &first.revision));
    scene.shadows.note(&app(), &first, Ok(Outcome::Alike));
    assert!(!scene.shadows.wants(&first.source, &first.shadow, &first.revision));
    assert_eq!(scene.standing("web", '1').compared, 1);
    let moved = job("elsewhere", '1', 1);
    assert_eq!(scene.standing("elsewhere", '1').compared, 0);
    assert!(scene.said("counting starts over: it is rendered from other inputs now"));
    assert!(scene.shadows.wants(&moved.source, &moved.shadow, &moved.revision), "it is the same version of the store");
}

#[test]
fn the_accepted_version_passes_none_over_that_waits_unless_nobody_asks_for_that_any_more() {
    let scene = Scene::new();
    let waiting = || scene.shadows.desk().waiting.get(&app()).map(|job| job.revision.clone());
    assert!(scene.shadows.take_accepted(job("web", '1', 1)), "no thread is running yet");
    assert_eq!(waiting(), Some(revision(1)));
    assert!(!scene.shadows.take(job("web", '1', 2)));
    assert!(!scene.shadows.take_accepted(job("web", '1', 1)));
    assert_eq!((waiting(), scene.standing("web", '1').passed_over), (Some(revision(2)), 1));
    assert!(!scene.shadows.take_accepted(job("web", '2', 1)));
    assert_eq!(waiting(), Some(revision(1)), "the waiting version was for another program");
    assert_eq!(scene.standing("web", '2').passed_over, 0, "nothing was compared with this one");
}

#[test]
fn a_version_that_waited_for_another_program_is_not_compared_and_leaves_the_counts_alone() {
    let scene = Scene::new();
    assert!(scene.shadows.take(job("web", '1', 1)));
    // The App names another program before the thread reaches it, and a version was compared with
    // that program.
    let with_the_next = job("web", '2', 2);
    assert!(scene.shadows.wants(&with_the_next.source, &with_the_next.shadow, &with_the_next.revision));
    scene.shadows.note(&app(), &with_the_next, Ok(Outcome::Alike));
    scene.shadows.work();
    assert_eq!(scene.standing("web", '2').compared, 1);
    assert!(scene.shadows.desk().waiting.is_empty());
}

#[test]
fn a_version_that_was_taken_again_while_it_was_compared_is_not_compared_twice() {
    let scene = Scene::new();
    assert!(scene.shadows.take(job("web", '1', 1)));
    scene.shadows.note(&app(), &job("web", '1', 1), Ok(Outcome::Alike));
    scene.shadows.work();
    assert!(!scene.said("could not be compared"), "no comparison was attempted");
    assert_eq!(scene.standing("web", '1').compared, 1);
}

#[test]
fn a_version_that_was_being_compared_with_another_program_leaves_the_counts_alone() {
    let scene = Scene::new();
    let (before, after) = (job("web", '1', 1), job("web", '2', 2));
    assert!(scene.shadows.wants(&before.source, &before.shadow, &before.revision));
    assert!(scene.shadows.wants(&after.source, &after.shadow, &after.revision));
    scene.shadows.note(&app(), &after, Ok(Outcome::Alike));
    for outcome in [Ok(Outcome::Alike), Ok(Outcome::Refused(Vec::new())), Err("it cannot be run".to_owned())] {
        scene.shadows.note(&app(), &before, outcome);
    }
    let ShadowStanding { compared, refused_by_both, trouble, .. } = scene.standing("web", '2');
    assert_eq!((compared, refused_by_both, trouble), (1, 0, None));
}

#[test]
fn who_ends_by_himself_does_not_say_for_another_that_nobody_works() {
    let scene = Scene::new();
    let ending = Working(&scene.shadows);
    assert!(scene.shadows.take(job("web", '1', 1)), "the first thread has cleared its mark, and another begins");
    drop(ending);
    assert!(!scene.shadows.take(job("web", '1', 2)), "a third thread would run at the same time");
}

#[test]
fn after_a_panic_the_next_version_has_somebody_work_again() {
    let scene = Scene::new();
    assert!(scene.shadows.take(job("web", '1', 1)));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _working = Working(&scene.shadows);
        panic!("of the test");
    }));
    assert!(panicked.is_err());
    assert!(scene.shadows.take(job("web", '1', 2)));
}
