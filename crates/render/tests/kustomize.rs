//! Apps whose input is a kustomization.

use setpoint_core::value::Value;
use setpoint_render::{Limits, NotRendered};
use setpoint_store::{Blob, EntryId, Listing, MemoryTree, StoreError, StorePath, Tree};

use crate::scene::{names, object, path, problems, render_files, render_tree, render_with, store};

const BASE: &str = "resources: [map.yaml]\n";
const OVERLAY: &str = "resources: [../base]\nnamePrefix: prod-\n";

fn map() -> String {
    object("ConfigMap", "settings") + "data:\n  size: \"1\"\n"
}

fn tree() -> MemoryTree {
    MemoryTree::of([
        ("base/kustomization.yaml", BASE),
        ("base/map.yaml", map().as_str()),
        ("base/notes.md", "not read"),
        ("app/kustomization.yaml", OVERLAY),
    ])
}

fn with(tree: &MemoryTree, file: &str, text: &str) -> MemoryTree {
    tree.with_file(&path(file), text.as_bytes())
}

#[test]
fn an_input_with_a_kustomization_is_rendered_with_the_bases_beside_it() {
    for name in ["kustomization.yaml", "kustomization.yml", "Kustomization"] {
        let tree = tree().without(&path("app/kustomization.yaml"));
        let rendered = render_tree(&with(&tree, &format!("app/{name}"), OVERLAY)).unwrap();
        assert_eq!(names(&rendered), ["ConfigMap prod-settings"]);
        let place = &rendered.resources[0].place;
        assert_eq!((place.file.as_str(), place.line), (format!("app/{name}").as_str(), 2), "the prefix made the name");
    }
}

#[test]
fn what_was_read_decides_what_a_commit_touches_and_not_the_path() {
    let rendered = render_tree(&tree()).unwrap();
    let reads = &rendered.reads[&store("main")];
    let holds = |tree: &MemoryTree| reads.holds_on(tree).unwrap();
    assert!(holds(&with(&tree(), "base/notes.md", "changed")));
    assert!(holds(&with(&tree(), "app/new.yaml", "nobody names it")));
    assert!(holds(&with(&tree(), "other/kustomization.yaml", BASE)));
    assert!(!holds(&with(&tree(), "base/map.yaml", &object("ConfigMap", "settings"))));
    assert!(!holds(&with(&tree(), "base/kustomization.yaml", "resources: []\n")));
    assert!(!holds(&with(&tree(), "app/kustomization.yml", OVERLAY)), "a second one would be refused");
    assert!(!holds(&tree().without(&path("app/kustomization.yaml"))));
}

#[test]
fn a_broken_kustomization_is_told_by_file_and_line() {
    let told =
        problems(render_tree(&with(&tree(), "base/kustomization.yaml", "resources: [map.yaml]\nnamePrefx: a\n")));
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(
        told[0].starts_with("base/kustomization.yaml:2:1: ") && told[0].contains("invalid Kustomization: namePrefx"),
        "{told:?}"
    );
    let told = problems(render_tree(&with(&tree(), "app/kustomization.yaml", "resources: [../gone]\n")));
    assert!(told[0].contains("gone"), "{told:?}");
}

#[test]
fn what_a_target_finds_wrong_is_told_where_it_was_written() {
    let wrong = object("Wrong", "settings");
    let told = problems(render_tree(&with(&tree(), "base/map.yaml", &wrong)));
    assert_eq!(told, ["base/map.yaml:2:1: `kind`: there is no such kind; remove it"]);
}

#[test]
fn what_is_no_number_is_told_by_its_field() {
    let body = object("Thing", "settings") + "spec:\n  sizes: [1, .inf]\n";
    let told = problems(render_tree(&with(&tree(), "base/map.yaml", &body)));
    assert_eq!(told, ["base/map.yaml:5:1: `spec.sizes[1]`: `.inf` is no number; put it in quotes if it is a text"]);
}

