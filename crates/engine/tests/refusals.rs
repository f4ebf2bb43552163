//! Refusals of control documents, reported with file, line and field.

use crate::scene::{CONTROL, app, problems, read, texts};

fn told(more: &str) -> String {
    let told = problems(more);
    assert_eq!(told.len(), 1, "{told:#?}");
    told.into_iter().next().expect("there is one")
}

#[test]
fn a_vanished_folder_is_an_error_and_not_an_empty_set_of_documents() {
    let told = texts(read(&[("elsewhere/a.yaml", CONTROL)]).unwrap_err());
    assert!(told[0].starts_with("setpoint: this version has no such directory"), "{told:?}");
}

#[test]
fn a_bootstrap_in_the_store_is_refused() {
    let text = "apiVersion: setpoint.dev/v1\nkind: Bootstrap\nspec:\n  store: { url: 'https://git.example/p.git' }\n  path: setpoint\n";
    assert!(
        told(text)
            .starts_with("setpoint/more.yaml:2:7: a Bootstrap document is not allowed in the store that it names")
    );
}

#[test]
fn stores_and_targets_that_are_not_there_are_named_with_the_nearest() {
    let text =
        app("shop", "").replace("store: platform", "store: plattform").replace("target: here", "target: nowhere");
    let told = problems(&text);
    assert_eq!(
        told,
        [
            "setpoint/more.yaml:7:33: `spec.inputs[0].store`: there is no Store `plattform`; did you mean `platform`?",
            "setpoint/more.yaml:8:11: `spec.target`: there is no Target `nowhere`; declare it, or name another",
        ]
    );
}

#[test]
fn s11_an_app_uses_only_what_its_scope_may() {
    assert_eq!(
        told(&app("shop", "").replace("target: here", "target: vault")),
        "setpoint/more.yaml:8:11: `spec.target`: apps of the scope `web` may not use the Target `vault` of the scope `default`; \
         list it in `spec.targets` of the Scope `web`, or use another"
    );
    let own = app("shop", "").replace("store: platform", "store: web-state");
    assert!(read(&[("setpoint/a.yaml", CONTROL), ("setpoint/b.yaml", &own)]).is_ok(), "its own needs no list");
    let stranger =
        app("shop", "").replace("scope: web", "scope: default").replace("store: platform", "store: web-state");
    assert!(
        told(&stranger).contains("apps of the scope `default` may not use the Store `web-state` of the scope `web`")
    );
}

#[test]
fn remote_bases_come_from_stores_that_the_scope_may_use() {
    let with = |stores: &str| {
        app("shop", "").replace("  target: here", &format!("  kustomize: {{ bases: [{stores}] }}\n  target: here"))
    };
    assert!(read(&[("setpoint/a.yaml", CONTROL), ("setpoint/b.yaml", &with("web-state"))]).is_ok());
    assert!(told(&with("plattform")).contains("`spec.kustomize.bases[0]`: there is no Store `plattform`"));
    let stranger = with("web-state").replace("scope: web", "scope: default");
    assert!(told(&stranger).contains("may not use the Store `web-state` of the scope `web`"));
    assert!(
        problems(&with("bootstrap")).iter().any(|told| told.contains("has no URL that a kustomization could name"))
    );
}

#[test]
fn s11_a_missing_scope_document_grants_nothing() {
    let told = problems(&app("shop", "").replace("scope: web", "scope: lost"));
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told.iter().all(|told| told.contains("apps of the scope `lost` may not use the")), "{told:#?}");
}

#[test]
fn s11_a_scope_does_not_widen_its_own_boundary() {
    let text =
        "apiVersion: setpoint.dev/v1\nkind: Scope\nmetadata: { name: shop, scope: shop }\nspec: { targets: [vault] }\n";
    assert!(
        told(text)
            .starts_with("setpoint/more.yaml:3:32: `metadata.scope`: a Scope document must be in the scope `default`")
    );
}

#[test]
fn a_scope_lists_what_exists() {
    let text = "apiVersion: setpoint.dev/v1\nkind: Scope\nmetadata: { name: shop }\nspec: { stores: [platfrm] }\n";
    assert_eq!(
        told(text),
        "setpoint/more.yaml:4:18: `spec.stores[0]`: there is no Store `platfrm`; did you mean `platform`?"
    );
}

#[test]
fn the_scope_of_the_engine_itself_is_not_to_be_had() {
    let text = "apiVersion: setpoint.dev/v1\nkind: Notifier\nmetadata: { name: root, scope: setpoint }\nspec: { url: 'https://x.example' }\n";
    assert_eq!(
        told(text),
        "setpoint/more.yaml:3:19: the scope `setpoint` is reserved for the engine; use another scope"
    );
}

