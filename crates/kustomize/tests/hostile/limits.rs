//! Excessive inputs: cases 53 and 36, the cost of one build. These tests only check that the limits
//! exist; without them the tests would not end.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Returns two directories for each level, each of which names both of the next level: a few files
/// that are built 2^n times.
fn doubling(levels: usize) -> Vec<(String, String)> {
    let folder = |level: usize, side: &str| if level == 0 { "app".to_owned() } else { format!("l{level}{side}") };
    let mut files = Vec::new();
    for level in 0..levels {
        for side in if level == 0 { &["a"][..] } else { &["a", "b"] } {
            let next = level + 1;
            let text = format!("resources: [../l{next}a, ../l{next}b]\nnamePrefix: {side}\n");
            files.push((format!("{}/kustomization.yaml", folder(level, side)), text));
        }
    }
    for side in ["a", "b"] {
        files.push((
            format!("l{levels}{side}/kustomization.yaml"),
            format!("resources: [m.yaml]\nnamePrefix: {side}\n"),
        ));
        files.push((format!("l{levels}{side}/m.yaml"), MAP.to_owned()));
    }
    files
}

/// Case 53.
#[test]
fn case_53_bases_that_double_with_each_level_are_stopped() {
    let files = doubling(60);
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let told = limited(&files, DEFAULT, Limit::Kustomizations, "l");
    assert!(told.contains("limit: more than 10000 kustomizations are built"), "{told}");
    let few = doubling(3);
    let few: Vec<(&str, &str)> = few.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    assert_eq!(built(&few).matches("kind: ConfigMap").count(), 8);
    limited(&few, Limits { resources: 7, ..DEFAULT }, Limit::Resources, "l3b/m.yaml:1: ");
}

/// Case 53.
#[test]
fn case_53_bases_name_each_other_only_so_deep() {
    let chain = |levels: usize| {
        let folder = |level| if level == 0 { "app".to_owned() } else { format!("l{level}") };
        let inner = (0..levels).map(|level| {
            (format!("{}/kustomization.yaml", folder(level)), format!("resources: [../{}]\n", folder(level + 1)))
        });
        let last = [
            (format!("{}/kustomization.yaml", folder(levels)), ONE.to_owned()),
            (format!("{}/a.yaml", folder(levels)), MAP.to_owned()),
        ];
        Tree(inner.chain(last).map(|(path, text)| (path, text.into_bytes())).collect())
    };
    assert!(built_with(&chain(100), DEFAULT).is_ok());
    let bad = built_with(&chain(101), DEFAULT).unwrap_err();
    assert_eq!(bad.limit(), Some(Limit::Depth));
    assert!(
        bad.to_string().starts_with("l101/kustomization.yaml:1: ")
            && bad.message.ends_with("limit: more than 100 bases name each other: name fewer"),
        "{bad}"
    );
}

/// Case 53: 10⁵ patches are built or rejected, and either happens quickly.
#[test]
fn case_53_a_hundred_thousand_patches_are_built_or_stopped() {
    let own = |at: usize| format!("- {{path: p.yaml, target: {{name: c{at}}}}}\n");
    let each: String = (0..100_000).map(|at| own(at % 100)).collect();
    let files = |patches: &str| {
        [
            ("app/kustomization.yaml", format!("{ONE}patches:\n{patches}")),
            ("app/a.yaml", maps(100)),
            ("app/p.yaml", "- {op: add, path: /data, value: {k: v}}\n".to_owned()),
        ]
    };
    assert_eq!(built(&files(&each)).matches("k: v").count(), 100);
    let all = "- {path: p.yaml, target: {kind: ConfigMap}}\n".repeat(100_000);
    let limits = Limits { steps: 5_000_000, ..DEFAULT };
    let told = limited(&files(&all), limits, Limit::Steps, "app/p.yaml:1: ");
    assert!(told.contains("limit: the build takes more than 5000000 steps: use fewer patches"), "{told}");
    let pattern = "- {path: p.yaml, target: {name: '(c?c?c?c?c?c?c?c?c?c?){900}x'}}\n".repeat(100_000);
    limited(&files(&pattern), limits, Limit::Steps, "app/kustomization.yaml:");
}

