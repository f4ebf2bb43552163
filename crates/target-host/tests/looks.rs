//! Observing files as they are found on real machines, and files that cannot be observed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use setpoint_core::diff::diff;
use setpoint_core::live::{Presence, Writer};
use setpoint_core::observed::UnknownReason;
use setpoint_core::resource::Resource;
use setpoint_core::time::Span;
use setpoint_core::value::Value;
use setpoint_target::{Asker, Target};
use setpoint_target_host::disk::{Call, Probe};

use crate::scene::{EIO, Scene, Script, directory, file, file_with, is_root, link, now, os_error, resource};

fn mode(scene: &Scene, path: &str, mode: u32) {
    fs::set_permissions(scene.at(path), fs::Permissions::from_mode(mode)).unwrap();
}

/// Returns the fields in which the observed state differs from the declared one.
async fn differences(scene: &Scene, declared: &Resource) -> Vec<String> {
    let live = scene.live(declared).await;
    diff(&declared.body, &live.value).iter().map(ToString::to_string).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_difference_names_its_field() {
    let scene = Scene::new();
    let declared = file_with("/motd", "hello\n", &[("mode", Value::str("0600"))]);
    scene.write("/motd", "good bye\n");
    mode(&scene, "/motd", 0o664);
    let found = differences(&scene, &declared).await;
    assert_eq!(found, [r#"spec.content: "hello\n" → "good bye\n""#, r#"spec.mode: "0600" → "0664""#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_equal_is_the_declaration_itself() {
    let scene = Scene::new();
    let declared = file("/motd", "hello\n");
    scene.write("/motd", "hello\n");
    mode(&scene, "/motd", 0o644);
    let live = scene.live(&declared).await;
    assert_eq!(live.value, declared.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_of_a_file_is_not_taken_for_its_writer() {
    let scene = Scene::new();
    scene.write("/motd", "edited\n");
    assert_eq!(scene.live(&file("/motd", "hello\n")).await.writer, Writer::Unknown);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sensitive_is_not_shown() {
    let scene = Scene::new();
    let declared = file_with("/token", "hunter2", &[("sensitive", Value::Bool(true))]);
    scene.write("/token", "hunter3");
    mode(&scene, "/token", 0o644);
    let live = scene.live(&declared).await;
    let shown = format!("{live:?}");
    assert!(!shown.contains("hunter3"), "{shown}");
    let content = live.value.get("spec").and_then(|spec| spec.get("content"));
    assert!(matches!(content, Some(Value::Secret(_))), "{content:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_text_is_shown_as_a_digest() {
    let scene = Scene::new();
    let declared = file("/data", "text");
    scene.write("/data", [0xff, 0xfe, 0]);
    mode(&scene, "/data", 0o644);
    let live = scene.live(&declared).await;
    let content = live.value.get("spec").and_then(|spec| spec.get("content")).unwrap();
    assert_eq!(content.get("bytes"), Some(&Value::int(3)));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_type_at_the_path_is_seen_as_what_it_is() {
    let scene = Scene::new();
    fs::create_dir(scene.at("/a")).unwrap();
    symlink("/nowhere", scene.at("/b")).unwrap();
    symlink("c", scene.at("/c")).unwrap();
    for (path, kind) in [("/a", "Directory"), ("/b", "Symlink"), ("/c", "Symlink")] {
        let live = scene.live(&file(path, "x")).await;
        assert_eq!(live.value.get("kind"), Some(&Value::str(kind)), "{path}");
    }
    // A dangling link, or a link to itself, is still a link and can be declared.
    assert_eq!(differences(&scene, &link("/b", "/nowhere")).await, [] as [&str; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_reached_is_unknown_and_what_has_no_folder_is_absent() {
    let scene = Scene::new();
    assert_eq!(scene.look(&file("/not/there", "x")).await.as_known(), Some(&Presence::Absent));
    scene.write("/plain", "");
    symlink("/nowhere", scene.at("/dangling")).unwrap();
    symlink("/circle", scene.at("/circle")).unwrap();
    for path in ["/plain/x", "/dangling/x", "/circle/x"] {
        let reason = scene.blindness(&file(path, "x")).await;
        assert!(matches!(reason, UnknownReason::Unobservable { .. }), "{path}: {reason:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_error_is_unknown() {
    let probe = Script::new(|call| match call {
        Call::Read { .. } => Err(os_error(EIO)),
        _ => Ok(()),
    });
    let scene = Scene::probed(&probe);
    scene.write("/motd", "hello\n");
    let reason = scene.blindness(&file("/motd", "hello\n")).await;
    assert!(matches!(reason, UnknownReason::Unreachable { .. }), "{reason:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_while_it_is_read_is_read_again_and_then_given_up() {
    for changes in [1, usize::MAX] {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("root/motd");
        let reads = Arc::new(AtomicUsize::new(0));
        let (counted, changed) = (Arc::clone(&reads), place.clone());
        let probe = Script::new(move |call| {
            if matches!(call, Call::Read { .. }) {
                let number = counted.fetch_add(1, Ordering::SeqCst);
                if number < changes {
                    fs::write(&changed, "x".repeat(number + 1)).unwrap();
                }
            }
            Ok(())
        });
        let scene = Scene::within(folder, |options| options.probe = Some(probe));
        scene.write("/motd", "hello\n");
        let seen = scene.look(&file("/motd", "hello\n")).await;
        assert_eq!(seen.is_known(), changes == 1, "{seen:?}");
        assert_eq!(reads.load(Ordering::SeqCst), if changes == 1 { 2 } else { 3 });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_file_is_unknown_to_an_agent_without_rights() {
    if is_root() {
        return; // Root can read everything: `unprivileged` runs this without root.
    }
    let scene = Scene::new();
    scene.write("/secret", "x");
    mode(&scene, "/secret", 0o000);
    let reason = scene.blindness(&file("/secret", "x")).await;
    assert!(matches!(reason, UnknownReason::Denied { .. }), "{reason:?}");
    fs::create_dir(scene.at("/closed")).unwrap();
    mode(&scene, "/closed", 0o000);
    let reason = scene.blindness(&file("/closed/x", "x")).await;
    mode(&scene, "/closed", 0o755);
    assert!(matches!(reason, UnknownReason::Denied { .. }), "{reason:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_stat_says_is_believed_only_when_asked_and_never_when_it_is_fresh() {
    let probe = Script::new(|_| Ok(()));
    let shared: Arc<dyn Probe> = probe.clone();
    let scene = Scene::with(|options| {
        options.probe = Some(shared);
        options.trust_stat = true;
    });
    let declared = Arc::new(file("/motd", "hello\n"));
    let (before, after) = (now(), now() + Span::seconds(9));
    scene.create(&declared).await;
    let look = async |at| {
        probe.taken();
        let wanted = [(declared.key.clone(), Some(Arc::clone(&declared)))].into();
        let seen = scene.target.observe(wanted, Asker::default(), at).await;
        let equal = match seen.states.values().next().and_then(|state| state.as_known()) {
            Some(Presence::Present(live)) => live.value == declared.body,
            _ => false,
        };
        (equal, probe.taken().len())
    };
    // Too fresh to be remembered, however often it is observed; old enough; and trusted from then
    // on.
    assert_eq!(look(before).await, (true, 1));
    assert_eq!(look(before).await, (true, 1));
    assert_eq!(look(after).await, (true, 1));
    assert_eq!(look(after).await, (true, 0));
    scene.write("/motd", "HELLO\n");
    assert_eq!(look(after).await, (false, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_are_compared_by_number_and_shown_as_declared() {
    let scene = Scene::new();
    scene.write("/motd", "x");
    mode(&scene, "/motd", 0o644);
    let me = rustix::process::geteuid().as_raw().to_string();
    let mine = file_with("/motd", "x", &[("owner", Value::str(&me))]);
    assert_eq!(differences(&scene, &mine).await, [] as [&str; 0]);
    let others = file_with("/motd", "x", &[("owner", Value::str("12345"))]);
    assert_eq!(differences(&scene, &others).await, [format!("spec.owner: \"12345\" → \"{me}\"")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_text_can_be_declared() {
    let scene = Scene::new();
    let spec = Value::map([("path", Value::str("/data")), ("contentBase64", Value::str("//4A\n"))]);
    let declared = resource("File", "data", spec);
    let live = scene.have(&declared).await;
    assert_eq!(live.value, declared.body);
    assert_eq!(fs::read(scene.at("/data")).unwrap(), [0xff, 0xfe, 0]);
    scene.have(&directory("/folder", "0750")).await;
}
