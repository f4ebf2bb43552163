//! Boundaries of scopes on a cluster: objects outside are refused before acceptance, and apps that
//! were accepted before are bounded too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use setpoint_core::key::Key;
use setpoint_core::name::{AppId, StoreName};
use setpoint_core::time::Timestamp;
use setpoint_core::value::Value;
use setpoint_documents::FieldProblem;
use setpoint_engine::accept::{Considered, ControlDocuments, ReachedTarget, consider};
use setpoint_kube::key::{Scope, group_of};
use setpoint_kube::kinds::{BuiltIn, built_in};
use setpoint_store::{MemoryTree, Tree};
use setpoint_target::{Granularity, Kinds, Unidentifiable};

use crate::scene::{app, documents, problems};

/// A cluster, as far as keys go.
#[derive(Debug)]
struct Cluster;

impl Kinds for Cluster {
    fn check(&self, _: &str, _: &str, _: &Value) -> Vec<FieldProblem> {
        Vec::new()
    }

    fn key(&self, api_version: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable> {
        let scope = match built_in(group_of(api_version), kind) {
            Some(BuiltIn::Namespaced) => Scope::Namespaced { default: "unsaid" },
            Some(BuiltIn::Cluster) => Scope::Cluster,
            None => Scope::Unknown,
        };
        let bad = |error: setpoint_kube::key::NoKey| Unidentifiable { problem: error.to_string() };
        setpoint_kube::key::key(api_version, kind, body, scope).map_err(bad)
    }

    fn own_part(&self, key: &Key, _: &Value) -> Option<&'static str> {
        (key.namespace() == "setpoint").then_some("in the namespace that Setpoint itself runs in")
    }

    fn after(&self, _: &[(Key, &Value)]) -> BTreeMap<Key, BTreeSet<Key>> {
        BTreeMap::new()
    }

    fn is_protected(&self, _: &str, _: &str) -> bool {
        false
    }
}

const CLUSTERS: &str = "---
apiVersion: setpoint.dev/v1
kind: Target
metadata: { name: shared }
spec: { kind: kubernetes }
---
apiVersion: setpoint.dev/v1
kind: Target
metadata: { name: own, scope: team }
spec: { kind: kubernetes }
";

/// The app `team/shop` on a cluster, with the content of the Scope `team`, if there is one.
fn shop_on(cluster: &str, scope: Option<&str>) -> (ControlDocuments, AppId) {
    let app =
        app("shop", "").replace("scope: web", "scope: team").replace("target: here", &format!("target: {cluster}"));
    let app = app.replace("store: platform", "store: code");
    let store = "---\napiVersion: setpoint.dev/v1\nkind: Store\nmetadata: { name: code, scope: team }\nspec: { url: 'https://git.example/t.git' }\n";
    let scope = scope.map_or_else(String::new, |spec| {
        format!("---\napiVersion: setpoint.dev/v1\nkind: Scope\nmetadata: {{ name: team }}\nspec: {{ {spec} }}\n")
    });
    (documents(&[&app, CLUSTERS, store, &scope].concat()), "team/shop".parse().expect("an app"))
}

/// Returns every problem with these objects of the app, each with its place and help; none if they
/// are accepted.
fn refused(documents: &(ControlDocuments, AppId), objects: &str) -> Vec<String> {
    let source = documents.0.source(&documents.1).expect("the app is declared");
    let tree: Arc<dyn Tree> = Arc::new(MemoryTree::of([("apps/shop/a.yaml", objects)]));
    let trees = BTreeMap::from([(StoreName::new("code").expect("a name"), tree)]);
    match consider(&source, &trees, None, &Cluster) {
        Considered::Refused { problems } => problems.iter().map(ToString::to_string).collect(),
        Considered::Rendered { .. } => Vec::new(),
        other => panic!("expected a render, not {other:?}"),
    }
}

fn config(namespace: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: a, namespace: {namespace} }}\n")
}

fn cluster_wide(api_version: &str, kind: &str, name: &str) -> String {
    format!("apiVersion: {api_version}\nkind: {kind}\nmetadata: {{ name: {name} }}\n")
}

#[test]
fn case_44_what_is_outside_of_the_scope_is_refused_with_its_place_and_what_would_allow_it() {
    let bounded = shop_on("shared", Some("targets: [shared], namespaces: [team, 'team-*'], clusterKinds: [Namespace]"));
    for allowed in [config("team"), config("team-1"), cluster_wide("v1", "Namespace", "team-1")] {
        assert_eq!(refused(&bounded, &allowed), [""; 0], "{allowed}");
    }
    for (object, what, grant) in [
        (config("kube-system"), "ConfigMap kube-system/a", "list `kube-system` in `spec.namespaces`"),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n".to_owned(),
            "ConfigMap unsaid/a",
            "list `unsaid` in `spec.namespaces`",
        ),
        (cluster_wide("v1", "Namespace", "kube-system"), "Namespace kube-system", "in `spec.namespaces`"),
        (
            cluster_wide("rbac.authorization.k8s.io/v1", "ClusterRole", "a"),
            "ClusterRole a",
            "list `rbac.authorization.k8s.io/ClusterRole` in `spec.clusterKinds`",
        ),
        // An unknown kind without a namespace may turn out to be a cluster-wide one.
        (cluster_wide("example.com/v1", "Widget", "a"), "example.com/Widget a", "in `spec.clusterKinds`"),
    ] {
        let told = refused(&bounded, &format!("{}---\n{object}", config("team")));
        let [told] = &told[..] else { panic!("{object}: {told:?}") };
        assert!(told.starts_with("apps/shop/a.yaml:7:"), "{told}");
        assert!(told.contains(&format!("{what} is outside of the scope `team`")), "{told}");
        assert!(told.contains(grant) && told.contains("of the Scope `team`"), "{told}");
    }
}

