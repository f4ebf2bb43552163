//! Tests apps whose input is a kustomization.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use setpoint_core::value::Value;
use setpoint_render::{Input, Kustomize, Limits, NotRendered, RemoteBase, Rendered, Request, Trees, render};
use setpoint_store::{MemoryTree, StoreError, StorePath, Tree};

use crate::scene::{
    Watched, names, object, path, problems, render_files, render_inputs, render_tree, render_with, requested, store,
    torn,
};

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
    assert_eq!(
        told,
        [
            "base/map.yaml:5:1: `spec.sizes[1]`: it is not a number (of the Thing `prod-settings`); put it in quotes if it is a text"
        ]
    );
}

#[test]
fn the_same_object_from_two_inputs_is_told_with_both_places() {
    let inputs = [("app", OVERLAY), ("app-2", OVERLAY)];
    let tree = inputs.iter().fold(tree(), |tree, (at, text)| with(&tree, &format!("{at}/kustomization.yaml"), text));
    let told = problems(render_inputs(tree, &["app", "app-2"]));
    assert_eq!(told.len(), 1);
    assert!(
        told[0].starts_with("app-2/kustomization.yaml:2:1: the ConfigMap `prod-settings` is declared twice"),
        "{told:?}"
    );
}

#[test]
fn a_kustomization_and_plain_files_may_be_one_app() {
    let tree = with(&tree(), "plain/a.yaml", &object("ConfigMap", "other"));
    let rendered = render_inputs(tree, &["app", "plain"]).unwrap();
    assert_eq!(names(&rendered), ["ConfigMap prod-settings", "ConfigMap other"]);
}

#[test]
fn limits_hold_for_what_a_kustomization_makes() {
    let limits = |limits: Limits| problems(render_with(tree(), limits)).join("\n");
    assert!(limits(Limits { file_bytes: 30, ..Limits::default() }).contains("the limit is 30"));
    let told = limits(Limits { objects: 0, ..Limits::default() });
    assert!(
        told.starts_with("base/map.yaml:1:1: ") && told.contains("limit: there are more than 0 resources"),
        "{told}"
    );
    assert!(limits(Limits { object_bytes: 10, ..Limits::default() }).contains("the limit for one object is 10"));
}

#[test]
fn a_build_stops_where_it_would_grow_beyond_what_the_app_may_render() {
    let limits = Limits { rendered_bytes: 1_000, ..Limits::default() };
    let read = with(&tree(), "base/map.yaml", &(map() + &"# \n".repeat(9_000)));
    assert!(render_with(read, limits).is_ok(), "what is only read does not count");
    let long = format!("resources: [../base]\nnamePrefix: {}\n", "x".repeat(20_000));
    let told = problems(render_with(with(&tree(), "app/kustomization.yaml", &long), limits));
    assert!(told[0].starts_with("app/kustomization.yaml:"), "{told:?}");
    assert!(told[0].contains("limit: the resources grow to more than 10000 bytes"), "{told:?}");
}

#[test]
fn a_base_that_could_not_be_read_is_a_failure_and_one_that_may_not_be_is_a_refusal() {
    for blind in [StoreError::unreachable("x"), StoreError::damaged("x")] {
        let outcome = render_with(torn(tree(), "base/map.yaml", &blind), Limits::default());
        assert_eq!(outcome, Err(NotRendered::Failed { source: blind }));
    }
    let refused = StoreError::refused("it is too large", "split it");
    let told = problems(render_with(torn(tree(), "base/map.yaml", &refused), Limits::default()));
    assert!(told[0].contains("cannot read `base/map.yaml`: it is too large; split it"), "{told:?}");
}

#[test]
fn a_render_that_is_stopped_is_no_word_on_the_version() {
    let trees: Trees = BTreeMap::from([(store("main"), Arc::new(tree()) as Arc<dyn Tree>)]);
    let (inputs, stop) = ([Input { store: store("main"), path: path("app") }], Arc::new(AtomicBool::new(false)));
    let request = Request {
        inputs: &inputs,
        parameters: &Value::Map([].into_iter().collect()),
        kustomize: &Kustomize::default(),
        trees: &trees,
        check: &|_, _, _| Vec::new(),
        external: None,
        limits: Limits::default(),
        stop: Some(&stop),
    };
    assert_eq!(render(&request).map(|rendered| names(&rendered)), Ok(vec!["ConfigMap prod-settings".to_owned()]));
    // The reader of the first file stops the render.
    let stopping = Arc::clone(&stop);
    let read = move |_: &StorePath| {
        stopping.store(true, Ordering::Relaxed);
        Ok(())
    };
    let trees: Trees = BTreeMap::from([(store("main"), Arc::new(Watched(tree(), read)) as Arc<dyn Tree>)]);
    assert_eq!(render(&Request { trees: &trees, ..request }), Err(NotRendered::Stopped));
}