#[test]
fn the_same_object_from_two_inputs_is_told_with_both_places() {
    let inputs = [("app", OVERLAY), ("app-2", OVERLAY)];
    let tree = inputs.iter().fold(tree(), |tree, (at, text)| with(&tree, &format!("{at}/kustomization.yaml"), text));
    let told = problems(crate::scene::render_inputs(tree, &["app", "app-2"]));
    assert_eq!(told.len(), 1);
    assert!(
        told[0].starts_with("app-2/kustomization.yaml:2:1: the ConfigMap `prod-settings` is declared twice"),
        "{told:?}"
    );
}

#[test]
fn a_kustomization_and_plain_files_may_be_one_app() {
    let tree = with(&tree(), "plain/a.yaml", &object("ConfigMap", "other"));
    let rendered = crate::scene::render_inputs(tree, &["app", "plain"]).unwrap();
    assert_eq!(names(&rendered), ["ConfigMap prod-settings", "ConfigMap other"]);
}

#[test]
fn limits_hold_for_what_a_kustomization_makes() {
    let limits = |limits: Limits| problems(render_with(tree(), limits)).join("\n");
    assert!(limits(Limits { file_bytes: 30, ..Limits::default() }).contains("the limit is 30"));
    assert!(limits(Limits { objects: 0, ..Limits::default() }).contains("they declare 1 objects or more"));
    assert!(limits(Limits { object_bytes: 10, ..Limits::default() }).contains("the limit for one object is 10"));
}

/// A tree of which the base cannot be read.
#[derive(Debug)]
struct Torn(MemoryTree, StoreError);

impl Tree for Torn {
    fn read(&self, path: &StorePath) -> Result<Option<Blob>, StoreError> {
        if path.as_str() == "base/map.yaml" { Err(self.1.clone()) } else { self.0.read(path) }
    }

    fn list(&self, path: &StorePath) -> Result<Option<Listing>, StoreError> {
        self.0.list(path)
    }

    fn id_at(&self, path: &StorePath) -> Result<Option<EntryId>, StoreError> {
        self.0.id_at(path)
    }

    fn real_path(&self, path: &StorePath) -> Result<Option<StorePath>, StoreError> {
        self.0.real_path(path)
    }
}

#[test]
fn a_base_that_could_not_be_read_is_a_failure_and_one_that_may_not_be_is_a_refusal() {
    for blind in [StoreError::unreachable("x"), StoreError::damaged("x")] {
        let outcome = render_with(Torn(tree(), blind.clone()), Limits::default());
        assert_eq!(outcome, Err(NotRendered::Failed { source: blind }));
    }
    let told =
        problems(render_with(Torn(tree(), StoreError::refused("it is too large", "split it")), Limits::default()));
    assert!(told[0].contains("`base/map.yaml` cannot be read: it is too large; split it"), "{told:?}");
}

#[test]
fn links_out_of_the_tree_and_in_circles_are_refused() {
    for (link, leads) in
        [("base/map.yaml", "../../outside.yaml"), ("base/map.yaml", "map.yaml"), ("base/map.yaml", "/etc/passwd")]
    {
        let linked = tree().without(&path(link)).with_link(&path(link), leads);
        let told = problems(render_tree(&linked));
        assert_eq!(told.len(), 1, "{leads}: {told:?}");
    }
    // A folder that leads to itself: each base is another way to the same one.
    let circle = with(&tree(), "app/kustomization.yaml", "resources: [again]\n").with_link(&path("app/again"), ".");
    assert_eq!(problems(render_tree(&circle)).len(), 1);
}

#[test]
fn numbers_and_texts_stay_what_they_are() {
    let body = object("ConfigMap", "settings") + "data: {a: 004, b: yes, c: \"004\", d: 1e3, e: 2020-01-01}\n";
    let rendered = render_files(&[("app/kustomization.yaml", "resources: [a.yaml]"), ("app/a.yaml", &body)]).unwrap();
    let data = |name: &str| rendered.resources[0].body.get("data").and_then(|data| data.get(name)).cloned();
    assert_eq!(data("a"), Some(Value::int(4)));
    assert_eq!(data("b"), Some(Value::str("yes")));
    assert_eq!(data("c"), Some(Value::str("004")));
    assert_eq!(data("d"), Some(Value::int(1000)));
}
