//! Tests stores that do not follow a branch: they use a tag, which must not move, or a single
//! commit.

use setpoint_core::observed::UnknownReason;
use setpoint_core::version::Ancestry;
use setpoint_store::{Store, StoreError};
use setpoint_store_git::{Follow, GitCache, GitOptions, GitStore};
use setpoint_testbed::{Item, On, Request};

use crate::scene::{Scene, head, opened, poll, read, refusal};

fn of_tag(scene: &Scene, name: &str) -> GitStore {
    scene.store_with(|options| options.follow = Follow::tag(name))
}

fn of_commit(scene: &Scene, id: &str) -> GitStore {
    scene.store_with(|options| options.commit = Some(id.to_owned()))
}

/// Adds commits to `main`, one after the other; the file `n` holds their numbers.
fn history(scene: &Scene, length: usize) -> Vec<String> {
    let mut commits: Vec<String> = Vec::new();
    for n in 0..length {
        let parent = commits.last().map(String::as_str);
        let commit = scene.repository.commit("main", parent, &[("n", Item::File(&n.to_string()))]);
        commits.push(commit);
    }
    commits
}

fn told(reason: &UnknownReason) -> String {
    match reason {
        UnknownReason::NotFound { detail } | UnknownReason::Malformed { detail } => detail.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commit_of_a_tag_is_the_version_whether_it_is_annotated_or_not() {
    let scene = Scene::new();
    let commits = history(&scene, 3);
    scene.repository.git(&["tag", "light", &commits[1]], b"");
    scene.repository.git(&["tag", "-a", "-m", "annotated", "v1.2.3", &commits[1]], b"");
    scene.repository.git(&["tag", "-a", "-m", "a tag of a tag", "nested/v1", "v1.2.3"], b"");
    for name in ["light", "v1.2.3", "nested/v1"] {
        let store = of_tag(&scene, name);
        assert_eq!(head(&store).await.as_str(), commits[1], "{name}");
        assert_eq!(read(&*opened(&store).await.unwrap(), "n").as_deref(), Some("1"), "{name}");
        assert_eq!(store.find(&commits[0][..12]).await.unwrap().as_str(), commits[0], "{name}");
        assert!(store.find(&commits[2]).await.is_err(), "{name}: a commit that is not behind the tag was found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_asks_for_the_one_tag_and_fetches_nothing_while_it_stays() {
    let scene = Scene::new();
    let commits = history(&scene, 2);
    scene.repository.git(&["tag", "-a", "-m", "one", "v1", &commits[0]], b"");
    scene.repository.git(&["tag", "-a", "-m", "another", "v1.1", &commits[1]], b"");
    // A branch of the same name is a different reference.
    scene.repository.git(&["update-ref", "refs/heads/v1", &commits[1]], b"");
    let store = of_tag(&scene, "v1");
    assert_eq!(head(&store).await.as_str(), commits[0]);
    scene.server.take_seen();
    assert_eq!(head(&store).await.as_str(), commits[0]);
    let seen = scene.server.take_seen();
    assert_eq!(seen.iter().map(Request::step).collect::<Vec<_>>(), [On::Advertisement, On::References]);
    assert!(String::from_utf8_lossy(&seen[1].body).contains("ref-prefix refs/tags/v1"));
    assert!(matches!(store.open(&commits[1].parse().unwrap()).await, Err(StoreError::Vanished { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_moves_is_a_rewritten_history_even_if_it_moves_forwards() {
    let scene = Scene::new();
    let commits = history(&scene, 4);
    let versions: Vec<_> = commits.iter().map(|id| id.parse().unwrap()).collect();
    scene.repository.git(&["tag", "v1", &commits[1]], b"");
    let store = of_tag(&scene, "v1");
    head(&store).await;
    assert_eq!(store.ancestry(&versions[0], &versions[1]).await.unwrap(), Ancestry::Descendant);

    scene.repository.git(&["tag", "-f", "-a", "-m", "moved", "v1", &commits[2]], b"");
    assert_eq!(head(&store).await, versions[2], "it is told");
    for accepted in &versions[..2] {
        assert_eq!(store.ancestry(accepted, &versions[2]).await.unwrap(), Ancestry::Rewritten);
    }
    assert_eq!(store.ancestry(&versions[2], &versions[2]).await.unwrap(), Ancestry::Same, "a person accepted it");
    assert_eq!(read(&*store.open(&versions[1]).await.unwrap(), "n").as_deref(), Some("1"), "what was accepted is kept");

    // Neither a new process nor a new copy forgets the move, and moving the tag back does not undo
    // it.
    let store = scene.store_with(|options| {
        options.follow = Follow::tag("v1");
        options.cache = GitCache::at(scene.folder.path().join("cache"));
        options.limits.packs = 1;
    });
    scene.repository.git(&["tag", "-f", "v1", &commits[3]], b"");
    assert_eq!(head(&store).await, versions[3]);
    assert_eq!(store.ancestry(&versions[1], &versions[3]).await.unwrap(), Ancestry::Rewritten);
    scene.repository.git(&["tag", "-f", "v1", &commits[1]], b"");
    assert_eq!(head(&store).await, versions[1]);
    assert_eq!(store.ancestry(&versions[0], &versions[1]).await.unwrap(), Ancestry::Rewritten);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_is_written_anew_for_the_same_commit_has_not_moved() {
    let scene = Scene::new();
    let commits = history(&scene, 2);
    scene.repository.git(&["tag", "v1", &commits[1]], b"");
    let store = of_tag(&scene, "v1");
    let version = head(&store).await;
    scene.repository.git(&["tag", "-f", "-a", "-m", "signed now", "v1", &commits[1]], b"");
    assert_eq!(head(&store).await, version);
    assert_eq!(store.ancestry(&commits[0].parse().unwrap(), &version).await.unwrap(), Ancestry::Descendant);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tag_is_related_by_its_history() {
    let scene = Scene::new();
    let commits = history(&scene, 3);
    scene.repository.git(&["tag", "v1", &commits[0]], b"");
    scene.repository.git(&["tag", "v2", &commits[2]], b"");
    let accepted = head(&of_tag(&scene, "v1")).await;
    let store = of_tag(&scene, "v2");
    let offered = head(&store).await;
    assert_eq!(store.ancestry(&accepted, &offered).await.unwrap(), Ancestry::Descendant);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_of_where_a_tag_was_that_cannot_be_read_holds() {
    let scene = Scene::new();
    let commits = history(&scene, 2);
    scene.repository.git(&["tag", "v1", &commits[1]], b"");
    let store = of_tag(&scene, "v1");
    let version = head(&store).await;
    let mirror = std::fs::read_dir(scene.folder.path().join("cache")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(mirror.join("standing"), "garbage").unwrap();
    let why = refusal(store.ancestry(&commits[0].parse().unwrap(), &version).await);
    assert!(why.contains("standing") && why.contains("remove the file"), "{why}");
    assert!(poll(&store).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_is_gone_is_unknown() {
    let scene = Scene::new();
    let commits = history(&scene, 1);
    scene.repository.git(&["tag", "v1", &commits[0]], b"");
    let store = of_tag(&scene, "v1");
    let version = head(&store).await;
    scene.repository.git(&["tag", "-d", "v1"], b"");
    let why = told(&poll(&store).await.unwrap_err());
    assert!(why.contains("tag `v1` was not found") && why.contains("another tag"), "{why}");
    assert!(store.open(&version).await.is_ok(), "what was accepted can still be read");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_of_something_that_is_no_commit_is_refused() {
    let scene = Scene::new();
    history(&scene, 1);
    scene.repository.git(&["tag", "folder", "main^{tree}"], b"");
    scene.repository.git(&["tag", "-a", "-m", "a key", "file", "main:n"], b"");
    for (name, kind) in [("folder", "tree"), ("file", "blob")] {
        let store = of_tag(&scene, name);
        let why = told(&poll(&store).await.unwrap_err());
        assert!(why.contains(&format!("tag `{name}` leads to a {kind}")), "{why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shallow_store_of_a_tag_has_its_commit_alone() {
    let scene = Scene::new();
    let commits = history(&scene, 2);
    scene.repository.git(&["tag", "-a", "-m", "one", "v1", &commits[1]], b"");
    let store = scene.store_with(|options| {
        options.follow = Follow::tag("v1");
        options.shallow = true;
    });
    assert_eq!(read(&*opened(&store).await.unwrap(), "n").as_deref(), Some("1"));
    assert!(store.open(&commits[0].parse().unwrap()).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_behind_the_head_stays_the_version_while_the_branch_moves_on() {
    let scene = Scene::new();
    let commits = history(&scene, 3);
    let store = of_commit(&scene, &commits[1]);
    assert_eq!(head(&store).await.as_str(), commits[1]);
    scene.repository.commit("main", Some(&commits[2]), &[("n", Item::File("later"))]);
    assert_eq!(read(&*opened(&store).await.unwrap(), "n").as_deref(), Some("1"));
    let other = store.open(&commits[2].parse().unwrap()).await;
    assert!(matches!(&other, Err(StoreError::Vanished { .. })), "another version than the declared one was opened");
    assert_eq!(store.find(&commits[1][..8]).await.unwrap().as_str(), commits[1]);
    assert!(store.find(&commits[2]).await.is_err(), "another version than the declared one was found");
    // It shares only the copy with a store that follows the branch.
    assert_ne!(head(&scene.store()).await.as_str(), commits[1]);
    assert_eq!(head(&store).await.as_str(), commits[1]);
    assert_eq!(std::fs::read_dir(scene.folder.path().join("cache")).unwrap().count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_the_branch_does_not_have_is_unknown_until_it_has_it() {
    let scene = Scene::new();
    let commits = history(&scene, 1);
    let stray = scene.repository.commit("other", Some(&commits[0]), &[("n", Item::File("stray"))]);
    let store = of_commit(&scene, &stray);
    let why = told(&poll(&store).await.unwrap_err());
    assert!(why.contains(&format!("commit {stray} on branch `main`")) && why.contains("push it there"), "{why}");
    assert_eq!(told(&poll(&store).await.unwrap_err()), why);
    assert_eq!(store.take_notices(), [""; 0], "our copy is whole");
    scene.repository.git(&["update-ref", "refs/heads/main", &stray], b"");
    assert_eq!(head(&store).await.as_str(), stray);
    // The object is still local, but no longer on the branch.
    scene.repository.git(&["update-ref", "refs/heads/main", &commits[0]], b"");
    assert!(poll(&store).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_no_commit_is_not_on_a_branch() {
    let scene = Scene::new();
    history(&scene, 1);
    let tree = scene.repository.git(&["rev-parse", "main^{tree}"], b"");
    assert!(poll(&of_commit(&scene, &tree)).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_behind_a_tag_stays_the_version_wherever_the_tag_goes() {
    let scene = Scene::new();
    let commits = history(&scene, 3);
    scene.repository.git(&["tag", "-a", "-m", "one", "v1", &commits[1]], b"");
    let store = scene.store_with(|options| {
        options.follow = Follow::tag("v1");
        options.commit = Some(commits[1].clone());
    });
    let version = head(&store).await;
    assert_eq!(version.as_str(), commits[1]);
    scene.repository.git(&["tag", "-f", "v1", &commits[2]], b"");
    assert_eq!(head(&store).await, version);
    assert_eq!(store.ancestry(&commits[0].parse().unwrap(), &version).await.unwrap(), Ancestry::Descendant);
    scene.repository.git(&["tag", "-f", "v1", &commits[0]], b"");
    let why = told(&poll(&store).await.unwrap_err());
    assert!(why.contains(&format!("commit {version} on tag `v1`")), "{why}");
}

#[test]
fn names_that_are_no_tags_and_ids_that_are_no_commits_are_refused_before_anything_is_asked() {
    let options = || GitOptions::new("https://git.example/x", Follow::branch("main"), GitCache::at("/nonexistent"));
    for name in ["../x", "a..b", "refs/tags/v1", "-v", "v1^{}", "v1~1", "v 1", ""] {
        let why = refusal(GitStore::open(GitOptions { follow: Follow::tag(name), ..options() }));
        assert!(why.contains("is not a tag"), "{why}");
    }
    for id in ["HEAD", "main", "0123456", "../../../../../../../../etc/passwd/00000000"] {
        let why = refusal(GitStore::open(GitOptions { commit: Some(id.to_owned()), ..options() }));
        assert!(why.contains("is not a commit") && why.contains("40 digits"), "{why}");
    }
    let commit = Some("0123456789012345678901234567890123456789".to_owned());
    let why = refusal(GitStore::open(GitOptions { commit, shallow: true, ..options() }));
    assert!(why.contains("remove `shallow`"), "{why}");
}
