//! Cached renders equal the original ones, are limited, and are not used if anyone has changed
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use setpoint_core::key::Key;
use setpoint_core::name::StoreName;
use setpoint_core::value::Value;
use setpoint_documents::FieldProblem;
use setpoint_engine::accept::{ControlDocuments, documents_of};
use setpoint_store::{MemoryTree, StorePath, Tree};
use setpoint_target::{Unidentifiable, after_implied};

use super::*;
use crate::families::families;
use crate::log::{CollectedLines, Log};

/// Identifies every object by its name.
#[derive(Debug)]
struct Things;

impl Kinds for Things {
    fn check(&self, _: &str, _: &str, _: &Value) -> Vec<FieldProblem> {
        Vec::new()
    }

    fn key(&self, _: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable> {
        let name = body.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Value::as_str);
        Key::new(kind, "", name.unwrap_or_default()).map_err(|bad| Unidentifiable { problem: bad.to_string() })
    }

    fn after(&self, declared: &[(Key, &Value)]) -> BTreeMap<Key, BTreeSet<Key>> {
        after_implied(declared, |_| Vec::new())
    }

    fn is_protected(&self, _: &str, _: &str) -> bool {
        false
    }
}

struct Scene {
    folder: tempfile::TempDir,
    documents: ControlDocuments,
    said: CollectedLines,
    bounds: Bounds,
}

impl Scene {
    fn new() -> Self {
        let app = |name: &str| {
            format!(
                "---\napiVersion: setpoint.dev/v1\nkind: App\nmetadata: {{ name: {name} }}\nspec:\n  component: x\n  environment: test\n  \
                 inputs: [{{ name: main, store: state, path: {name} }}]\n  target: here\n"
            )
        };
        let rest = "apiVersion: setpoint.dev/v1\nkind: Store\nmetadata: { name: state }\nspec: { url: 'https://git.example/x.git' }\n\
                    ---\napiVersion: setpoint.dev/v1\nkind: Target\nmetadata: { name: here }\nspec: { kind: host, root: /srv/here }\n";
        let text = format!("{rest}{}{}", app("one"), app("two"));
        let read =
            documents_of(&MemoryTree::of([("control/all.yaml", text.as_str())]), &path("control"), &families(None));
        let Ok((documents, _)) = read else { panic!("the documents are valid") };
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder, documents, said: CollectedLines::default(), bounds: Bounds::default() }
    }

    /// Opens the cache in another process of the installation.
    fn renders(&self) -> Renders {
        self.renders_of(7)
    }

    fn renders_of(&self, installation: u8) -> Renders {
        let key = DigestKey::new([installation; 32]);
        Renders::bounded(self.folder.path().join("renders"), key, self.bounds, Log::collecting(&self.said))
    }

    fn source(&self, name: &str) -> AppSource {
        self.documents.source(&app(name)).expect("the app is declared")
    }

    /// Considers an app whose directory contains one document with this text. Returns the result,
    /// and whether it was rendered.
    fn considered(&self, renders: &Renders, name: &str, text: &str) -> (Considered, bool) {
        self.considered_as(renders, name, &thing("Thing", &format!("spec: {{ text: {text} }}")))
    }

    fn considered_as(&self, renders: &Renders, name: &str, document: &str) -> (Considered, bool) {
        let before = renders.made();
        let considered = renders.consider(&self.source(name), &trees(name, document), None, BY);
        (considered, renders.made() > before)
    }

    fn files(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.folder.path().join("renders")).expect("it is there");
        let mut files: Vec<_> = files.map(|file| file.expect("it can be listed").path()).collect();
        files.sort();
        files
    }

    fn said(&self) -> Vec<String> {
        self.said.take()
    }
}

/// No external renderer.
const BY: By<'_> = By { kinds: &Things, external: None, stop: None };

fn app(name: &str) -> AppId {
    format!("default/{name}").parse().expect("a valid app")
}

fn path(text: &str) -> StorePath {
    StorePath::new(text).expect("a path")
}

/// Returns a version in which an app's directory contains one document.
fn trees(name: &str, document: &str) -> Trees {
    let tree: Arc<dyn Tree> = Arc::new(MemoryTree::of([(format!("{name}/a.yaml").as_str(), document)]));
    BTreeMap::from([(StoreName::new("state").expect("a name"), tree)])
}

fn thing(kind: &str, more: &str) -> String {
    format!("apiVersion: v1\nkind: {kind}\nmetadata: {{ name: it }}\n{more}\n")
}

