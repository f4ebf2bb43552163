//! Invalid inputs, and paths that lead out of the allowed files.

use super::*;

fn laughs() -> String {
    let mut text = format!("a0: &a0 [{}]\n", "x,".repeat(9));
    for at in 1..30 {
        text += &format!("a{at}: &a{at} [{}]\n", format!("*a{},", at - 1).repeat(9));
    }
    text
}

/// Case 36.
#[test]
fn case_36_aliases_that_multiply_are_stopped_wherever_they_stand() {
    let laughs = laughs();
    let resource = [("app/kustomization.yaml", ONE), ("app/a.yaml", &format!("{MAP}{laughs}"))];
    let told = limited(&resource, DEFAULT, Limit::Text, "app/a.yaml:");
    assert!(
        told.contains("aliases make the document more than 10 times larger than it is written: write the values out"),
        "{told}"
    );
    let kustomization = [("app/kustomization.yaml", format!("{ONE}{laughs}"))];
    limited(&kustomization, DEFAULT, Limit::Text, "app/kustomization.yaml:");
    let patch = with("patches: [{path: p.yaml}]\n");
    let patch = [&patch[..], &[("app/p.yaml", format!("{MAP}{laughs}"))]].concat();
    limited(&patch, DEFAULT, Limit::Text, "app/p.yaml:");
}

/// Case 36: a text with fewer aliases that still becomes ten times as large is counted at its
/// expanded size.
#[test]
fn case_36_what_aliases_make_of_a_text_counts() {
    let text = format!("{MAP}x: &x [{}]\ny: [{}]\n", "0,".repeat(1_000), "*x,".repeat(8));
    let files = [("app/kustomization.yaml", ONE), ("app/a.yaml", &text)];
    limited(&files, Limits { held_bytes: 500_000, ..DEFAULT }, Limit::Held, "app/a.yaml:1: ");
    assert!(built(&files).len() > 9_000);
}

/// Case 37.
#[test]
fn case_37_nesting_of_100_000_levels_is_an_error_wherever_it_stands() {
    let deep = format!("x: {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    for files in [
        [("app/kustomization.yaml", ONE.to_owned()), ("app/a.yaml", format!("{MAP}{deep}"))],
        [("app/kustomization.yaml", format!("{ONE}{deep}")), ("app/a.yaml", MAP.to_owned())],
    ] {
        let told = limited(&files, DEFAULT, Limit::Text, "app/");
        assert!(told.contains("deep"), "{told}");
    }
    let inline = with(&format!("patches: [{{target: {{kind: ConfigMap}}, patch: '{}'}}]\n", deep.trim_end()));
    assert!(refused(&inline).to_string().starts_with("app/kustomization.yaml:2: "));
}

/// Case 37: patches and replacements must not create nesting that no text may have.
#[test]
fn case_37_nothing_is_made_deeper_than_can_be_gone_through() {
    let deeper =
        "- {op: copy, from: /x, path: /y}\n- {op: move, from: /x, path: /y/x}\n- {op: move, from: /y, path: /x}\n";
    let path = ("app/a.yaml", format!("{MAP}x: {{}}\n"));
    let patch = format!("{ONE}patches: [{{path: p.yaml, target: {{kind: ConfigMap}}}}]\n");
    let files = [("app/kustomization.yaml", patch), path.clone(), ("app/p.yaml", deeper.repeat(2_000))];
    let told = refused(&files).to_string();
    assert!(told.starts_with("app/p.yaml:1: operation ") && told.contains("levels deep"), "{told}");
    let replacement = "- {source: {kind: ConfigMap, fieldPath: x}, targets: [{select: {kind: ConfigMap}, fieldPaths: [x.y], options: {create: true}}]}\n";
    let files = [("app/kustomization.yaml", format!("{ONE}replacements:\n{}", replacement.repeat(2_000))), path];
    let told = refused(&files).to_string();
    assert!(told.starts_with("app/kustomization.yaml:"), "{told}");
}

