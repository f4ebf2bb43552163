//! Identities of scopes on clusters: only those that were lent, and never the agent's own when a
//! document is missing.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::acting::ActingAs;
use setpoint_core::bundle::Bundle;
use setpoint_core::claim::Claim;
use setpoint_core::facts::{AppFacts, Change, Facts};
use setpoint_core::name::{AppId, TargetIdentity, TargetName};
use setpoint_core::time::Timestamp;
use setpoint_engine::accept::{ControlDocuments, ReachedTarget};
use setpoint_engine::{AppControl, BundleCache, Controls, Event, Machine, Settings};
use setpoint_target::Granularity;

use crate::holding::claim;
use crate::scene::{app, documents, problems};

const DEPLOYER: &str = "system:serviceaccount:web:deployer";

fn cluster(scope: &str, more: &str) -> String {
    format!(
        "---\napiVersion: setpoint.dev/v1\nkind: Target\nmetadata: {{ name: prod, scope: {scope} }}\nspec: {{ kind: kubernetes{more} }}\n"
    )
}

fn scope(name: &str, spec: &str) -> String {
    format!("---\napiVersion: setpoint.dev/v1\nkind: Scope\nmetadata: {{ name: {name} }}\nspec: {{ {spec} }}\n")
}

fn identity() -> TargetIdentity {
    TargetIdentity::new("kube-1").expect("an identity")
}

/// The control of the app `team/shop` on the cluster.
fn control(documents: &ControlDocuments) -> Arc<AppControl> {
    let (granularity, fresh_reads, attributes) = (Granularity::Resource, true, false);
    let reached = ReachedTarget { identity: identity(), granularity, fresh_reads, attributes };
    let names = ["prod", "here"].map(|name| (TargetName::new(name).expect("a name"), reached.clone()));
    let worked_out = documents.controls(Timestamp::from_millis(0), &BTreeMap::from(names), &BTreeMap::new());
    worked_out.controls.apps[&shop()].clone()
}

fn shop() -> AppId {
    "team/shop".parse().expect("an app")
}

fn shop_on(target: &str) -> String {
    let store = "---\napiVersion: setpoint.dev/v1\nkind: Store\nmetadata: { name: code, scope: team }\nspec: { url: 'https://git.example/t.git' }\n";
    let app = app("shop", "").replace("scope: web", "scope: team").replace("store: platform", "store: code");
    app.replace("target: here", &format!("target: {target}")) + store
}

#[test]
fn an_app_writes_in_the_name_of_its_scope_on_clusters_and_nowhere_else() {
    let spec = format!("targets: [prod, here], actAs: {{ user: '{DEPLOYER}' }}");
    let lent = cluster("default", &format!(", identities: ['{DEPLOYER}']"));
    let on = |target: &str| control(&documents(&[shop_on(target), lent.clone(), scope("team", &spec)].concat()));
    let named = ActingAs { user: DEPLOYER.into(), groups: Vec::new() };
    assert_eq!(on("prod").acting_as.as_deref(), Some(&named));
    assert_eq!(on("here").acting_as, None, "a host knows no such user");

    let grouped = "targets: [prod], actAs: { user: web, groups: [deployers, people] }";
    let lent = cluster("team", "");
    let own = control(&documents(&[shop_on("prod"), lent.clone(), scope("team", grouped)].concat()));
    let named = own.acting_as.as_deref().expect("it has a name");
    assert_eq!((&*named.user, named.groups.len()), ("web", 2), "one's own cluster need not list it");
    let nameless = control(&documents(&[shop_on("prod"), lent, scope("team", "targets: [prod]")].concat()));
    assert_eq!(nameless.acting_as, None);
    assert_ne!(own.document, nameless.document, "it is held by another document");
}

