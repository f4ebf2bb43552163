//! Tests that mistakes are refused with file and line, and that lookalikes are not refused.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::fields::Fields;
use setpoint_core::value::Value;
use setpoint_render::{Input, Kustomize, Limits, NotRendered, Request, Trees, render};
use setpoint_store::{MemoryTree, StoreError, Tree};

use crate::scene::{names, object, path, problems, render_files, render_tree, render_with, store, torn};

#[test]
fn files_are_read_in_the_byte_order_of_their_paths_and_others_are_not_read() {
    let rendered = render_files(&[
        ("app/b/x.yaml", &object("A", "third")),
        ("app/b-1.json", r#"{"apiVersion": "v1", "kind": "A", "metadata": {"name": "second"}}"#),
        ("app/a.yml", &object("A", "first")),
        ("app/README.md", "kind: nonsense"),
        ("elsewhere/a.yaml", "not: a resource"),
    ]);
    assert_eq!(names(&rendered.unwrap()), ["A first", "A second", "A third"]);
}

#[test]
fn everything_wrong_in_all_files_is_told_at_once() {
    let told = problems(render_files(&[
        ("app/a.yaml", "apiVersion: v1\nkind: A\n"),
        ("app/b.yaml", &format!("{}---\na: [\n", object("A", "ok"))),
        ("app/c.yaml", &object("Wrong", "c")),
    ]));
    assert_eq!(told.len(), 3, "{told:#?}");
    assert_eq!(told[0], "app/a.yaml:1:1: the resource has no `metadata.name`; add `metadata.name`");
    assert!(told[1].starts_with("app/b.yaml:"), "{}", told[1]);
    assert_eq!(told[2], "app/c.yaml:2:7: `kind`: there is no such kind; remove it");
}

#[test]
fn case_23_a_vanished_path_is_an_error_and_not_an_empty_app() {
    let told = problems(render_files(&[("other/a.yaml", "")]));
    assert!(told[0].starts_with("app: this version has no such directory; restore it"), "{told:?}");
}

#[test]
fn case_39_one_broken_document_refuses_the_whole() {
    let text = format!("{}---\nkind: A\n", object("A", "fine"));
    let told = problems(render_files(&[("app/a.yaml", &text), ("app/b.yaml", &object("A", "b"))]));
    assert!(told.iter().all(|told| told.starts_with("app/a.yaml:5:1: ")), "{told:?}");
}

#[test]
fn case_40_what_holds_nothing_renders_to_nothing() {
    for text in ["", "---\n", "# only a comment\n", "null\n", "\u{feff}", "\r\n---\r\n"] {
        let rendered = render_files(&[("app/a.yaml", text)]).unwrap();
        assert!(rendered.resources.is_empty(), "{text:?}");
        assert!(!rendered.reads.is_empty());
    }
    let utf16 = MemoryTree::default().with_file(&path("app/a.yaml"), b"\xff\xfea\0");
    assert_eq!(problems(render_tree(&utf16)), ["app/a.yaml:1:1: the file is UTF-16; save the file as UTF-8"]);
}

#[test]
fn case_42_the_same_object_twice_is_refused_with_both_places() {
    let told = problems(render_files(&[("app/a.yaml", &object("A", "x")), ("app/b.yaml", &object("A", "x"))]));
    assert_eq!(told, ["app/b.yaml:3:19: the A `x` is declared twice (first here: app/a.yaml:3:19); keep one of them"]);
}

#[test]
fn folders_of_other_renderers_are_refused_by_name_and_once() {
    let told = problems(render_files(&[
        ("app/base/kustomization.yaml", "resources: [x.yaml]"),
        ("app/base/x.yaml", "not: a resource"),
        ("app/chart/Chart.yaml", "name: c"),
        ("app/chart/templates/x.yaml", "{{ nonsense }}"),
    ]));
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told[0].starts_with(
        "app/base/kustomization.yaml: the directory is a kustomization below a directory that is none; make it an input"
    ));
    assert!(told[1].starts_with("app/chart/Chart.yaml: the directory holds a Helm chart"));
}

#[test]
fn links_to_files_are_read_and_links_to_folders_are_refused() {
    let tree = MemoryTree::of([("shared/a.yaml", object("A", "shared").as_str())]);
    let linked = tree.with_link(&path("app/a.yaml"), "../shared/a.yaml");
    assert_eq!(names(&render_tree(&linked).unwrap()), ["A shared"]);
    let told = problems(render_tree(&linked.with_link(&path("app/loop"), "..")));
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("app/loop: a link to a directory is not followed"), "{told:?}");
    let told = problems(render_tree(&linked.with_link(&path("app/lost.yaml"), "nowhere")));
    assert!(told[0].starts_with("app/lost.yaml: the link has no target"), "{told:?}");
}

#[test]
fn parameters_are_refused_because_they_would_mean_nothing() {
    let trees: Trees =
        BTreeMap::from([(store("main"), Arc::new(MemoryTree::of([("app/a.yaml", "")])) as Arc<dyn Tree>)]);
    let inputs = [Input { store: store("main"), path: path("app") }];
    let parameters = Value::map([("replicas", Value::int(3))]);
    let request = Request {
        inputs: &inputs,
        parameters: &parameters,
        kustomize: &Kustomize::default(),
        trees: &trees,
        check: &|_, _, _| Vec::new(),
        external: None,
        limits: Limits::default(),
        stop: None,
    };
    let told = problems(render(&request));
    assert_eq!(told.len(), 1);
    assert!(
        told[0]
            .starts_with("spec.parameters of the App: no input takes parameters, so they have no effect; remove them")
    );
}

#[test]
fn files_of_several_stores_are_told_apart_and_a_store_nobody_opened_fails() {
    let tree = |name| Arc::new(MemoryTree::of([("app/a.yaml", object("A", name).as_str())])) as Arc<dyn Tree>;
    let mut trees: Trees = BTreeMap::from([(store("one"), tree("x")), (store("two"), tree("x"))]);
    let inputs = ["one", "two"].map(|name| Input { store: store(name), path: path("app") });
    let parameters = Value::Map(Fields::new());
    let check = |_: &str, _: &str, _: &Value| Vec::new();
    let told = |trees: &Trees| {
        let kustomize = &Kustomize::default();
        let limits = Limits::default();
        render(&Request {
            inputs: &inputs,
            parameters: &parameters,
            kustomize,
            trees,
            check: &check,
            external: None,
            limits,
            stop: None,
        })
    };
    let twice = problems(told(&trees));
    assert!(twice[0].starts_with("two:app/a.yaml:3:19: ") && twice[0].contains("one:app/a.yaml:3:19"), "{twice:?}");
    trees.remove(&store("two"));
    assert!(matches!(told(&trees), Err(NotRendered::Failed { source: StoreError::Unreachable { .. } })));
}

#[test]
fn what_could_not_be_read_is_a_failure_and_what_may_not_be_is_a_refusal() {
    let tree = MemoryTree::of([("app/a.yaml", "kind: broken"), ("app/torn.yaml", "")]);
    for blind in [StoreError::unreachable("x"), StoreError::denied("x"), StoreError::damaged("x")] {
        let outcome = render_with(torn(tree.clone(), "app/torn.yaml", &blind), Limits::default());
        assert_eq!(outcome, Err(NotRendered::Failed { source: blind }));
    }
    let refused = StoreError::refused("it is too large", "split it");
    let told = problems(render_with(torn(tree, "app/torn.yaml", &refused), Limits::default()));
    assert!(told.contains(&"app/torn.yaml: it is too large; split it".to_owned()), "{told:?}");
    assert!(told.len() > 1, "the other problems are told too");
}