#[test]
fn the_store_of_the_bootstrap_needs_no_document_and_is_of_the_default_scope() {
    let text = app("shop", "").replace("scope: web", "scope: default").replace("store: platform", "store: bootstrap");
    assert!(read(&[("setpoint/a.yaml", CONTROL), ("setpoint/b.yaml", &text)]).is_ok());
    let text = app("shop", "").replace("store: platform", "store: bootstrap");
    assert!(told(&text).contains("apps of the scope `web` may not use the Store `bootstrap` of the scope `default`"));
    let listed = CONTROL.replace("stores: [platform]", "stores: [bootstrap]");
    assert!(read(&[("setpoint/a.yaml", &listed), ("setpoint/b.yaml", &text)]).is_ok());
    let text = "apiVersion: setpoint.dev/v1\nkind: Store\nmetadata: { name: bootstrap }\nspec: { url: 'https://evil.example/p.git' }\n";
    assert_eq!(
        told(text),
        "setpoint/more.yaml:3:19: the store `bootstrap` is reserved for the bootstrap; use another name"
    );
}

#[test]
fn a_store_has_one_name_across_scopes() {
    let text = "apiVersion: setpoint.dev/v1\nkind: Store\nmetadata: { name: platform, scope: web }\nspec: { url: 'https://evil.example/p.git' }\n";
    assert_eq!(
        told(text),
        "setpoint/more.yaml:3:19: the scope `default` has a Store `platform` already (first here: setpoint/base.yaml:3:19); \
         rename one of them: a Store is identified by its name alone"
    );
}

#[test]
fn case_42_a_document_written_twice_is_refused_with_both_places() {
    let text = app("shop", "");
    let told = problems(&format!("{text}---\n{text}"));
    assert!(told[0].starts_with("setpoint/more.yaml:12:19: the App `shop` of the scope `web` is written twice (first here: setpoint/more.yaml:3:19)"), "{told:?}");
}

#[test]
fn apps_that_are_named_exist_and_do_not_wait_for_each_other() {
    let text = app("shop", "  sync: { dependsOn: [databse] }\n") + "---\n" + &app("database", "");
    assert_eq!(
        told(&text),
        "setpoint/more.yaml:9:23: `spec.sync.dependsOn[0]`: the scope `web` has no app `databse`; did you mean `database`?"
    );
    let text = app("a", "  sync: { dependsOn: [b] }\n") + "---\n" + &app("b", "  sync: { dependsOn: [a] }\n");
    assert!(told(&text).starts_with(
        "setpoint/more.yaml:9:22: `spec.sync.dependsOn`: they wait for each other: web/a → web/b → web/a"
    ));
    let policy =
        "apiVersion: setpoint.dev/v1\nkind: Policy\nmetadata: { name: p, scope: web }\nspec: { apps: [shop] }\n";
    assert!(told(policy).starts_with("setpoint/more.yaml:4:16: `spec.apps[0]`: the scope `web` has no app `shop`"));
}

#[test]
fn what_is_not_there_yet_is_refused_and_never_ignored() {
    let other = app("other", "");
    for (more, field, what) in [
        (
            "  acceptTogether: [other]\n",
            "spec.acceptTogether",
            "accepting several apps in one decision is not supported yet",
        ),
        ("  checks: [{ http: { url: 'http://x.example' } }]\n", "spec.checks", "are not supported yet"),
        ("  sync: { interval: 1h }\n", "spec.sync.interval", "another interval than `1d` is not supported yet"),
        (
            "  sync: { windows: [{ deny: '0 0 * * *', zone: Mars/Base }] }\n",
            "spec.sync.windows[0].zone",
            "no `Mars/Base`",
        ),
    ] {
        let told = told(&format!("{}---\n{other}", app("shop", more)));
        assert!(told.starts_with("setpoint/more.yaml:9:") && told.contains(&format!("`{field}`: ")), "{told}");
        assert!(told.contains(what), "{told}");
    }
    for (spec, field) in [("approvals: 1", "spec.approvals"), ("pruneBudget: 50", "spec.pruneBudget")] {
        let text = format!("apiVersion: setpoint.dev/v1\nkind: Policy\nmetadata: {{ name: p }}\nspec: {{ {spec} }}\n");
        assert!(told(&text).starts_with("setpoint/more.yaml:4:") && told(&text).contains(field));
    }
}

const CLUSTER: &str = "---\napiVersion: setpoint.dev/v1\nkind: Target\nmetadata: { name: cluster, scope: web }\nspec: { kind: kubernetes }\n";

/// The app of the scene on a cluster.
fn on_a_cluster(more: &str) -> String {
    app("shop", more).replace("target: here", "target: cluster") + CLUSTER
}