/// Case 37: nor must paths and definitions.
#[test]
fn case_37_no_path_is_longer_and_no_definition_deeper_than_can_be_gone_through() {
    let path = vec!["a"; 100_000].join("/");
    let labels = with(&format!("labels: [{{pairs: {{x: z}}, fields: [{{create: true, path: {path}}}]}}]\n"));
    let known = [
        ("app/kustomization.yaml", format!("{ONE}commonAnnotations: {{x: z}}\nconfigurations: [c.yaml]\n")),
        ("app/a.yaml", MAP.to_owned()),
        ("app/c.yaml", format!("commonAnnotations: [{{create: true, path: {path}}}]\n")),
    ];
    let added = [
        ("app/kustomization.yaml", format!("{ONE}transformers: [t.yaml]\n")),
        ("app/a.yaml", MAP.to_owned()),
        (
            "app/t.yaml",
            format!(
                "apiVersion: builtin\nkind: ValueAddTransformer\nmetadata: {{name: t}}\nvalue: x\ntargets: [{{fieldPath: {path}}}]\n"
            ),
        ),
    ];
    for files in [&labels[..], &known, &added] {
        let told = refused(files).to_string();
        assert!(
            told.starts_with("app/") && told.contains("a path may have 500 parts, but this one has 100000"),
            "{told}"
        );
        assert!(told.len() < 1_000, "{told}");
    }
    let property =
        |at: usize| format!("properties: {{f: {{$ref: d{at}}}, apiVersion: {{}}, kind: {{}}, metadata: {{}}}}");
    let chain: String = (0..9_000).map(|at| format!("d{at}: {{Schema: {{{}}}}}\n", property(at + 1))).collect();
    let crds = [
        ("app/kustomization.yaml", format!("{ONE}crds: [c.yaml]\n")),
        ("app/a.yaml", MAP.to_owned()),
        ("app/c.yaml", chain),
    ];
    let told = refused(&crds).to_string();
    assert!(told.contains("definitions refer to each other more than 100 levels deep"), "{told}");
}

/// Case 38.
#[test]
fn case_38_keys_are_written_once_and_scalars_are_what_go_yaml_reads() {
    let twice = [("app/kustomization.yaml", ONE), ("app/a.yaml", &format!("{MAP}data: {{k: w}}\n"))];
    let told = refused(&twice).to_string();
    assert!(told.starts_with("app/a.yaml:5: ") && told.contains("data"), "{told}");
    let tagged = format!("{MAP}x: !!python/object:os.system [id]\n");
    let told = refused(&[("app/kustomization.yaml", ONE), ("app/a.yaml", &tagged)]).to_string();
    assert!(told.starts_with("app/a.yaml:5: ") && told.contains("tag"), "{told}");
    let text =
        "apiVersion: v1\nkind: T\nmetadata: {name: a}\nx: &x {a: NO, b: 1e3, c: 0o14, d: 012}\nz: {<<: *x, a: 1}\n";
    let out = built(&[("app/kustomization.yaml", ONE), ("app/a.yaml", text)]);
    assert!(out.contains("x:\n  a: \"NO\"\n  b: 1000\n  c: 12\n  d: 10\n"), "{out}");
    assert!(out.contains("z:\n  a: 1\n  b: 1000\n"), "{out}");
}

/// Case 39.
#[test]
fn case_39_one_broken_document_refuses_all_of_a_build() {
    for (text, line) in
        [(format!("{MAP}---\na: [\n"), 7), (format!("{MAP}---\nkind: A\n"), 6), (format!("a: [\n---\n{MAP}"), 2)]
    {
        let bad = refused(&[("app/kustomization.yaml", ONE), ("app/a.yaml", &text)]);
        assert_eq!(bad.place, Some(("app/a.yaml".to_owned(), line)), "{bad}");
    }
}

