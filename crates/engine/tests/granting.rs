//! Access documents: what they may name, and where they may grant rights.

use crate::scene::{CONTROL, app, problems, read};

fn access(scope: &str, rule: &str) -> String {
    format!(
        "apiVersion: setpoint.dev/v1\nkind: Access\nmetadata: {{ name: team, scope: {scope} }}\nspec:\n  subjects: [{{ everyone: true }}]\n  rules:\n    - verbs: [see]\n    - {rule}\n"
    )
}

fn accepted(text: &str) -> bool {
    let shop = app("shop", "");
    read(&[("setpoint/a.yaml", CONTROL), ("setpoint/b.yaml", text), ("setpoint/c.yaml", &shop)]).is_ok()
}

fn problem(text: &str) -> String {
    let mut problems = problems(text);
    assert_eq!(problems.len(), 1, "{problems:#?}");
    problems.remove(0)
}

#[test]
fn an_access_of_a_scope_grants_rights_only_in_its_scope() {
    assert!(accepted(&access("web", "verbs: [see, sync]")));
    assert!(accepted(&access("web", "{ verbs: [see], scopes: [web], targets: [here] }")));
    assert_eq!(
        problem(&access("web", "{ verbs: [see], scopes: [web, default] }")),
        "setpoint/more.yaml:8:37: `spec.rules[1].scopes[1]`: an Access of the scope `web` may grant rights only in its own scope; \
         remove `default`, or move the document to the scope `default`"
    );
}

#[test]
fn an_access_of_the_default_scope_grants_rights_in_every_scope() {
    assert!(accepted(&access("default", "{ verbs: [see], scopes: [web, default, setpoint] }")));
    assert!(accepted(&access("default", "verbs: [all, erase, administer]")));
}

#[test]
fn missing_scopes_and_targets_are_reported_with_the_nearest() {
    assert_eq!(
        problem(&access("default", "{ verbs: [see], scopes: [wep] }")),
        "setpoint/more.yaml:8:32: `spec.rules[1].scopes[0]`: nothing belongs to a scope `wep`; did you mean `web`?"
    );
    assert_eq!(
        problem(&access("default", "{ verbs: [see], targets: [here, hree] }")),
        "setpoint/more.yaml:8:39: `spec.rules[1].targets[1]`: there is no Target `hree`; did you mean `here`?"
    );
}

#[test]
fn verbs_of_the_installation_are_granted_in_the_default_scope_only() {
    assert_eq!(
        problem(&access("web", "verbs: [see, administer]")),
        "setpoint/more.yaml:8:20: `spec.rules[1].verbs[1]`: the verb concerns the whole installation, not a scope; \
         grant it in an Access of the scope `default`"
    );
}

#[test]
fn access_documents_read_back_from_the_accepted_bundle() {
    use setpoint_core::bundle::Bundle;
    use setpoint_core::name::TargetIdentity;
    use setpoint_engine::accept::ControlDocuments;

    let text = format!(
        "{}---\n{}",
        access("web", "verbs: [see]"),
        app("shop", "").replace("scope: web }", "scope: web, labels: { team: checkout } }")
    );
    let documents = crate::scene::documents(&text);
    let engine = TargetIdentity::new("engine").unwrap();
    let bundle = Bundle::new("setpoint/root".parse().unwrap(), engine, documents.resources()).unwrap();
    let read = ControlDocuments::from_bundle(&bundle, &crate::scene::families()).unwrap();
    let specs = |documents: &ControlDocuments| -> Vec<_> {
        documents.accesses().iter().map(|(name, access)| (name.clone(), access.spec.clone())).collect()
    };
    assert_eq!(specs(&read), specs(&documents));
    assert_eq!(specs(&read).len(), 1);
    assert_eq!(read.apps()[&"web/shop".parse().unwrap()].labels["team"], "checkout");
}