/// Case 53: lists whose items lack their keys take quadratic time to merge, and a patch walks the
/// whole resource.
#[test]
fn case_53_a_merge_that_takes_the_square_of_its_input_is_stopped() {
    let ports = "{a: 1},".repeat(1_000);
    let containers: String = (0..20).map(|at| format!("      - {{name: c{at}, ports: [{ports}]}}\n")).collect();
    let deployment = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d}}\nspec:\n  template:\n    spec:\n      containers:\n{containers}"
    );
    let patch =
        "patches:\n- patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: 1}}'\n";
    let files = [("app/kustomization.yaml", format!("{ONE}{patch}")), ("app/a.yaml", deployment)];
    let told = limited(
        &files,
        Limits { steps: 10_000_000, ..DEFAULT },
        Limit::Steps,
        "app/kustomization.yaml:3: `spec.template.spec.containers.[name=c",
    );
    assert!(told.contains(".ports`: limit: "), "{told}");
}

/// Case 53: many fields that each check all resources.
#[test]
fn case_53_what_looks_at_everything_many_times_is_stopped() {
    let limits = Limits { steps: 1_000_000, ..DEFAULT };
    let many = |field: &str, item: &str| format!("{ONE}{field}:\n{}", format!("- {item}\n").repeat(20_000));
    for kustomization in [
        many("images", "{name: x, newTag: z}"),
        many("labels", "{pairs: {x: z}}"),
        many("replacements", "{sourceValue: x, targets: [{select: {kind: ConfigMap}, fieldPaths: [kind]}]}"),
        many("vars", "{name: x, objref: {kind: ConfigMap, apiVersion: v1, name: none}}"),
        many("patches", "{target: {labelSelector: a=b}, patch: '[{\"op\": \"remove\", \"path\": \"/x\"}]'}"),
        many(
            "patchesJson6902",
            "{target: {version: v1, kind: ConfigMap, name: x.*}, patch: '[{\"op\": \"remove\", \"path\": \"/x\"}]'}",
        ),
        format!(
            "{ONE}buildMetadata: [originAnnotations]\n{}",
            many("images", "{name: x, newTag: z}").trim_start_matches(ONE)
        ),
    ] {
        let files = [("app/kustomization.yaml", kustomization), ("app/a.yaml", maps(200))];
        limited(&files, limits, Limit::Steps, "app/");
    }
    let specs: String = (0..20_000).map(|at| format!("- {{path: a/b, kind: K{at}}}\n")).collect();
    let configured = [
        ("app/kustomization.yaml", format!("{ONE}configurations:\n- c.yaml\n")),
        ("app/c.yaml", format!("namePrefix:\n{specs}")),
        ("app/a.yaml", MAP.to_owned()),
    ];
    limited(&configured, limits, Limit::Steps, "app/kustomization.yaml:3: ");
}

/// Case 53: a name that many resources had, with many references to it.
#[test]
fn case_53_references_among_namesakes_are_counted() {
    let pair = |at: usize| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, namespace: n{at}}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: n{at}}}\nspec: {{volumes: [{{name: v, configMap: {{name: c}}}}]}}\n"
        )
    };
    let files = [
        ("app/kustomization.yaml", format!("{ONE}namePrefix: x-\n")),
        ("app/a.yaml", (0..1_000).map(pair).collect::<String>()),
    ];
    let told = limited(&files, Limits { steps: 2_000_000, ..DEFAULT }, Limit::Steps, "app/a.yaml:");
    assert!(
        told.contains("updating name reference in 'spec/volumes/configMap/name' field of 'Pod.v1.[noGrp]/x-p"),
        "{told}"
    );
    assert_eq!(built(&files).matches("name: x-c").count(), 2_000);
}

