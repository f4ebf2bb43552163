//! The identity providers of Bootstrap documents.

use setpoint_documents::{IdentityProvider, Spec, read_documents};

use crate::targets::targets;

/// Reads a server with these fields; returns its providers, or the problem.
fn read(server: &str) -> Result<Vec<IdentityProvider>, String> {
    let text = format!(
        "apiVersion: setpoint.dev/v1\nkind: Bootstrap\nspec: {{ store: {{ url: /a }}, path: b, server: {{ {server} }} }}\n"
    );
    let documents = read_documents("bootstrap.yaml", &text, &targets()).map_err(|problems| problems.to_string())?;
    match &documents[0].spec {
        Spec::Bootstrap(spec) => Ok(spec.server.clone().expect("it has a server").providers),
        other => panic!("{other:?}"),
    }
}

fn with_provider(fields: &str) -> Result<Vec<IdentityProvider>, String> {
    read(&format!("listen: '127.0.0.1:7070', providers: [{{ name: corporate, clientId: setpoint, {fields} }}]"))
}

#[track_caller]
fn assert_refused(read: Result<Vec<IdentityProvider>, String>, expected: &str) {
    let problem = read.expect_err("it must be refused");
    assert!(problem.contains(expected), "{problem}");
}

#[test]
fn a_provider_needs_three_fields() {
    let providers = with_provider("issuer: 'https://login.example/realms/a'").expect("it is valid");
    let provider = &providers[0];
    assert_eq!((provider.name.as_str(), provider.groups_claim.as_str()), ("corporate", "groups"));
    assert_eq!((&provider.scopes, &provider.name_claim, &provider.client_secret), (&None, &None, &None));
    assert_refused(with_provider("title: Corporate"), "`issuer`");
}

#[test]
fn an_issuer_is_reached_over_https_or_on_this_machine() {
    for issuer in
        ["https://login.example/", "http://127.0.0.1:9000", "http://[::1]:9000/a", "http://localhost:5556/dex"]
    {
        assert!(with_provider(&format!("issuer: '{issuer}'")).is_ok(), "{issuer}");
    }
    for issuer in ["http://login.example", "http://localhost.example", "http://10.0.0.7", "ftp://localhost"] {
        assert_refused(with_provider(&format!("issuer: '{issuer}'")), "not reached over HTTPS");
    }
    for issuer in ["https://user@login.example", "https://login.example/?a=b", "https://login.example/#a"] {
        assert_refused(with_provider(&format!("issuer: '{issuer}'")), "no user, query or fragment");
    }
}

#[test]
fn scopes_contain_openid_and_are_single_words() {
    let scopes = |scopes: &str| with_provider(&format!("issuer: 'https://login.example', scopes: {scopes}"));
    assert!(scopes("[openid, 'https://login.example/groups']").is_ok());
    assert_refused(scopes("[profile]"), "`scopes` lacks `openid`");
    assert_refused(scopes("[]"), "`scopes` lacks `openid`");
    assert_refused(scopes("[openid, profile email]"), "one of the scopes is not valid");
}

#[test]
fn each_provider_has_its_own_name() {
    let provider = |name: &str| format!("{{ name: {name}, clientId: a, issuer: 'https://login.example' }}");
    let server = |names: [&str; 2]| {
        read(&format!("listen: '127.0.0.1:7070', providers: [{}, {}]", provider(names[0]), provider(names[1])))
    };
    assert!(server(["one", "two"]).is_ok());
    assert_refused(server(["one", "one"]), "two providers have the name `one`");
    assert_refused(server(["one", "a/b"]), "`a/b` is not a name");
    assert!(server(["one", &"a".repeat(64)]).is_ok());
    assert_refused(server(["one", &"a".repeat(65)]), "longer than 64 characters");
}

#[test]
fn a_provider_must_know_where_to_send_people_back() {
    let server = |more: &str| {
        let provider = "{ name: one, clientId: a, issuer: 'https://login.example' }";
        read(&format!("listen: '0.0.0.0:7070', trustedProxies: [10.0.0.2], providers: [{provider}]{more}"))
    };
    assert!(server(", url: 'https://ops.example'").is_ok());
    assert_refused(server(""), "send people back to `url`");
}
