//! The places of errors: they name the file and the line, as precisely as possible.

use crate::case::{BUILT, Case};
use crate::hostile::{refused, with};

use setpoint_kustomize::build::{Options, build};

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n";

/// Returns the place of an error, and the rest of its message.
fn told(files: &[(&str, &str)]) -> (String, String) {
    let full = |path: &str| path.strip_prefix("../").map_or_else(|| format!("{BUILT}/{path}"), str::to_owned);
    let files = files.iter().map(|(path, text)| (full(path), (*text).to_owned())).collect();
    let bad = build(&Case { files, ..Case::default() }, BUILT, &Options::default()).expect_err("it is refused");
    let place = bad.place.as_ref().map(|(file, line)| format!("{file}:{line}"));
    (place.unwrap_or_default(), bad.message)
}

/// The verbs with which the hint of an error may begin.
const ADVICE: &[&str] = &[
    "add", "begin", "commit", "correct", "declare", "give", "keep", "leave", "move", "name", "put", "remove", "rename",
    "save", "say", "take", "write",
];

/// The parser's hint for a missing node.
const WANTED: &str = "expected a scalar, a sequence or a mapping";

/// Reports whether the last clause of an error is a hint. Text in backticks is ignored, since it is
/// quoted.
fn advises(message: &str) -> bool {
    let ours: String = message.split('`').step_by(2).collect::<Vec<_>>().join("``");
    let clause = ours.rfind([':', ';']).map_or("", |at| ours[at + 1..].trim_start());
    let first = clause.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    ADVICE.contains(&first) || clause == WANTED
}

#[test]
fn advice_is_told_from_what_is_none() {
    assert!(advises("`a: b` is not there: add the file, or correct its name"));
    assert!(advises("the tag is unknown; write `x: y`"));
    for none in ["`a` is not there", "doc is missing key: /a: missing value", "it is `a: write`", "write it"] {
        assert!(!advises(none), "{none}");
    }
}

/// Checks kustomizations with one resource: the place and the message of each error.
#[track_caller]
fn are_at(cases: &[(&str, &str, &str)]) {
    for (more, place, why) in cases {
        let kustomization = format!("resources:\n- a.yaml\n{more}");
        let own = [("kustomization.yaml", kustomization.as_str()), ("a.yaml", MAP)];
        let others = [
            ("patch.yaml", "# none\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"),
            ("kind.yaml", "\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: {}}\n"),
            ("json.yaml", "- {op: remove, path: /none}\n"),
            ("neither.yaml", "a: b\n"),
            ("list.yaml", "- 5\n"),
            ("unknown.yaml", "\nnamePrefx: []\n"),
            ("conflict.yaml", "namePrefix:\n- {path: metadata/name, create: true}\n"),
            ("replacement.yaml", "- {sourceValue: a, targets: []}\n- {targets: []}\n"),
            (
                "transformer.yaml",
                "# one\napiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: l}\nlabels:\n  a: []\n",
            ),
            (
                "generator.yaml",
                "\napiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: g}\nliterals:\n- a\n",
            ),
            ("value.yaml", "apiVersion: builtin\nkind: ValueAddTransformer\nmetadata: {name: v}\n"),
            (
                "validator.yaml",
                "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: v}\nprefix: x\nfieldSpecs: [{path: metadata/name}]\n",
            ),
        ];
        let files: Vec<(&str, &str)> = own.into_iter().chain(others).collect();
        let (at, message) = told(&files);
        assert_eq!(at, format!("{BUILT}/{place}"), "{more}: {message}");
        assert!(message.contains(why), "{more}: {message}");
        assert!(advises(&message), "{more}: {message}");
    }
}