/// Case 40.
#[test]
fn case_40_files_without_content_hold_nothing_and_utf_16_is_refused_by_its_name() {
    for nothing in ["", "---\n", "# nothing\n", "null\n", "---\n---\n", "{}\n", "\u{feff}"] {
        assert_eq!(built(&[("app/kustomization.yaml", ONE), ("app/a.yaml", nothing)]), "", "{nothing:?}");
        let bad = refused(&[("app/kustomization.yaml", nothing)]);
        assert!(bad.to_string().starts_with("app/kustomization.yaml:"), "{nothing:?}: {bad}");
    }
    let plain = built(&with(""));
    for text in [format!("\u{feff}{MAP}"), MAP.replace('\n', "\r\n"), format!("---\n{MAP}---\n---\n")] {
        assert_eq!(built(&[("app/kustomization.yaml", ONE), ("app/a.yaml", &text)]), plain, "{text:?}");
    }
    let marked: Vec<u8> = [0xfeff].into_iter().chain(MAP.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let bare: Vec<u8> = MAP.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for (utf_16, why) in
        [(marked, "the file is UTF-16: save the file as UTF-8"), (bare, "is not allowed in YAML: remove it")]
    {
        let told = refused(&[("app/kustomization.yaml", ONE.as_bytes().to_vec()), ("app/a.yaml", utf_16)]).to_string();
        assert!(told.starts_with("app/a.yaml:1: ") && told.contains(why), "{told}");
    }
}

/// Case 41: an object hidden in lists is a resource of its own, for the target and its rules too.
#[test]
fn case_41_what_fifty_lists_hide_is_there() {
    let hidden = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: root}}";
    let lists = (0..50).fold(hidden.to_owned(), |inner, _| format!("{{apiVersion: v1, kind: List, items: [{inner}]}}"));
    let out = built(&[("app/kustomization.yaml", format!("{ONE}namePrefix: x-\n")), ("app/a.yaml", lists)]);
    assert!(out.contains("kind: ClusterRoleBinding\nmetadata:\n  name: x-root\n") && !out.contains("List"), "{out}");
    let none = "apiVersion: v1\nkind: List\nitems: null\n";
    assert_eq!(built(&[("app/kustomization.yaml", ONE), ("app/a.yaml", none)]), "", "a list of nothing");
    let weird = "apiVersion: v1\nkind: ThingList\nitems: 5\n";
    let told = refused(&[("app/kustomization.yaml", ONE), ("app/a.yaml", weird)]).to_string();
    assert!(
        told.starts_with("app/a.yaml:1: ") && told.contains("expected array in ThingList/items: write a list"),
        "{told}"
    );
}

/// Case 42.
#[test]
fn case_42_the_same_object_twice_is_refused_with_both_places() {
    let resources = "resources:\n- a.yaml\n- ../base\n";
    let base = ("base/kustomization.yaml", "resources: [b.yaml]\n".to_owned());
    let other = ("base/b.yaml", format!("# the other one\n{}", MAP.replace("k: v", "k: w")));
    let told =
        refused(&[("app/kustomization.yaml", resources.to_owned()), ("app/a.yaml", MAP.to_owned()), base, other]);
    let told = told.to_string();
    assert!(told.starts_with("base/b.yaml:2: "), "{told}");
    assert!(
        told.contains("already registered id: ConfigMap.v1.[noGrp]/a.[noNs] (the other is in app/a.yaml:1)"),
        "{told}"
    );
    assert!(told.ends_with("keep one of them, or rename one"), "{told}");
    let renamed = "resources: [a.yaml]\nnamePrefix: x-\nconfigMapGenerator: [{name: a, options: {disableNameSuffixHash: true}}]\n";
    let told = refused(&[("app/kustomization.yaml", renamed), ("app/a.yaml", MAP)]).to_string();
    assert!(told.starts_with("app/kustomization.yaml:3: merging from generator: "), "{told}");
}

/// Returns all fields of a kustomization that can name a file or a base.
pub(super) fn naming(name: &str) -> Vec<String> {
    let fields = [
        "resources: [NAME]",
        "bases: [NAME]",
        "components: [NAME]",
        "crds: [NAME]",
        "configurations: [NAME]",
        "generators: [NAME]",
        "transformers: [NAME]",
        "validators: [NAME]",
        "openapi: {path: NAME}",
        "patchesStrategicMerge: [NAME]",
        "patches: [{path: NAME, target: {kind: ConfigMap}}]",
        "patchesJson6902: [{path: NAME, target: {version: v1, kind: ConfigMap, name: a}}]",
        "replacements: [{path: NAME}]",
        "configMapGenerator: [{name: x, files: [x=NAME]}]",
        "configMapGenerator: [{name: x, envs: [NAME]}]",
        "secretGenerator: [{name: x, files: [x=NAME]}]",
    ];
    fields.iter().map(|field| field.replace("NAME", name)).collect()
}

