//! Tests the store in memory: heads that move, lag, are rewritten and fail; and trees that follow
//! links.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::time::Timestamp;
use setpoint_core::version::Ancestry;
use setpoint_store::{EntryKind, MemoryStore, MemoryTree, Store, StoreError, StorePath, Tree};

fn answer<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("a store in memory answers at once"),
    }
}

fn path(text: &str) -> StorePath {
    StorePath::new(text).expect("paths of tests are valid")
}

fn tree(text: &str) -> MemoryTree {
    MemoryTree::of([("app/a.yaml", text)])
}

const T: Timestamp = Timestamp::from_millis(1);

#[test]
fn the_head_is_polled_opened_and_described() {
    let store = MemoryStore::default();
    let version = store.commit(tree("one"), "first", T);
    assert_eq!(answer(store.poll(T)), Observed::known(version.clone(), T));
    let opened = answer(store.open(&version)).unwrap();
    assert_eq!(&*opened.read(&path("app/a.yaml")).unwrap().unwrap().bytes, b"one");
    assert_eq!(answer(store.describe(&version)).unwrap().message, "first");
}

#[test]
fn ancestry_tells_descendants_from_lagging_and_rewritten_heads() {
    let store = MemoryStore::default();
    let first = store.commit(tree("one"), "first", T);
    let second = store.commit(tree("two"), "second", T);
    let other = store.rewrite(Some(first.clone()), tree("three"), "other", T);
    let orphan = store.rewrite(None, tree("two"), "orphan", T);
    let ancestry = |a, b| answer(store.ancestry(a, b)).unwrap();
    assert_eq!(ancestry(&first, &first), Ancestry::Same);
    assert_eq!(ancestry(&first, &second), Ancestry::Descendant);
    assert_eq!(ancestry(&second, &first), Ancestry::Older);
    assert_eq!(ancestry(&second, &other), Ancestry::Rewritten);
    assert_eq!(ancestry(&second, &orphan), Ancestry::Rewritten);
    assert_eq!(ancestry(&"nowhere".parse().unwrap(), &orphan), Ancestry::Unknown);
}

#[test]
fn a_deleted_branch_and_a_failing_store_are_unknown_and_never_empty() {
    let store = MemoryStore::default();
    let version = store.commit(tree("one"), "first", T);
    store.set_head(None);
    assert!(matches!(answer(store.poll(T)), Observed::Unknown { reason: UnknownReason::NotFound { .. } }));
    store.set_head(Some(version.clone()));
    store.fail_with(Some(StoreError::denied("no")));
    assert_eq!(answer(store.poll(T)), Observed::unknown(UnknownReason::Denied { detail: "no".into() }));
    assert!(matches!(answer(store.open(&version)), Err(StoreError::Denied { .. })));
    store.fail_with(None);
    assert!(answer(store.poll(T)).is_known());
}

#[test]
fn an_unknown_version_has_vanished() {
    let store = MemoryStore::default();
    assert!(matches!(answer(store.open(&"nowhere".parse().unwrap())), Err(StoreError::Vanished { .. })));
}

#[test]
fn what_no_version_may_contain_is_refused_when_it_is_opened() {
    let store = MemoryStore::default();
    let version = store.commit(tree("one").with_link(&path("out"), "../x"), "bad", T);
    assert!(matches!(answer(store.open(&version)), Err(StoreError::Refused { .. })));
}

#[test]
fn links_are_followed_to_files_and_folders() {
    let tree = MemoryTree::of([("base/a.yaml", "one"), ("x", "file")])
        .with_link(&path("overlay/base"), "../base")
        .with_link(&path("latest"), "overlay/base/a.yaml");
    assert_eq!(&*tree.read(&path("latest")).unwrap().unwrap().bytes, b"one");
    assert_eq!(tree.list(&path("overlay/base")).unwrap(), tree.list(&path("base")).unwrap());
    assert_eq!(tree.id_at(&path("overlay/base")).unwrap().unwrap().kind, EntryKind::Directory);
    let real = |text: &str| tree.real_path(&path(text)).unwrap().map(|path| path.to_string());
    assert_eq!(real("overlay/base/a.yaml").as_deref(), Some("base/a.yaml"));
    assert_eq!(real("latest").as_deref(), Some("base/a.yaml"));
    assert_eq!(real("base").as_deref(), Some("base"));
    assert_eq!(real("overlay/base/b.yaml"), None);
    assert_eq!(tree.list(&path("overlay")).unwrap().unwrap().get("base").unwrap().kind, EntryKind::Symlink);
}

#[test]
fn a_folder_is_no_file_and_a_file_is_no_folder() {
    let tree = MemoryTree::of([("a/b", "x")]);
    assert_eq!(tree.read(&path("a")).unwrap(), None);
    assert_eq!(tree.list(&path("a/b")).unwrap(), None);
    assert_eq!(tree.read(&path("a/b/c")).unwrap(), None);
    assert_eq!(tree.read(&path("a/c")).unwrap(), None);
    assert_eq!(tree.list(&StorePath::root()).unwrap().unwrap().entries.len(), 1);
}