#[test]
fn what_is_taken_in_is_told_where_it_is_or_where_it_is_named() {
    are_at(&[
        ("- gone.yaml\n", "kustomization.yaml:3", "`app/gone.yaml` is not there"),
        ("- github.com/a/b.yaml\n", "kustomization.yaml:3", "`github.com/a/b.yaml` is on another machine"),
        ("- a.yaml\n", "a.yaml:1", "(the other is in app/a.yaml:1)"),
        ("- neither.yaml\n", "neither.yaml:1", "missing kind"),
        ("bases:\n- ../gone\n", "kustomization.yaml:4", "unable to find one of"),
        ("components:\n- ../gone\n", "kustomization.yaml:4", "unable to find one of"),
        ("openapi:\n  path: gone.json\n", "kustomization.yaml:4", "is not there"),
        ("openapi:\n  version: v0\n", "kustomization.yaml:4", "OpenAPI version is not built in"),
        ("crds:\n- list.yaml\n", "list.yaml:1", "expected a map of definitions"),
        ("crds:\n- gone.yaml\n", "kustomization.yaml:4", "is not there"),
        ("helmCharts:\n- {name: a}\n", "kustomization.yaml:4", "`helmCharts`"),
        ("sortOptions:\n  order: none\n", "kustomization.yaml:4", "must be one of [fifo, legacy]"),
    ]);
}

/// A path above the directory may be a file or a base: for a mistyped name, the error must not
/// mention security.
#[test]
fn a_base_that_is_not_there_is_told_apart_from_a_file_that_may_not_be_read() {
    let named = |path: &str| {
        let kustomization = format!("resources: [{path}]\n");
        let (at, message) =
            told(&[("kustomization.yaml", kustomization.as_str()), ("../beside.yaml", MAP), ("../empty/a.yaml", MAP)]);
        assert_eq!(at, format!("{BUILT}/kustomization.yaml:1"), "{message}");
        message
    };
    let names = "'kustomization.yaml', 'kustomization.yml', 'Kustomization'";
    for folder in ["gone", "empty"] {
        assert_eq!(
            named(&format!("../{folder}")),
            format!(
                "accumulating resources: unable to find one of {names} in directory '/{folder}': add one, or correct the path"
            )
        );
    }
    assert_eq!(
        named("../beside.yaml"),
        format!(
            "accumulating resources: security; file 'beside.yaml' is not in or below '/{BUILT}': move it there, or make its directory a base"
        )
    );
}

#[test]
fn a_patch_that_cannot_be_read_is_reported_as_what_it_is_meant_for() {
    let twice = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: one\n  k: two\n";
    let hint = "the key `k` is written twice: keep one of them (if kustomize accepts such a patch, it silently drops all but the first)";
    for (field, before) in [
        ("patches:\n- path: twice.yaml\n", "unable to parse SM or JSON patch from app/twice.yaml: "),
        ("patchesStrategicMerge: [twice.yaml]\n", "accumulating resources from 'app/twice.yaml': "),
    ] {
        let [kustomization, map] = with(field);
        let bad = refused(&[kustomization, map, ("app/twice.yaml", twice.to_owned())]);
        assert_eq!(bad.place, Some(("app/twice.yaml".to_owned(), 6)));
        assert!(bad.message.contains(before) && bad.message.ends_with(&format!("MalformedYAMLError: {hint}")), "{bad}");
    }
    let inline =
        |patch: &str| refused(&with(&format!("patches:\n- patch: {patch:?}\n  target: {{kind: ConfigMap}}\n")));
    let (is_a_map, is_a_list) = ("give it one", "begin each operation with `- op: `");
    for (patch, hint) in [
        (twice, hint),
        ("a: b\n", is_a_map),
        ("x: .inf\n", is_a_map),
        ("- a\n", is_a_list),
        ("[{\"op\": add}]", "correct it, or begin a YAML patch with `-`"),
    ] {
        let told = inline(patch).to_string();
        assert!(told.ends_with(hint), "{told}");
        assert_eq!(told.contains("operation"), hint == is_a_list, "{told}");
    }
}