/// Case 53: a class of many characters takes no more space than one, and the time to search it is
/// counted.
#[test]
fn case_53_patterns_of_large_classes_are_counted() {
    let letters: String = ('\u{4e00}'..'\u{9e00}').step_by(2).collect();
    let patch = "patch: '- {op: test, path: /kind, value: ConfigMap}'";
    let target = |name: &str| format!("{ONE}patches: [{{target: {{name: '{name}'}}, {patch}}}]\n");
    let image = |name: &str| format!("{ONE}images: [{{name: '{name}', newTag: x}}]\n");
    let long = MAP.replace("name: a", &format!("name: {}", "a".repeat(200)));
    let files = |kustomization: String| [("app/kustomization.yaml", kustomization), ("app/a.yaml", long.clone())];
    let limits = Limits { steps: 400_000, ..DEFAULT };
    for name in [format!("[{letters}]{{900}}"), format!("[{}]{{900}}", "ab".repeat(50_000))] {
        built_with(&tree(&files(target(&name))), limits).expect("the class is there once");
        built_with(&tree(&files(image(&name))), limits).expect("the class is there once");
    }
    let names: String = (0..500).map(|at| format!("---\n{}", long.replace("aaaa", &format!("a{at}")))).collect();
    let files = [("app/kustomization.yaml", target(&format!("[^{letters}]*c"))), ("app/a.yaml", names)];
    limited(&files, Limits { steps: 1_200_000, ..DEFAULT }, Limit::Steps, "app/");
}

/// Case 53: a moved value is walked to check its depth.
#[test]
fn case_53_what_is_moved_to_and_fro_is_counted() {
    let moves = "- {op: move, from: /p/big, path: /q/big}\n- {op: move, from: /q/big, path: /p/big}\n";
    let files = |times: usize| {
        let big = format!("{MAP}p: {{big: [{}]}}\nq: {{}}\n", "0,".repeat(10_000));
        let kustomization = format!("{ONE}patches: [{{path: p.yaml, target: {{kind: ConfigMap}}}}]\n");
        [("app/kustomization.yaml", kustomization), ("app/a.yaml", big), ("app/p.yaml", moves.repeat(times))]
    };
    let limits = Limits { steps: 5_000_000, ..DEFAULT };
    limited(&files(1_000), limits, Limit::Steps, "app/p.yaml:1: operation ");
    assert!(built_with(&tree(&files(10)), limits).is_ok());
    let names = format!("- {{op: test, path: /{}, value: null}}\n", "~1".repeat(5_000));
    let [kustomization, resource, _] = files(0);
    let tests = [kustomization, resource, ("app/p.yaml", names.repeat(100))];
    limited(&tests, Limits { steps: 300_000, ..DEFAULT }, Limit::Steps, "app/p.yaml:1: operation ");
}

/// Case 53: a schema is searched for every field of a resource, and may be large.
#[test]
fn case_53_what_a_schema_says_of_every_field_is_counted() {
    let thing = "x-kubernetes-group-version-kind: [{group: e.com, version: v1, kind: T}]";
    let fields = numbered(500, "fAT: {}, ");
    let list = |said: &str| format!("{{type: array, items: {{}}, x-kubernetes-patch-strategy: {said}}}");
    let keys = numbered(1_000, "kAT, ");
    let chain = numbered(60, "\"cAT\": {$ref: \"#/definitions/cNEXT\"}, ");
    let chain = (0..60).fold(chain, |chain, at| chain.replacen("cNEXT", &format!("c{}", at + 1), 1));
    for (definitions, fields) in [
        (format!("c: {{{thing}, additionalProperties: {{$ref: \"#/definitions/c0\"}}}}, {chain} c60: {{}}"), fields),
        (
            format!("c: {{{thing}, additionalProperties: {{$ref: \"#/definitions/{}\"}}}}", "x".repeat(10_000)),
            numbered(500, "fAT: {}, "),
        ),
        (
            format!("c: {{{thing}, additionalProperties: {}}}", list(&format!("'{}'", "x,".repeat(5_000)))),
            numbered(500, "fAT: [], "),
        ),
        (
            format!(
                "c: {{{thing}, additionalProperties: {}}}",
                list(&format!("merge, x-kubernetes-list-map-keys: [{keys}]"))
            ),
            numbered(500, "fAT: [{k1: a}, {k2: b}], "),
        ),
    ] {
        let resource = format!("{{apiVersion: e.com/v1, kind: T, metadata: {{name: a}}, {fields}}}\n");
        let files = [
            ("app/kustomization.yaml", format!("{ONE}openapi: {{path: o.json}}\npatches: [{{path: a.yaml}}]\n")),
            ("app/a.yaml", resource),
            ("app/o.json", format!("{{definitions: {{{definitions}}}}}\n")),
        ];
        limited(&files, Limits { steps: 200_000, ..DEFAULT }, Limit::Steps, "app/a.yaml:1: ");
    }
}