#[test]
fn an_object_in_a_list_is_bounded_like_any_other() {
    let bounded = shop_on("shared", Some("targets: [shared], namespaces: [team]"));
    let list = "apiVersion: v1\nkind: List\nitems:\n- kind: List\n  apiVersion: v1\n  items:\n  - apiVersion: v1\n    kind: Secret\n    metadata: { name: a, namespace: kube-system }\n";
    let told = refused(&bounded, list);
    assert!(told.len() == 1 && told[0].contains("Secret kube-system/a is outside of the scope `team`"), "{told:?}");
}

#[test]
fn a_cluster_of_another_scope_is_closed_until_something_is_listed_and_one_s_own_is_open_until_a_boundary_is_drawn() {
    let lent = shop_on("shared", Some("targets: [shared]"));
    assert_eq!(refused(&lent, &config("team")).len(), 1);
    let everything = [config("kube-system"), cluster_wide("example.com/v1", "Widget", "a")].join("---\n");
    for open in [shop_on("own", None), shop_on("own", Some("targets: [shared]"))] {
        assert_eq!(refused(&open, &everything), [""; 0]);
    }
    for drawn in ["namespaces: [team]", "clusterKinds: []"] {
        assert_eq!(refused(&shop_on("own", Some(drawn)), &everything).len(), 2, "{drawn}");
    }
}

#[test]
fn a_boundary_that_moved_is_another_source_and_reaches_the_engine() {
    let controls = |scope: &str| {
        let (documents, app) = shop_on("shared", Some(scope));
        let reached = ReachedTarget {
            identity: setpoint_core::name::TargetIdentity::new("kube-1").expect("an identity"),
            granularity: Granularity::Resource,
            fresh_reads: true,
            attributes: false,
        };
        let reached = BTreeMap::from([(setpoint_core::name::TargetName::new("shared").expect("a name"), reached)]);
        let worked_out = documents.controls(Timestamp::from_millis(0), &reached, &BTreeMap::new());
        let unreached = documents.controls(Timestamp::from_millis(0), &BTreeMap::new(), &BTreeMap::new());
        let recipe = documents.source(&app).expect("the app is declared").recipe();
        (worked_out.controls.apps[&app].clone(), unreached.controls.unreached[&app], recipe)
    };
    let (wide, wide_unreached, wide_recipe) = controls("targets: [shared], namespaces: [team, other]");
    let (narrow, narrow_unreached, narrow_recipe) = controls("targets: [shared], namespaces: [team]");
    let other = Key::new("ConfigMap", "other", "a").expect("a key");
    assert!(wide.rules.boundary.allows(&other) && !narrow.rules.boundary.allows(&other));
    assert_ne!(wide.document, narrow.document);
    assert_eq!([wide.document, narrow.document], [wide_unreached, narrow_unreached]);
    assert_ne!(wide_recipe, narrow_recipe);
}

#[test]
fn a_scope_names_namespaces_and_kinds_as_they_can_be() {
    let scope = |spec: &str| {
        problems(&format!("apiVersion: setpoint.dev/v1\nkind: Scope\nmetadata: {{ name: team }}\nspec: {{ {spec} }}\n"))
    };
    let told = scope("clusterKinds: [Namespace, apps/Deployment]");
    assert!(told.len() == 1 && told[0].contains("a apps/Deployment lives in a namespace"), "{told:?}");
    assert!(scope("namespaces: ['Web?']")[0].contains("lower-case letters, digits, `-` and `*`"));
    assert!(scope("clusterKinds: ['rbac.authorization.k8s.io/v1/ClusterRole']")[0].contains("without a version"));
}

#[test]
fn case_45_what_setpoint_runs_from_is_declared_only_with_leave_whatever_else_the_scope_may() {
    for scope in [None, Some("namespaces: ['*']")] {
        let told = refused(&shop_on("own", scope), &config("setpoint"));
        let [told] = &told[..] else { panic!("{scope:?}: {told:?}") };
        assert!(told.contains("ConfigMap setpoint/a is in the namespace that Setpoint itself runs in"), "{told}");
        assert!(told.contains("set `spec.manageSetpoint: true` in the Scope `team`"), "{told}");
    }
    assert_eq!(refused(&shop_on("own", Some("manageSetpoint: true")), &config("setpoint")), [""; 0]);
    let bounded = shop_on("own", Some("manageSetpoint: true, namespaces: [team]"));
    assert_eq!(refused(&bounded, &config("setpoint")).len(), 1, "leave is no wider boundary");
}
