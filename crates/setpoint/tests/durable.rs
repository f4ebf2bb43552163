//! The interpreter on the ledger of production: SQLite, real threads, real time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use setpoint::interpreter::{OpenLedger, Opening};
use setpoint_core::name::AppId;
use setpoint_ledger::Ledger;
use setpoint_ledger::checkpoint::Signer;
use setpoint_ledger_sql::{Options, SqlLedger};
use setpoint_ledger_verify::verify;

use crate::scene::{Scene, app, origin, resources, until_converged};

fn signer() -> Signer {
    Signer::new(origin(), &[7; 32])
}

fn opener(folder: &Path) -> OpenLedger {
    let options = Options::new(folder, signer());
    Box::new(move || -> Opening {
        let options = options.clone();
        Box::pin(async move { Ok(Arc::new(SqlLedger::open(options).await?) as Arc<dyn Ledger>) })
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_apps_converge_at_once_and_leave_a_sound_ledger() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let (scene, apps) = (Scene::new(), (0..40).map(|n| app(&format!("app-{n}"))).collect::<Vec<AppId>>());
    for app in &apps {
        scene.shelf.publish(app, resources(app, 20, 1));
    }
    let target = Arc::new(scene.target.clone());
    let mut handle = scene.start_with(opener(folder.path()), target, &apps.iter().collect::<Vec<_>>()).await;
    let all = async {
        for app in &apps {
            until_converged(&mut handle, app).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), all).await.expect("they converge within two minutes");
    handle.stop().await.expect("it stops");
    assert_eq!(scene.standing().len(), 40 * 20);

    let key = signer().public().to_text().parse().expect("a key reads its own text");
    let report = verify(&folder.path().join("ledger.db"), &[], &[key]).await.expect("it can be read");
    assert_eq!(report.findings, []);
    assert_eq!(report.logs[0].signed, report.logs[0].records, "what was recorded is signed before the ledger closes");
}