/// Case 53: values that are read or copied many times, and searches without results.
#[test]
fn case_53_what_is_done_again_for_each_of_many_is_counted() {
    let limits = Limits { steps: 2_000_000, ..DEFAULT };
    let values = numbered(1_000, "vAT,");
    let labels = format!("{{labelSelector: 'a in ({values}b)', kind: ConfigMap}}");
    let patch = |target: &str| format!("- {{target: {target}, patch: '- {{op: test, path: /kind, value: x}}'}}\n");
    let targets =
        |select: &str| format!("- {{sourceValue: b, targets: [{{select: {select}, fieldPaths: [data.k]}}]}}\n");
    let path = format!("\"s.{}\",", vec!["a"; 80].join("."));
    let deep = (0..80).fold("b".to_owned(), |deep, _| format!("{{a: {deep}}}"));
    let large = format!("s: [{}]\nt: 0\n", "{a: b},".repeat(5_000));
    let copy = "- {source: {kind: ConfigMap, fieldPath: s}, targets: [{select: {kind: ConfigMap}, fieldPaths: [t]}]}\n";
    for (more, resource) in [
        (format!("patches:\n{}", patch(&labels).repeat(50)), String::new()),
        (format!("replacements:\n{}", targets(&labels).repeat(50)), String::new()),
        (
            format!(
                "replacements: [{{sourceValue: b, targets: [{{select: {{kind: ConfigMap}}, fieldPaths: [{}]}}]}}]\n",
                path.repeat(500)
            ),
            format!("s: {deep}\n"),
        ),
        (format!("replacements:\n{}", copy.repeat(20)), large),
    ] {
        let files = [("app/kustomization.yaml", format!("{ONE}{more}")), ("app/a.yaml", format!("{MAP}{resource}"))];
        limited(&files, limits, Limit::Steps, "app/kustomization.yaml:");
    }
    let specs = numbered(10_000, "  - {path: aAT, kind: ConfigMap, group: g}\n");
    let configured = [
        ("app/kustomization.yaml", format!("{ONE}configurations: [c.yaml]\nnamePrefix: p-\n")),
        ("app/c.yaml", format!("nameReference:\n- kind: Secret\n  fieldSpecs:\n{specs}")),
        ("app/a.yaml", maps(200)),
    ];
    limited(&configured, limits, Limit::Steps, "app/");
}

const SMALL: Limits = Limits { held_bytes: 4 << 20, ..DEFAULT };
const GROWN: &str = "limit: the resources grow to more than 4194304 bytes: put less into them, or split the app";

fn numbered(count: usize, item: &str) -> String {
    (0..count).map(|at| item.replace("AT", &at.to_string())).collect()
}

/// Case 53: a few bytes that grow with each copy.
#[test]
fn case_53_what_is_copied_into_itself_is_stopped() {
    let text = "- {source: {kind: ConfigMap, fieldPath: data.k}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.k], options: {delimiter: v, index: 9}}]}\n";
    let map = "- {source: {kind: ConfigMap, fieldPath: data}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.xAT], options: {create: true}}]}\n";
    for more in [format!("replacements:\n{}", text.repeat(60)), format!("replacements:\n{}", numbered(60, map))] {
        let told = limited(&with(&more), SMALL, Limit::Held, "app/kustomization.yaml:");
        assert!(told.ends_with(GROWN), "{told}");
    }
    let [kustomization, resource] = with("patches: [{path: p.yaml, target: {kind: ConfigMap}}]\n");
    let copies = numbered(60, "- {op: copy, from: /data, path: /data/xAT}\n");
    let told =
        limited(&[kustomization, resource, ("app/p.yaml", copies)], SMALL, Limit::Held, "app/p.yaml:1: operation ");
    assert!(told.ends_with(GROWN), "{told}");
}