/// Cases 49 and 50: nothing is fetched, whatever field names it.
#[test]
fn case_49_and_50_no_field_reaches_another_machine() {
    for url in
        ["http://169.254.169.254/latest/meta-data", "https://10.0.0.5/x.yaml", "git@example.com:x/y", "github.com/x/y"]
    {
        for field in naming(url) {
            let more = if field.starts_with("resources") { String::new() } else { format!("\n{ONE}") };
            let files = [("app/kustomization.yaml", format!("{field}{more}")), ("app/a.yaml", MAP.to_owned())];
            let told = refused(&files).to_string();
            assert!(told.starts_with("app/kustomization.yaml:1: "), "{field}: {told}");
            // In fields that only accept files, kustomize only fetches URLs.
            let is_fetched = url.starts_with("http") || ["res", "bas", "com"].iter().any(|of| field.starts_with(of));
            let is_missing = !is_fetched && told.contains("is not there");
            let why = "nothing is fetched while rendering: declare it as a Store";
            assert!(is_missing || told.contains(why), "{field}: {told}");
        }
    }
}

/// Case 51, CVE-2022-24877: no field leads out of the tree, and no file next to the directory is
/// read.
#[test]
fn case_51_no_field_reads_what_is_outside() {
    let secret = ("other/secret.yaml", MAP.to_owned());
    for path in ["../other/secret.yaml", "../../etc/passwd", "/etc/passwd", "x/../../../other/secret.yaml"] {
        for field in naming(path) {
            let more = if field.starts_with("resources") { String::new() } else { format!("\n{ONE}") };
            let own = [("app/kustomization.yaml", format!("{field}{more}")), ("app/a.yaml", MAP.to_owned())];
            let told = refused(&[&own[..], std::slice::from_ref(&secret)].concat()).to_string();
            assert!(told.starts_with("app/kustomization.yaml:1: "), "{field}: {told}");
            let reasons =
                ["is not in or below", "leads out of the tree", "cannot be absolute", "unable to find one of"];
            assert!(reasons.iter().any(|reason| told.contains(reason)), "{field}: {told}");
        }
    }
}

/// A tree with links: to a file and a directory next to the one that is built, and out of the tree.
struct Linked(Tree);

/// The links and their targets.
const LINKS: [(&str, &str); 3] =
    [("app/beside.yaml", "other/secret.yaml"), ("app/beside", "other"), ("app/outside.yaml", "../etc/passwd")];

impl Linked {
    fn followed(&self, path: &str) -> Result<String, FileError> {
        let link = LINKS.iter().find_map(|(link, to)| Some((to, path.strip_prefix(link)?)));
        match link.filter(|(_, rest)| rest.is_empty() || rest.starts_with('/')) {
            Some((to, _)) if to.starts_with("../") => {
                let reason = "a link leads out of the tree; replace it by a file".to_owned();
                Err(FileError::Unreadable { path: path.to_owned(), reason })
            }
            Some((to, rest)) => Ok(format!("{to}{rest}")),
            None => Ok(path.to_owned()),
        }
    }
}

impl Files for Linked {
    fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
        self.0.read(&self.followed(path)?)
    }

    fn real_folder(&self, path: &str) -> Result<String, FileError> {
        self.followed(path)
    }

    fn real_file(&self, path: &str) -> Result<String, FileError> {
        self.followed(path)
    }
}

