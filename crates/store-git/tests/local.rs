//! Tests local repositories, and new versions written to them without the `git` program.

use std::os::unix::fs::PermissionsExt;

use setpoint_core::observed::UnknownReason;
use setpoint_core::time::Timestamp;
use setpoint_core::version::Ancestry;
use setpoint_store::{Store, StoreError};
use setpoint_store_git::{Author, Branch, Change, Follow, GitCache, GitOptions, GitStore, LocalRepository, Parent};
use setpoint_testbed::{GitRepository, Item};

use crate::scene::{head, opened, path, poll, read};

fn store(folder: &std::path::Path) -> GitStore {
    let mut options =
        GitOptions::new(folder.to_str().expect("a plain path"), Follow::branch("main"), GitCache::at("/nonexistent"));
    options.allow_local = true;
    GitStore::open(options).expect("the options of tests are valid")
}

fn author() -> Author {
    Author { name: "Ada".into(), email: "ada@example.org".into(), at: Timestamp::from_millis(1_700_000_000_000) }
}

fn write(at: &str, text: &str) -> Change {
    Change::Write { path: path(at), bytes: text.as_bytes().to_vec() }
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_are_written_and_git_agrees_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("new/state");
    let repository = LocalRepository::init(&folder).unwrap();
    let branch = Branch::parse("main").unwrap();
    let first = [write("apps/a.yaml", "1"), write("b", "2")];
    let first = repository.commit(&branch, &first, &author(), "first\n", Parent::Head).unwrap();
    let second = [write("apps/a.yaml", "3"), Change::Remove { path: path("b") }];
    let second = repository.commit(&branch, &second, &author(), "second\n", Parent::Head).unwrap();
    let store = store(&folder);
    assert_eq!(head(&store).await, second);
    assert_eq!(store.ancestry(&first, &second).await.unwrap(), Ancestry::Descendant);
    let tree = opened(&store).await.unwrap();
    assert_eq!((read(&*tree, "apps/a.yaml").as_deref(), read(&*tree, "b")), (Some("3"), None));
    let orphan = repository.commit(&branch, &[write("c", "4")], &author(), "new\n", Parent::Orphan).unwrap();
    assert_eq!(head(&store).await, orphan);
    assert_eq!(store.ancestry(&second, &orphan).await.unwrap(), Ancestry::Rewritten);
    let reopened = LocalRepository::open(&folder).unwrap();
    let last = reopened.commit(&branch, &[write("d", "5")], &author(), "last\n", Parent::Head).unwrap();
    let git = GitRepository::open(&folder);
    assert_eq!(git.git(&["fsck", "--strict", "--no-dangling"], b""), "");
    assert_eq!(git.head("main"), last.as_str());
    assert_eq!(git.git(&["log", "-1", "--format=%an <%ae> %at %s"], b""), "Ada <ada@example.org> 1700000000 last");
    assert_eq!(git.git(&["ls-tree", "-r", "--name-only", "main"], b""), "apps/a.yaml\nc\nd");
}

#[test]
fn an_author_that_would_forge_another_line_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let repository = LocalRepository::init(folder.path()).unwrap();
    for name in ["a\nparent 0", "a <b>", ""] {
        let author = Author { name: name.into(), ..author() };
        let made = repository.commit(&Branch::parse("main").unwrap(), &[], &author, "x", Parent::Head);
        assert!(matches!(made, Err(StoreError::Refused { .. })), "{name:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_not_there_and_a_branch_that_is_not_are_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("nothing");
    let reason = poll(&store(&missing)).await.expect_err("it is not there");
    assert!(matches!(reason, UnknownReason::NotFound { .. }), "{reason:?}");
    let told = reason.to_string();
    assert!(told.starts_with(&format!("the repository {} was not found: restore it", missing.display())), "{told}");
    LocalRepository::init(&folder.path().join("empty")).unwrap();
    assert!(matches!(poll(&store(&folder.path().join("empty"))).await, Err(UnknownReason::NotFound { .. })));
    std::fs::create_dir(folder.path().join("plain")).unwrap();
    assert!(matches!(poll(&store(&folder.path().join("plain"))).await, Err(UnknownReason::Malformed { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_25_hooks_and_programs_in_a_repositorys_configuration_are_never_run() {
    let folder = tempfile::tempdir().unwrap();
    let repository = GitRepository::init(&folder.path().join("state"));
    repository.commit("main", None, &[("a", Item::File("1"))]);
    let marker = folder.path().join("ran");
    let program = folder.path().join("evil");
    std::fs::write(&program, format!("#!/bin/sh\ntouch {}\n", marker.display())).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let evil = program.to_str().unwrap();
    for key in ["core.fsmonitor", "core.sshCommand", "core.pager", "credential.helper", "uploadpack.packObjectsHook"] {
        repository.git(&["config", key, evil], b"");
    }
    repository.git(&["config", "core.hooksPath", folder.path().to_str().unwrap()], b"");
    repository.git(&["config", "include.path", "/etc/passwd"], b"");
    for hook in ["post-checkout", "reference-transaction", "post-merge"] {
        std::fs::copy(&program, folder.path().join(hook)).unwrap();
    }
    let store = store(&folder.path().join("state"));
    assert_eq!(read(&*opened(&store).await.unwrap(), "a").as_deref(), Some("1"));
    let local = LocalRepository::open(&folder.path().join("state")).unwrap();
    local.commit(&Branch::parse("main").unwrap(), &[write("b", "2")], &author(), "x\n", Parent::Head).unwrap();
    assert_eq!(read(&*opened(&store).await.unwrap(), "b").as_deref(), Some("2"));
    assert!(!marker.exists(), "something of the repository was run");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_borrows_objects_from_another_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let repository = GitRepository::init(&folder.path().join("state"));
    repository.commit("main", None, &[("a", Item::File("1"))]);
    std::fs::write(folder.path().join("state/objects/info/alternates"), "/etc\n").unwrap();
    let reason = poll(&store(&folder.path().join("state"))).await.unwrap_err();
    assert!(matches!(&reason, UnknownReason::Malformed { detail } if detail.contains("alternates")), "{reason:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_does_not_change_what_a_version_holds() {
    let folder = tempfile::tempdir().unwrap();
    let repository = GitRepository::init(&folder.path().join("state"));
    let honest = repository.commit("main", None, &[("a", Item::File("1"))]);
    let other = repository.commit("other", None, &[("a", Item::File("2"))]);
    repository.git(&["replace", &honest, &other], b"");
    let store = store(&folder.path().join("state"));
    assert_eq!(read(&*opened(&store).await.unwrap(), "a").as_deref(), Some("1"));
}

#[test]
fn nothing_local_is_read_without_leave() {
    let options = GitOptions::new("/etc", Follow::branch("main"), GitCache::at("/nonexistent"));
    assert!(matches!(GitStore::open(options), Err(StoreError::Refused { .. })));
}
