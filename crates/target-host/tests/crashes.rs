//! Kill -9 at every call of a batch: whole files only, and every intent can be settled.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use setpoint_core::time::Span;
use setpoint_target::{Settlement, Target, Work};
use setpoint_target_host::HostTarget;

use crate::scene::{Scene, Script, file, now, options};

const FILES: usize = 6;

/// The directory of the scene and the call to die at, for the process that is killed.
const PLACE: &str = "SETPOINT_TEST_PLACE";
const LAST_CALL: &str = "SETPOINT_TEST_LAST_CALL";

fn content(number: usize, form: &str) -> String {
    format!("{form} {number}\n").repeat(3_000)
}

/// Returns updates of the even files, deletes of every third odd one, and creates of the others.
async fn work(scene: &Scene) -> Vec<Work> {
    let mut work = Vec::new();
    for number in 0..FILES {
        let path = format!("/{number}");
        let (old, new) = (file(&path, &content(number, "old")), file(&path, &content(number, "new")));
        work.push(match number % 3 {
            0 => scene.steps.update(&new, &scene.live(&old).await),
            1 => scene.steps.create(&new),
            _ => scene.steps.delete(&old.key, &scene.live(&old).await),
        });
    }
    work
}

fn prepare(scene: &Scene) {
    for number in (0..FILES).filter(|number| number % 3 != 1) {
        scene.write(&format!("/{number}"), content(number, "old"));
    }
}

/// Returns the parameters from the environment of the process that is killed: its directory, and
/// the call before which it dies.
#[expect(clippy::disallowed_methods, reason = "a child process gets its parameters from its environment")]
fn doomed() -> Option<(String, usize)> {
    Some((std::env::var(PLACE).ok()?, std::env::var(LAST_CALL).ok()?.parse().unwrap()))
}

/// Runs the process that is killed.
async fn die(place: &str, last: usize) {
    let calls = Arc::new(AtomicUsize::new(0));
    let armed = Arc::new(AtomicUsize::new(0));
    let (counted, when) = (Arc::clone(&calls), Arc::clone(&armed));
    let probe = Script::new(move |_| {
        if when.load(Ordering::SeqCst) == 1 && counted.fetch_add(1, Ordering::SeqCst) == last {
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
        }
        Ok(())
    });
    let scene = Scene::kept(Path::new(place), |options| options.probe = Some(probe));
    let work = work(&scene).await;
    armed.store(1, Ordering::SeqCst);
    scene.execute(work).await;
}

#[expect(clippy::disallowed_methods, reason = "a process that is killed must be another one")]
fn die_at(place: &Path, call: usize) -> bool {
    use std::os::unix::process::ExitStatusExt;
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crashes::a_process_killed_at_any_call_leaves_whole_files_and_intents_that_can_be_settled"])
        .env(PLACE, place)
        .env(LAST_CALL, call.to_string())
        .output()
        .unwrap()
        .status;
    assert!(status.success() || status.signal() == Some(9), "{status:?}");
    status.signal() == Some(9)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_killed_at_any_call_leaves_whole_files_and_intents_that_can_be_settled() {
    // The process that dies runs this same test.
    if let Some((place, last)) = doomed() {
        return die(&place, last).await;
    }
    let mut call = 0;
    loop {
        let folder = tempfile::tempdir().unwrap();
        let scene = Scene::kept(folder.path(), |_| {});
        prepare(&scene);
        let work = work(&scene).await;
        let killed = die_at(folder.path(), call);
        look_after(&scene, &work, folder.path(), call).await;
        if !killed {
            break;
        }
        call += 1;
    }
    assert!(call > 20, "the batch made {call} calls only");
}

async fn look_after(scene: &Scene, work: &[Work], place: &Path, call: usize) {
    // Another process takes over: at once if it knows that it is the only one, else when nothing
    // can land any more.
    let alone = call.is_multiple_of(2);
    let target = HostTarget::open(options(place, |options| options.alone = alone)).unwrap();
    let land_by = if alone { now() + Span::minutes(1) } else { now() - Span::millis(1) };
    for (number, work) in work.iter().enumerate() {
        let found = scene.text(&format!("/{number}"));
        let whole = [None, Some(content(number, "old")), Some(content(number, "new"))].contains(&found);
        assert!(whole, "file {number} is torn after call {call}");
        let intent = scene.steps.intent(work, land_by);
        let settlement = target.settle(&intent, work.step.resource.as_deref()).await;
        let right = match (&settlement, number % 3) {
            (Settlement::Done { .. }, 0 | 1) => found == Some(content(number, "new")),
            (Settlement::Done { .. }, _) => found.is_none(),
            (Settlement::NotDone, 1) => found.is_none(),
            (Settlement::NotDone, _) => found == Some(content(number, "old")),
            (Settlement::Superseded { .. } | Settlement::Unknown { .. }, _) => false,
        };
        assert!(right, "file {number} after call {call} is settled as {settlement:?}");
    }
    let left: Vec<_> = fs::read_dir(scene.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".tmp")), "call {call} left {left:?}");
}