/// Case 51: the same for links.
#[test]
fn case_51_no_field_reads_what_is_outside_by_a_link() {
    for (path, why) in [
        ("beside.yaml", "is not in or below '/app'"),
        ("beside/secret.yaml", "is not in or below '/app'"),
        ("outside.yaml", "a link leads out of the tree"),
    ] {
        for field in naming(path) {
            let more = if field.starts_with("resources") { String::new() } else { format!("\n{ONE}") };
            let files = tree(&[
                ("app/kustomization.yaml", format!("{field}{more}")),
                ("app/a.yaml", MAP.to_owned()),
                ("other/secret.yaml", MAP.replace("k: v", "password: hunter2")),
            ]);
            let told = build(&Linked(files), "app", &Options::default()).expect_err("it is outside").to_string();
            assert!(told.starts_with("app/kustomization.yaml:1: ") && !told.contains("hunter2"), "{field}: {told}");
            // A base may be anywhere in the tree, and this one is not a directory.
            let is_base = ["bases", "components"].iter().any(|of| field.starts_with(of));
            assert!(told.contains(why) || is_base && told.contains("unable to find one of"), "{field}: {told}");
        }
    }
}

/// Case 51: without the restriction a link may lead anywhere in the tree, but not out of it.
#[test]
fn case_51_no_link_leads_out_of_the_tree_even_without_restriction() {
    let options = Options { is_restricted: false, ..Options::default() };
    let with = |path: &str| {
        let files = tree(&[
            ("app/kustomization.yaml", format!("resources: [{path}]\n")),
            ("other/secret.yaml", MAP.to_owned()),
        ]);
        build(&Linked(files), "app", &options).and_then(|built| built.to_yaml())
    };
    assert!(with("beside.yaml").is_ok_and(|out| out.contains("name: a")));
    assert!(with("outside.yaml").is_err_and(|bad| bad.to_string().contains("a link leads out of the tree")));
}

/// Case 52: function annotations of a resource start nothing, wherever it is named.
#[test]
fn case_52_functions_are_not_run() {
    for function in ["exec: {path: ./x}", "container: {image: x}", "starlark: {path: x.star}"] {
        let plugin = format!(
            "apiVersion: team.example.com/v1\nkind: Fn\nmetadata:\n  name: a\n  annotations: {{config.kubernetes.io/function: '{function}'}}\n"
        );
        for field in ["generators", "transformers", "validators"] {
            let files = [
                ("app/kustomization.yaml", format!("{ONE}{field}: [f.yaml]\n")),
                ("app/a.yaml", MAP.to_owned()),
                ("app/f.yaml", plugin.clone()),
            ];
            let told = refused(&files).to_string();
            assert!(told.starts_with("app/f.yaml:1: external plugins disabled; "), "{told}");
        }
    }
}

/// Case 53, CVE-2022-24878: a directory that refers to itself, by bases, components or both.
#[test]
fn case_53_bases_in_a_circle_are_refused_where_the_circle_closes() {
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n";
    let circles: [(&[(&str, String)], &str); 5] = [
        (&[("app/kustomization.yaml", "resources:\n- .\n".into())], "app/kustomization.yaml:2: "),
        (&[("app/kustomization.yaml", "resources: [..]\n".into())], "app/kustomization.yaml:1: "),
        (
            &[
                ("app/kustomization.yaml", "resources: [../b]\n".into()),
                ("b/kustomization.yaml", "resources:\n- ../app\n".into()),
            ],
            "b/kustomization.yaml:2: ",
        ),
        (
            &[
                ("app/kustomization.yaml", "components: [../b]\n".into()),
                ("b/kustomization.yaml", format!("{component}components:\n- ../b\n")),
            ],
            "b/kustomization.yaml:4: ",
        ),
        (
            &[
                ("app/kustomization.yaml", "transformers: [../b]\n".into()),
                ("b/kustomization.yaml", "generators: [../app]\n".into()),
            ],
            "b/kustomization.yaml:1: ",
        ),
    ];
    for (files, place) in circles {
        let told = refused(files).to_string();
        assert!(told.starts_with(place) && told.contains("cycle detected: candidate root"), "{told}");
    }
}

