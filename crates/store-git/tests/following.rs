//! Tests that a branch is followed: polled, fetched when it moved, opened, related and described.

use setpoint_core::observed::UnknownReason;
use setpoint_core::time::Timestamp;
use setpoint_core::version::Ancestry;
use setpoint_store::{EntryKind, Recording, Store, StoreError, StorePath};
use setpoint_testbed::{Item, On};

use crate::scene::{Scene, head, opened, path, poll, read};

#[tokio::test(flavor = "multi_thread")]
async fn a_version_is_read_without_a_checkout() {
    let scene = Scene::new();
    let commit = scene.repository.commit(
        "main",
        None,
        &[
            ("apps/shop/a.yaml", Item::File("kind: A\n")),
            ("apps/shop.yaml", Item::File("x")),
            ("run.sh", Item::Executable("#!/bin/sh\n")),
            ("apps/current", Item::Link("shop")),
        ],
    );
    let store = scene.store();
    assert_eq!(head(&store).await.as_str(), commit);
    let tree = opened(&store).await.unwrap();
    assert_eq!(read(&*tree, "apps/shop/a.yaml").as_deref(), Some("kind: A\n"));
    assert_eq!(read(&*tree, "apps/current/a.yaml").as_deref(), Some("kind: A\n"));
    assert_eq!(read(&*tree, "apps/nothing"), None);
    let listing = tree.list(&path("apps")).unwrap().unwrap();
    let names: Vec<_> = listing.entries.iter().map(|entry| (entry.name.as_ref(), entry.kind)).collect();
    // `git ls-tree` shows shop.yaml before shop/, because it sorts directories with their slash; a
    // listing is sorted by name.
    assert_eq!(
        names,
        [("current", EntryKind::Symlink), ("shop", EntryKind::Directory), ("shop.yaml", EntryKind::File)]
    );
    assert_eq!(listing.id.as_str(), scene.repository.git(&["rev-parse", "main:apps"], b""));
    assert_eq!(tree.id_at(&path("run.sh")).unwrap().unwrap().kind, EntryKind::Executable);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_asks_for_one_branch_and_fetches_only_if_it_moved() {
    let scene = Scene::new();
    let first = scene.repository.commit("main", None, &[("a", Item::File("1"))]);
    scene.repository.commit("other", None, &[("b", Item::File("1"))]);
    scene.repository.git(&["tag", "v1", &first], b"");
    let store = scene.store();
    head(&store).await;
    scene.server.take_seen();
    assert_eq!(head(&store).await.as_str(), first);
    let seen = scene.server.take_seen();
    assert_eq!(
        seen.iter().map(setpoint_testbed::Request::step).collect::<Vec<_>>(),
        [On::Advertisement, On::References]
    );
    assert!(String::from_utf8_lossy(&seen[1].body).contains("ref-prefix refs/heads/main"));
    let second = scene.repository.commit("main", Some(&first), &[("a", Item::File("2"))]);
    assert_eq!(head(&store).await.as_str(), second);
    assert!(scene.server.take_seen().iter().any(|request| request.step() == On::Pack));
    let copy = scene.copy();
    assert!(!copy.join("refs/heads/other").exists() && !copy.join("refs/tags/v1").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_stay_readable_over_many_polls() {
    let scene = Scene::new();
    let store = scene.store();
    let mut versions = Vec::new();
    let mut parent: Option<String> = None;
    // More polls than a freshly opened object store has room for packs.
    for n in 0..40 {
        let commit = scene.repository.commit("main", parent.as_deref(), &[("n", Item::File(&n.to_string()))]);
        versions.push(head(&store).await);
        parent = Some(commit);
    }
    for (n, version) in versions.iter().enumerate() {
        let tree = store.open(version).await.unwrap();
        assert_eq!(read(&*tree, "n"), Some(n.to_string()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ancestry_is_told_from_the_history() {
    let scene = Scene::new();
    let first = scene.repository.commit("main", None, &[("a", Item::File("1"))]);
    let second = scene.repository.commit("main", Some(&first), &[("a", Item::File("2"))]);
    let store = scene.store();
    head(&store).await;
    let (first, second) = (first.parse().unwrap(), second.parse().unwrap());
    assert_eq!(store.ancestry(&first, &second).await.unwrap(), Ancestry::Descendant);
    assert_eq!(store.ancestry(&second, &first).await.unwrap(), Ancestry::Older);
    assert_eq!(store.ancestry(&second, &second).await.unwrap(), Ancestry::Same);
    let unknown = "0123456789012345678901234567890123456789".parse().unwrap();
    assert_eq!(store.ancestry(&unknown, &second).await.unwrap(), Ancestry::Unknown);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_20_a_branch_pushed_to_an_unrelated_history_is_told() {
    let scene = Scene::new();
    let first = scene.repository.commit("main", None, &[("a", Item::File("1"))]);
    let second = scene.repository.commit("main", Some(&first), &[("a", Item::File("2"))]);
    let store = scene.store();
    let accepted = head(&store).await;
    assert_eq!(accepted.as_str(), second);
    scene.repository.commit("main", None, &[("a", Item::File("3"))]);
    let unrelated = head(&store).await;
    assert_eq!(store.ancestry(&accepted, &unrelated).await.unwrap(), Ancestry::Rewritten);
    scene.repository.commit("main", Some(&first), &[("a", Item::File("4"))]);
    let sibling = head(&store).await;
    assert_eq!(store.ancestry(&accepted, &sibling).await.unwrap(), Ancestry::Rewritten);
    scene.repository.git(&["update-ref", "refs/heads/main", &first], b"");
    let set_back = head(&store).await;
    assert_eq!(store.ancestry(&accepted, &set_back).await.unwrap(), Ancestry::Older);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shallow_store_says_that_ancestry_is_unknown() {
    let scene = Scene::new();
    let first = scene.repository.commit("main", None, &[("a", Item::File("1"))]);
    let second = scene.repository.commit("main", Some(&first), &[("a", Item::File("2"))]);
    let store = scene.store_with(|options| options.shallow = true);
    let accepted = head(&store).await;
    assert_eq!(accepted.as_str(), second);
    assert!(matches!(store.open(&first.parse().unwrap()).await, Err(StoreError::Vanished { .. })));
    let third = scene.repository.commit("main", Some(&second), &[("a", Item::File("3"))]);
    let fourth = scene.repository.commit("main", Some(&third), &[("a", Item::File("4"))]);
    let offered = head(&store).await;
    assert_eq!(offered.as_str(), fourth);
    assert_eq!(store.ancestry(&accepted, &offered).await.unwrap(), Ancestry::Unknown);
    assert_eq!(read(&*store.open(&offered).await.unwrap(), "a").as_deref(), Some("4"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_is_described_as_git_shows_it() {
    let scene = Scene::new();
    let message = "subject\n\nbody\n\nReviewed-by: Eve <eve@example.org>\nTicket: 42\n";
    scene.repository.commit_with_message("main", None, &[("a", Item::File("1"))], message);
    let store = scene.store();
    let version = head(&store).await;
    let info = store.describe(&version).await.unwrap();
    assert_eq!((info.author.name.as_str(), info.author.email.as_str()), ("Ada", "ada@example.org"));
    assert_eq!(info.author.at, Timestamp::from_millis(1_700_000_000_000));
    assert_eq!((info.committer.name.as_str(), info.committer.at), ("Bob", Timestamp::from_millis(1_700_000_100_000)));
    assert_eq!(info.message, message);
    let trailers: Vec<_> = info.trailers.iter().map(|t| (t.key.as_str(), t.value.as_str())).collect();
    assert_eq!(trailers, [("Reviewed-by", "Eve <eve@example.org>"), ("Ticket", "42")]);
    assert_eq!(info.signature, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signature_comes_with_exactly_the_bytes_that_were_signed() {
    let scene = Scene::new();
    scene.repository.commit("main", None, &[("a", Item::File("1"))]);
    let tree = scene.repository.git(&["rev-parse", "main^{tree}"], b"");
    let before = format!("tree {tree}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n");
    let after = "\nsigned\n";
    let signature = "-----BEGIN SSH SIGNATURE-----\nabc\n-----END SSH SIGNATURE-----";
    let raw = format!("{before}gpgsig {}\n{after}", signature.replace('\n', "\n "));
    let commit = scene.repository.git(&["hash-object", "-t", "commit", "-w", "--stdin"], raw.as_bytes());
    scene.repository.git(&["update-ref", "refs/heads/main", &commit], b"");
    let store = scene.store();
    let version = head(&store).await;
    let found = store.describe(&version).await.unwrap().signature.unwrap();
    assert_eq!(&*found.payload, format!("{before}{after}").as_bytes());
    assert_eq!(String::from_utf8_lossy(&found.bytes).trim_end(), signature);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_of_a_sub_folder_sees_only_that() {
    let scene = Scene::new();
    scene.repository.commit(
        "main",
        None,
        &[("a/b/c", Item::File("1")), ("x", Item::File("2")), ("a/b/up", Item::Link("../../x"))],
    );
    let store = scene.store_with(|options| options.path = Some(path("a/b")));
    let tree = opened(&store).await.unwrap();
    assert_eq!(read(&*tree, "c").as_deref(), Some("1"));
    assert_eq!(tree.list(&StorePath::root()).unwrap().unwrap().entries.len(), 2);
    assert!(matches!(tree.read(&path("up")), Err(StoreError::Refused { .. })), "a link led out of the sub-folder");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_23_a_folder_that_vanished_is_an_error_and_not_an_empty_one() {
    let scene = Scene::new();
    let first = scene.repository.commit("main", None, &[("apps/a", Item::File("1")), ("x", Item::File("1"))]);
    let store = scene.store_with(|options| options.path = Some(path("apps")));
    assert!(opened(&store).await.is_ok());
    scene.repository.commit("main", Some(&first), &[("x", Item::File("1"))]);
    assert!(matches!(opened(&store).await, Err(StoreError::Vanished { .. })));
    scene.repository.commit("main", Some(&first), &[("apps", Item::File("now a file"))]);
    assert!(matches!(opened(&store).await, Err(StoreError::Vanished { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_22_a_deleted_branch_is_unknown() {
    let scene = Scene::new();
    scene.repository.commit("main", None, &[("a", Item::File("1"))]);
    scene.repository.commit("main2", None, &[("a", Item::File("1"))]);
    let store = scene.store();
    let version = head(&store).await;
    scene.repository.delete_branch("main");
    let reason = poll(&store).await.unwrap_err();
    assert!(matches!(&reason, UnknownReason::NotFound { detail } if detail.contains("branch `main`")), "{reason:?}");
    assert!(store.open(&version).await.is_ok(), "what was accepted can still be read");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_elsewhere_leaves_what_was_read_as_it_was() {
    let scene = Scene::new();
    let first = scene.repository.commit("main", None, &[("a/x", Item::File("1")), ("b/x", Item::File("1"))]);
    let store = scene.store();
    let before = opened(&store).await.unwrap();
    let recording = Recording::new(&*before);
    read(&recording, "a/x");
    read(&recording, "a/y");
    let reads = recording.into_reads();
    let files = [("a/x", Item::File("1")), ("b/x", Item::File("2"))];
    let second = scene.repository.commit("main", Some(&first), &files);
    assert!(reads.holds_on(&*opened(&store).await.unwrap()).unwrap());
    scene.repository.commit("main", Some(&second), &[("a/x", Item::File("1")), ("a/y", Item::File("new"))]);
    assert!(!reads.holds_on(&*opened(&store).await.unwrap()).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_survives_a_restart_and_works_while_the_server_is_gone() {
    let scene = Scene::new();
    scene.repository.commit("main", None, &[("a", Item::File("1"))]);
    let version = head(&scene.store()).await;
    scene.server.break_with(On::Everything, setpoint_testbed::Fault::Status(503));
    let store = scene.store_of_a_new_process();
    assert!(poll(&store).await.is_err());
    assert_eq!(read(&*store.open(&version).await.unwrap(), "a").as_deref(), Some("1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_copy_is_fetched_anew_and_told() {
    let scene = Scene::new();
    scene.repository.commit("main", None, &[("a", Item::File("1"))]);
    head(&scene.store()).await;
    for pack in std::fs::read_dir(scene.copy().join("objects/pack")).unwrap() {
        let file = pack.unwrap().path();
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, b"garbage").unwrap();
    }
    let store = scene.store_of_a_new_process();
    let tree = opened(&store).await.unwrap();
    assert_eq!(read(&*tree, "a").as_deref(), Some("1"));
    let notices = store.take_notices();
    let told = format!("the copy of {} in ", scene.server.url("state.git"));
    assert!(notices.len() == 1 && notices[0].starts_with(&told), "{notices:?}");
    assert_eq!(store.take_notices(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_found_while_reading_is_mended_by_the_next_poll() {
    let scene = Scene::new();
    scene.repository.commit("main", None, &[("a/b", Item::File("1"))]);
    let store = scene.store();
    let version = head(&store).await;
    let copy = scene.copy();
    let folder = scene.repository.git(&["rev-parse", "main:a"], b"");
    // A pack without the directory `a`: the head and its root are complete, the content below is
    // not.
    let wanted = scene.repository.git(&["rev-list", "--objects", "main"], b"");
    let kept: String =
        wanted.lines().filter(|line| !line.starts_with(&folder)).map(|line| format!("{}\n", &line[..40])).collect();
    let packs = copy.join("objects/pack");
    for pack in std::fs::read_dir(&packs).unwrap() {
        std::fs::remove_file(pack.unwrap().path()).unwrap();
    }
    scene.repository.git(&["pack-objects", "-q", packs.join("pack").to_str().unwrap()], kept.as_bytes());
    let store = {
        drop(store);
        scene.store_of_a_new_process()
    };
    assert!(matches!(store.open(&version).await, Err(StoreError::Damaged { .. })));
    assert_eq!(head(&store).await, version);
    assert_eq!(read(&*store.open(&version).await.unwrap(), "a/b").as_deref(), Some("1"));
    assert_eq!(store.take_notices().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_with_a_commit_and_without_its_files_is_not_believed_and_in_the_end_replaced() {
    let scene = Scene::new();
    let first = scene.repository.commit("main", None, &[("a", Item::File("1"))]);
    let store = scene.store();
    head(&store).await;
    let second = scene.repository.commit("main", Some(&first), &[("a", Item::File("2"))]);
    let commit = scene.repository.git(&["cat-file", "commit", &second], b"") + "\n";
    let copy = setpoint_testbed::GitRepository::open(&scene.copy());
    let written = copy.git(&["hash-object", "-t", "commit", "-w", "--stdin"], commit.as_bytes());
    assert_eq!(written, second, "our copy has the commit, so that it does not ask for it");
    for _ in 0..2 {
        let reason = poll(&store).await.expect_err("its files are not here");
        assert!(matches!(reason, UnknownReason::Malformed { .. }), "{reason:?}");
    }
    assert_eq!(head(&store).await.as_str(), second, "the copy is suspected after some failures in a row");
    assert_eq!(read(&*opened(&store).await.unwrap(), "a").as_deref(), Some("2"));
    assert_eq!(store.take_notices().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_copy_is_kept_until_there_is_another() {
    let scene = Scene::new();
    let first = scene.repository.commit("main", None, &[("a", Item::File("1"))]);
    let store = scene.store();
    let version = head(&store).await;
    let second = scene.repository.commit("main", Some(&first), &[("a", Item::File("2"))]);
    std::fs::write(scene.copy().join("refs/heads/main"), format!("{second}\n")).unwrap();
    scene.server.break_with(On::Pack, setpoint_testbed::Fault::Status(500));
    assert!(poll(&store).await.is_err());
    assert_eq!(read(&*store.open(&version).await.unwrap(), "a").as_deref(), Some("1"));
    assert_eq!(store.take_notices(), [""; 0]);
    scene.server.mend();
    assert_eq!(head(&store).await.as_str(), second);
    assert_eq!(store.take_notices().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_many_packs_is_replaced_and_old_ones_go() {
    let scene = Scene::new();
    let store = scene.store_with(|options| options.limits.packs = 3);
    let mut parent: Option<String> = None;
    for n in 0..12 {
        let commit = scene.repository.commit("main", parent.as_deref(), &[("n", Item::File(&n.to_string()))]);
        assert_eq!(read(&*opened(&store).await.unwrap(), "n"), Some(n.to_string()));
        parent = Some(commit);
    }
    let mirror = scene.folder.path().join("cache");
    let mirror = std::fs::read_dir(mirror).unwrap().next().unwrap().unwrap().path();
    let mut copies: Vec<_> = std::fs::read_dir(mirror).unwrap().map(|copy| copy.unwrap().file_name()).collect();
    copies.sort();
    assert_eq!(copies, ["3.git", "4.git"]);
    assert_eq!(store.take_notices(), [""; 0], "this is housekeeping and no damage");
}

#[tokio::test(flavor = "multi_thread")]
async fn stores_of_the_same_repository_share_a_copy_and_others_do_not() {
    let scene = Scene::new();
    scene.repository.commit("main", None, &[("a/x", Item::File("1")), ("b/x", Item::File("2"))]);
    let one = scene.store_with(|options| options.path = Some(path("a")));
    let two = scene.store_with(|options| options.path = Some(path("b")));
    let version = head(&one).await;
    scene.server.take_seen();
    assert_eq!(head(&two).await, version);
    assert!(scene.server.take_seen().iter().all(|request| request.step() != On::Pack));
    assert_eq!(read(&*two.open(&version).await.unwrap(), "x").as_deref(), Some("2"));
    let file = scene.folder.path().join("token");
    let stranger = scene.store_with(|options| options.credentials = setpoint_store_git::Credentials::Token { file });
    assert!(stranger.open(&version).await.is_err(), "another's copy was read without a right to it");
}