#[test]
fn links_out_of_the_tree_and_in_circles_are_refused() {
    let link = path("base/map.yaml");
    for (leads, why) in [
        ("../../outside.yaml", "leads out of the tree"),
        ("/etc/passwd", "leads out of the tree"),
        ("map.yaml", "goes in a circle"),
        ("nowhere.yaml", "`base/map.yaml` is not there"),
    ] {
        let told = problems(render_tree(&tree().without(&link).with_link(&link, leads)));
        assert!(told[0].starts_with("base/kustomization.yaml:1:"), "{leads}: {told:?}");
        assert!(told.len() == 1 && told[0].contains(why), "{leads}: {told:?}");
    }
    // A directory that leads to itself: each base is another path to the same directory.
    let circle = with(&tree(), "app/kustomization.yaml", "resources: [again]\n").with_link(&path("app/again"), ".");
    let told = problems(render_tree(&circle));
    assert!(told.len() == 1 && told[0].contains("cycle detected: candidate root '/app'"), "{told:?}");
}

#[test]
fn case_51_a_file_behind_a_link_out_of_the_folder_is_read_only_if_the_restriction_is_lifted() {
    let linked = |name: &str, leads: &str, resource: &str| {
        let kustomization = format!("resources: [{resource}]\n");
        with(&tree(), "app/kustomization.yaml", &kustomization).with_link(&path(name), leads)
    };
    let lifted = |tree: &MemoryTree| {
        let trees: Trees = BTreeMap::from([(store("main"), Arc::new(tree.clone()) as Arc<dyn Tree>)]);
        let lifted = Kustomize { is_restricted: false, ..Kustomize::default() };
        requested(&trees, &["app"], &Value::Map([].into_iter().collect()), &lifted, Limits::default())
    };
    for tree in [linked("app/a.yaml", "../base/map.yaml", "a.yaml"), linked("app/sub", "../base", "sub/map.yaml")] {
        let told = problems(render_tree(&tree));
        let why = "is not in or below '/app' (a link leads to 'base/map.yaml')";
        assert!(told[0].starts_with("app/kustomization.yaml:1:") && told[0].contains(why), "{told:?}");
        assert_eq!(names(&lifted(&tree).unwrap()), ["ConfigMap settings"]);
    }
    let within = with(&linked("app/a.yaml", "real/b.yaml", "a.yaml"), "app/real/b.yaml", &map());
    assert_eq!(
        names(&render_tree(&within).unwrap()),
        ["ConfigMap settings"],
        "a link that stays in the folder is followed"
    );
    let moved = with(&within, "real/b.yaml", &map()).with_link(&path("app/real"), "../real");
    let reads = &render_tree(&within).unwrap().reads[&store("main")];
    assert!(
        !reads.holds_on(&moved.without(&path("app/real/b.yaml"))).unwrap(),
        "the same bytes, and out of the folder"
    );
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

fn with_parameters(text: &str, parameters: &Value, kustomize: &Kustomize) -> Result<Rendered, NotRendered> {
    let tree = with(&tree(), "base/map.yaml", text);
    let trees: Trees = BTreeMap::from([(store("main"), Arc::new(tree) as Arc<dyn Tree>)]);
    requested(&trees, &["app"], parameters, kustomize, Limits::default())
}

#[test]
fn parameters_are_put_in_with_their_types() {
    let text = object("Thing", "settings")
        + "spec:\n  replicas: \"${SIZE}\"\n  size: ${SIZE}\n  code: ${CODE}\n  tag: v-${CODE}\n";
    let parameters = Value::map([("SIZE", Value::int(3)), ("CODE", Value::str("004"))]);
    let rendered = with_parameters(&text, &parameters, &Kustomize::default()).unwrap();
    let spec = |name: &str| rendered.resources[0].body.get("spec").and_then(|spec| spec.get(name)).cloned();
    assert_eq!(spec("size"), Some(Value::int(3)));
    assert_eq!(spec("replicas"), Some(Value::str("3")), "what is in quotes is a text");
    assert_eq!(spec("code"), Some(Value::str("004")), "a text stays one");
    assert_eq!(spec("tag"), Some(Value::str("v-004")));
}

#[test]
fn a_parameter_of_a_megabyte_is_not_put_in_ten_thousand_times() {
    let text = object("ConfigMap", "settings")
        + "data:\n"
        + &(0..10_000).map(|at| format!("  k{at}: ${{LONG}}\n")).collect::<String>();
    let parameters = Value::map([("LONG", Value::str(&"x".repeat(1 << 20)))]);
    let told = problems(with_parameters(&text, &parameters, &Kustomize::default()));
    assert_eq!(told.len(), 1, "the first of them is told");
    assert!(told[0].starts_with("base/map.yaml:") && told[0].contains("takes more than 67108864 bytes"), "{told:?}");
    assert!(told[0].ends_with("use shorter values, or fewer of them"), "{told:?}");
}

/// Flux 2.9 broke its own definitions in this way.
#[test]
fn the_schema_of_a_definition_keeps_what_looks_like_a_parameter() {
    let text = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b}\nspec:\n  group: ${GROUP}\n  versions:\n  - name: v1\n    schema: {description: '${UNKNOWN} and ${', pattern: '^${GROUP}$'}\n";
    let parameters = Value::map([("GROUP", Value::str("b"))]);
    let rendered = with_parameters(text, &parameters, &Kustomize::default()).unwrap();
    let spec = rendered.resources[0].body.get("spec").cloned().expect("a spec");
    assert_eq!(spec.get("group"), Some(&Value::str("b")));
    let shown = format!("{spec:?}");
    assert!(shown.contains("${UNKNOWN} and ${") && shown.contains("^${GROUP}$"), "{shown}");
}