#[test]
fn a_path_that_cannot_be_shared_is_told_with_its_place_and_what_was_expected() {
    for (rule, field, problem, help) in [
        (
            "ignore: [{ paths: [spec.a, 'spec.c['] }]",
            "spec.sync.ignore[0].paths[1]",
            "`spec.c[` is not a path to a field: a `[` is not closed",
            "write it as `spec.replicas`",
        ),
        ("ignore: [{ paths: [/spec/replicas] }]", "spec.sync.ignore[0].paths[0]", "is a JSON pointer", "write it as"),
        (
            "coOwners: [{ writer: w, paths: ['spec.c[0].image'] }]",
            "spec.sync.coOwners[0].paths[0]",
            "`spec.c[0].image` names a position in a list, which moves",
            "name the item by its keys",
        ),
        (
            "additions: [{ paths: [metadata], then: heal }]",
            "spec.sync.additions[0].paths[0]",
            "covers the identity of the object",
            "name a field below it",
        ),
        (
            "coOwners: [{ writer: w, paths: [metadata] }]",
            "spec.sync.coOwners[0].paths[0]",
            "`metadata` covers the identity of the object",
            "name a field below it",
        ),
    ] {
        let told = told(&on_a_cluster(&format!("  sync: {{ {rule} }}\n")));
        assert!(told.starts_with("setpoint/more.yaml:9:"), "{told}");
        assert!(told.contains(&format!("`{field}`: ")) && told.contains(problem) && told.contains(help), "{told}");
    }
    let empty = told(&on_a_cluster("  sync: { ignore: [{ kind: Deployment, paths: [] }] }\n"));
    assert!(empty.starts_with("setpoint/more.yaml:9:") && empty.contains("at least one path is required"), "{empty}");
}

#[test]
fn fields_are_shared_on_clusters_only() {
    for (rule, field) in [
        ("ignore: [{ paths: [spec.mode] }]", "spec.sync.ignore"),
        ("coOwners: [{ writer: w, paths: [spec.mode] }]", "spec.sync.coOwners"),
    ] {
        let told = told(&app("shop", &format!("  sync: {{ {rule} }}\n")));
        assert!(told.starts_with("setpoint/more.yaml:9:"), "{told}");
        assert!(told.contains(&format!("`{field}`: only resources of a Kubernetes cluster share fields")), "{told}");
        let text = on_a_cluster(&format!("  sync: {{ {rule} }}\n"));
        assert!(read(&[("setpoint/a.yaml", CONTROL), ("setpoint/b.yaml", &text)]).is_ok());
    }
    let added = told(&app("shop", "  sync: { additions: [{ paths: [spec.mode], then: heal }] }\n"));
    assert!(added.contains("`spec.sync.additions`: only resources of a Kubernetes cluster have additions"), "{added}");
}

#[test]
fn what_takes_much_else_with_it_is_never_made_anew() {
    for kind in ["Namespace", "CustomResourceDefinition", "PersistentVolumeClaim"] {
        let told = told(&on_a_cluster(&format!("  sync: {{ replace: [{{ kind: Job }}, {{ kind: {kind} }}] }}\n")));
        assert!(told.starts_with("setpoint/more.yaml:9:"), "{told}");
        assert!(told.contains(&format!("`spec.sync.replace[1].kind`: a {kind} is never replaced")), "{told}");
    }
    let elsewhere = on_a_cluster("  sync: { replace: [{ group: example.com, kind: Namespace }] }\n");
    assert!(read(&[("setpoint/a.yaml", CONTROL), ("setpoint/b.yaml", &elsewhere)]).is_ok());
    let on_a_host = told(&app("shop", "  sync: { replace: [{ kind: Job }] }\n"));
    assert!(on_a_host.contains("`spec.sync.replace`: only resources of a Kubernetes cluster"), "{on_a_host}");
}

#[test]
fn all_mistakes_of_all_files_are_told_and_no_consequence_of_them() {
    let told = texts(
        read(&[
            (
                "setpoint/a.yaml",
                "apiVersion: setpoint.dev/v1\nkind: Store\nmetadata: { name: platform }\nspec: { ulr: x }\n",
            ),
            ("setpoint/b.yaml", "kind: Nonsense\n"),
            ("setpoint/c.yaml", &app("shop", "")),
            ("setpoint/d.yml", CONTROL),
        ])
        .unwrap_err(),
    );
    assert!(
        told.iter().any(|told| told.starts_with("setpoint/a.yaml:4:9: unknown field `ulr`; did you mean `url`?")),
        "{told:#?}"
    );
    assert!(told.iter().any(|told| told.starts_with("setpoint/b.yaml:1:")), "{told:#?}");
    assert!(told.iter().any(|told| told.starts_with("setpoint/d.yml: control documents are read from `*.yaml` only")));
    assert!(told.iter().all(|told| !told.contains("c.yaml")), "{told:#?}");
}

#[test]
fn a_path_that_is_none_is_refused_and_a_point_is_the_whole_store() {
    let text = app("shop", "").replace("path: apps/shop", "path: apps//shop");
    assert!(
        told(&text)
            .starts_with("setpoint/more.yaml:7:49: `spec.inputs[0].path`: `apps//shop` is not a path within a store")
    );
    let text = app("shop", "").replace("path: apps/shop", "path: .");
    assert!(read(&[("setpoint/a.yaml", CONTROL), ("setpoint/b.yaml", &text)]).is_ok());
}