/// Case 53: a long text in many places.
#[test]
fn case_53_a_long_text_that_is_put_into_everything_is_stopped() {
    let long = "x".repeat(100_000);
    let pods = numbered(
        60,
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: pAT}\nspec: {containers: [{args: [a$(V), b$(V)], image: i, name: c}]}\n",
    );
    let var = "vars: [{name: V, objref: {apiVersion: v1, kind: Long, name: l}, fieldref: {fieldPath: x}}]\nconfigMapGenerator: [{name: x}]\n";
    for more in [
        format!("namePrefix: {long}\n"),
        format!("namespace: {long}\n"),
        format!("commonLabels: {{x: {long}}}\n"),
        format!("images: [{{name: i, newName: {long}}}]\n"),
        format!("configMapGenerator:\n{}", numbered(60, "- {name: gAT, files: [l.yaml]}\n")),
        "patches: [{path: l.yaml, target: {kind: Pod}}]\n".to_owned(),
        var.to_owned(),
    ] {
        let files = [
            ("app/kustomization.yaml", format!("resources: [a.yaml, l.yaml]\n{more}")),
            ("app/a.yaml", pods.clone()),
            ("app/l.yaml", format!("apiVersion: v1\nkind: Long\nmetadata: {{name: l}}\nx: {long}\n")),
        ];
        let told = limited(&files, SMALL, Limit::Held, if more == var { "app/a.yaml:" } else { "app/" });
        assert!(told.ends_with(GROWN), "{told}");
    }
}

/// Case 53: a file counts each time it is read.
#[test]
fn case_53_files_that_are_read_again_and_again_are_counted() {
    let limits = Limits { read_bytes: 1 << 20, ..DEFAULT };
    let file = ("app/l.yaml", format!("{MAP}x: {}\n", "x".repeat(100_000)));
    for more in [
        format!("patches:\n{}", "- {path: l.yaml}\n".repeat(20)),
        format!("configMapGenerator:\n{}", numbered(20, "- {name: gAT, files: [l.yaml]}\n")),
    ] {
        let [kustomization, resource] = with(&more);
        let told = limited(&[kustomization, resource, file.clone()], limits, Limit::Read, "app/kustomization.yaml:");
        assert!(told.contains("limit: cannot read `app/l.yaml`: more than 1048576 bytes of files are read"), "{told}");
    }
}

/// Case 53: lines of a text are indented by its depth.
#[test]
fn case_53_what_becomes_too_large_when_it_is_written_is_not_written() {
    let deep: String = (0..90).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    let text = format!("{MAP}{deep}{}t: \"{}\"\n", " ".repeat(90), "x\\n".repeat(100_000));
    let files = [("app/kustomization.yaml", ONE.to_owned()), ("app/a.yaml", text)];
    let limits = Limits { output_bytes: 10 << 20, ..DEFAULT };
    let told = limited(&files, limits, Limit::Output, "app/a.yaml:1: ");
    assert!(told.ends_with("limit: more than 10485760 bytes are written: split the app"), "{told}");
}

/// The counterpart: the resources of a large fleet are far below all limits.
#[test]
fn ten_thousand_resources_are_far_from_every_limit() {
    let pod = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: dAT}\nspec:\n  template:\n    spec:\n      containers:\n      - {name: c, image: i, envFrom: [{configMapRef: {name: c1}}]}\n";
    let overlay = "namePrefix: p-\nnamespace: shop\ncommonLabels: {app: web}\nimages: [{name: i, newTag: \"2\"}]\npatches:\n- {target: {kind: Deployment, name: d.*}, patch: '- {op: add, path: /spec/replicas, value: 2}'}\n";
    let files = [
        ("app/kustomization.yaml", format!("resources: [../base]\n{overlay}")),
        ("base/kustomization.yaml", ONE.to_owned()),
        ("base/a.yaml", maps(5_000) + &numbered(5_000, pod)),
    ];
    let built = build(&tree(&files), "app", &Options::default()).expect("it is built");
    let spent = built.spent;
    assert_eq!(built.resources.len(), 10_000);
    let used =
        [(spent.steps, DEFAULT.steps), (spent.held_bytes, DEFAULT.held_bytes), (spent.read_bytes, DEFAULT.read_bytes)];
    assert!(used.iter().all(|(used, most)| *used > 0 && used * 10 < *most), "{spent:?}");
}

/// Case 53: each base passes on its variables, and they are compared with those of others.
#[test]
fn case_53_variables_that_are_handed_on_again_and_again_are_counted() {
    let vars = |from: usize| {
        numbered(1_000, &format!("- {{name: V{from}x-AT, objref: {{kind: ConfigMap, name: a, apiVersion: v1}}}}\n"))
    };
    let mut files = vec![("app/a.yaml".to_owned(), MAP.to_owned())];
    let bases: String = (0..50).map(|at| format!("- b{at}\n")).collect();
    files.push(("app/kustomization.yaml".to_owned(), format!("resources:\n- a.yaml\n{bases}")));
    files.extend((0..50).map(|at| (format!("app/b{at}/kustomization.yaml"), format!("vars:\n{}", vars(at)))));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    limited(&files, Limits { steps: 100_000_000, ..DEFAULT }, Limit::Steps, "app/kustomization.yaml:");
}