#[test]
fn patches_are_told_by_their_file_or_their_entry() {
    are_at(&[
        ("patches:\n- path: patch.yaml\n", "patch.yaml:2", "no matches for Id"),
        ("patches:\n- path: kind.yaml\n", "kind.yaml:2", "`data.k`: wrong node kind"),
        ("patches:\n- path: neither.yaml\n", "neither.yaml:1", "unable to parse SM or JSON patch"),
        ("patches:\n- path: gone.yaml\n", "kustomization.yaml:4", "is not there"),
        ("patches:\n- path: json.yaml\n", "kustomization.yaml:4", "must specify a target"),
        ("patches:\n- {path: json.yaml, target: {kind: ConfigMap}}\n", "json.yaml:1", "operation 1 of the JSON patch"),
        ("patches:\n- {path: json.yaml, target: {name: '('}}\n", "kustomization.yaml:4", "is not a valid pattern"),
        (
            "patches:\n- path: json.yaml\n  target: {kind: X}\n- patch: 'a: ['\n",
            "kustomization.yaml:6",
            "unable to parse SM or JSON patch",
        ),
        (
            "patches:\n- patch: |-\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: b}\n",
            "kustomization.yaml:4",
            "no matches for Id",
        ),
        ("patchesStrategicMerge:\n- kind.yaml\n- patch.yaml\n", "kind.yaml:2", "wrong node kind"),
        ("patchesStrategicMerge:\n- gone.yaml\n", "kustomization.yaml:4", "is not there"),
        (
            "patchesStrategicMerge:\n- |-\n  apiVersion: v1\n  kind: X\n  metadata: {name: b}\n",
            "kustomization.yaml:4",
            "no matches for Id",
        ),
        (
            "patchesJson6902:\n- {path: json.yaml, target: {version: v1, kind: ConfigMap, name: a}}\n",
            "kustomization.yaml:4",
            "operation 1",
        ),
        ("patchesJson6902:\n- {path: json.yaml}\n", "kustomization.yaml:4", "must specify the target name"),
    ]);
}

#[test]
fn generators_and_plugins_are_told_by_their_entry_or_document() {
    are_at(&[
        ("configMapGenerator:\n- name: x\n- literals: [a=b]\n", "kustomization.yaml:5", "a configmap must have a name"),
        ("configMapGenerator:\n- {name: x, files: [gone]}\n", "kustomization.yaml:4", "cannot read a file"),
        (
            "secretGenerator:\n- name: b\n- {name: x, behavior: merge}\n",
            "kustomization.yaml:5",
            "does not exist; cannot merge",
        ),
        ("configMapGenerator:\n- name: b\n- name: a\n", "kustomization.yaml:5", "behavior must be merge or replace"),
        ("generators:\n- generator.yaml\n", "generator.yaml:2", "invalid literal source a"),
        ("generators:\n- gone.yaml\n", "kustomization.yaml:4", "is not there"),
        ("generators:\n- patch.yaml\n", "patch.yaml:2", "external plugins disabled"),
        ("transformers:\n- transformer.yaml\n", "transformer.yaml:6", "labels.a: expected a text"),
        ("transformers:\n- value.yaml\n", "value.yaml:1", "must specify at least one target"),
        ("transformers:\n- generator.yaml\n", "generator.yaml:2", "not a transformer"),
        (
            "transformers:\n- value.yaml\n- |-\n  apiVersion: builtin\n  kind: LabelTransformer\n  metadata: {name: l}\n  labels: []\n",
            "kustomization.yaml:5",
            "labels: expected a map of texts",
        ),
        (
            "generators:\n- |-\n  apiVersion: builtin\n  kind: X\n",
            "kustomization.yaml:4",
            "generators[0]: missing metadata.name",
        ),
        ("validators:\n- validator.yaml\n", "validator.yaml:1", "validator shouldn't modify the resource map"),
    ]);
}

