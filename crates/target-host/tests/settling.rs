//! Settling while other programs write or effects are under way: the intents that can be decided
//! again, and those that may still land.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Mutex, mpsc};

use setpoint_core::resource::Resource;
use setpoint_core::time::Span;
use setpoint_core::value::Value;
use setpoint_target::{Outcome, Settlement, Target, Work};
use setpoint_target_host::disk::Call;

use crate::scene::{Scene, Script, directory, file, now, resource};

/// Settles a step that can no longer land.
async fn settle(scene: &Scene, work: &Work) -> Settlement {
    let intent = scene.steps.intent(work, now() - Span::millis(1));
    scene.target.settle(&intent, work.step.resource.as_deref()).await
}

fn is_superseded(settlement: &Settlement) -> bool {
    matches!(settlement, Settlement::Superseded { .. })
}

type Touch = fn(&Scene);

/// Changes of a file by people and programs between a crash and the restart.
const TOUCHES: [(&str, Touch); 4] = [
    ("append", |scene| {
        let text = scene.text("/it").unwrap_or_default();
        scene.write("/it", text + "more\n");
    }),
    ("touch", |scene| {
        let times = fs::FileTimes::new().set_modified(std::time::SystemTime::UNIX_EPOCH);
        fs::File::options().append(true).open(scene.at("/it")).unwrap().set_times(times).unwrap();
    }),
    ("chmod", |scene| fs::set_permissions(scene.at("/it"), fs::Permissions::from_mode(0o640)).unwrap()),
    ("save by replacing", |scene| {
        fs::write(scene.at("/it~"), "edited\n").unwrap();
        fs::rename(scene.at("/it~"), scene.at("/it")).unwrap();
    }),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_file_touched_after_a_crash_is_never_left_to_a_person() {
    for (name, touch) in TOUCHES {
        for landed in [false, true] {
            let scene = Scene::new();
            let (old, new) = (file("/it", "old\n"), file("/it", "new\n"));
            let seen = scene.have(&old).await;
            let update = scene.steps.update(&new, &seen);
            if landed {
                scene.execute(vec![update.clone()]).await;
            }
            touch(&scene);
            let settlement = settle(&scene, &update).await;
            let as_declared = scene.live(&new).await.value == new.body;
            let right = match &settlement {
                Settlement::Done { live } => as_declared && live.is_some(),
                settlement => !as_declared && is_superseded(settlement),
            };
            assert!(right, "{name} of a file that was written: {landed}: {settlement:?}");
            // The current state is enough to decide on.
            let again = scene.steps.update(&new, &scene.live(&new).await);
            let outcome = scene.execute(vec![again]).await.remove(0);
            assert!(matches!(outcome, Outcome::Done { .. }), "{name}: {outcome:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_create_made_and_someone_wrote_since_is_not_proven_to_be_ours() {
    for (name, touch) in TOUCHES {
        let scene = Scene::new();
        let create = scene.steps.create(&file("/it", "new\n"));
        scene.execute(vec![create.clone()]).await;
        touch(&scene);
        let settlement = settle(&scene, &create).await;
        let kept_mark = name == "chmod";
        let right = if kept_mark {
            matches!(&settlement, Settlement::Done { live: Some(_) })
        } else {
            is_superseded(&settlement)
        };
        assert!(right, "{name}: {settlement:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_was_changed_half_way_is_decided_again() {
    let scene = Scene::new();
    let seen = scene.have(&directory("/folder", "0755")).await;
    let update = scene.steps.update(&directory("/folder", "0700"), &seen);
    fs::set_permissions(scene.at("/folder"), fs::Permissions::from_mode(0o711)).unwrap();
    let settlement = settle(&scene, &update).await;
    assert!(is_superseded(&settlement), "{settlement:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_of_what_was_replaced_since_is_left_to_a_person() {
    let scene = Scene::new();
    let declared = file("/it", "old\n");
    let seen = scene.have(&declared).await;
    let delete = scene.steps.delete(&declared.key, &seen);
    TOUCHES[3].1(&scene);
    let settlement = settle(&scene, &delete).await;
    assert!(matches!(settlement, Settlement::Unknown { .. }), "it may belong to another program: {settlement:?}");
}

/// Returns a create and an update that were never sent.
async fn open_work(scene: &Scene) -> Vec<Work> {
    let seen = scene.have(&file("/updated", "old")).await;
    let updated = scene.steps.update(&file("/updated", "new"), &seen);
    vec![scene.steps.create(&file("/created", "new")), updated]
}

fn command() -> Resource {
    let run = |script: &str| Value::map([("command", Value::Seq(["/bin/sh", "-c", script].map(Value::str).to_vec()))]);
    resource("Command", "it", Value::map([("check", run("exit 101")), ("apply", run("exit 0"))]))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_still_land_is_not_settled() {
    for alone in [false, true] {
        let scene = Scene::with(|options| (options.alone, options.run_commands) = (alone, true));
        let mut work = open_work(&scene).await;
        work.push(scene.steps.create(&command()));
        for (number, work) in work.iter().enumerate() {
            let settle = async |land_by| {
                let intent = scene.steps.intent(work, land_by);
                scene.target.settle(&intent, work.step.resource.as_deref()).await
            };
            let early = settle(now() + Span::minutes(1)).await;
            // The writes of a dead process have ended; a command it had started may still run.
            let is_over = alone && number < 2;
            let right = match &early {
                Settlement::NotDone => is_over,
                Settlement::Unknown { detail } => !is_over && detail.contains("may still land"),
                _ => false,
            };
            assert!(right, "{} alone {alone}: {early:?}", work.step.key);
            assert_eq!(settle(now() - Span::millis(1)).await, Settlement::NotDone);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_effect_that_is_under_way_is_neither_settled_nor_swept() {
    let (arrived, at_rename) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let (arrived, may_go_on) = (Mutex::new(arrived), Mutex::new(may_go_on));
    let probe = Script::new(move |call| {
        if matches!(call, Call::Rename { to, .. } if to == "/it") {
            arrived.lock().unwrap().send(()).unwrap();
            may_go_on.lock().unwrap().recv().unwrap();
        }
        Ok(())
    });
    let scene = Scene::with(|options| {
        options.probe = Some(probe);
        options.alone = true;
    });
    let work = scene.steps.create(&file("/it", "new"));
    let settling = async {
        tokio::task::block_in_place(|| at_rename.recv().unwrap());
        let intent = scene.steps.intent(&work, now() + Span::minutes(1));
        let settlement = scene.target.settle(&intent, work.step.resource.as_deref()).await;
        go_on.send(()).unwrap();
        settlement
    };
    let (outcomes, settlement) = tokio::join!(scene.execute(vec![work.clone()]), settling);
    assert!(
        matches!(&settlement, Settlement::Unknown { detail } if detail.contains("may still land")),
        "{settlement:?}"
    );
    assert!(matches!(outcomes[0], Outcome::Done { .. }), "{outcomes:?}");
    assert_eq!(scene.text("/it").as_deref(), Some("new"));
}