/// If the caller stops the build, there is no verdict on the files: neither an error about them nor
/// a partial result.
#[test]
fn a_build_that_is_stopped_is_neither_done_nor_refused() {
    /// Stops the build when a file is read.
    struct Stopping(Tree, &'static str, Arc<AtomicBool>);
    impl Files for Stopping {
        fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
            self.2.fetch_or(path == self.1, Ordering::Relaxed);
            self.0.read(path)
        }
    }
    // A patch that may be a file or inline text is tried as both; a failure of both is no verdict
    // either.
    let files = with("patchesStrategicMerge: [p.yaml]\nreplacements: [{path: r.yaml}]\n");
    let more = [("app/p.yaml", MAP.to_owned()), ("app/r.yaml", "[]\n".to_owned())];
    let files: Vec<_> = files.into_iter().chain(more).collect();
    for at in ["app/kustomization.yaml", "app/a.yaml", "app/p.yaml", "app/r.yaml"] {
        let stop = Arc::new(AtomicBool::new(false));
        let options = Options { stop: Some(Arc::clone(&stop)), ..Options::default() };
        let bad = build(&Stopping(tree(&files), at, stop), "app", &options).expect_err("it is stopped");
        assert!(bad.is_stopped() && bad.limit().is_none(), "{bad}");
        assert_eq!(bad.to_string(), "the build was stopped before it was done: try again");
    }
    let stop = Some(Arc::default());
    let unstopped = build(&tree(&files), "app", &Options { stop, ..Options::default() }).expect("it is built");
    assert_eq!(unstopped.to_yaml().expect("it is written"), built(&files));
    assert!(!refused(&with("namePrefix: [a]\n")).is_stopped());
}

/// Case 53: the name of a plugin is recorded in the annotations of all resources that it
/// transformed.
#[test]
fn case_53_what_is_noted_of_every_resource_is_held_for_each() {
    let plugin = format!(
        "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {{name: {}}}\ntarget: {{kind: ConfigMap}}\npatch: '[{{\"op\": \"remove\", \"path\": \"/metadata/annotations\"}}]'\n",
        "x".repeat(100_000)
    );
    let files = |count: usize| {
        [
            (
                "app/kustomization.yaml",
                format!("{ONE}transformers: [p.yaml]\nbuildMetadata: [originAnnotations, transformerAnnotations]\n"),
            ),
            ("app/a.yaml", maps(count)),
            ("app/p.yaml", plugin.clone()),
        ]
    };
    let told = limited(&files(100), SMALL, Limit::Held, "app/a.yaml:");
    assert!(told.ends_with(GROWN), "{told}");
    assert!(built_with(&tree(&files(10)), SMALL).is_ok());
}

/// Case 53: while a replacement writes to many nodes, the path to each of them is in memory, and so
/// are the value and the text on the way.
#[test]
fn case_53_what_a_replacement_needs_on_its_way_is_held() {
    let to = |source: &str, path: &str| {
        format!("replacements: [{{{source}, targets: [{{select: {{kind: ConfigMap}}, fieldPaths: [{path}]}}]}}]\n")
    };
    let files = |more: String, resource: String| {
        [("app/kustomization.yaml", format!("{ONE}{more}")), ("app/a.yaml", format!("{MAP}{resource}"))]
    };
    let deep = format!("s: {}{}{}\n", "[".repeat(20), "0,".repeat(15_000), "]".repeat(20));
    let ways = files(to("sourceValue: b", &format!("s{}", ".*".repeat(20))), deep);
    limited(&ways, SMALL, Limit::Held, "app/kustomization.yaml:");
    // In addition to the resource, the value is in memory, and the copy that replaces another node.
    let list = "[".to_owned() + &"0,".repeat(2_000) + "]";
    let copied = files(to("source: {kind: ConfigMap, fieldPath: s}", "t"), format!("s: {list}\nt: {list}\n"));
    limited(&copied, Limits { held_bytes: 680_000, ..DEFAULT }, Limit::Held, "app/kustomization.yaml:");
    assert!(built_with(&tree(&copied), Limits { held_bytes: 900_000, ..DEFAULT }).is_ok());
    let text = format!("c: |\n{}", numbered(3_000, "  aAT: 1\n"));
    let laid_out = files(to("sourceValue: b", "c.a1"), text);
    limited(&laid_out, Limits { held_bytes: 1 << 20, ..DEFAULT }, Limit::Held, "app/kustomization.yaml:");
    // A text with another part is built next to the one that it replaces, so that both are in
    // memory.
    let delimited = to("sourceValue: b", "t").replace("[t]", "[t], options: {delimiter: '-', index: 1}");
    let joined = files(delimited, format!("t: {}\n", "a".repeat(1_000_000)));
    limited(&joined, Limits { held_bytes: 2_900_000, ..DEFAULT }, Limit::Held, "app/kustomization.yaml:");
    assert!(built_with(&tree(&joined), Limits { held_bytes: 3_100_000, ..DEFAULT }).is_ok());
}

