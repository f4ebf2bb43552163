//! Tests versions outside the followed branch: they are found and fetched for a plan, never
//! followed.

use std::sync::Arc;

use setpoint_store::{Store, StoreError};
use setpoint_store_git::{Follow, GitOptions, GitStore};
use setpoint_testbed::{Item, On};

use crate::scene::{Scene, head, opened, poll, read};

/// Builds a repository with an unmerged branch of two commits, a pull request and a tag. Returns
/// the ids.
fn unmerged(scene: &Scene) -> [String; 5] {
    let repository = &scene.repository;
    let main = repository.commit("main", None, &[("a", Item::File("main"))]);
    let middle = repository.commit("topic", Some(&main), &[("a", Item::File("middle"))]);
    let tip = repository.commit("topic", Some(&middle), &[("a", Item::File("tip"))]);
    let pull = repository.commit("pulled", Some(&main), &[("a", Item::File("pull"))]);
    repository.git(&["update-ref", "refs/pull/7/head", &pull], b"");
    repository.git(&["update-ref", "-d", "refs/heads/pulled"], b"");
    let tagged = repository.commit("tagged", Some(&main), &[("a", Item::File("tagged"))]);
    repository.git(&["-c", "user.name=Ada", "-c", "user.email=a@b", "tag", "-a", "-m", "one", "v1", &tagged], b"");
    repository.git(&["update-ref", "-d", "refs/heads/tagged"], b"");
    [main, middle, tip, pull, tagged]
}

async fn content(store: &GitStore, name: &str) -> Option<String> {
    let version = store.find_offered(name).await.expect("the store offers it");
    assert!(version.as_str().starts_with(name), "{version}");
    read(&*store.open(&version).await.expect("it was brought here"), "a")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_is_not_on_the_branch_is_fetched_from_any_reference_the_store_offers() {
    let scene = Scene::new();
    let [main, middle, tip, pull, tagged] = unmerged(&scene);
    let store = scene.store();
    assert_eq!(head(&store).await.as_str(), main);
    for (name, expected) in [(&tip, "tip"), (&pull, "pull"), (&tagged, "tagged"), (&middle, "middle"), (&main, "main")]
    {
        assert_eq!(content(&store, &name[..9]).await.as_deref(), Some(expected));
        assert_eq!(content(&store, name).await.as_deref(), Some(expected));
        if *name != main {
            let followed = store.find(name).await;
            assert!(matches!(followed, Err(StoreError::Vanished { .. })), "it may not be accepted: {followed:?}");
        }
    }
    assert_eq!(poll(&store).await.expect("it answers").as_str(), main, "what is followed has not moved");
    let copy = scene.copy();
    assert!(!copy.join("refs/heads/topic").exists() && !copy.join("refs/offered").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_on_the_branch_costs_no_conversation_and_one_that_nothing_leads_to_is_missing() {
    let scene = Scene::new();
    let [main, ..] = unmerged(&scene);
    let dangling = scene.repository.commit("gone", None, &[("a", Item::File("dangling"))]);
    scene.repository.git(&["update-ref", "-d", "refs/heads/gone"], b"");
    let store = scene.store();
    head(&store).await;
    scene.server.take_seen();
    assert_eq!(content(&store, &main).await.as_deref(), Some("main"));
    assert_eq!(scene.server.take_seen().len(), 0);
    for name in [dangling.as_str(), "0123456789"] {
        let missing = store.find_offered(name).await;
        assert!(matches!(missing, Err(StoreError::Vanished { .. })), "{missing:?}");
    }
    let nothing = store.find_offered("main").await;
    assert!(matches!(nothing, Err(StoreError::Refused { .. })), "{nothing:?}");
    assert!(scene.server.take_seen().iter().any(|request| request.step() == On::References));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_cannot_be_asked_is_not_one_without_the_version() {
    let scene = Scene::new();
    let [_, _, tip, ..] = unmerged(&scene);
    let store = scene.store();
    head(&store).await;
    scene.server.require("Basic bm9ib2R5OmtlcHQ=");
    let denied = store.find_offered(&tip).await;
    assert!(matches!(denied, Err(StoreError::Unauthenticated { .. })), "{denied:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_was_fetched_for_a_plan_is_followed_once_it_is_merged() {
    let scene = Scene::new();
    let [main, _, tip, ..] = unmerged(&scene);
    let store = scene.store();
    let accepted = head(&store).await;
    content(&store, &tip).await;
    scene.repository.git(&["update-ref", "refs/heads/main", &tip, &main], b"");
    let merged = head(&store).await;
    assert_eq!(merged.as_str(), tip);
    assert_eq!(read(&*opened(&store).await.expect("it is here"), "a").as_deref(), Some("tip"));
    let ancestry = store.ancestry(&accepted, &merged).await.expect("its history is here");
    assert_eq!(ancestry, setpoint_core::version::Ancestry::Descendant);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_plans_do_not_fill_the_copy_with_packs() {
    let scene = Scene::new();
    let main = scene.repository.commit("main", None, &[("a", Item::File("main"))]);
    let store = scene.store_with(|options| options.limits.packs = 3);
    head(&store).await;
    for n in 0..8 {
        let text = n.to_string();
        let tip = scene.repository.commit(&format!("topic-{n}"), Some(&main), &[("a", Item::File(&text))]);
        assert_eq!(content(&store, &tip).await.as_deref(), Some(text.as_str()));
    }
    assert_eq!(head(&store).await.as_str(), main);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shallow_store_and_one_on_this_machine_look_ahead_too() {
    let scene = Scene::new();
    let [_, middle, tip, pull, tagged] = unmerged(&scene);
    let shallow = scene.store_with(|options| options.shallow = true);
    head(&shallow).await;
    assert_eq!(content(&shallow, &tip).await.as_deref(), Some("tip"));
    scene.repository.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/gone"], b"");
    let folder = scene.repository.folder().display().to_string();
    let mut options = GitOptions::new(&folder, Follow::branch("main"), scene.cache.clone());
    options.allow_local = true;
    let local: Arc<GitStore> = Arc::new(GitStore::open(options).expect("the options are valid"));
    for (name, expected) in [(&tip, "tip"), (&pull, "pull"), (&tagged, "tagged"), (&middle, "middle")] {
        assert_eq!(content(&local, name).await.as_deref(), Some(expected));
        assert!(local.find(name).await.is_err(), "it may not be accepted");
    }
}
