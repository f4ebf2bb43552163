//! Hints: every change by other programs is hinted at soon, and no change by Setpoint.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use setpoint_core::key::Key;
use setpoint_core::resource::Resource;
use setpoint_target::{Hint, Outcome, Target};
use setpoint_target_host::disk::Call;
use tokio::time::timeout;

use crate::scene::{EMFILE, Scene, Script, directory, file, key, now, os_error};

/// Longer than any hint takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

async fn next(scene: &Scene) -> BTreeSet<Key> {
    match timeout(PATIENCE, scene.target.hints()).await.expect("a hint") {
        Hint::Changed { keys } => keys,
        other => panic!("events were lost: {other:?}"),
    }
}

/// Waits for a hint that names this path.
async fn hinted(scene: &Scene, path: &str) {
    while !next(scene).await.contains(&key(path)) {}
}

async fn watch(scene: &Scene, resources: &[&Resource]) {
    for resource in resources {
        scene.look(resource).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_that_come_and_go_take_what_is_in_them_along() {
    let scene = Scene::new();
    let deep = file("/a/b/c", "x");
    watch(&scene, &[&deep]).await;
    fs::create_dir_all(scene.at("/a/b")).unwrap();
    hinted(&scene, "/a/b/c").await;
    watch(&scene, &[&deep]).await;
    scene.write("/a/b/c", "x");
    hinted(&scene, "/a/b/c").await;
    fs::rename(scene.at("/a"), scene.at("/away")).unwrap();
    hinted(&scene, "/a/b/c").await;
    watch(&scene, &[&deep]).await;
    fs::rename(scene.at("/away"), scene.at("/a")).unwrap();
    hinted(&scene, "/a/b/c").await;
    watch(&scene, &[&deep]).await;
    fs::remove_dir_all(scene.at("/a")).unwrap();
    hinted(&scene, "/a/b/c").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_writes_are_not_hinted_at_and_those_of_others_in_their_midst_are() {
    let scene = Scene::new();
    let (ours, theirs) = (file("/ours", "x"), file("/theirs", "x"));
    watch(&scene, &[&ours, &theirs]).await;
    let live = scene.have(&ours).await;
    let outcome = scene.execute(vec![scene.steps.update(&file("/ours", "y"), &live)]).await.remove(0);
    assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
    let live = scene.live(&file("/ours", "y")).await;
    scene.execute(vec![scene.steps.delete(&ours.key, &live)]).await;
    scene.write("/theirs", "z");
    let first = next(&scene).await;
    assert_eq!(first, BTreeSet::from([key("/theirs")]));
    // The file that was written last is deleted; another program creates it again.
    scene.write("/ours", "theirs now");
    hinted(&scene, "/ours").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_what_we_have_just_written_is_hinted_at() {
    let scene = Scene::new();
    let ours = file("/ours", "x");
    watch(&scene, &[&ours]).await;
    scene.have(&ours).await;
    scene.write("/ours", "edited");
    hinted(&scene, "/ours").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_events_than_the_kernel_keeps_are_told_as_lost() {
    let scene = Scene::new();
    watch(&scene, &[&file("/it", "x")]).await;
    let most = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let most: usize = most.trim().parse().unwrap();
    // Two files in turn, because the kernel merges equal events in a row.
    let mut files = ["/one", "/two"].map(|path| fs::File::create(scene.at(path)).unwrap());
    for number in 0..=most {
        files[number % 2].write_all(b"x").unwrap();
    }
    let hint = timeout(PATIENCE, scene.target.hints()).await.expect("a hint");
    assert_eq!(hint, Hint::Lost);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_hinted_at_soon() {
    let scene = Scene::new();
    let watched = file("/it", "0");
    scene.have(&watched).await;
    let mut fastest = u64::MAX;
    for number in 0..20 {
        let start = now();
        scene.write("/it", number.to_string());
        hinted(&scene, "/it").await;
        fastest = fastest.min(now().since(start).as_millis());
    }
    // A busy machine delays some of them, but not all.
    assert!(fastest <= 50, "the fastest hint took {fastest} ms");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_a_folders_rights_hints_at_what_is_in_it() {
    let scene = Scene::new();
    scene.have(&directory("/folder", "0755")).await;
    let inside = file("/folder/it", "x");
    watch(&scene, &[&inside]).await;
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(scene.at("/folder"), fs::Permissions::from_mode(0o700)).unwrap();
    hinted(&scene, "/folder/it").await;
    assert!(scene.target.watching().gap.is_none() && scene.target.watching().folders >= 2);
}

/// Fails with EMFILE as long as the flag is set, as the kernel does when a limit is reached.
fn exhausted(is_exhausted: &Arc<AtomicBool>, of: &'static Call) -> Arc<Script> {
    let is_exhausted = Arc::clone(is_exhausted);
    Script::new(move |call| match call == of && is_exhausted.load(Ordering::SeqCst) {
        true => Err(os_error(EMFILE)),
        false => Ok(()),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_inotify_instance_paths_are_polled_until_there_is_one() {
    let (is_exhausted, log) = (Arc::new(AtomicBool::new(true)), Arc::new(Mutex::new(Vec::new())));
    let (probe, told) = (exhausted(&is_exhausted, &Call::Watch), Arc::clone(&log));
    let scene = Scene::with(|options| {
        options.probe = Some(probe);
        options.complaint = Some(Arc::new(move |line: &str| told.lock().unwrap().push(line.to_owned())));
    });
    scene.write("/it", "old");
    watch(&scene, &[&file("/it", "x")]).await;
    let degraded = scene.target.degraded().expect("it is degraded");
    assert!(degraded.contains("fs.inotify.max_user_instances") && degraded.contains("polling"), "{degraded}");
    assert_eq!(*log.lock().unwrap(), [degraded]);
    // Something may have happened between the observation and the first poll.
    hinted(&scene, "/it").await;
    scene.write("/it", "edited");
    hinted(&scene, "/it").await;
    is_exhausted.store(false, Ordering::SeqCst);
    let hint = timeout(PATIENCE, scene.target.hints()).await.expect("a hint");
    assert_eq!(hint, Hint::Lost, "everything is observed again, and watched from then on");
    assert_eq!(scene.target.degraded(), None);
    assert_eq!(log.lock().unwrap().len(), 2);
    watch(&scene, &[&file("/it", "x")]).await;
    assert!(scene.target.watching().folders > 0);
    scene.write("/it", "edited again");
    hinted(&scene, "/it").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_cannot_be_waited_for_are_replaced_by_polling_without_a_busy_loop() {
    let is_exhausted = Arc::new(AtomicBool::new(true));
    let probe = exhausted(&is_exhausted, &Call::Wait);
    let scene = Scene::probed(&probe);
    scene.write("/it", "old");
    watch(&scene, &[&file("/it", "x")]).await;
    hinted(&scene, "/it").await;
    scene.write("/it", "edited");
    hinted(&scene, "/it").await;
    let waits = probe.taken().into_iter().filter(|call| *call == Call::Wait).count();
    assert!(waits <= 10, "{waits} tries");
    assert!(scene.target.degraded().is_some());
    is_exhausted.store(false, Ordering::SeqCst);
    scene.write("/it", "edited again");
    hinted(&scene, "/it").await;
    scene.write("/it", "and again");
    hinted(&scene, "/it").await;
    assert_eq!(scene.target.degraded(), None);
}
