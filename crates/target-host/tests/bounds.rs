//! The bounds: nothing outside of the root is reached, links of other users are not followed, and
//! steps that the agent has no permission for are refused before they are tried.

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};

use setpoint_core::live::Presence;
use setpoint_core::observed::UnknownReason;
use setpoint_core::value::Value;
use setpoint_target::{Asker, Outcome, Refusal, RefusalClass, Target};
use setpoint_target_host::disk::Call;

use crate::scene::{EPERM, Scene, Script, directory, file, file_with, is_root, os_error, refusal, resource};

#[tokio::test(flavor = "multi_thread")]
async fn a_link_leads_nowhere_outside_of_the_root() {
    let scene = Scene::new();
    let outside = scene.root().with_extension("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x"), "outside").unwrap();
    // Up and out of the root, and out by an absolute path. Inside of the root, both mean another
    // path or none.
    symlink("../root.outside", scene.at("/up")).unwrap();
    symlink(&outside, scene.at("/absolute")).unwrap();
    for path in ["/up/x", "/absolute/x"] {
        let reason = scene.blindness(&file(path, "new")).await;
        assert!(matches!(reason, UnknownReason::Unobservable { .. }), "{path}: {reason:?}");
        let outcome = scene.create(&file(path, "new")).await;
        assert!(matches!(outcome, Outcome::Refused { .. }), "{outcome:?}");
    }
    assert_eq!(fs::read_to_string(outside.join("x")).unwrap(), "outside");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_of_our_own_within_the_root_is_followed_from_the_root() {
    let scene = Scene::new();
    fs::create_dir_all(scene.at("/run/app")).unwrap();
    fs::create_dir(scene.at("/var")).unwrap();
    symlink("/run", scene.at("/var/run")).unwrap();
    symlink("../../../../run/app/../app", scene.at("/var/app")).unwrap();
    scene.have(&file("/var/run/app/pid", "1")).await;
    scene.have(&file("/var/app/other", "2")).await;
    let missing = scene.look(&file("/var/run/not-there/x", "x")).await;
    assert_eq!(missing.as_known(), Some(&Presence::Absent), "{missing:?}");
    assert_eq!(scene.text("/run/app/pid").as_deref(), Some("1"));
    assert_eq!(scene.text("/run/app/other").as_deref(), Some("2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_of_somebody_else_is_not_followed() {
    if !is_root() {
        setpoint_testbed::skipped("only root can give a link to another user; run the tests as root");
        return;
    }
    let scene = Scene::new();
    fs::create_dir(scene.at("/etc")).unwrap();
    symlink("/etc", scene.at("/theirs")).unwrap();
    lchown(scene.at("/theirs"), Some(12345), Some(12345)).unwrap();
    let reason = scene.blindness(&file("/theirs/shadow", "x")).await;
    assert!(matches!(&reason, UnknownReason::Denied { detail } if detail.contains("link of user 12345")), "{reason:?}");
    let outcome = scene.create(&file("/theirs/shadow", "x")).await;
    assert_eq!(refusal(&outcome).class, RefusalClass::Denied);
    assert!(scene.names("/etc").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_planted_while_we_write_changes_nothing_about_where_we_write() {
    let folder = tempfile::tempdir().unwrap();
    let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
    fs::create_dir(&outside).unwrap();
    let (real, moved, planted) = (root.join("conf"), root.join("moved"), outside.clone());
    let probe = Script::new(move |call| {
        if matches!(call, Call::Write { .. }) {
            fs::rename(&real, &moved).unwrap();
            symlink(&planted, &real).unwrap();
        }
        Ok(())
    });
    let scene = Scene::within(folder, |options| options.probe = Some(probe));
    fs::create_dir(scene.at("/conf")).unwrap();
    let outcome = scene.create(&file("/conf/it", "x")).await;
    // It was written into the directory that was opened, which has been renamed since.
    assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
    assert_eq!(fs::read_dir(outside).unwrap().count(), 0);
    assert_eq!(scene.text("/moved/it").as_deref(), Some("x"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_link_at_the_path_itself_is_replaced_and_not_followed() {
    let scene = Scene::new();
    scene.write("/victim", "theirs");
    symlink("victim", scene.at("/it")).unwrap();
    let seen = scene.live(&file("/it", "ours")).await;
    let outcome = scene.execute(vec![scene.steps.update(&file("/it", "ours"), &seen)]).await.remove(0);
    assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
    assert_eq!((scene.text("/victim").as_deref(), scene.text("/it").as_deref()), (Some("theirs"), Some("ours")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_refuses_what_is_invalid_or_stands_in_the_way() {
    let scene = Scene::new();
    fs::create_dir(scene.at("/folder")).unwrap();
    let class =
        async |resource| scene.target.preview(&resource, &Asker::default()).await.map_err(|refusal| refusal.class);
    assert_eq!(class(file("/folder", "x")).await, Err(RefusalClass::Invalid));
    assert_eq!(class(file("/not/there/yet", "x")).await, Ok(()));
    assert_eq!(class(file_with("/a", "x", &[("owner", Value::str("no-such-user"))])).await, Err(RefusalClass::Unready));
    let run = Value::map([("command", Value::Seq(vec![Value::str("/bin/true")]))]);
    let command = resource("Command", "it", Value::map([("check", run.clone()), ("apply", run)]));
    assert_eq!(class(command).await, Err(RefusalClass::Denied));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_without_rights_may_not_do_is_refused_by_the_preview_and_by_the_step() {
    if is_root() {
        return; // Root has all permissions: `unprivileged` runs this without them.
    }
    let scene = Scene::new();
    fs::create_dir(scene.at("/closed")).unwrap();
    fs::set_permissions(scene.at("/closed"), fs::Permissions::from_mode(0o555)).unwrap();
    for (resource, says) in [
        (file_with("/a", "x", &[("owner", Value::str("0"))]), "run the agent as root, or leave `owner` out"),
        (file_with("/a", "x", &[("group", Value::str("0"))]), "or leave `group` out"),
        (file("/closed/a", "x"), "run it as root"),
        (directory("/closed/a", "0755"), "run it as root"),
        (file("/closed/not-yet/a", "x"), "run it as root"),
    ] {
        let previewed = scene.target.preview(&resource, &Asker::default()).await.expect_err("it may not");
        assert_eq!(previewed.class, RefusalClass::Denied);
        assert!(previewed.detail.contains(says), "{previewed}");
        let outcome = scene.create(&resource).await;
        assert!(matches!(outcome, Outcome::Refused { .. }), "{outcome:?}");
    }
    assert!(scene.names("/closed").is_empty());
    fs::set_permissions(scene.at("/closed"), fs::Permissions::from_mode(0o755)).unwrap();
}

/// The kernel refuses a change of an immutable file (`chattr +i`) to root, too.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_root_is_not_told_to_run_as_root() {
    let immutable = Script::new(|call| match call {
        Call::Rename { to, .. } if to.ends_with("/kept") || to == "kept" => Err(os_error(EPERM)),
        _ => Ok(()),
    });
    let scene = Scene::probed(&immutable);
    let outcome = scene.create(&file("/kept", "x")).await;
    let Refusal { class, detail, .. } = refusal(&outcome);
    assert_eq!(*class, RefusalClass::Denied);
    assert!(detail.starts_with("cannot write /kept: permission denied"), "{detail}");
    assert_eq!((detail.contains("run it as root"), detail.contains("lsattr")), (!is_root(), is_root()), "{detail}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_setpoint_runs_from_is_not_changed_through_a_link_either() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("root/data");
    fs::create_dir_all(data.join("deeper")).unwrap();
    fs::write(data.join("ledger"), "ours").unwrap();
    let scene = Scene::within(folder, |options| options.own = vec![data.clone()]);
    symlink("data", scene.at("/link")).unwrap();
    symlink("/data/deeper", scene.at("/deep")).unwrap();
    for resource in [
        file("/data/ledger", "theirs"),
        file("/link/ledger", "theirs"),
        file("/deep/new", "theirs"),
        directory("/data", "0777"),
        directory("/link/new", "0777"),
    ] {
        let step = match scene.look(&resource).await.as_known() {
            Some(Presence::Present(live)) => scene.steps.update(&resource, live),
            _ => scene.steps.create(&resource),
        };
        let outcome = scene.execute(vec![step]).await.remove(0);
        assert!(
            matches!(&outcome, Outcome::Refused { refusal } if refusal.class == RefusalClass::Denied),
            "{}: {outcome:?}",
            resource.key
        );
    }
    let ledger = file("/link/ledger", "ours");
    let delete = scene.steps.delete(&ledger.key, &scene.live(&ledger).await);
    assert!(matches!(scene.execute(vec![delete]).await[..], [Outcome::Refused { .. }]));
    assert_eq!(fs::read_to_string(data.join("ledger")).unwrap(), "ours");
    assert_eq!(fs::read_dir(&data).unwrap().count(), 2);
    assert_eq!(fs::read_dir(data.join("deeper")).unwrap().count(), 0);
    scene.have(&file("/beside", "fine")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_cannot_be_used_says_nothing_about_the_health_of_the_host() {
    let scene = Scene::new();
    scene.write("/plain", "");
    symlink("/nowhere", scene.at("/dangling")).unwrap();
    symlink("/circle", scene.at("/circle")).unwrap();
    for path in ["/not/there/x", "/plain/x", "/dangling/x", "/circle/x"] {
        let outcome = scene.create(&file(path, "x")).await;
        assert_eq!(refusal(&outcome).class, RefusalClass::Unready, "{path}: {outcome:?}");
        let state = scene.look(&file(path, "x")).await;
        let reason = state.blindness();
        assert!(matches!(reason, None | Some(UnknownReason::Unobservable { .. })), "{path}: {reason:?}");
    }
}