#[test]
fn without_parameters_nothing_is_put_in() {
    let text = object("Thing", "settings") + "spec: {script: 'echo ${HOME:-x}'}\n";
    let rendered = with_parameters(&text, &Value::Map([].into_iter().collect()), &Kustomize::default()).unwrap();
    let script = rendered.resources[0].body.get("spec").and_then(|spec| spec.get("script")).cloned();
    assert_eq!(script, Some(Value::str("echo ${HOME:-x}")));
}

#[test]
fn a_variable_that_nobody_declared_is_told_by_file_and_line_or_kept() {
    let text = object("Thing", "settings") + "spec:\n  size: ${SIZE}\n  script: echo ${HOME}\n";
    let parameters = Value::map([("SIZE", Value::int(3))]);
    let told = problems(with_parameters(&text, &parameters, &Kustomize::default()));
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("base/map.yaml:6:1: ") && told[0].contains("`spec.script`"), "{told:?}");
    let keeping = Kustomize { keeps_undeclared: true, ..Kustomize::default() };
    let rendered = with_parameters(&text, &parameters, &keeping).unwrap();
    let script = rendered.resources[0].body.get("spec").and_then(|spec| spec.get("script")).cloned();
    assert_eq!(script, Some(Value::str("echo ${HOME}")));
}

#[test]
fn a_parameter_that_is_no_variable_is_refused() {
    for (name, value, told) in [
        ("A-B", Value::int(1), "'A-B' var name is invalid"),
        ("LIST", Value::Seq(Vec::new()), "`LIST` is not a scalar"),
    ] {
        let problems = problems(with_parameters(&map(), &Value::map([(name, value)]), &Kustomize::default()));
        assert!(problems[0].starts_with("spec.parameters of the App: ") && problems[0].contains(told), "{problems:?}");
    }
}

#[test]
fn files_of_other_folders_are_read_where_the_restriction_is_lifted() {
    let tree = with(&tree(), "app/kustomization.yaml", "resources: [../base/map.yaml]\n");
    assert!(problems(render_tree(&tree))[0].contains("is not in or below"));
    let trees: Trees = BTreeMap::from([(store("main"), Arc::new(tree) as Arc<dyn Tree>)]);
    let lifted = Kustomize { is_restricted: false, ..Kustomize::default() };
    let none = Value::Map([].into_iter().collect());
    assert_eq!(names(&requested(&trees, &["app"], &none, &lifted, Limits::default()).unwrap()), ["ConfigMap settings"]);
}

/// Returns options with the store `upstream` as a remote base.
fn upstream() -> Kustomize {
    let base = RemoteBase {
        store: store("upstream"),
        url: "https://github.com/org/repo".to_owned(),
        folder: None,
        references: vec!["v1.2".to_owned()],
    };
    Kustomize { bases: vec![base], ..Kustomize::default() }
}

