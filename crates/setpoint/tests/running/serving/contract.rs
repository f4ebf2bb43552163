//! The API of a running agent against its OpenAPI document: Schemathesis sends requests that the
//! document permits, and requests that it forbids.

use super::super::lab::Agent;
use super::browser::Browser;
use super::{lab, served, token};

/// The checks of Schemathesis. Left out is that all permitted data is accepted: a valid name of an app
/// that does not exist is refused.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_headers_conformance,response_schema_conformance,negative_data_rejection,\
                      unsupported_method,ignored_auth";

/// Returns the version that the app has accepted.
async fn version(agent: &Agent) -> String {
    let detail = agent.detail("web").await.expect("it exists");
    let accepted = detail.summary.accepted.expect("it has converged");
    accepted.revision.versions().next().expect("it has a store").to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_are_as_the_document_promises_whatever_is_requested() {
    let mut lab = lab();
    let access = "apiVersion: setpoint.dev/v1\nkind: Access\nmetadata: { name: fuzz }\nspec: { subjects: [{ token: fuzz }], rules: [{ verbs: [all] }] }\n";
    lab.write("setpoint/fuzz.yaml", access);
    let Some(mut schemathesis) = setpoint_testbed::schemathesis(lab.path()) else {
        setpoint_testbed::skipped("Schemathesis is missing: `cargo xtask setup` installs it");
        return;
    };
    let (agent, mut administrator) = served(&mut lab).await;
    let token = token(&mut administrator, "fuzz").await;
    // With names that exist, requests get further than to "not found".
    let names = "\"path.scope\" = \"default\"\n\"path.app\" = \"web\"\n\"path.seq\" = 1";
    let names = format!("[parameters]\n{names}\n\"path.version\" = \"{}\"\n", version(&agent).await);
    std::fs::write(lab.path().join("schemathesis.toml"), names).expect("the directory is ours");
    let document = format!("http://{}/api/v1/openapi.json", administrator.address);
    schemathesis.args(["run", &document, "--checks", CHECKS, "--header", &format!("Authorization: Bearer {token}")]);
    // The feed has no end.
    schemathesis.args(["--exclude-operation-id", "readEvents"]);
    schemathesis.args(["--phases", "examples,coverage,fuzzing", "--max-examples", "10", "--max-time", "20"]);
    schemathesis.args(["--seed", "1", "--generation-database", "none", "--request-timeout", "60"]);
    let output = tokio::task::block_in_place(|| schemathesis.output()).expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    agent.stop().await;
}

#[tokio::test]
async fn the_document_needs_no_sign_in_and_a_known_response_is_not_sent_again() {
    let mut lab = lab();
    let (agent, administrator) = served(&mut lab).await;
    let document = Browser::new(administrator.address).get("/api/v1/openapi.json").await;
    assert_eq!(document.status, 200);
    assert!(document.body.contains("\"openapi\": \"3.1.0\""), "{}", document.body);
    let session = administrator.get("/api/v1/session").await;
    assert_eq!((session.status, session.header("cache-control")), (200, "private, no-cache"));
    let known = format!("if-none-match: {}\r\n", session.header("etag"));
    let again = administrator.send("GET", "/api/v1/session", &known, "").await;
    assert_eq!((again.status, again.body.as_str()), (304, ""), "{}", again.head);
    agent.stop().await;
}