/// Case 53: the expanded aliases of a patch.
#[test]
fn case_53_a_patch_of_many_aliases_is_held() {
    let value = "[".to_owned() + &"0,".repeat(6_000) + "]";
    let more = "- {op: add, path: /data, value: *v}\n".repeat(8);
    let patch = format!("- {{op: add, path: /data, value: &v {value}}}\n{more}");
    for field in ["patches", "patchesJson6902"] {
        let [kustomization, resource] =
            with(&format!("{field}: [{{path: p.yaml, target: {{kind: ConfigMap, version: v1, name: a}}}}]\n"));
        let files = [kustomization, resource, ("app/p.yaml", patch.clone())];
        limited(&files, SMALL, Limit::Held, "app/");
        assert!(built_with(&tree(&files), DEFAULT).is_ok());
    }
}

/// Case 53: fields are found by a linear search, so the number of fields at frequently searched
/// levels is limited.
#[test]
fn case_53_a_resource_has_only_so_many_fields() {
    let wide = |count: usize| format!("{MAP}{}", numbered(count, "fAT: 0\n"));
    let with_metadata = |count: usize| MAP.replace("name: a", &format!("name: a, {}", numbered(count, "fAT: b, ")));
    let plain = |resource: String| [("app/kustomization.yaml", ONE.to_owned()), ("app/a.yaml", resource)];
    for resource in [wide(997), with_metadata(1_000)] {
        let told = limited(&plain(resource), DEFAULT, Limit::Fields, "app/a.yaml:1: ");
        assert!(
            told.ends_with(
                "limit: a resource has more than 1000 fields at its top or in its metadata: move them below one field"
            ),
            "{told}"
        );
    }
    built(&plain(wide(996)));
    let merged = "patches: [{path: p.yaml}]\n".to_owned();
    let added = "patches: [{path: p.yaml, target: {kind: ConfigMap}}]\n".to_owned();
    let adds = numbered(1_000, "- {op: add, path: /fAT, value: 0}\n");
    let written = |path: &str| {
        format!(
            "{{sourceValue: b, targets: [{{select: {{kind: ConfigMap}}, fieldPaths: [{path}], options: {{create: true}}}}]}}"
        )
    };
    let replaced = format!("replacements: [{}]\n", written(&numbered(1_000, "metadata.fAT,")));
    let specs = "configurations: [p.yaml]\nnamePrefix: x-\n".to_owned();
    let specified = format!("namePrefix:\n{}", numbered(1_000, "- {path: fAT, create: true}\n"));
    for (more, file) in [
        (merged, format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\n{}", numbered(997, "gAT: 0\n"))),
        (added, adds),
        (replaced, String::new()),
        (specs, specified),
    ] {
        let [kustomization, resource] = with(&more);
        limited(&[kustomization, resource, ("app/p.yaml", file)], DEFAULT, Limit::Fields, "app/");
    }
}

/// Case 53: the time to find a field grows with the number of fields.
#[test]
fn case_53_fields_that_are_looked_for_among_many_are_counted() {
    let limits = Limits { steps: 1_000_000, ..DEFAULT };
    let wide = numbered(900, "fAT: 0\n");
    let each: String =
        (0..20).map(|at| format!("---\n{}{wide}", MAP.replace("name: a", &format!("name: a{at}")))).collect();
    let no_target = "{target: {kind: None}, patch: '[{\"op\": \"remove\", \"path\": \"/x\"}]'}";
    let variable = "{name: VAT, objref: {kind: ConfigMap, name: a, apiVersion: v1}, fieldref: {fieldpath: data.k}}";
    let many = |field: &str, count: usize, item: &str| format!("{field}:\n{}", numbered(count, &format!("- {item}\n")));
    let data = MAP.replace("k: v", &format!("k: v, {}", numbered(4_000, "fAT: v, ")));
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{name: n, {}}}\n",
        numbered(4_000, "fAT: v, ")
    );
    let references = numbered(500, "- {kind: KAT, fieldSpecs: [{path: spec/name, kind: Pod}]}\n");
    let properties = numbered(500, "fAT: {$ref: d}, ");
    let definitions = format!(
        "{{t: {{Schema: {{properties: {{kind: {{}}, apiVersion: {{}}, metadata: {{}}, {properties}}}}}}}, d: {{Schema: {{properties: {{p: {{{}}}}}}}}}}}\n",
        numbered(4_000, "fAT: v, ")
    );
    for (more, resource, file) in [
        (many("patches", 100, no_target), each, String::new()),
        (many("vars", 500, variable), data.clone(), String::new()),
        (
            many("patches", 500, "{target: {labelSelector: a=b}, patch: '[{\"op\": \"remove\", \"path\": \"/x\"}]'}"),
            data.replace(
                "metadata: {name: a}",
                &format!("metadata: {{name: a, labels: {{{}}}}}", numbered(4_000, "fAT: v, ")),
            ),
            String::new(),
        ),
        ("configurations: [c.yaml]\nnamePrefix: x-\n".to_owned(), pod, format!("nameReference:\n{references}")),
        ("crds: [c.yaml]\n".to_owned(), MAP.to_owned(), definitions),
    ] {
        let files =
            [("app/kustomization.yaml", format!("{ONE}{more}")), ("app/a.yaml", resource), ("app/c.yaml", file)];
        limited(&files, limits, Limit::Steps, "app/");
    }
}