fn with_upstream(resources: &str, upstream: &MemoryTree, kustomize: &Kustomize) -> Result<Rendered, NotRendered> {
    let own = with(&tree(), "app/kustomization.yaml", &format!("resources:\n- {resources}\nnamePrefix: my-\n"));
    let trees: Trees = BTreeMap::from([
        (store("main"), Arc::new(own) as Arc<dyn Tree>),
        (store("upstream"), Arc::new(upstream.clone()) as Arc<dyn Tree>),
    ]);
    requested(&trees, &["app"], &Value::Map([].into_iter().collect()), kustomize, Limits::default())
}

fn repository() -> MemoryTree {
    MemoryTree::of([
        ("deploy/overlay/kustomization.yaml", "resources: [../base]\n"),
        ("deploy/base/kustomization.yaml", "resources: [map.yaml]\n"),
        ("deploy/base/map.yaml", map().as_str()),
    ])
}

#[test]
fn a_remote_base_is_read_from_the_store_that_was_declared_for_it() {
    let url = "https://github.com/org/repo//deploy/overlay?ref=v1.2";
    let rendered = with_upstream(url, &repository(), &upstream()).unwrap();
    assert_eq!(names(&rendered), ["ConfigMap my-settings"]);
    let reads = &rendered.reads[&store("upstream")];
    assert!(reads.holds_on(&with(&repository(), "other.yaml", "x")).unwrap());
    assert!(!reads.holds_on(&with(&repository(), "deploy/base/map.yaml", &object("ConfigMap", "other"))).unwrap());
}

#[test]
fn a_remote_base_may_be_the_root_of_its_repository() {
    let whole = with(&repository(), "kustomization.yaml", "resources: [deploy/overlay]\n");
    let rendered = with_upstream("https://github.com/org/repo?ref=v1.2", &whole, &upstream()).unwrap();
    assert_eq!(names(&rendered), ["ConfigMap my-settings"]);
}

#[test]
fn case_49_and_50_what_was_not_declared_is_never_fetched() {
    for url in [
        "https://github.com/org/other//deploy?ref=v1.2",
        "github.com/x/y?ref=main",
        "http://169.254.169.254/latest/meta-data",
        "https://10.0.0.5/x.yaml",
        "https://raw.githubusercontent.com/org/repo/main/x.yaml",
    ] {
        let told = problems(with_upstream(url, &repository(), &upstream()));
        assert!(told[0].contains("nothing is fetched while rendering") && told[0].contains("kind: Store"), "{told:?}");
    }
    let told = problems(with_upstream("github.com/org/repo//deploy/base?ref=main", &repository(), &upstream()));
    assert!(told[0].contains("refers to `main`, but the Store `upstream` is at `v1.2`"), "{told:?}");
}

#[test]
fn case_51_a_remote_base_cannot_reach_into_the_apps_own_store() {
    let overlay = |text: &str| with(&repository(), "deploy/overlay/kustomization.yaml", text);
    for resources in ["../../../base", "../../..", "/base"] {
        let tree = overlay(&format!("resources: [{resources}]\n"));
        let told = problems(with_upstream("github.com/org/repo//deploy/overlay", &tree, &upstream()));
        assert!(told[0].contains("leads out of the tree") || told[0].contains("absolute"), "{resources}: {told:?}");
    }
}

#[test]
fn what_is_wrong_in_a_remote_base_is_told_by_its_store_and_file() {
    let broken = with(&repository(), "deploy/base/kustomization.yaml", "resources: [map.yaml]\nnamePrefx: a\n");
    let told = problems(with_upstream("github.com/org/repo//deploy/overlay", &broken, &upstream()));
    assert!(told[0].starts_with("upstream:deploy/base/kustomization.yaml:2:1: "), "{told:?}");
}

#[test]
fn a_base_behind_a_link_is_read_where_it_is() {
    let tree = with(&tree(), "base/inner/kustomization.yaml", "resources: [../more.yaml]\n");
    let tree =
        with(&tree, "base/more.yaml", &object("ConfigMap", "more")).with_link(&path("app/link"), "../base/inner");
    let tree = with(&tree, "app/kustomization.yaml", "resources: [link]\n");
    let trees: Trees = BTreeMap::from([(store("main"), Arc::new(tree) as Arc<dyn Tree>)]);
    let lifted = Kustomize { is_restricted: false, ..Kustomize::default() };
    let none = Value::Map([].into_iter().collect());
    let rendered = requested(&trees, &["app"], &none, &lifted, Limits::default()).unwrap();
    assert_eq!(names(&rendered), ["ConfigMap more"], "`..` is that of the folder the link leads to");
}
