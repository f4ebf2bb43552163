//! Errors and warnings of builds. [`crate::fixtures`] has the rest.

use setpoint_kustomize::build::{Built, Options, build};

use crate::case::{BUILT, Case};

fn case(files: &[(&str, &str)]) -> Case {
    let files = files.iter().map(|(path, text)| (format!("{BUILT}/{path}"), (*text).to_owned())).collect();
    Case { files, ..Case::default() }
}

fn built(files: &[(&str, &str)]) -> Built {
    build(&case(files), BUILT, &Options::default()).expect("it is built")
}

fn refused(files: &[(&str, &str)]) -> String {
    case(files).build().expect_err("it is refused")
}

#[test]
fn what_would_start_a_program_is_refused_with_what_to_do_instead() {
    let plugin = "{apiVersion: team.example.com/v1, kind: Fetcher, metadata: {name: a}}";
    let chart = "{apiVersion: builtin, kind: HelmChartInflationGenerator, metadata: {name: a}}";
    for files in [
        [("kustomization.yaml", "helmCharts: [{name: a}]\n"), ("p.yaml", "")],
        [("kustomization.yaml", "generators: [p.yaml]\n"), ("p.yaml", plugin)],
        [("kustomization.yaml", "validators: [p.yaml]\n"), ("p.yaml", plugin)],
        [("kustomization.yaml", "generators: [p.yaml]\n"), ("p.yaml", chart)],
    ] {
        let error = refused(&files);
        let help = "is not run while rendering: commit its output, for example from a CI job";
        assert!(error.ends_with(help), "{error}");
    }
}

#[test]
fn what_a_patch_sets_that_is_written_in_a_field_comes_from_there() {
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: old\n";
    for (patches, line) in [
        (
            "patches:\n- target: {kind: ConfigMap}\n  patch: |-\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: a}\n    data:\n      k: new\n",
            3,
        ),
        (
            "patches:\n- target: {kind: ConfigMap}\n  patch: '[{\"op\": \"replace\", \"path\": \"/data/k\", \"value\": \"new\"}]'\n",
            3,
        ),
        (
            "patchesStrategicMerge:\n- |-\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n  data: {k: new}\n",
            3,
        ),
    ] {
        let built = built(&[("kustomization.yaml", &format!("resources: [a.yaml]\n{patches}")), ("a.yaml", map)]);
        let set = built.resources[0].node.at(&["data", "k"]).expect("it is there");
        let file = &*built.sources.get(set.origin).file;
        assert_eq!(
            (set.as_text(), file, set.origin.line()),
            (Some("new"), "app/kustomization.yaml", line),
            "{patches}"
        );
    }
}

#[test]
fn a_document_that_is_written_in_a_field_is_never_told() {
    for field in ["generators", "transformers", "validators", "patchesStrategicMerge"] {
        for text in [
            "kind: Secret\n  stringData: {a: hush}",
            "kind: [\n  hush",
            "{kind: Secret, stringData: {a: hush}}",
            "kind: Secret, a: hush",
            "a: hush",
            "hush:",
            "# hush",
        ] {
            let kustomization = format!("{field}:\n- |-\n  {text}\n");
            let Err(error) = case(&[("kustomization.yaml", &kustomization)]).build() else { continue };
            assert!(!error.contains("hush") && error.contains("kustomization.yaml:2"), "{text}: {error}");
        }
    }
    let error = refused(&[("kustomization.yaml", "transformers: [hush.yaml]\n")]);
    assert!(error.contains("`app/hush.yaml` is not there"), "{error}");
}

#[test]
fn what_kustomize_crashes_on_is_refused() {
    let circle = "Bee: {Schema: {properties: {kind: {}, apiVersion: {}, metadata: {}, next: {$ref: Bee}}}}\n";
    let error = refused(&[("kustomization.yaml", "crds: [crd.yaml]\n"), ("crd.yaml", circle)]);
    assert!(error.ends_with("the definition `Bee` refers to itself: remove the reference"), "{error}");
    let error = refused(&[("kustomization.yaml", "crds: [crd.yaml]\n"), ("crd.yaml", "")]);
    assert!(error.ends_with("it is empty: write definitions there"), "{error}");
    let list = "{apiVersion: v1, kind: Service, metadata: {name: a, annotations: [a, b]}}\n";
    let error = refused(&[("kustomization.yaml", "resources: [a.yaml]\n"), ("a.yaml", list)]);
    assert!(error.contains("`metadata.annotations` of") && error.contains("is not a map of texts"), "{error}");
}

#[test]
fn more_transformers_than_an_annotation_holds_are_refused_only_if_they_are_asked_for() {
    let image = "- {name: a, newTag: b}\n";
    let kustomization =
        |asked: &str| format!("resources: [a.yaml]\nbuildMetadata: [{asked}]\nimages:\n{}", image.repeat(4_000));
    let service = ("a.yaml", "{apiVersion: v1, kind: Service, metadata: {name: a}}\n");
    let error = refused(&[("kustomization.yaml", &kustomization("transformerAnnotations")), service]);
    assert!(error.contains("remove `transformerAnnotations` from `buildMetadata`"), "{error}");
    let built = built(&[("kustomization.yaml", &kustomization("originAnnotations")), service]).to_yaml().unwrap();
    assert!(built.contains("path: a.yaml") && !built.contains("transformations"), "{built}");
}

#[test]
fn the_label_of_who_manages_resources_is_that_of_the_kustomize_we_are_equal_to() {
    let service = ("a.yaml", "{apiVersion: v1, kind: Service, metadata: {name: a}}\n");
    let kustomization = ("kustomization.yaml", "resources: [a.yaml]\nbuildMetadata: [managedByLabel]\n");
    let built = built(&[kustomization, service]).to_yaml().unwrap();
    assert!(built.contains("app.kubernetes.io/managed-by: kustomize-v5.8.1"), "{built}");
}

#[test]
fn a_schema_in_a_comment_is_told_not_to_be_read() {
    let thing =
        "apiVersion: v1\nkind: Thing\nmetadata: {name: a}\nlist: # {\"x-kubernetes-patch-strategy\": \"merge\"}\n- a\n";
    let other = "apiVersion: v1\nkind: Thing # {a: b}\nmetadata: {name: b}\n";
    let files = [("kustomization.yaml", "resources: [a.yaml, b.yaml]\n"), ("a.yaml", thing), ("b.yaml", other)];
    let warnings = built(&files).warnings;
    assert_eq!(warnings, ["app/a.yaml:4: the schema in this comment is not read: name it under `openapi`"]);
}
