//! Tests servers that fail, lie, stall and redirect. None of this ever results in an empty store.

use std::sync::Arc;
use std::time::Duration;

use setpoint_core::observed::UnknownReason;
use setpoint_store::Store;
use setpoint_store_git::GitOptions;
use setpoint_testbed::{Fault, GitServer, Item, On};

use crate::scene::{Scene, head, impatient, opened, poll, read};

fn scene() -> Scene {
    let scene = Scene::new();
    scene.repository.commit("main", None, &[("a", Item::File("1"))]);
    scene
}

fn with_little_patience(options: &mut GitOptions) {
    options.patience = impatient();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_status_has_its_class() {
    let scene = scene();
    let store = scene.store();
    scene.server.break_with(On::Everything, Fault::Status(401));
    let reason = poll(&store).await.unwrap_err();
    let told = "authentication failed: HTTP 401, and no credentials are declared; set `credentialsFrom`";
    assert!(matches!(reason, UnknownReason::Unauthenticated { .. }) && reason.to_string() == told, "{reason}");
    scene.server.break_with(On::Everything, Fault::Status(403));
    let reason = poll(&store).await.unwrap_err();
    assert!(matches!(reason, UnknownReason::Denied { .. }) && reason.to_string().contains("HTTP 403"), "{reason}");
    for status in [429, 500, 502, 503, 504] {
        scene.server.break_with(On::Everything, Fault::Status(status));
        assert!(matches!(poll(&store).await, Err(UnknownReason::Unreachable { .. })), "{status}");
    }
    for on in [On::References, On::Pack] {
        scene.server.break_with(on, Fault::Status(500));
        assert!(matches!(poll(&store).await, Err(UnknownReason::Unreachable { .. })), "{on:?}");
    }
    scene.server.mend();
    assert!(poll(&store).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn case_22_a_repository_that_answers_404_or_403_is_unknown() {
    let scene = scene();
    let store = scene.store();
    let version = head(&store).await;
    scene.server.break_with(On::Everything, Fault::Status(404));
    let reason = poll(&store).await.unwrap_err();
    assert!(matches!(&reason, UnknownReason::NotFound { detail } if detail.contains("repository")), "{reason:?}");
    scene.server.break_with(On::Everything, Fault::Status(403));
    assert!(matches!(poll(&store).await, Err(UnknownReason::Denied { .. })));
    scene.server.mend();
    assert_eq!(head(&store).await, version);
    let missing = scene.store_with(|options| options.url = scene.server.url("nothing.git"));
    assert!(matches!(poll(&missing).await, Err(UnknownReason::NotFound { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_06_a_redirect_to_another_host_fails_and_takes_no_credentials_along() {
    let scene = scene();
    let other = GitServer::start(scene.folder.path());
    let file = scene.folder.path().join("token");
    std::fs::write(&file, "s3cret").unwrap();
    let credentials = setpoint_store_git::Credentials::Token { file };
    let bases = [other.url(""), scene.server.url_of_localhost("")];
    for base in bases {
        for on in [On::Advertisement, On::References] {
            scene.server.break_with(on, Fault::Redirect(base.trim_end_matches('/').to_owned()));
            let store = scene.store_with(|options| options.credentials = credentials.clone());
            let reason = poll(&store).await.unwrap_err();
            assert!(
                matches!(&reason, UnknownReason::Malformed { detail } if detail.contains("redirects")),
                "{reason:?}"
            );
        }
    }
    assert!(other.take_seen().is_empty(), "the other host was asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_07_a_redirect_to_http_fails() {
    let scene = scene();
    let base = scene.server.url("").replace("https", "http");
    scene.server.break_with(On::Advertisement, Fault::Redirect(base.trim_end_matches('/').to_owned()));
    let reason = poll(&scene.store()).await.unwrap_err();
    assert!(
        matches!(&reason, UnknownReason::Malformed { detail } if detail.contains("without encryption")),
        "{reason:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_within_the_host_is_followed_and_kept() {
    let scene = scene();
    scene.server.break_with(On::Advertisement, Fault::Moved { from: "/old".into(), to: "/state".into() });
    let store = scene.store_with(|options| options.url = scene.server.url("old.git"));
    assert_eq!(read(&*opened(&store).await.unwrap(), "a").as_deref(), Some("1"));
    let seen: Vec<String> = scene.server.take_seen().into_iter().map(|request| request.path).collect();
    assert!(seen[0].starts_with("/old.git/"), "{seen:?}");
    assert!(seen[1..].iter().all(|path| path.starts_with("/state.git/")), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_redirects_without_end_is_given_up() {
    let scene = scene();
    scene.server.break_with(On::Advertisement, Fault::Redirect(scene.server.url("x")));
    let reason = poll(&scene.store()).await.unwrap_err();
    assert!(
        matches!(&reason, UnknownReason::Malformed { detail } if detail.contains("more than 5 times")),
        "{reason:?}"
    );
    assert_eq!(scene.server.take_seen().len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_an_unknown_authority_is_not_trusted() {
    let scene = scene();
    let other = GitServer::start(scene.folder.path());
    let store = scene.store_with(|options| options.authorities = Some(other.authority()));
    assert!(matches!(poll(&store).await, Err(UnknownReason::Unreachable { .. })));
    let store = scene.store_with(|options| options.authorities = None);
    assert!(matches!(poll(&store).await, Err(UnknownReason::Unreachable { .. })));
    assert!(scene.server.take_seen().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_that_is_cut_off_leaves_the_copy_as_it_was() {
    let scene = scene();
    let store = scene.store();
    let first = head(&store).await;
    let text = "x".repeat(50_000);
    let second =
        scene.repository.commit("main", Some(first.as_str()), &[("a", Item::File("1")), ("b", Item::File(&text))]);
    for fault in
        [Fault::Cut(100), Fault::Cut(0), Fault::Shorten(100), Fault::Shorten(0), Fault::Pack(Arc::from(*b"PACK"))]
    {
        scene.server.break_with(On::Pack, fault.clone());
        assert!(poll(&store).await.is_err(), "{fault:?}");
        assert_eq!(read(&*store.open(&first).await.unwrap(), "a").as_deref(), Some("1"));
    }
    scene.server.mend();
    assert_eq!(head(&store).await.as_str(), second);
    assert_eq!(store.take_notices(), [""; 0], "a fault of the server was taken for damage of the copy");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_branches_that_is_cut_off_is_no_missing_branch() {
    let scene = scene();
    let store = scene.store();
    for fault in [Fault::Cut(10), Fault::Shorten(10), Fault::Shorten(0)] {
        scene.server.break_with(On::References, fault.clone());
        let reason = poll(&store).await.unwrap_err();
        assert!(!format!("{reason:?}").contains("branch `main`"), "{fault:?}: {reason:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_sends_nothing_is_given_up() {
    let scene = scene();
    let store = scene.store_with(with_little_patience);
    for on in [On::Advertisement, On::References, On::Pack] {
        scene.server.break_with(on, Fault::Hang);
        let reason = poll(&store).await.unwrap_err();
        assert!(
            matches!(&reason, UnknownReason::Unreachable { detail } if detail.contains("sent nothing")),
            "{reason:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_sends_a_byte_at_a_time_is_given_up() {
    let scene = scene();
    scene.server.break_with(On::Pack, Fault::Drip(Duration::from_millis(20)));
    let store = scene.store_with(|options| {
        options.patience = impatient();
        options.patience.idle = Duration::from_secs(10);
    });
    let reason = poll(&store).await.unwrap_err();
    assert!(
        matches!(&reason, UnknownReason::Unreachable { detail } if detail.contains("bytes a second")),
        "{reason:?}"
    );
    let store = scene.store_with(|options| {
        options.patience = impatient();
        options.patience.idle = Duration::from_secs(10);
        options.patience.total = Duration::from_secs(2);
        options.patience.rate = 0;
    });
    let reason = poll(&store).await.unwrap_err();
    assert!(
        matches!(&reason, UnknownReason::Unreachable { detail } if detail.contains("did not finish")),
        "{reason:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_hangs_does_not_delay_another() {
    let (stuck, fine) = (scene(), scene());
    stuck.server.break_with(On::Everything, Fault::Hang);
    let (stuck, fine) = (stuck.store(), fine.store());
    tokio::select! {
        reason = poll(&stuck) => panic!("it should still wait: {reason:?}"),
        answered = opened(&fine) => assert!(answered.is_ok()),
    }
}

#[test]
fn a_poll_that_nobody_waits_for_ends_at_once() {
    let scene = scene();
    scene.server.break_with(On::Everything, Fault::Hang);
    let store = scene.store();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let given_up = tokio::time::timeout(Duration::from_millis(200), poll(&store)).await;
        assert!(given_up.is_err(), "the server hangs");
        // The turn passes to the next poll, which succeeds.
        scene.server.mend();
        assert!(poll(&store).await.is_ok());
    });
    // Dropping a runtime waits for blocking threads: if the poll continued, for its whole time
    // limit.
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            drop(runtime);
            done.send(()).expect("somebody waits");
        });
        assert!(ended.recv_timeout(Duration::from_secs(10)).is_ok(), "the poll went on");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_there_is_unreachable() {
    let scene = scene();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let store = scene.store_with(|options| options.url = format!("https://127.0.0.1:{port}/state.git"));
    assert!(matches!(poll(&store).await, Err(UnknownReason::Unreachable { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_08_bundles_and_alternates_that_a_server_offers_are_ignored() {
    let scene = scene();
    for (key, value) in [
        ("uploadpack.advertiseBundleURIs", "true"),
        ("bundle.version", "1"),
        ("bundle.mode", "all"),
        ("bundle.one.uri", "https://evil.invalid/one.bundle"),
    ] {
        scene.repository.git(&["config", key, value], b"");
    }
    let store = scene.store();
    assert_eq!(read(&*opened(&store).await.unwrap(), "a").as_deref(), Some("1"));
    let seen = scene.server.take_seen();
    assert!(seen.iter().all(|request| !String::from_utf8_lossy(&request.body).contains("bundle-uri")));
    assert!(!scene.copy().join("objects/info/alternates").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_has_only_a_part_of_the_history_is_not_followed() {
    let scene = scene();
    let first = scene.repository.head("main");
    scene.repository.commit("main", Some(&first), &[("a", Item::File("2"))]);
    let (whole, part) = (scene.repository.folder().display(), scene.folder.path().join("part.git"));
    let part = part.display().to_string();
    scene.repository.git(&["clone", "--quiet", "--bare", "--depth", "1", &format!("file://{whole}"), &part], b"");
    let store = scene.store_with(|options| options.url = scene.server.url("part.git"));
    let reason = poll(&store).await.expect_err("what descends from what cannot be found out");
    assert!(!matches!(reason, UnknownReason::Denied { .. }), "{reason:?}");
    let shallow = scene.store_with(|options| {
        options.url = scene.server.url("part.git");
        options.shallow = true;
    });
    assert_eq!(read(&*opened(&shallow).await.expect("a shallow store asks for no history"), "a").as_deref(), Some("2"));
}