/// Cases of Flux and Argo CD in which kustomize panics, or did: each is rejected with a clear
/// error.
#[test]
fn what_makes_kustomize_panic_is_refused_where_it_is() {
    let json = |operation: &str| format!("patches:\n- {{target: {{kind: ConfigMap}}, patch: '[{operation}]'}}\n");
    for (more, place, why) in [
        (json(r#"{"op": "remove", "path": "/metadata/name"}"#) + "namePrefix: p-\n", "", "is empty or has a comma"),
        (json(r#"{"op": "remove", "path": "/kind"}"#) + "namePrefix: p-\n", "", "is empty or has a comma"),
        ("namePrefix: a,b\nnameSuffix: c\n".to_owned(), "", "write one without commas"),
        (json(r#"{"op": "replace", "path": "", "value": null}"#), "3", "value must be object or array"),
        (json(r#"{"op": "replace", "path": "/metadata", "value": null}"#), "", "missing metadata.name"),
        (json("null"), "3", "Unexpected kind: unknown"),
        (
            "patches:\n- {patch: '{apiVersion: v1, kind: ConfigMap, metadata: null}'}\n".to_owned(),
            "3",
            "missing metadata.name",
        ),
        ("patches:\n- null\n".to_owned(), "3", "must specify one of patch and path"),
        ("replacements:\n- null\n".to_owned(), "3", "must specify a source and at least one target"),
        ("configMapGenerator:\n- null\n".to_owned(), "3", "a configmap must have a name"),
    ] {
        let told = refused(&with(&more)).to_string();
        let place = if place.is_empty() { "app/".to_owned() } else { format!("app/kustomization.yaml:{place}: ") };
        assert!(told.starts_with(&place) && told.contains(why), "{more}: {told}");
    }
}

/// Words such as `y` are booleans in kustomize's own documents, also as keys.
#[test]
fn a_key_that_kustomize_takes_for_another_one_is_taken_so() {
    let told = refused(&with("commonAnnotations: {y: '1'}\n")).to_string();
    assert!(told.contains("the name `true` is not a string without quotes"), "{told}");
    assert!(built(&with("commonAnnotations: {'y': '1'}\n")).contains("\"y\": \"1\""));
    let copied = [("app/kustomization.yaml", "resources: [github.com/a/b.yaml]\n"), ("app/github.com/a/b.yaml", MAP)];
    assert!(built(&copied).contains("name: a"), "a file that is called like a repository");
}

/// Argo CD's `null-list`: a list of nulls, of whatever kind, has no resources. A fixture has
/// kustomize's result.
#[test]
fn lists_whose_items_are_null_hold_nothing() {
    let plain = built(&with(""));
    for list in ["kind: List\nitems:\n", "kind: ConfigMapList\nitems:\n", "kind: ConfigMapList\nitems: null\n"] {
        let files = [
            ("app/kustomization.yaml", "resources: [a.yaml, list.yaml]\n".to_owned()),
            ("app/a.yaml", MAP.to_owned()),
            ("app/list.yaml", format!("apiVersion: v1\n{list}")),
        ];
        assert_eq!(built(&files), plain, "{list}");
    }
}

#[test]
fn fields_that_are_null_are_as_if_they_were_not_there() {
    let fields = [
        "patches",
        "images",
        "labels",
        "configMapGenerator",
        "replacements",
        "components",
        "transformers",
        "vars",
        "crds",
    ];
    let nulls: String = fields.iter().map(|field| format!("{field}: null\n")).collect();
    assert_eq!(built(&with(&nulls)), built(&with("")));
    let told = refused(&[("app/kustomization.yaml", "resources: [null]\n")]).to_string();
    assert!(told.starts_with("app/kustomization.yaml:1: ") && told.contains("a path is empty"), "{told}");
}

/// Flux's `openapiPollution`: the schema of one build does not affect another one.
#[test]
fn a_schema_stays_with_the_build_that_names_it() {
    let patch =
        "patches: [{patch: '{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: z}]}}'}]\n";
    let pod =
        ("app/a.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: x}]}\n".to_owned());
    let plain = [("app/kustomization.yaml", format!("{ONE}{patch}")), pod.clone()];
    let before = built(&plain);
    let polluting = [
        ("app/kustomization.yaml", format!("{ONE}{patch}openapi: {{path: s.json}}\n")),
        pod,
        ("app/s.json", "{\"definitions\": {}}".to_owned()),
    ];
    assert!(before.contains("- name: z") && before.contains("- name: x"), "{before}");
    assert!(!built(&polluting).contains("- name: x"), "nothing is known of the list");
    assert_eq!(built(&plain), before);
}
