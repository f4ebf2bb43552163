//! Batches: each step has an outcome that matches the disk, whatever fails, in an order that
//! survives a power loss.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;

use proptest::prelude::*;
use setpoint_core::time::Span;
use setpoint_core::value::Value;
use setpoint_target::{Fence, Outcome, RefusalClass, Settlement, Target};
use setpoint_target_host::disk::Call;

use crate::scene::{
    EIO, ENOSPC, Scene, Script, directory, fence, file, file_with, is_root, link, now, now_or_never, os_error, refusal,
};

fn is_temporary(path: &str) -> bool {
    path.contains("/.setpoint-") && path.ends_with(".tmp")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_put_there_with_its_mode_and_owner_from_the_first_instant() {
    let probe = Script::new(|_| Ok(()));
    let scene = Scene::probed(&probe);
    let owner = if is_root() { "12345".to_owned() } else { rustix::process::geteuid().as_raw().to_string() };
    let declared = file_with("/key", "secret", &[("mode", Value::str("0640")), ("owner", Value::str(&owner))]);
    scene.have(&declared).await;
    let found = fs::metadata(scene.at("/key")).unwrap();
    assert_eq!((found.permissions().mode() & 0o7777, found.uid().to_string()), (0o640, owner));
    assert_eq!(scene.names("/"), BTreeSet::from(["key".to_owned()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_rename_follows_the_sync_of_what_it_puts_there_and_precedes_that_of_the_folder() {
    for count in [1, 3, 40] {
        let probe = Script::new(|_| Ok(()));
        let scene = Scene::probed(&probe);
        for name in ["a", "b"] {
            fs::create_dir(scene.at(name)).unwrap();
        }
        let work = (0..count).map(|n| scene.steps.create(&file(&format!("/{}/{n}", ["a", "b"][n % 2]), "x"))).collect();
        let outcomes = scene.execute(work).await;
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Done { .. })), "{outcomes:?}");
        let calls = probe.taken();
        let place = |wanted: &dyn Fn(&Call) -> bool| calls.iter().position(wanted);
        for (at, call) in calls.iter().enumerate() {
            let Call::Rename { from, to } = call else { continue };
            let written = place(&|call| matches!(call, Call::Write { path } if path == from)).unwrap();
            let durable = calls[written..at].iter().any(|call| match call {
                Call::Sync { path } => path == from,
                Call::SyncAll { .. } => true,
                _ => false,
            });
            assert!(durable, "{to} was put in place before its bytes were durable: {calls:?}");
            let folder = to.rsplit_once('/').unwrap().0;
            let synced = calls[at..].iter().any(|call| matches!(call, Call::Sync { path } if path == folder));
            assert!(synced, "{folder} was not made durable: {calls:?}");
        }
        let syncs = calls.iter().filter(|call| matches!(call, Call::Sync { .. } | Call::SyncAll { .. })).count();
        assert!(syncs <= count + 2 && (count < 5 || syncs == 3), "{syncs} syncs for {count} files");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_space_nothing_is_changed_and_nothing_is_left() {
    let probe = Script::new(|call| match call {
        Call::Write { path } if path.ends_with("-2.tmp") => Err(os_error(ENOSPC)),
        _ => Ok(()),
    });
    let scene = Scene::probed(&probe);
    let work = ["/a", "/b", "/c"].iter().map(|path| scene.steps.create(&file(path, "x"))).collect();
    let outcomes = scene.execute(work).await;
    assert!(matches!(outcomes[0], Outcome::Done { .. }) && matches!(outcomes[2], Outcome::Done { .. }), "{outcomes:?}");
    assert_eq!(refusal(&outcomes[1]).class, RefusalClass::Unavailable);
    assert_eq!(scene.names("/"), BTreeSet::from(["a".to_owned(), "c".to_owned()]));
}

/// Uses a real, full file system; needs the permission to mount one.
#[test]
fn a_full_disk_refuses_what_does_not_fit_and_keeps_what_was_there() {
    if !is_root() {
        setpoint_testbed::skipped("only root can mount a small file system; run the tests as root");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    fs::create_dir(&root).unwrap();
    let mounted = mount_small(&root);
    now_or_never(async {
        let scene = Scene::within(folder, |_| {});
        let before = scene.have(&file("/kept", "old")).await;
        let large = file("/kept", &"x".repeat(2 << 20));
        let outcomes =
            scene.execute(vec![scene.steps.update(&large, &before), scene.steps.create(&file("/small", "y"))]).await;
        assert_eq!(refusal(&outcomes[0]).class, RefusalClass::Unavailable, "{outcomes:?}");
        assert!(matches!(outcomes[1], Outcome::Done { .. }), "{outcomes:?}");
        assert_eq!(scene.text("/kept").as_deref(), Some("old"));
        assert_eq!(scene.names("/").len(), 2);
        drop(mounted);
    });
}

struct Mounted(std::path::PathBuf);

#[expect(clippy::disallowed_methods, reason = "mounting is done by the system's own tool")]
fn mount_small(place: &std::path::Path) -> Mounted {
    let mount = std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(place).status();
    assert!(mount.is_ok_and(|status| status.success()), "cannot mount a small file system");
    Mounted(place.to_owned())
}

impl Drop for Mounted {
    #[expect(clippy::disallowed_methods, reason = "unmounting is done by the system's own tool")]
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_sync_of_the_bytes_leaves_the_old_file_and_an_open_question() {
    for count in [1, 12] {
        let probe = Script::new(|call| match call {
            Call::Sync { path } if is_temporary(path) => Err(os_error(EIO)),
            Call::SyncAll { .. } => Err(os_error(EIO)),
            _ => Ok(()),
        });
        let scene = Scene::probed(&probe);
        let work: Vec<_> = (0..count).map(|n| scene.steps.create(&file(&format!("/{n}"), "x"))).collect();
        let outcomes = scene.execute(work.clone()).await;
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Unknown { .. })), "{outcomes:?}");
        assert_eq!(scene.names("/"), BTreeSet::new());
        let intent = scene.steps.intent(&work[0], now() - Span::millis(1));
        let settlement = scene.target.settle(&intent, work[0].step.resource.as_deref()).await;
        assert_eq!(settlement, Settlement::NotDone);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_sync_of_the_folder_is_an_open_question_that_looking_settles() {
    let probe = Script::new(|call| match call {
        Call::Sync { path } if path == "/" => Err(os_error(EIO)),
        _ => Ok(()),
    });
    let scene = Scene::probed(&probe);
    let work = scene.steps.create(&file("/a", "x"));
    let outcomes = scene.execute(vec![work.clone()]).await;
    assert!(matches!(outcomes[0], Outcome::Unknown { .. }), "{outcomes:?}");
    let intent = scene.steps.intent(&work, now() - Span::millis(1));
    let settlement = scene.target.settle(&intent, work.step.resource.as_deref()).await;
    assert!(matches!(settlement, Settlement::Done { live: Some(_) }), "{settlement:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_land_in_time_never_does() {
    let scene = Scene::new();
    let late = Fence { leave_by: now() + Span::seconds(9), land_by: now() - Span::millis(1), ..fence() };
    let outcomes = scene.target.execute(vec![scene.steps.create(&file("/a", "x"))], late).await;
    assert_eq!(refusal(&outcomes[0]).class, RefusalClass::Fenced);
    assert_eq!(scene.names("/"), BTreeSet::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn time_that_runs_out_in_the_midst_of_a_batch_keeps_the_rest_from_landing() {
    let scene_of = |probe: &Arc<Script>| Scene::probed(probe);
    let land_by = now() + Span::millis(300);
    let probe = Script::new(move |call| {
        // The first has landed: wait until the time of the others is over.
        while matches!(call, Call::Remove { .. } | Call::Rename { .. }) && call_is_second(call) && now() <= land_by {
            std::hint::spin_loop();
        }
        Ok(())
    });
    let scene = scene_of(&probe);
    let work = ["/1", "/2", "/3"].iter().map(|path| scene.steps.create(&file(path, "x"))).collect();
    let outcomes = scene.target.execute(work, Fence { land_by, ..fence() }).await;
    assert_eq!(refusal(&outcomes[2]).class, RefusalClass::Fenced, "{outcomes:?}");
    assert!(!scene.names("/").contains("3") && scene.names("/").iter().all(|name| !name.ends_with(".tmp")));
}

fn call_is_second(call: &Call) -> bool {
    matches!(call, Call::Rename { to, .. } if to == "/2")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_holds_what_nobody_claimed_is_kept_and_says_so() {
    use std::os::unix::ffi::OsStrExt;
    let scene = Scene::new();
    let folder = directory("/conf.d", "0755");
    let live = scene.have(&folder).await;
    scene.write("/conf.d/theirs\nX", "x");
    fs::write(scene.at("/conf.d").join(std::ffi::OsStr::from_bytes(b"\xff")), "x").unwrap();
    let outcome = scene.execute(vec![scene.steps.delete(&folder.key, &live)]).await.remove(0);
    let refusal = refusal(&outcome);
    assert_eq!(refusal.class, RefusalClass::Denied);
    assert!(refusal.detail.contains(r"`\xff`, `theirs\nX`"), "{refusal}");
    assert_eq!(scene.names("/conf.d").len(), 2);
    fs::remove_dir_all(scene.at("/conf.d")).unwrap();
    fs::create_dir(scene.at("/conf.d")).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_links_replace_each_other_and_folders_replace_nothing() {
    let scene = Scene::new();
    let seen = scene.have(&file("/it", "x")).await;
    let outcome = scene.execute(vec![scene.steps.update(&link("/it", "/x"), &seen)]).await.remove(0);
    assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
    let seen = scene.live(&link("/it", "/x")).await;
    let outcome = scene.execute(vec![scene.steps.update(&directory("/it", "0755"), &seen)]).await.remove(0);
    assert_eq!(refusal(&outcome).class, RefusalClass::Invalid);
    let folder = scene.have(&directory("/folder", "0755")).await;
    let outcome = scene.execute(vec![scene.steps.update(&file("/folder", "x"), &folder)]).await.remove(0);
    assert_eq!(refusal(&outcome).class, RefusalClass::Invalid);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_over_more_folders_than_a_process_may_open_is_carried_out() {
    let scene = Scene::new();
    let folders: Vec<_> = (0..600).map(|n| directory(&format!("/{n}"), "0755")).collect();
    let files: Vec<_> = (0..600).map(|n| file(&format!("/{n}/file"), "x")).collect();
    for resources in [folders, files] {
        let outcomes = scene.execute(resources.iter().map(|one| scene.steps.create(one)).collect()).await;
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Done { .. })));
    }
    assert_eq!(scene.text("/599/file").as_deref(), Some("x"));
}

/// A verb; the directory before each case and the step follow from it.
#[derive(Clone, Copy, Debug)]
enum Act {
    Create,
    Update,
    Delete,
}

/// The call that fails for a file.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    None,
    NoSpace,
    MakeDenied,
    RenameFails,
    SyncFails,
}

fn step() -> impl Strategy<Value = (Act, Trouble)> {
    let act = prop_oneof![Just(Act::Create), Just(Act::Update), Just(Act::Delete)];
    let trouble = prop_oneof![
        3 => Just(Trouble::None),
        1 => Just(Trouble::NoSpace),
        1 => Just(Trouble::MakeDenied),
        1 => Just(Trouble::RenameFails),
        1 => Just(Trouble::SyncFails),
    ];
    (act, trouble)
}

fn strikes(trouble: Trouble, number: usize, call: &Call) -> Option<i32> {
    let temporary = format!("/.setpoint-7-{}.tmp", 1_000 + number);
    let (of_temporary, place) = (|path: &str| path == temporary, format!("/f{number}"));
    match (trouble, call) {
        (Trouble::NoSpace, Call::Write { path }) if of_temporary(path) => Some(ENOSPC),
        (Trouble::MakeDenied, Call::Make { path }) if of_temporary(path) => Some(13),
        (Trouble::SyncFails, Call::Sync { path }) if of_temporary(path) => Some(EIO),
        (Trouble::RenameFails, Call::Rename { from, to }) if *to == place || *from == place => Some(EIO),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_fails_each_outcome_says_what_is_on_the_disk(steps in proptest::collection::vec(step(), 1..9)) {
        now_or_never(outcomes_match_the_disk(steps));
    }
}

async fn outcomes_match_the_disk(steps: Vec<(Act, Trouble)>) {
    let planned = steps.clone();
    let probe = Script::new(move |call| {
        let struck = planned.iter().enumerate().find_map(|(number, (_, trouble))| strikes(*trouble, number, call));
        struck.map_or(Ok(()), |code| Err(os_error(code)))
    });
    let scene = Scene::probed(&probe);
    let mut work = Vec::new();
    for (number, (act, _)) in steps.iter().enumerate() {
        let path = format!("/f{number}");
        let (old, new) = (file(&path, "old"), file(&path, "new"));
        if !matches!(act, Act::Create) {
            scene.write(&path, "old");
            fs::set_permissions(scene.at(&path), fs::Permissions::from_mode(0o644)).unwrap();
        }
        let mut one = match act {
            Act::Create => scene.steps.create(&new),
            Act::Update => scene.steps.update(&new, &scene.live(&old).await),
            Act::Delete => scene.steps.delete(&old.key, &scene.live(&old).await),
        };
        one.intent.number = 1_000 + u64::try_from(number).unwrap();
        work.push(one);
    }
    let outcomes = scene.execute(work.clone()).await;
    for (number, ((act, trouble), outcome)) in steps.iter().zip(&outcomes).enumerate() {
        let found = scene.text(&format!("/f{number}"));
        let (before, after) = match act {
            Act::Create => (None, Some("new")),
            Act::Update => (Some("old"), Some("new")),
            Act::Delete => (Some("old"), None),
        };
        let right = match outcome {
            Outcome::Done { live } => found.as_deref() == after && live.is_some() == after.is_some(),
            Outcome::Refused { .. } => found.as_deref() == before,
            Outcome::Unknown { .. } => found.as_deref() == before || found.as_deref() == after,
        };
        assert!(right, "{act:?} with {trouble:?} answered {outcome:?} and left {found:?}");
        let quiet = matches!(trouble, Trouble::None);
        assert!(!quiet || matches!(outcome, Outcome::Done { .. }), "{act:?} failed for another's trouble: {outcome:?}");
        if matches!(outcome, Outcome::Unknown { .. }) {
            let intent = scene.steps.intent(&work[number], now() - Span::millis(1));
            let settlement = scene.target.settle(&intent, work[number].step.resource.as_deref()).await;
            assert_eq!(settlement, Settlement::NotDone, "{act:?} with {trouble:?} left {found:?}");
            assert_eq!(found.as_deref(), before);
        }
    }
    let left: Vec<_> = scene.names("/").into_iter().filter(|name| name.ends_with(".tmp")).collect();
    assert_eq!(left, [] as [&str; 0]);
}
