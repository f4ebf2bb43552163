//! Webhooks of Git hosts: what is signed is polled at once, and nothing else has an effect.

use std::fs;

use hmac::{Hmac, KeyInit, Mac};
use setpoint_api::answer::AppDetail;
use setpoint_testbed::https::{GitServer, On};
use sha2::Sha256;

use super::super::lab::{Agent, Lab, is_at};
use super::browser::Browser;
use super::lab;

const SECRET: &str = "a secret of twenty-odd letters";

/// Starts an agent that polls once an hour, with a webhook of GitHub for all stores and one for an
/// empty scope.
async fn served(lab: &mut Lab) -> (Agent, Browser, GitServer) {
    let git = GitServer::start(lab.path());
    lab.reach_by(format!("url: '{}', authoritiesFile: {}", git.url("state.git"), git.authority().display()));
    lab.poll_rarely();
    let address = lab.serve();
    let file = lab.path().join("webhook.secret");
    fs::write(&file, SECRET).expect("the folder is ours");
    let hook =
        |name: &str, more: &str| format!("{{ name: {name}, from: github, secretFile: {}{more} }}", file.display());
    lab.serve_with(&format!("webhooks: [{}, {}]", hook("github", ""), hook("tenant", ", scope: tenant")));
    let version = lab.commit();
    fs::create_dir_all(lab.at("etc")).expect("it is ours");
    let mut agent = lab.start().await;
    agent.until_converged("web", &version).await;
    git.take_seen();
    (agent, Browser::new(address), git)
}

fn signature(secret: &str, body: &str) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any length").chain_update(body);
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("x-hub-signature-256: sha256={hex}\r\n")
}

async fn send(browser: &Browser, path: &str, headers: &str, body: &str) -> u16 {
    let headers = format!("x-github-event: push\r\ncontent-type: application/json\r\n{headers}");
    browser.send("POST", path, &headers, body).await.status
}

/// A push to the repository of the lab.
fn push(git: &GitServer, commit: &str) -> String {
    let url = git.url("state.git");
    format!(r#"{{"ref":"refs/heads/main","after":"{commit}","repository":{{"clone_url":"{url}"}}}}"#)
}

async fn until_at(agent: &mut Agent, version: &str) {
    let is_there = |detail: &AppDetail| is_at(detail, version);
    agent.until_app("web", "has the version of the push", is_there).await;
}

/// Sends a valid push, waits for its version, and returns the number of polls since the last call.
async fn polls_with_one_push(agent: &mut Agent, browser: &Browser, git: &GitServer, version: &str) -> usize {
    let body = push(git, version);
    assert_eq!(send(browser, "/webhooks/github", &signature(SECRET, &body), &body).await, 202);
    until_at(agent, version).await;
    git.take_seen().iter().filter(|request| request.step() == On::Advertisement).count()
}

/// Writes a version that no poll has seen.
fn new_version(lab: &mut Lab) -> String {
    lab.file("web", "etc/web.conf", "listen 81\n");
    lab.commit()
}

#[tokio::test]
async fn a_signed_push_is_deployed_at_once() {
    let mut lab = lab();
    let (mut agent, browser, git) = served(&mut lab).await;
    let version = new_version(&mut lab);
    let body = push(&git, &version);
    assert_eq!(send(&browser, "/webhooks/github", &signature(SECRET, &body), &body).await, 202);
    until_at(&mut agent, &version).await;
    agent.stop().await;
}

#[tokio::test]
async fn case_59_a_push_without_a_valid_signature_has_no_effect() {
    let mut lab = lab();
    let (mut agent, browser, git) = served(&mut lab).await;
    let version = new_version(&mut lab);
    let body = push(&git, &version);
    let wrong = [String::new(), signature("another secret of that length", &body), signature(SECRET, "{}")];
    for header in &wrong {
        assert_eq!(send(&browser, "/webhooks/github", header, &body).await, 401, "{header}");
        assert_eq!(send(&browser, "/webhooks/unknown", header, &body).await, 401, "{header}");
    }
    for bad in ["", "{", "{}", "[[[[", r#"{"repository":{}}"#] {
        assert_eq!(send(&browser, "/webhooks/github", &signature(SECRET, bad), bad).await, 400, "{bad}");
    }
    let deep = "[".repeat(1_000_000);
    assert_eq!(send(&browser, "/webhooks/github", &signature(SECRET, &deep), &deep).await, 400);
    let huge = "x".repeat(2 << 20);
    assert_eq!(send(&browser, "/webhooks/github", &signature(SECRET, &huge), &huge).await, 413);
    assert_eq!(browser.get("/webhooks/github").await.status, 405);
    let polls = polls_with_one_push(&mut agent, &browser, &git, &version).await;
    assert_eq!(polls, 1, "only the valid one");
    agent.stop().await;
}

#[tokio::test]
async fn case_61_a_push_of_an_unknown_repository_or_another_scope_tells_nothing() {
    let mut lab = lab();
    let (mut agent, browser, git) = served(&mut lab).await;
    let version = new_version(&mut lab);
    let known = push(&git, &version);
    let unknown = known.replace("state.git", "other.git");
    let branch = known.replace("refs/heads/main", "refs/heads/feature");
    for (path, body) in [("github", &unknown), ("github", &branch), ("tenant", &known), ("tenant", &unknown)] {
        let response = browser
            .send(
                "POST",
                &format!("/webhooks/{path}"),
                &format!("x-github-event: push\r\n{}", signature(SECRET, body)),
                body,
            )
            .await;
        assert_eq!((response.status, response.body.as_str()), (202, ""), "{path}: {body}");
    }
    let polls = polls_with_one_push(&mut agent, &browser, &git, &version).await;
    assert_eq!(polls, 1, "only the valid one");
    agent.stop().await;
}

#[tokio::test]
async fn case_60_many_pushes_of_one_commit_cost_one_poll() {
    let mut lab = lab();
    let (mut agent, browser, git) = served(&mut lab).await;
    let version = new_version(&mut lab);
    let body = push(&git, &version);
    let headers = signature(SECRET, &body);
    for _ in 0..200 {
        assert_eq!(send(&browser, "/webhooks/github", &headers, &body).await, 202);
    }
    until_at(&mut agent, &version).await;
    let polls = git.take_seen().iter().filter(|request| request.step() == On::Advertisement).count();
    assert_eq!(polls, 1);
    agent.stop().await;
}

#[tokio::test]
async fn a_webhook_without_a_usable_secret_is_refused_and_the_log_has_the_reason() {
    let mut lab = lab();
    let (agent, browser, git) = served(&mut lab).await;
    fs::write(lab.path().join("webhook.secret"), "short").expect("the folder is ours");
    let body = push(&git, "c");
    assert_eq!(send(&browser, "/webhooks/github", &signature("short", &body), &body).await, 503);
    let said = agent.said();
    assert!(said.iter().any(|line| line.contains("webhook github is refused: a secret in ")), "{said:?}");
    fs::write(lab.path().join("webhook.secret"), format!("{SECRET}\nthe next secret of this webhook")).expect("ours");
    assert_eq!(
        send(&browser, "/webhooks/github", &signature("the next secret of this webhook", &body), &body).await,
        202
    );
    agent.stop().await;
}
