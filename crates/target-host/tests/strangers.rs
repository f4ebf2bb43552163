//! Other programs that write at the same time: nothing they wrote between the observation and the
//! write of Setpoint is lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use setpoint_core::value::Value;
use setpoint_target::RefusalClass;
use setpoint_target_host::disk::Call;

use crate::scene::{Scene, Script, directory, file, file_with, refusal};

/// Another program that acts once, right before Setpoint moves a file into place.
fn stranger(act: impl Fn() + Send + Sync + 'static) -> Arc<Script> {
    let acted = AtomicBool::new(false);
    Script::new(move |call| {
        if matches!(call, Call::Rename { to, from } if to == "/it" || from == "/it")
            && !acted.swap(true, Ordering::SeqCst)
        {
            act();
        }
        Ok(())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_right_before_an_update_or_delete_is_kept_and_the_step_refused() {
    for (replaces, deletes) in [(false, false), (true, false), (false, true), (true, true)] {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("root/it");
        let beside = folder.path().join("beside");
        let probe = stranger(move || {
            if replaces {
                fs::write(&beside, "theirs").unwrap();
                fs::rename(&beside, &place).unwrap();
            } else {
                fs::write(&place, "theirs").unwrap();
            }
        });
        let scene = Scene::within(folder, |options| options.probe = Some(probe));
        scene.write("/it", "old");
        let seen = scene.live(&file("/it", "new")).await;
        let step = match deletes {
            true => scene.steps.delete(&file("/it", "new").key, &seen),
            false => scene.steps.update(&file("/it", "new"), &seen),
        };
        let outcome = scene.execute(vec![step]).await.remove(0);
        assert_eq!(refusal(&outcome).class, RefusalClass::Conflict, "{outcome:?}");
        assert_eq!(scene.text("/it").as_deref(), Some("theirs"));
        assert_eq!(scene.names("/").len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_made_right_before_a_create_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("root/it");
    let probe = stranger(move || fs::write(&place, "theirs").unwrap());
    let scene = Scene::within(folder, |options| options.probe = Some(probe));
    let outcome = scene.create(&file("/it", "new")).await;
    assert_eq!(refusal(&outcome).class, RefusalClass::Conflict, "{outcome:?}");
    assert_eq!(scene.text("/it").as_deref(), Some("theirs"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_that_saves_by_replacing_does_not_make_the_file_a_strangers() {
    let scene = Scene::new();
    let declared = file("/it", "ours");
    let before = scene.have(&declared).await;
    fs::write(scene.at("/it~"), "edited").unwrap();
    fs::rename(scene.at("/it~"), scene.at("/it")).unwrap();
    let after = scene.live(&declared).await;
    assert_eq!(after.uid, before.uid);
    assert_ne!(after.version, before.version);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_put_in_place_of_the_one_that_was_checked_is_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let (place, away) = (folder.path().join("root/folder"), folder.path().join("away"));
    let there = place.clone();
    let probe = Script::new(move |call| {
        if matches!(call, Call::Open { path } if path == "/folder") {
            fs::rename(&there, &away).unwrap();
            fs::create_dir(&there).unwrap();
            fs::set_permissions(&there, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Ok(())
    });
    let scene = Scene::within(folder, |options| options.probe = Some(probe));
    let seen = scene.have(&directory("/folder", "0755")).await;
    let outcome = scene.execute(vec![scene.steps.update(&directory("/folder", "0700"), &seen)]).await.remove(0);
    assert_eq!(refusal(&outcome).class, RefusalClass::Conflict, "{outcome:?}");
    assert_eq!(fs::metadata(place).unwrap().permissions().mode() & 0o777, 0o755);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_to_be_put_in_place_can_be_read_by_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let modes = Arc::clone(&seen);
    let probe = Script::new(move |call| {
        if let Call::Write { path } = call {
            let mode = fs::metadata(root.join(path.trim_start_matches('/'))).unwrap().permissions().mode();
            modes.lock().unwrap().push(mode & 0o777);
        }
        Ok(())
    });
    let scene = Scene::within(folder, |options| options.probe = Some(probe));
    scene.have(&file_with("/token", "hunter2", &[("mode", Value::str("0600"))])).await;
    let seen_first = scene.have(&file("/motd", "hello")).await;
    scene.execute(vec![scene.steps.update(&file("/motd", "good bye"), &seen_first)]).await;
    assert_eq!(*seen.lock().unwrap(), [0o600; 3]);
}