#[test]
fn what_a_replacement_takes_from_a_secret_is_not_told_where_it_does_not_fit() {
    let files = [
        (
            "kustomization.yaml",
            "resources: [all.yaml]\nreplacements:\n- source: {kind: Secret, fieldPath: stringData.a}\n  targets: [{select: {kind: Deployment}, fieldPaths: [spec.replicas]}]\n",
        ),
        (
            "all.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: hunter2}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 1}\n",
        ),
    ];
    let files = files.map(|(path, text)| (format!("{BUILT}/{path}"), text.to_owned()));
    let case = Case { files: files.into(), ..Case::default() };
    let built = build(&case, BUILT, &Options::default()).expect("it is found out when it is written");
    let bad = built.to_yaml().expect_err("there is no such number");
    assert_eq!(
        bad.to_string(),
        "app/kustomization.yaml:3: Deployment.v1.apps/web.[noNs], field `spec.replicas`: expected an integer, got another value: write a valid value"
    );
}

#[test]
fn a_secret_that_is_no_pair_is_told_by_its_number() {
    let secret = |literal: &str| format!("secretGenerator:\n- {{name: s, literals: [a=b, {literal}]}}\n");
    for (literal, why) in [
        ("hunter2", "invalid literal source 2 of the secret `s`"),
        ("123456", "secretGenerator[0].literals[1]: expected a text, got a number: write it in quotes"),
    ] {
        let (_, message) = told(&[("kustomization.yaml", &secret(literal))]);
        assert!(message.contains(why) && !message.contains(literal), "{message}");
    }
}

#[test]
fn transformers_and_their_configuration_are_told_by_field() {
    are_at(&[
        ("configurations:\n- unknown.yaml\n", "unknown.yaml:2", "unknown field \"namePrefx\""),
        ("configurations:\n- gone.yaml\n", "kustomization.yaml:4", "is not there"),
        ("configurations:\n- conflict.yaml\n", "kustomization.yaml:4", "conflicting fieldspecs"),
        (
            "replicas:\n- {name: a, count: 1}\n- {name: b, count: 1}\n",
            "kustomization.yaml:4",
            "resource with name a does not match",
        ),
        (
            "images:\n- {name: a, newTag: b}\n- {name: '(', newTag: b}\n",
            "kustomization.yaml:5",
            "is used as a regular expression",
        ),
        (
            "labels:\n- {pairs: {a: b}, fields: [{path: data/k, create: true}]}\n",
            "kustomization.yaml:4",
            "considering field 'data/k'",
        ),
        ("replacements:\n- sourceValue: a\n", "kustomization.yaml:4", "must specify a source and at least one target"),
        ("replacements:\n- path: replacement.yaml\n", "replacement.yaml:2", "must specify a source"),
        ("replacements:\n- path: neither.yaml\n", "neither.yaml:1", "must specify a source"),
        ("replacements:\n- path: a.yaml\n- {path: a.yaml, a: b}\n", "kustomization.yaml:5", "unknown field \"a\""),
        ("replacements:\n- {path: a.yaml, source: {}}\n", "kustomization.yaml:4", "both path and inline replacement"),
        (
            "replacements:\n- {sourceValue: a, targets: [{select: {}, reject: [null]}]}\n",
            "kustomization.yaml:4",
            "targets[0].reject[0]: expected a selector",
        ),
        ("replacements:\n- path: gone.yaml\n", "kustomization.yaml:4", "is not there"),
        (
            "replacements:\n- {sourceValue: a, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.none]}]}\n",
            "kustomization.yaml:4",
            "unable to find field \"data.none\"",
        ),
        ("vars:\n- {name: A, objref: {kind: X, name: x}}\n", "kustomization.yaml:4", "cannot be mapped to a field"),
        ("vars:\n- {name: A}\n- {name: A}\n", "kustomization.yaml:5", "already encountered"),
    ]);
}