#[test]
fn a_name_that_the_lender_did_not_list_is_refused() {
    let act_as = "targets: [prod], actAs: { user: web, groups: [deployers, admins] }";
    let told = |identities: &str| problems(&[cluster("default", identities), scope("team", act_as)].concat());
    for (listed, missing) in [
        ("", ["`web`", "`deployers`", "`admins`"].as_slice()),
        (", identities: []", &["`web`", "`deployers`", "`admins`"]),
        (", identities: [web, deployers]", &["`admins`"]),
    ] {
        let told = told(listed);
        assert_eq!(told.len(), missing.len(), "{told:?}");
        for (told, name) in told.iter().zip(missing) {
            assert!(told.contains(&format!("apps may not act as {name} on the Target `prod`")), "{told}");
            assert!(told.contains("list it in `spec.identities` of the Target `prod`"), "{told}");
        }
    }
}

#[test]
fn a_cluster_that_is_lent_under_names_is_not_lent_to_a_scope_without_one() {
    let lent = cluster("default", ", identities: [web]");
    let told = problems(&[lent.as_str(), &scope("team", "targets: [prod]")].concat());
    assert!(told.len() == 1 && told[0].contains("may be used only with identities that it lists"), "{told:?}");
    assert!(told[0].contains("add `actAs`"), "{told:?}");
}

#[test]
fn no_scope_takes_the_name_of_another() {
    let act_as = "targets: [prod], actAs: { user: web }";
    let lent = cluster("default", ", identities: [web]");
    let told = problems(&[lent.as_str(), &scope("pay", act_as), &scope("team", act_as)].concat());
    assert!(told.len() == 1 && told[0].contains("the Scope `pay` acts as `web` too"), "{told:?}");
}

#[test]
fn what_kubernetes_keeps_for_itself_cannot_be_named() {
    for spec in [
        "actAs: { user: 'system:admin' }",
        "actAs: { user: 'system:node:worker-1' }",
        "actAs: { user: 'system:serviceaccount:web' }",
        "actAs: { user: 'system:serviceaccount:web:' }",
        "actAs: { user: 'system:serviceaccount:web:a:b' }",
        "actAs: { user: web, groups: ['system:masters'] }",
    ] {
        let told = problems(&scope("team", spec));
        assert!(
            told.len() == 1 && told[0].contains("is not a user or group that can be impersonated"),
            "{spec}: {told:?}"
        );
    }
    let told = problems(&cluster("default", ", identities: ['system:masters']"));
    assert!(told[0].contains("is not a user or group that can be impersonated"), "{told:?}");
    let told = problems(&scope("team", &format!("actAs: {{ user: '{DEPLOYER}', groups: [more] }}")));
    assert!(told.len() == 1 && told[0].contains("remove `groups`"), "{told:?}");
}

#[test]
fn an_app_whose_documents_are_gone_is_taken_down_in_the_name_it_had() {
    let named = Arc::new(ActingAs { user: DEPLOYER.into(), groups: Vec::new() });
    let facts = AppFacts { retiring: true, acting_as: Some(Arc::clone(&named)), ..AppFacts::new(identity()) };
    let mut known = Facts::default();
    let at = Timestamp::from_millis;
    let claim = Claim { target: identity(), ..claim(&shop(), "a") };
    for change in [
        Change::Installed { at: at(0) },
        Change::PutApp { app: shop(), facts: Arc::new(facts) },
        Change::PutClaim { claim: Arc::new(claim), from: None },
    ] {
        known.apply(&change).expect("the changes fit each other");
    }
    let mut machine = Machine::new(Settings::default());
    for event in [
        Event::Started,
        Event::LeaseGranted { epoch: 3, expires: at(1_000_000) },
        Event::Loaded { epoch: 3, facts: Box::new(known), bundles: BundleCache::default() },
        Event::Controls(Controls::default()),
    ] {
        machine.step(at(100), event);
    }
    let nothing = Bundle::new(shop(), identity(), Vec::new()).expect("a bundle");
    if let Some((_, _, asker)) = machine.wanted_for(&shop(), &nothing) {
        assert_eq!(asker.acting_as, Some(named));
    } else {
        panic!("the app is still known");
    }
}