/// Case 53: work on all of a long text is counted by its bytes.
#[test]
fn case_53_long_texts_that_are_gone_through_again_and_again_are_counted() {
    let limits = Limits { steps: 1_000_000, ..DEFAULT };
    let long = |letter: &str| MAP.replace("k: v", &format!("k: {}", letter.repeat(200_000)));
    let same = "{patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {l: m}}'}";
    let json =
        "{target: {kind: ConfigMap}, patch: '[{\"op\": \"test\", \"path\": \"/kind\", \"value\": \"ConfigMap\"}]'}";
    let copy = "{source: {kind: ConfigMap, fieldPath: data.k}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.l], options: {create: true}}]}";
    let hash = "|-\n  apiVersion: builtin\n  kind: HashTransformer\n  metadata: {name: hAT}";
    let hashed =
        long("a").replace("name: a", "name: a, annotations: {internal.config.kubernetes.io/needsHashSuffix: enabled}");
    for (field, item, resource) in [
        ("patches", same, long("é")),
        ("patches", json, long("é")),
        ("replacements", copy, long("a")),
        ("transformers", hash, hashed),
    ] {
        let kustomization = format!("{ONE}{field}:\n{}", numbered(50, &format!("- {item}\n")));
        limited(&[("app/kustomization.yaml", kustomization), ("app/a.yaml", resource)], limits, Limit::Steps, "app/");
    }
}

/// Case 53: each generator that merges builds the result again.
#[test]
fn case_53_generators_that_merge_again_and_again_are_counted() {
    let literals = numbered(2_000, "kAT=v,");
    let files = [
        (
            "app/kustomization.yaml",
            format!(
                "resources: [../base]\nconfigMapGenerator:\n{}",
                "- {name: a, behavior: merge, literals: [k=w]}\n".repeat(100)
            ),
        ),
        ("base/kustomization.yaml", format!("configMapGenerator: [{{name: a, literals: [{literals}]}}]\n")),
    ];
    limited(&files, Limits { steps: 1_000_000, ..DEFAULT }, Limit::Steps, "app/kustomization.yaml:");
    assert!(built_with(&tree(&files), DEFAULT).is_ok());
}
