//! Target documents of clusters: their fields, and the messages about them.

use std::sync::Arc;

use setpoint_documents::{Spec, TargetSpec, read_documents};
use setpoint_target::{Families, Family, MemoryFamily};
use setpoint_target_kube::Kubernetes;

const HEAD: &str = "apiVersion: setpoint.dev/v1\nkind: Target\nmetadata: { name: a }\n";

fn families() -> Families {
    Families::new([Arc::new(Kubernetes::default()) as Arc<dyn Family>, Arc::new(MemoryFamily::default())])
}

fn read(text: &str) -> Result<TargetSpec, String> {
    let found = read_documents("control.yaml", text, families().kinds());
    match found.map_err(|found| found.to_string())?.remove(0).spec {
        Spec::Target(target) => Ok(*target),
        other => panic!("a Target, not a {}", other.kind()),
    }
}

fn target(spec: &str) -> Result<TargetSpec, String> {
    read(&format!("{HEAD}spec: {{ {spec} }}\n"))
}

#[track_caller]
fn assert_refused(text: &str, expected: &str) {
    let found = read(text).expect_err("must be refused");
    assert_eq!(found, expected.trim_matches('\n'), "\n{found}");
}

#[test]
fn the_fields_of_a_cluster_have_no_effect_on_another_kind_of_target() {
    assert!(target("kind: kubernetes").is_ok());
    assert!(target("kind: kubernetes, kubeconfig: /etc/kubeconfig, context: prod, namespace: shop").is_ok());
    for field in ["kubeconfig: /k", "context: prod", "namespace: shop", "audit: { logs: [/a] }", "identities: []"] {
        let found = target(&format!("kind: memory, {field}")).unwrap_err();
        assert!(found.contains("has no effect on this kind of target"), "{field}: {found}");
        assert!(found.contains("remove it, or set `kind: kubernetes`"), "{field}: {found}");
    }
    let found = target("kind: kubernetes, context: prod").unwrap_err();
    assert!(found.contains("`context` requires `kubeconfig`"), "{found}");
}

#[test]
fn a_document_answers_for_its_family() {
    let families = families();
    let spec = target("kind: kubernetes, namespace: shop, kubeconfig: /k, identities: ['setpoint:a']").unwrap();
    let family = families.of(&spec);
    assert_eq!(family.namespace(&spec).as_deref(), Some("shop"));
    assert_eq!(family.sources(&spec), [std::path::PathBuf::from("/k")]);
    let lent = family.impersonation().unwrap();
    assert_eq!(lent(&spec).map(<[_]>::len), Some(1));
    assert_eq!(lent(&target("kind: kubernetes").unwrap()), None);
    let bad = target("kind: kubernetes, health: [{ kind: Pod, healthy: 'self.' }]").unwrap();
    assert_eq!(family.check(&bad)[0].path, "spec.health[0].healthy");
}

#[test]
fn an_audit_trail_comes_from_logs_or_to_an_address_or_both() {
    let audit = |audit: &str| target(&format!("kind: kubernetes, audit: {{ {audit} }}")).is_ok();
    let webhook = |listen: &str, senders: &str| {
        audit(&format!(
            "logs: [/a], webhook: {{ listen: '{listen}', certificateFile: /c, keyFile: /k, sendersFrom: {{ {senders} }} }}"
        ))
    };
    assert!(audit("logs: [/a, /b]") && webhook("127.0.0.1:9443", "tokenFile: /t"));
    assert!(webhook("[::]:9443", "authoritiesFile: /a"));
    assert!(!audit("") && !audit("logs: []"), "there is no source of events");
    assert!(!webhook("127.0.0.1:9443", "") && !webhook("127.0.0.1:9443", "tokenFile: /t, authoritiesFile: /a"));
    for listen in ["9443", "127.0.0.1", "127.0.0.1:0", "localhost:9443", ":9443"] {
        assert!(!webhook(listen, "tokenFile: /t"), "{listen}");
    }
}

#[test]
fn a_kind_has_one_rule_of_health_and_a_name_without_a_version() {
    let head =
        "apiVersion: setpoint.dev/v1\nkind: Target\nmetadata: { name: prod }\nspec:\n  kind: kubernetes\n  health:\n";
    assert_refused(
        &format!("{head}    - {{ kind: apps/v1/Deployment, healthy: 'true' }}\n"),
        "
error[value]: `kind`: `apps/v1/Deployment` is not a kind
 --> control.yaml:7:15
  |
7 |     - { kind: apps/v1/Deployment, healthy: 'true' }
  |               ^^^^^^^^^^^^^^^^^^
  = help: write `Kind` for the core group or `group/Kind` for others, without a version
",
    );
    assert_refused(
        &format!("{head}    - {{ kind: Pod, healthy: 'true' }}\n    - {{ kind: Pod, healthy: 'false' }}\n"),
        "
error[duplicate]: `Pod` has two rules
 --> control.yaml:7:5
  |
7 |     - { kind: Pod, healthy: 'true' }
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  = help: keep one of them
",
    );
}
