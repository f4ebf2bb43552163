//! Tests the system's `sshd`: the right key and host open the store; all others are denied before
//! any data is sent.

use setpoint_core::observed::UnknownReason;
use setpoint_store::{Store, StoreError};
use setpoint_store_git::{Follow, GitOptions, GitStore, SshOptions};
use setpoint_testbed::{Item, SshServer};

use crate::scene::{Scene, head, impatient, opened, poll, read};

struct Ssh {
    scene: Scene,
    server: SshServer,
}

/// Returns a repository behind a server, or `None` on a machine without `sshd`.
fn ssh() -> Option<Ssh> {
    let server = SshServer::start()?;
    let scene = Scene::new();
    scene.repository.commit("main", None, &[("a", Item::File("1"))]);
    Some(Ssh { scene, server })
}

impl Ssh {
    fn store(&self, key: std::path::PathBuf, known_hosts: std::path::PathBuf) -> GitStore {
        let url = self.server.url(self.scene.repository.folder());
        let mut options = GitOptions::new(&url, Follow::branch("main"), self.scene.cache.clone());
        options.ssh = Some(SshOptions { key, known_hosts });
        GitStore::open(options).expect("the options of tests are valid")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_right_key_and_host_open_the_store() {
    let Some(ssh) = ssh() else { return };
    if !ssh.server.can_log_in() {
        return;
    }
    let store = ssh.store(ssh.server.key(), ssh.server.known_hosts());
    assert_eq!(read(&*opened(&store).await.unwrap(), "a").as_deref(), Some("1"));
    let second =
        ssh.scene.repository.commit("main", Some(&ssh.scene.repository.head("main")), &[("a", Item::File("2"))]);
    assert_eq!(head(&store).await.as_str(), second);
    let unmerged = ssh.scene.repository.commit("topic", Some(&second), &[("a", Item::File("3"))]);
    assert_eq!(store.find_offered(&unmerged[..8]).await.unwrap().as_str(), unmerged);
    ssh.scene.repository.delete_branch("main");
    assert!(matches!(poll(&store).await, Err(UnknownReason::NotFound { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_with_another_key_and_a_host_nobody_knows_are_not_spoken_to() {
    let Some(ssh) = ssh() else { return };
    for known_hosts in [ssh.server.wrong_known_hosts(), ssh.server.no_known_hosts(), "/nonexistent".into()] {
        let store = ssh.store(ssh.server.key(), known_hosts);
        let reason = poll(&store).await.unwrap_err();
        assert!(matches!(&reason, UnknownReason::Denied { detail } if detail.contains("known_hosts")), "{reason:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_the_host_does_not_know_is_denied() {
    let Some(ssh) = ssh() else { return };
    let store = ssh.store(ssh.server.wrong_key(), ssh.server.known_hosts());
    let reason = poll(&store).await.unwrap_err();
    assert!(matches!(&reason, UnknownReason::Denied { detail } if detail.contains("key")), "{reason:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_not_on_the_host_has_vanished() {
    let Some(ssh) = ssh() else { return };
    if !ssh.server.can_log_in() {
        return;
    }
    let url = ssh.server.url(&ssh.scene.folder.path().join("nothing.git"));
    let mut options = GitOptions::new(&url, Follow::branch("main"), ssh.scene.cache.clone());
    options.ssh = Some(SshOptions { key: ssh.server.key(), known_hosts: ssh.server.known_hosts() });
    let store = GitStore::open(options).unwrap();
    assert!(matches!(poll(&store).await, Err(UnknownReason::NotFound { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_takes_the_connection_and_is_silent_is_given_up() {
    let Some(ssh) = ssh() else { return };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ssh://git@127.0.0.1:{}/state.git", listener.local_addr().unwrap().port());
    let mut options = GitOptions::new(&url, Follow::branch("main"), ssh.scene.cache.clone());
    options.ssh = Some(SshOptions { key: ssh.server.key(), known_hosts: ssh.server.known_hosts() });
    options.patience = impatient();
    let store = GitStore::open(options).unwrap();
    assert!(matches!(poll(&store).await, Err(UnknownReason::Unreachable { .. })));
}

#[test]
fn an_ssh_url_without_key_and_hosts_is_refused() {
    let scene = Scene::new();
    let options = GitOptions::new("ssh://git@host/x", Follow::branch("main"), scene.cache.clone());
    assert!(matches!(GitStore::open(options), Err(StoreError::Refused { .. })));
}
