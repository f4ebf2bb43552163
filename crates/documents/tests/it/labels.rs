//! Labels of documents.

use setpoint_documents::{Document, read_documents};

use crate::targets::targets;

fn read(kind: &str, labels: &str) -> Result<Vec<Document>, String> {
    let spec = match kind {
        "Store" => "url: https://git.example/a.git",
        "Target" => "kind: host",
        "App" => "component: a, environment: b, inputs: [{ name: main, store: a, path: b }], target: c",
        "Notifier" => "url: https://chat.example/x",
        "Scope" | "Policy" => "",
        other => panic!("no spec for {other}"),
    };
    let text = format!(
        "apiVersion: setpoint.dev/v1\nkind: {kind}\nmetadata:\n  name: a\n  labels: {labels}\nspec: {{ {spec} }}\n"
    );
    read_documents("control.yaml", &text, &targets()).map_err(|found| found.to_string())
}

#[test]
fn apps_stores_and_targets_have_labels() {
    for kind in ["App", "Store", "Target"] {
        let documents = read(kind, "{ team: checkout, example.com/tier: gold_1.2 }").unwrap();
        let labels = documents[0].metadata.as_ref().unwrap().labels.as_map();
        let pairs: Vec<_> = labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("example.com/tier", "gold_1.2"), ("team", "checkout")], "{kind}");
    }
}

#[test]
fn labels_of_other_kinds_are_refused() {
    for kind in ["Scope", "Policy", "Notifier"] {
        let found = read(kind, "{ team: checkout }").unwrap_err();
        assert!(found.contains(&format!("documents of the kind `{kind}` cannot have labels")), "{found}");
        assert!(found.contains("only `App`, `Store` and `Target` documents have labels"), "{found}");
        assert!(found.contains("control.yaml:5:11"), "{found}");
    }
}

#[test]
fn a_wrong_label_is_reported_with_its_place() {
    let long = "x".repeat(64);
    for (labels, expected) in [
        ("{ 'te am': a }", "`te am` is not the name of a label"),
        ("{ -team: a }", "`-team` is not the name of a label"),
        ("{ a/b/c: a }", "`a/b/c` is not the name of a label"),
        ("{ /team: a }", "`/team` is not the name of a label"),
        ("{ team: 'check out' }", "`check out` is not the value of a label"),
        ("{ team: '' }", "the value of a label is empty"),
        ("{ team: 1.0 }", "expected a string, got a number"),
        ("{ team: <b> }", "`<b>` is not the value of a label"),
        ("[team]", "expected a mapping"),
        (&format!("{{ team: {long} }}"), "is not the value of a label"),
        (&format!("{{ {long}: a }}"), "is not the name of a label"),
    ] {
        let found = read("App", labels).unwrap_err();
        assert!(found.contains(expected), "{labels}: {found}");
        assert!(found.contains("control.yaml:5:"), "{labels}: {found}");
    }
}

#[test]
fn a_document_has_at_most_32_labels() {
    let labels = |count: usize| {
        let labels: Vec<String> = (0..count).map(|n| format!("n{n}: v")).collect();
        format!("{{ {} }}", labels.join(", "))
    };
    assert!(read("App", &labels(32)).is_ok());
    assert!(read("App", &labels(33)).unwrap_err().contains("33 labels are too many"));
}
