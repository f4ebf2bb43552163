//! From a commit to the machine: over https, over ssh, from a local path.

use std::fs;
use std::path::{Path, PathBuf};

use setpoint_testbed::{GitServer, SshServer};

use super::lab::Lab;

/// Converges the declarations of a lab, then the changes of a second commit.
async fn follows(lab: &mut Lab) {
    lab.app("hello").file("hello", "greeting", "Hello\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    assert_eq!(lab.text("greeting").as_deref(), Some("Hello\n"));

    lab.file("hello", "greeting", "Good day\n").file("hello", "config/colours", "red\n");
    lab.write("apps/hello/folder.yaml", CONFIG);
    let second = lab.commit();
    let detail = agent.until_converged("hello", &second).await;
    assert_eq!(lab.text("greeting").as_deref(), Some("Good day\n"));
    assert_eq!(lab.text("config/colours").as_deref(), Some("red\n"));
    assert_eq!(detail.versions[0].author, "Ada");
    assert!(agent.drift("hello").await.is_empty(), "a declared change is no drift");
    agent.stop().await;
}

const CONFIG: &str = "apiVersion: host.setpoint.dev/v1
kind: Directory
metadata: { name: config }
spec: { path: /config }
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_at_a_local_path_is_followed() {
    follows(&mut Lab::new()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_over_https_is_followed_with_a_token_and_an_authority_of_ones_own() {
    let mut lab = Lab::new();
    let server = GitServer::start(lab.path());
    // `x-access-token:abc`
    server.require("Basic eC1hY2Nlc3MtdG9rZW46YWJj");
    let token = lab.path().join("token");
    fs::write(&token, "abc\n").expect("the folder is ours");
    lab.reach_by(format!(
        "url: {}, authoritiesFile: {}, credentialsFrom: {{ file: {} }}",
        server.url("state.git"),
        server.authority().display(),
        token.display()
    ));
    follows(&mut lab).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_was_damaged_is_fetched_anew_and_the_log_says_so() {
    let mut lab = Lab::new();
    let server = GitServer::start(lab.path());
    let url = server.url("state.git");
    lab.reach_by(format!("url: {url}, authoritiesFile: {}", server.authority().display()));
    lab.app("hello").file("hello", "greeting", "Hello\n");
    let first = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    assert!(!agent.said().iter().any(|line| line.contains("damaged")), "{:?}", agent.said());
    agent.stop().await;

    for copy in entries(&lab.data().join("stores")).iter().flat_map(|mirror| entries(mirror)) {
        for pack in entries(&copy.join("objects/pack")) {
            fs::remove_file(&pack).expect("it is ours");
            fs::write(&pack, "garbage").expect("it is ours");
        }
    }
    let second = lab.file("hello", "greeting", "Good day\n").commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &second).await;
    let told = format!("the copy of {url} in ");
    assert_eq!(
        agent.said().iter().filter(|line| line.contains(&told) && line.ends_with("store=bootstrap")).count(),
        1,
        "{:?}",
        agent.said()
    );
    agent.stop().await;
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).expect("the folder is there");
    found.map(|entry| entry.expect("it can be read").path()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_over_ssh_is_followed_with_a_key_and_known_hosts() {
    let mut lab = Lab::new();
    let Some(server) = SshServer::start() else { return };
    if !server.can_log_in() {
        return;
    }
    lab.reach_by(format!(
        "url: {}, knownHostsFile: {}, credentialsFrom: {{ file: {} }}",
        server.url(lab.repository().folder()),
        server.known_hosts().display(),
        server.key().display()
    ));
    follows(&mut lab).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_is_not_merged_yet_is_planned_and_not_followed() {
    let mut lab = Lab::new();
    lab.app("hello").file("hello", "greeting", "Hello\n");
    let first = lab.commit();
    let unmerged = lab.file("hello", "greeting", "Good day\n").commit();
    lab.repository().git(&["update-ref", "refs/heads/topic", &unmerged], b"");
    lab.repository().git(&["update-ref", "refs/heads/main", &first], b"");
    let mut agent = lab.start().await;
    agent.until_converged("hello", &first).await;
    let plan = lab.command(&["plan", "hello", "--rev", &unmerged[..10]]);
    assert_eq!((plan.code, plan.complaints.as_str()), (Some(2), ""), "{plan:?}");
    assert!(plan.output.contains("Good day"), "{plan:?}");
    let accepted = lab.command(&["release", "hello", "--accept", &unmerged, "--reason", "it is not merged"]);
    assert_eq!(accepted.code, Some(1), "{accepted:?}");
    assert!(accepted.complaints.contains("no store of default/hello has a version"), "{accepted:?}");
    assert_eq!(lab.text("greeting").as_deref(), Some("Hello\n"));
    agent.stop().await;
}