#[test]
fn what_a_render_is_warned_of_is_said_once_and_again_when_it_is_another() {
    let scene = Scene::new();
    let renders = scene.renders();
    let render = |resource: &str| {
        let files = [("one/kustomization.yaml", "resources: [a.yaml]\n"), ("one/a.yaml", resource)];
        let tree: Arc<dyn Tree> = Arc::new(MemoryTree::of(files));
        let trees = BTreeMap::from([(StoreName::new("state").expect("a name"), tree)]);
        assert!(matches!(renders.render(&scene.source("one"), &trees, BY), Considered::Rendered { .. }));
        scene.said()
    };
    let commented = thing("Thing", "spec: { list: [a] } # {\"$ref\": \"#/definitions/x\"}");
    let warning = "WARN  one/a.yaml:4: the schema in this comment is not read: name it under `openapi` app=default/one";
    assert_eq!(render(&commented), [warning]);
    assert_eq!(render(&commented), [""; 0], "it was logged before");
    assert_eq!(render(&thing("Thing", "")), [""; 0]);
    assert_eq!(render(&commented), [warning], "it has reappeared");
}

#[test]
fn what_was_rendered_is_not_rendered_again_by_this_process_nor_by_the_next() {
    let scene = Scene::new();
    let renders = scene.renders();
    let (first, _) = scene.considered(&renders, "one", "a");
    assert!(matches!(&first, Considered::Rendered { resources, .. } if resources.len() == 1), "{first:?}");
    assert!(scene.considered(&renders, "one", "b").1, "another content is another render");
    assert_eq!(scene.considered(&renders, "one", "a"), (first.clone(), false));
    assert_eq!(scene.considered(&scene.renders(), "one", "a"), (first, false));
    assert!(scene.considered(&scene.renders(), "two", "a").1, "the renders of one app are not used for another");
    assert_eq!(scene.said(), [""; 0]);
}

#[test]
fn whoever_asks_for_a_render_gets_one_and_it_replaces_what_is_remembered() {
    let scene = Scene::new();
    let renders = scene.renders();
    let (first, _) = scene.considered(&renders, "one", "a");
    let Considered::Rendered { footprint, .. } = &first else { panic!("{first:?}") };
    renders.keep(&scene.source("one"), footprint, &[]);
    let (planted, rendered) = scene.considered(&renders, "one", "a");
    assert!(matches!(planted, Considered::Rendered { resources, .. } if resources.is_empty()) && !rendered);

    let trees = trees("one", &thing("Thing", "spec: { text: a }"));
    assert_eq!(renders.render(&scene.source("one"), &trees, BY), first);
    assert_eq!(scene.considered(&renders, "one", "a"), (first, false));
}

#[test]
fn an_entry_with_any_bit_flipped_or_cut_anywhere_is_said_removed_and_rendered() {
    let scene = Scene::new();
    let (first, _) = scene.considered(&scene.renders(), "one", "a");
    let [file] = &scene.files()[..] else { panic!("{:?}", scene.files()) };
    let bytes = fs::read(file).expect("it is there");
    let flipped = (0..bytes.len() * 8).step_by(11).map(|bit| {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        bytes
    });
    let cut = (0..bytes.len()).step_by(7).map(|at| bytes[..at].to_vec());
    let longer = [[bytes.as_slice(), b"\n"].concat(), [bytes.as_slice(), &bytes].concat()];
    for damaged in flipped.chain(cut).chain(longer) {
        fs::write(file, &damaged).expect("it is ours");
        let considered = scene.considered(&scene.renders(), "one", "a");
        assert_eq!(considered, (first.clone(), true), "{}", String::from_utf8_lossy(&damaged));
        let said = scene.said();
        assert!(said.len() == 1 && said[0].contains("its content has changed since it was written"), "{said:?}");
        assert_eq!(fs::read(file).expect("it is cached again"), bytes);
    }
}

#[test]
fn an_entry_of_another_app_or_installation_is_said_and_not_used() {
    let scene = Scene::new();
    scene.considered(&scene.renders(), "one", "a");
    let of_one = scene.files()[0].clone();
    scene.considered(&scene.renders(), "two", "a");
    let of_two = scene.files().into_iter().find(|file| *file != of_one).expect("two entries");
    fs::copy(&of_one, &of_two).expect("it is ours");
    assert!(scene.considered(&scene.renders(), "two", "a").1);
    let said = scene.said();
    assert!(said.len() == 1 && said[0].contains("it was written for default/one"), "{said:?}");
    assert!(scene.considered(&scene.renders_of(8), "one", "a").1);
    assert_eq!(scene.said().len(), 1);
}

