//! Tests of reading valid documents.

use setpoint_core::time::Span;
use setpoint_core::value::Value;
use setpoint_documents::{
    AdditionAction, Branch, Check, Document, FieldPath, Kustomize, Line, Mode, OnFailure, Reference, Spec,
    StoreCredentials, StoreSpec, Tag, WindowTime, read_documents,
};

use crate::targets::targets;

const EXAMPLE: &str = r#"
apiVersion: setpoint.dev/v1
kind: Bootstrap                     # the only document outside the store
spec:
  store: { url: https://git.example/platform.git, branch: main, credentialsFrom: { file: /etc/setpoint/token } }
  path: setpoint/
  anchor: { file: /var/backups/setpoint.anchor }
---
apiVersion: setpoint.dev/v1
kind: App
metadata: { name: shop-prod, scope: web }
spec:
  component: shop
  environment: production
  inputs: [{ name: main, store: platform, path: apps/shop/overlays/prod }]
  parameters: { replicas: 3 }
  target: prod
  sync:
    mode: observe
    dependsOn: [database]
    windows: [{ deny: "0 18 * * 5", for: 62h, zone: Europe/Berlin }]
    ignore: [{ group: apps, kind: Deployment, namespace: shop, name: front, paths: [spec.replicas] }]
    coOwners: [{ writer: operator, kind: ConfigMap, name: seeds, paths: ['data[a.b]', metadata.annotations] }]
    additions: [{ kind: Deployment, paths: [metadata.labels], then: heal }]
  checks: [{ http: { url: "http://127.0.0.1:8080/healthz" } }]
"#;

fn example() -> Vec<Document> {
    read_documents("example.yaml", EXAMPLE, &targets()).expect("the example of the design is valid")
}

#[test]
fn a_bootstrap_needs_no_name() {
    let documents = example();
    assert_eq!(documents[0].metadata, None);
    let Spec::Bootstrap(bootstrap) = &documents[0].spec else { panic!("a Bootstrap") };
    assert_eq!(bootstrap.path.as_str(), "setpoint/");
    let Some(StoreCredentials::File(file)) = &bootstrap.store.credentials_from else { panic!("credentials") };
    assert_eq!(file.as_str(), "/etc/setpoint/token");
}

#[test]
fn an_app_has_what_is_written_and_defaults_for_the_rest() {
    let documents = example();
    let metadata = documents[1].metadata.as_ref().unwrap();
    assert_eq!((metadata.name.as_str(), metadata.scope.as_str()), ("shop-prod", "web"));
    let Spec::App(app) = &documents[1].spec else { panic!("an App") };
    assert_eq!(app.parameters.value().get("replicas"), Some(&Value::int(3)));
    assert_eq!((app.sync.mode, app.sync.prune, app.sync.adopt), (Mode::Observe, true, true));
    assert_eq!(app.sync.deadline.span(), Span::minutes(10));
    assert_eq!((app.on_failure, app.retire), (OnFailure::Rollback, false));
    let WindowTime::Deny(times) = &app.sync.windows[0].time else { panic!("a denial") };
    assert_eq!((times.as_str(), app.sync.windows[0].length.span()), ("0 18 * * 5", Span::hours(62)));
    let ignored = &app.sync.ignore[0];
    let lines = [&ignored.group, &ignored.kind, &ignored.namespace, &ignored.name];
    let said: Vec<_> = lines.into_iter().map(|line| line.as_ref().map(Line::as_str)).collect();
    assert_eq!(said, [Some("apps"), Some("Deployment"), Some("shop"), Some("front")]);
    let owner = &app.sync.co_owners[0];
    assert_eq!((owner.writer.as_str(), &owner.group, &owner.namespace), ("operator", &None, &None));
    let paths: Vec<_> = owner.paths.iter().map(FieldPath::as_str).collect();
    assert_eq!(paths, ["data[a.b]", "metadata.annotations"]);
    let added = &app.sync.additions[0];
    assert_eq!((added.paths[0].as_str(), added.then), ("metadata.labels", AdditionAction::Heal));
    let Check::Http(check) = &app.checks[0];
    assert_eq!(check.timeout.span(), Span::seconds(5));
}

#[test]
fn an_addition_rule_has_paths_and_an_action() {
    for rule in ["{ paths: [a] }", "{ then: heal }", "{ paths: [], then: heal }", "{ paths: [a], then: remove }"] {
        let text = format!(
            "apiVersion: setpoint.dev/v1\nkind: App\nmetadata: {{ name: a }}\nspec: {{ component: a, environment: b, inputs: [{{ name: main, store: a, path: b }}], target: c, sync: {{ additions: [{rule}] }} }}\n"
        );
        assert!(read_documents("a.yaml", &text, &targets()).is_err(), "{rule}");
    }
}

#[test]
fn leaving_out_an_object_is_the_same_as_leaving_out_each_of_its_fields() {
    let app = |sync: &str| {
        let text = format!(
            "apiVersion: setpoint.dev/v1\nkind: App\nmetadata: {{ name: a }}\nspec: {{ component: a, environment: b, inputs: [{{ name: main, store: a, path: b }}], target: c{sync} }}\n"
        );
        read_documents("a.yaml", &text, &targets()).expect("is valid").remove(0).spec
    };
    assert_eq!(app(""), app(", sync: {}"));
}

#[test]
fn urls_and_paths_that_could_be_taken_for_something_else_are_refused() {
    for url in ["ext::sh -c id", "--upload-pack=x", "https://", "/etc", "https://-oProxyCommand=x/", "https://a\tb/"] {
        let text =
            format!("apiVersion: setpoint.dev/v1\nkind: Store\nmetadata: {{ name: a }}\nspec:\n  url: \"{url}\"\n");
        assert!(read_documents("a.yaml", &text, &targets()).is_err(), "{url}");
    }
    for path in ["/abs", "a/../b", "..", "a\\\\b"] {
        let text = format!(
            "apiVersion: setpoint.dev/v1\nkind: Store\nmetadata: {{ name: a }}\nspec: {{ url: https://a.example/b, path: \"{path}\" }}\n"
        );
        assert!(read_documents("a.yaml", &text, &targets()).is_err(), "{path}");
    }
}

/// Returns the spec of a store with these fields.
fn store(fields: &str) -> Option<StoreSpec> {
    let text = format!(
        "apiVersion: setpoint.dev/v1\nkind: Store\nmetadata: {{ name: a }}\nspec: {{ url: https://a.example/b{fields} }}\n"
    );
    match read_documents("a.yaml", &text, &targets()).ok()?.remove(0).spec {
        Spec::Store(store) => Some(*store),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_store_follows_the_branch_main_by_default() {
    let follows = |fields| store(fields).expect("is valid").reference();
    assert_eq!(follows(""), Reference::Branch(Branch::new("main").unwrap()));
    assert_eq!(follows(", branch: release/1.0"), Reference::Branch(Branch::new("release/1.0").unwrap()));
    assert_eq!(follows(", tag: kustomize/v5.8.1"), Reference::Tag(Tag::new("kustomize/v5.8.1").unwrap()));
    let pinned = store(", tag: v1, commit: 0123456789abcdef0123456789abcdef01234567").expect("is valid");
    assert_eq!(pinned.commit.unwrap().as_str(), "0123456789abcdef0123456789abcdef01234567");
}

#[test]
fn invalid_branches_tags_and_commits_are_refused() {
    for name in ["../x", "a..b", "refs/tags/v1", "-v", "v1^{}", "v 1", "a//b", ".a", "a/.b", "a.lock", "a@{1}", "@", ""]
    {
        assert_eq!(store(&format!(", tag: \"{name}\"")), None, "{name}");
        assert_eq!(store(&format!(", branch: \"{name}\"")), None, "{name}");
    }
    let long = "0".repeat(64);
    for id in ["HEAD", "0123456", "0123456789ABCDEF0123456789ABCDEF01234567", &long, ""] {
        assert_eq!(store(&format!(", commit: \"{id}\"")), None, "{id}");
    }
}

const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Returns `kustomize` of an app with these fields, or the error message.
fn kustomize(fields: &str) -> Result<Kustomize, String> {
    let text = format!(
        "apiVersion: setpoint.dev/v1\nkind: App\nmetadata: {{ name: a }}\nspec: {{ component: a, environment: b, inputs: [{{ name: main, store: a, path: b }}], target: c, kustomize: {{ {fields} }} }}\n"
    );
    match read_documents("a.yaml", &text, &targets()).map_err(|problems| problems.to_string())?.remove(0).spec {
        Spec::App(app) => Ok(app.kustomize),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_external_or_shadow_renderer_is_selected_by_its_digest() {
    let external = kustomize(&format!("external: {{ digest: '{DIGEST}' }}")).unwrap().external.unwrap();
    assert_eq!(external.digest.as_str(), DIGEST);
    let shadow = kustomize(&format!("shadow: {{ digest: '{DIGEST}' }}")).unwrap().shadow.unwrap();
    assert_eq!((shadow.digest.as_str(), shadow.versions.get()), (DIGEST, 10));
    let longer = kustomize(&format!("shadow: {{ digest: '{DIGEST}', versions: 1000 }}")).unwrap().shadow.unwrap();
    assert_eq!(longer.versions.get(), 1000);
    for versions in ["0", "1001", "-1", "ten"] {
        assert!(kustomize(&format!("shadow: {{ digest: '{DIGEST}', versions: {versions} }}")).is_err(), "{versions}");
    }
}

#[test]
fn options_that_an_external_program_cannot_follow_are_refused() {
    let both = format!("external: {{ digest: '{DIGEST}' }}, shadow: {{ digest: '{DIGEST}' }}");
    let message = kustomize(&both).unwrap_err();
    assert!(message.contains("remove `external` or `shadow`") && message.contains("a.yaml:4:"), "{message}");
    for mode in ["external", "shadow"] {
        let message = kustomize(&format!("bases: [upstream], {mode}: {{ digest: '{DIGEST}' }}")).unwrap_err();
        assert!(message.contains("cannot read remote bases"), "{message}");
    }
}

#[test]
fn an_invalid_digest_is_refused() {
    let short = &DIGEST[..DIGEST.len() - 1];
    for digest in ["", "latest", &DIGEST["sha256:".len()..], short, &DIGEST.to_uppercase(), "/usr/bin/kustomize"] {
        let message = kustomize(&format!("external: {{ digest: '{digest}' }}")).unwrap_err();
        assert!(message.contains("`sha256sum` prints"), "{digest}: {message}");
        let text = format!(
            "apiVersion: setpoint.dev/v1\nkind: Bootstrap\nspec: {{ store: {{ url: /a }}, path: b, renderers: [{{ binary: /usr/bin/kustomize, digest: '{digest}' }}] }}\n"
        );
        assert!(read_documents("b.yaml", &text, &targets()).is_err(), "{digest}");
    }
}

#[test]
fn a_bootstrap_lists_the_programs_that_may_render() {
    let text = |binary: &str| {
        format!(
            "apiVersion: setpoint.dev/v1\nkind: Bootstrap\nspec: {{ store: {{ url: /a }}, path: b, renderers: [{{ binary: {binary}, digest: '{DIGEST}' }}] }}\n"
        )
    };
    let mut documents = read_documents("b.yaml", &text("/usr/local/bin/kustomize"), &targets()).unwrap();
    let Spec::Bootstrap(bootstrap) = documents.remove(0).spec else { panic!("a Bootstrap") };
    let [renderer] = &bootstrap.renderers[..] else { panic!("{bootstrap:?}") };
    assert_eq!((renderer.binary.as_str(), renderer.digest.as_str()), ("/usr/local/bin/kustomize", DIGEST));
    assert!(read_documents("b.yaml", &text("bin/kustomize"), &targets()).is_err(), "the path is relative");
}

#[test]
fn a_window_either_allows_or_denies() {
    for window in ["{ for: 1h }", "{ allow: 0 1 * * *, deny: 0 2 * * * }", "{ allow: 0 25 * * * }"] {
        let text = format!(
            "apiVersion: setpoint.dev/v1\nkind: App\nmetadata: {{ name: a }}\nspec: {{ component: a, environment: b, inputs: [{{ name: main, store: a, path: b }}], target: c, sync: {{ windows: [{window}] }} }}\n"
        );
        assert!(read_documents("a.yaml", &text, &targets()).is_err(), "{window}");
    }
}

#[test]
fn an_app_has_inputs_and_each_has_its_own_name() {
    for inputs in ["[]", "[{ name: a, store: s, path: p }, { name: a, store: s, path: q }]"] {
        let text = format!(
            "apiVersion: setpoint.dev/v1\nkind: App\nmetadata: {{ name: a }}\nspec: {{ component: a, environment: b, target: c, inputs: {inputs} }}\n"
        );
        assert!(read_documents("a.yaml", &text, &targets()).is_err(), "{inputs}");
    }
}
