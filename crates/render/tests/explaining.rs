//! Tests who set each field, for apps that are rendered here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use setpoint_core::fields::Fields;
use setpoint_core::value::Value;
use setpoint_render::{Explanation, Input, Kustomize, Limits, NotExplained, Request, Trees, Wanted, explain};
use setpoint_store::{MemoryTree, StorePath, Tree};

use crate::scene::{Watched, object, path, problems, render_files, store};

fn explained(tree: impl Tree + 'static, kind: &str, name: &str) -> Result<Explanation, NotExplained> {
    let (parameters, kustomize) = (Value::Map(Fields::new()), Kustomize::default());
    let trees: Trees = BTreeMap::from([(store("main"), Arc::new(tree) as Arc<dyn Tree>)]);
    let inputs = [Input { store: store("main"), path: path("app") }];
    let request = Request {
        inputs: &inputs,
        parameters: &parameters,
        kustomize: &kustomize,
        trees: &trees,
        check: &|_, _, _| Vec::new(),
        external: None,
        limits: Limits::default(),
        stop: None,
    };
    explain(&request, &Wanted { kind, name, namespace: None, field: "" })
}

fn fields(files: &[(&str, &str)], kind: &str, name: &str) -> Vec<String> {
    let explanation = explained(MemoryTree::of(files.iter().copied()), kind, name).expect("it is declared");
    let told = |value: &Option<Arc<str>>| value.as_deref().unwrap_or("(secret)").to_owned();
    explanation.fields.iter().map(|set| format!("{}={}", set.field, told(&set.value))).collect()
}

#[test]
fn what_says_that_it_is_sensitive_is_not_told() {
    for says in ["true", "yes", "\"true\""] {
        let file =
            object("File", "token") + &format!("spec: {{ path: /token, sensitive: {says}, content: hunter2 }}\n");
        let plain = [("app/file.yaml", file.as_str())];
        let kustomized = [("app/file.yaml", file.as_str()), ("app/kustomization.yaml", "resources: [file.yaml]\n")];
        for files in [&plain[..], &kustomized[..]] {
            let told = fields(files, "File", "token");
            assert!(told.contains(&"spec.content=(secret)".to_owned()), "{says}: {told:?}");
            assert!(told.contains(&"metadata.name=token".to_owned()), "{says}: {told:?}");
            assert!(!told.concat().contains("hunter2"), "{says}: {told:?}");
        }
    }
    let open = object("File", "motd") + "spec: { path: /motd, sensitive: false, content: hello }\n";
    assert!(fields(&[("app/a.yaml", &open)], "File", "motd").contains(&"spec.content=hello".to_owned()));
}

#[test]
fn what_a_file_declares_and_who_reads_it_for_this_does_not_take_is_told_with_the_reason() {
    let files = [
        ("app/a.yaml", "%YAML 1.2\n---\n".to_owned() + &object("ConfigMap", "a")),
        ("app/b.yaml", object("ConfigMap", "b")),
    ];
    let tree = || MemoryTree::of(files.iter().map(|(path, text)| (*path, text.as_str())));
    let told = explained(tree(), "ConfigMap", "a").unwrap_err().to_string();
    assert!(told.starts_with("there is no ConfigMap/a; there are ConfigMap/b; it may be in this file"), "{told}");
    assert!(told.contains("app/a.yaml:1:1: did not find expected <document start> after a directive"), "{told}");
    assert!(explained(tree(), "ConfigMap", "b").is_ok());
}

#[test]
fn a_file_is_what_it_declares_and_content_is_nothing() {
    let list = object("ThingList", "a") + "items: 5\n";
    assert_eq!(fields(&[("app/a.yaml", &list)], "ThingList", "a").last().unwrap(), "items=5");
    let taking =
        "apiVersion: host.setpoint.dev/v1\nkind: File\nmetadata: { name: a }\nspec: { contentFrom: content.yaml }\n";
    let files = [("app/a.yaml", taking), ("app/content.yaml", &object("ConfigMap", "content"))];
    let told = explained(MemoryTree::of(files), "ConfigMap", "content").unwrap_err().to_string();
    assert_eq!(told, "there is no ConfigMap/content; there are File/a");
    let items = format!(
        "{{ kind: List, items: [{{ kind: List, items: [{}] }}] }}",
        "{ apiVersion: v1, kind: A, metadata: { name: x } }"
    );
    assert_eq!(fields(&[("app/a.yaml", &items)], "A", "x").last().unwrap(), "metadata.name=x");
}

#[test]
fn a_kustomization_is_rendered_once_to_be_explained() {
    let map = object("ConfigMap", "a");
    let tree = MemoryTree::of([("app/kustomization.yaml", "resources: [a.yaml]\n"), ("app/a.yaml", map.as_str())]);
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let counting = Watched(tree, move |path: &StorePath| {
        counted.fetch_add(usize::from(path.as_str() == "app/kustomization.yaml"), Ordering::Relaxed);
        Ok(())
    });
    assert!(explained(counting, "ConfigMap", "a").is_ok());
    assert_eq!(reads.load(Ordering::Relaxed), 1);
}

#[test]
fn what_is_put_from_a_secret_where_it_does_not_fit_is_told_by_its_field() {
    let secret = object("Secret", "s") + "stringData: { a: hunter2 }\n";
    let thing = object("Thing", "web") + "spec: { replicas: 1 }\n";
    let kustomization = "resources: [s.yaml, web.yaml]\nreplacements:\n- source: { kind: Secret, fieldPath: stringData.a }\n  \
                         targets: [{ select: { kind: Thing }, fieldPaths: [spec.replicas] }]\n";
    let files =
        [("app/kustomization.yaml", kustomization), ("app/s.yaml", secret.as_str()), ("app/web.yaml", thing.as_str())];
    assert_eq!(
        problems(render_files(&files)),
        [
            "app/kustomization.yaml:3:1: `spec.replicas`: expected an integer, but got a value of another type (of the Thing `web`); put an integer there"
        ]
    );
}
