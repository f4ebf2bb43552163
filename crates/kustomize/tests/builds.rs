//! Folders of our own making, with what kustomize makes of them; `record/builds` says how they are written and recorded.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_kustomize::build::{BadBuild, Built, Options, build};
use setpoint_kustomize::files::{FileError, Files};

const CASES: &str = include_str!("builds.txt");

#[derive(Default)]
struct Case {
    name: String,
    files: BTreeMap<String, String>,
    /// `None` where kustomize refuses.
    expected: Option<String>,
}

impl Files for Case {
    fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
        match self.files.get(path) {
            Some(text) => Ok(text.as_bytes().into()),
            None => Err(FileError::Missing { path: path.to_owned() }),
        }
    }
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut file = None;
    for line in CASES.lines() {
        if let Some(name) = line.strip_prefix("=== ") {
            cases.push(Case { name: name.to_owned(), ..Case::default() });
            continue;
        }
        let case = cases.last_mut().expect("a case has a name first");
        match (line.strip_prefix("--- "), line) {
            (Some(path), _) => file = Some(path.to_owned()),
            (_, ">>>") => (file, case.expected) = (None, Some(String::new())),
            (_, ">>> refused") => file = None,
            _ => {
                let own = file.as_ref().map(|file| case.files.entry(file.clone()).or_default());
                let text = own.or(case.expected.as_mut()).expect("a line of a file, or of what is expected");
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    cases
}

#[test]
fn what_is_built_is_what_kustomize_builds() {
    let cases = cases();
    assert!(cases.len() >= 10, "{} cases", cases.len());
    for case in cases {
        let built = build(&case, "app", &Options::default()).and_then(|built| built.to_yaml());
        match (&case.expected, built) {
            (Some(expected), Ok(output)) => assert_eq!(output, *expected, "{}", case.name),
            (None, Err(_)) => {}
            (_, Ok(output)) => panic!("{} is refused by kustomize, but not here: {output}", case.name),
            (_, Err(BadBuild { message, .. })) => panic!("{}: {message}", case.name),
        }
    }
}

fn built(files: &[(&str, &str)]) -> Built {
    let files = files.iter().map(|(path, text)| (format!("app/{path}"), (*text).to_owned())).collect();
    build(&Case { files, ..Case::default() }, "app", &Options::default()).expect("it is built")
}

fn refused(files: &[(&str, &str)]) -> String {
    let files = files.iter().map(|(path, text)| (format!("app/{path}"), (*text).to_owned())).collect();
    let case = Case { files, ..Case::default() };
    let built = build(&case, "app", &Options::default()).and_then(|built| built.to_yaml());
    built.expect_err("it is refused").to_string()
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
        let help = "render it with the external renderer, or commit what it makes";
        assert!(error.ends_with(help), "{error}");
    }
}

#[test]
fn what_kustomize_crashes_on_is_refused() {
    let circle = "Bee: {Schema: {properties: {kind: {}, apiVersion: {}, metadata: {}, next: {$ref: Bee}}}}\n";
    let error = refused(&[("kustomization.yaml", "crds: [crd.yaml]\n"), ("crd.yaml", circle)]);
    assert!(error.ends_with("the definition `Bee` refers to itself: take the reference out"), "{error}");
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
    assert!(error.contains("take `transformerAnnotations` out of `buildMetadata`"), "{error}");
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
