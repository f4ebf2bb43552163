//! Links and files that other users plant at a path that Setpoint is about to write.

use std::fs;
use std::os::unix::fs::symlink;

use setpoint_target::Outcome;
use setpoint_target_host::disk::Call;

use crate::scene::{Scene, Script, file};

/// Creates a file after something was planted at the name of its temporary file.
async fn create_over(plant: impl Fn(&std::path::Path) + Send + Sync + 'static) -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let probe = Script::new(move |call| {
        if let Call::Make { path } = call {
            plant(&root.join(path.trim_start_matches('/')));
        }
        Ok(())
    });
    let scene = Scene::within(folder, |options| options.probe = Some(probe));
    scene.write("/victim", "what is theirs");
    let outcome = scene.create(&file("/it", "ours")).await;
    assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
    scene
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_at_the_name_of_a_temporary_file_is_not_followed() {
    let scene = create_over(|temporary| symlink("victim", temporary).unwrap()).await;
    assert_eq!(scene.text("/victim").as_deref(), Some("what is theirs"));
    assert_eq!(scene.text("/it").as_deref(), Some("ours"));
    assert!(!scene.at("/it").is_symlink());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_at_the_name_of_a_temporary_file_is_not_written_into() {
    let scene = create_over(|temporary| {
        fs::write(temporary, "a longer text of somebody else").unwrap();
        fs::hard_link(temporary, temporary.with_file_name("kept")).unwrap();
    });
    let scene = scene.await;
    assert_eq!(scene.text("/kept").as_deref(), Some("a longer text of somebody else"));
    assert_eq!(scene.text("/it").as_deref(), Some("ours"));
}
