//! Strangers who write while we do: what they wrote between our look and our write is never lost.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use setpoint_target::RefusalClass;
use setpoint_target_host::disk::Call;

use crate::scene::{Scene, Script, file, refusal};

/// A stranger who acts once, right before we put something in place.
fn stranger(act: impl Fn() + Send + Sync + 'static) -> std::sync::Arc<Script> {
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
