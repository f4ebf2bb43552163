//! Permissions: tokens, certificates, service accounts and roles are those of the real server.

use std::path::Path;

use setpoint_testbed::kube::{ApiServer, Options, User};

fn may(server: &ApiServer, kubeconfig: &Path, what: &[&str]) -> bool {
    let arguments: Vec<&str> = ["auth", "can-i"].iter().chain(what).copied().collect();
    let output = server.kubectl_as(kubeconfig, &arguments, b"");
    match String::from_utf8_lossy(&output.stdout).trim() {
        "yes" => true,
        "no" => false,
        other => panic!("`{other}` is no answer: {}", String::from_utf8_lossy(&output.stderr)),
    }
}

#[test]
fn the_viewer_may_read_but_no_secrets_and_the_stranger_may_nothing() {
    let server = ApiServer::shared();
    let viewer = server.kubeconfig_with_token(server.token("viewer"));
    assert!(may(server, &viewer, &["list", "configmaps"]));
    assert!(!may(server, &viewer, &["list", "secrets"]));
    assert!(!may(server, &viewer, &["delete", "configmaps"]));
    let stranger = server.kubeconfig_with_token(server.token("stranger"));
    assert!(!may(server, &stranger, &["list", "configmaps"]));
}

#[test]
fn a_grant_holds_in_its_namespace_only() {
    let server = ApiServer::shared();
    let (mine, other) = (server.fresh_namespace("granted"), server.fresh_namespace("not-granted"));
    server.grant("somebody", "system:aggregate-to-edit", Some(&mine));
    let somebody = server.kubeconfig_with_certificate("somebody", None);
    assert!(may(server, &somebody, &["create", "configmaps", "--namespace", &mine]));
    assert!(!may(server, &somebody, &["create", "configmaps", "--namespace", &other]));
}

#[test]
fn a_certificate_carries_a_group() {
    let server = ApiServer::shared();
    let root = server.kubeconfig_with_certificate("ada", Some("system:masters"));
    assert!(may(server, &root, &["*", "*", "--all-namespaces"]));
    let nobody = server.kubeconfig_with_certificate("ada", None);
    assert!(!may(server, &nobody, &["list", "configmaps"]));
}

#[test]
fn a_service_account_has_a_token_and_the_rights_it_was_given() {
    let server = ApiServer::shared();
    let namespace = server.fresh_namespace("accounts");
    let kubeconfig = server.kubeconfig_with_token(&server.service_account(&namespace, "robot"));
    assert!(!may(server, &kubeconfig, &["list", "configmaps", "--namespace", &namespace]));
    server.grant(&format!("system:serviceaccount:{namespace}:robot"), "system:aggregate-to-view", Some(&namespace));
    assert!(may(server, &kubeconfig, &["list", "configmaps", "--namespace", &namespace]));
}

#[test]
fn a_server_of_ones_own_knows_more_users() {
    let users = vec![User::new("bob", &["team-a", "team-b"])];
    let server = ApiServer::own(Options { users, ..Options::default() });
    server.grant_to_group("team-b", "system:aggregate-to-view", None);
    let bob = server.kubeconfig_with_token(server.token("bob"));
    assert!(may(&server, &bob, &["list", "configmaps"]));
}