#[test]
fn an_entry_of_another_version_of_the_program_is_replaced_in_silence() {
    let scene = Scene::new();
    scene.considered(&scene.renders(), "one", "a");
    let file = scene.files().remove(0);
    let text = fs::read_to_string(&file).expect("it is text");
    let [_, header, objects] = text.splitn(3, '\n').collect::<Vec<_>>()[..] else { panic!("{text}") };
    let version = format!(r#""program":"{}""#, env!("CARGO_PKG_VERSION"));
    for other in [r#""program":"0.0.0-other""#, r#""programme":"1""#] {
        let header = header.replace(&version, other);
        let seal = canonical::to_bytes(&DigestKey::new([7; 32]).digest(header.as_bytes()));
        fs::write(&file, [seal, header.into_bytes(), objects.into()].join(&b'\n')).expect("it is ours");
        assert!(scene.considered(&scene.renders(), "one", "a").1, "{other}");
        assert_eq!(scene.said(), [""; 0]);
    }
}

#[test]
fn what_is_used_stays_and_the_rest_goes_over_restarts_too() {
    let scene = Scene { bounds: Bounds { for_each_app: 2, ..Bounds::default() }, ..Scene::new() };
    for (text, second) in [("a", 1), ("b", 2)] {
        let renders = scene.renders();
        let before = scene.files();
        scene.considered(&renders, "one", text);
        let made = scene.files().into_iter().find(|file| !before.contains(file)).expect("an entry");
        let file = File::options().write(true).open(made).expect("it is ours");
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(second)).expect("it is ours");
    }
    assert!(!scene.considered(&scene.renders(), "one", "a").1);
    scene.considered(&scene.renders(), "one", "c");
    assert_eq!(scene.files().len(), 2);
    assert!(!scene.considered(&scene.renders(), "one", "a").1 && !scene.considered(&scene.renders(), "one", "c").1);
    assert!(scene.considered(&scene.renders(), "one", "b").1);
}

#[test]
fn what_is_too_large_is_rendered_each_time() {
    let mut scene = Scene::new();
    let renders = scene.renders();
    scene.considered(&renders, "one", "a");
    let size = fs::metadata(&scene.files()[0]).expect("it is there").len();
    scene.bounds.largest = usize::try_from(size).expect("it is small");
    let renders = scene.renders();
    assert!(!scene.considered(&renders, "one", "a").1, "an entry of just that size is kept");
    assert!(scene.considered(&renders, "one", "ab").1 && scene.considered(&renders, "one", "ab").1);
    assert_eq!(scene.files().len(), 1);
}

#[test]
fn what_holds_a_secret_is_rendered_each_time_and_no_file_holds_it() {
    let scene = Scene::new();
    let renders = scene.renders();
    let sensitive = thing("File", "spec: { commands: [{ sensitive: true, text: hunter2 }] }");
    for secret in [thing("Secret", "data: { password: aHVudGVyMg== }"), sensitive] {
        for _ in 0..2 {
            assert!(scene.considered_as(&renders, "one", &secret).1, "{secret}");
        }
    }
    assert!(scene.files().is_empty());
}

#[test]
fn entries_are_for_one_user_and_go_with_their_app_as_do_unfinished_ones_at_the_next_start() {
    let scene = Scene::new();
    let renders = scene.renders();
    scene.considered(&renders, "one", "a");
    scene.considered(&renders, "two", "a");
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&scene.folder.path().join("renders")), 0o700);
    assert!(scene.files().iter().all(|file| mode(file) == 0o600));
    renders.keep_only([app("two")].iter());
    assert_eq!(scene.files().len(), 1);
    assert!(!scene.considered(&renders, "two", "a").1);
    let unfinished = scene.files()[0].with_extension("3.next");
    fs::write(&unfinished, "half").expect("it is ours");
    drop(scene.renders());
    assert!(!unfinished.exists() && scene.files().len() == 1);
}

#[test]
fn a_folder_that_cannot_be_written_is_said_once_and_everything_is_rendered() {
    let scene = Scene::new();
    let renders = scene.renders();
    fs::remove_dir_all(scene.folder.path().join("renders")).expect("it is ours");
    for text in ["a", "a", "b"] {
        assert!(scene.considered(&renders, "one", text).1);
    }
    let said = scene.said();
    assert!(said.len() == 1 && said[0].contains("cannot cache renders in "), "{said:?}");
    fs::create_dir(scene.folder.path().join("renders")).expect("it is ours");
    assert!(scene.considered(&renders, "one", "a").1 && !scene.considered(&renders, "one", "a").1);
    assert_eq!(scene.said(), [""; 0]);
}
