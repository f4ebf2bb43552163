//! Tests of the file: its permissions, other processes, damage, and what it does not contain.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use setpoint_accounts::{Accounts, OpenError};
use setpoint_core::time::Span;

use crate::scene::{NOW, Scene, after, by, client, options, password};

fn files(scene: &Scene) -> Vec<(String, u32, Vec<u8>)> {
    let entries = fs::read_dir(scene.directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let file = |path: std::path::PathBuf| {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        (path.file_name().unwrap().to_string_lossy().into_owned(), mode, fs::read(&path).unwrap())
    };
    entries.map(file).collect()
}

#[tokio::test]
async fn the_files_are_for_one_user_only() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("access.db"), b"").unwrap();
    fs::set_permissions(directory.path().join("access.db"), fs::Permissions::from_mode(0o644)).unwrap();
    let accounts = Accounts::open_with(directory.path(), options()).await.unwrap();
    accounts.setup_link(NOW).await.unwrap();
    let scene = Scene { directory, accounts };
    let files = files(&scene);
    assert!(files.len() >= 2, "the database and its log");
    for (name, mode, _) in files {
        assert_eq!(mode, 0o600, "{name}");
    }
}

#[tokio::test]
async fn two_processes_share_one_store() {
    let scene = Scene::new().await;
    let other = Accounts::open_with(scene.directory.path(), options()).await.unwrap();
    let begun = other.sign_in("root", &password(), &client(1), NOW).await.unwrap();
    assert!(scene.session(begun.cookie.open(), NOW).await.is_some());
    scene.accounts.end_session(&begun.session.id, &by()).await.unwrap();
    assert!(other.session(begun.cookie.open(), NOW).await.unwrap().is_none(), "at the next look-up");
    let (mut handles, mut tasks) = (vec![scene.accounts, other], tokio::task::JoinSet::new());
    for (n, accounts) in handles.drain(..).enumerate() {
        tasks.spawn(async move {
            for m in 0..5u32 {
                let from = client(u32::try_from(n).unwrap() * 100 + m);
                accounts.sign_in("root", &password(), &from, NOW).await.unwrap();
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_processes_that_create_the_store_at_once_agree_on_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let path = directory.path().to_owned();
        tasks.spawn(async move { Accounts::open_with(&path, options()).await.unwrap() });
    }
    let stores = tasks.join_all().await;
    let token = stores[0].setup_link(NOW).await.unwrap().unwrap();
    stores[1].set_up(token.open(), "root", &password(), NOW).await.unwrap();
    let begun = stores[2].sign_in("root", &password(), &client(1), NOW).await.unwrap();
    let session = stores[3].session(begun.cookie.open(), NOW).await.unwrap().unwrap().session;
    assert!(session.accepts(begun.session.csrf.open()), "they have one key");
}

#[tokio::test]
async fn a_file_that_is_not_ours_too_new_or_damaged_is_refused_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("access.db");
    let open = || Accounts::open_with(directory.path(), options());
    fs::write(&path, b"this is no database, whatever its name is").unwrap();
    assert!(matches!(open().await, Err(OpenError::Database { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"this is no database, whatever its name is");

    let run = async |sql: &'static str| {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path).create_if_missing(true);
        let pool = sqlx::sqlite::SqlitePool::connect_with(options).await.unwrap();
        sqlx::raw_sql(sql).execute(&pool).await.unwrap();
        pool.close().await;
    };
    fs::remove_file(&path).unwrap();
    run("CREATE TABLE another (program INTEGER)").await;
    assert!(matches!(open().await, Err(OpenError::NotAccounts { .. })));
    fs::remove_file(&path).unwrap();
    open().await.unwrap().close().await;
    run("PRAGMA user_version = 99").await;
    assert!(matches!(open().await, Err(OpenError::TooNew { found: 99, .. })));
}

#[tokio::test]
async fn a_missing_directory_is_an_error_that_names_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    let error = Accounts::open_with(&missing, options()).await.unwrap_err();
    assert!(matches!(error, OpenError::File { .. }) && error.to_string().contains("missing/access.db"), "{error}");
}

#[tokio::test]
async fn a_last_use_that_cannot_be_written_ends_no_session() {
    let scene = Scene::new().await;
    let begun = scene.sign_in("root", 1, NOW).await.unwrap();
    let other = sqlx::sqlite::SqliteConnectOptions::new().filename(scene.accounts.path());
    let other = sqlx::sqlite::SqlitePool::connect_with(other).await.unwrap();
    sqlx::raw_sql("CREATE TRIGGER refusal BEFORE UPDATE ON sessions BEGIN SELECT raise(ABORT, 'no space'); END")
        .execute(&other)
        .await
        .unwrap();
    let live = scene.session(begun.cookie.open(), after(Span::hours(1))).await.unwrap();
    assert_eq!(live.session.id, begun.session.id);
    assert!(scene.session(begun.cookie.open(), after(Span::hours(12))).await.is_none(), "no use was written");
}

#[tokio::test]
async fn a_damaged_store_does_not_open_the_set_up_again() {
    let scene = Scene::new().await;
    scene.create("ada").await;
    scene.accounts.close().await;
    let path = scene.directory.path().join("access.db");
    let mut bytes = fs::read(&path).unwrap();
    bytes[4_096..].fill(0x5a);
    fs::write(&path, &bytes).unwrap();
    let refused = Accounts::open_with(scene.directory.path(), options()).await;
    assert!(matches!(refused, Err(OpenError::Damaged { .. } | OpenError::Database { .. })));
    assert_eq!(fs::read(&path).unwrap().len(), bytes.len());
}

#[tokio::test]
async fn a_session_of_an_account_that_was_disabled_in_the_file_is_refused() {
    let scene = Scene::new().await;
    let begun = scene.sign_in("root", 1, NOW).await.unwrap();
    let other = sqlx::sqlite::SqliteConnectOptions::new().filename(scene.accounts.path());
    let other = sqlx::sqlite::SqlitePool::connect_with(other).await.unwrap();
    sqlx::raw_sql("UPDATE accounts SET disabled = 1").execute(&other).await.unwrap();
    assert!(scene.session(begun.cookie.open(), NOW).await.is_none());
    assert!(scene.accounts.open_sessions(None, NOW).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_store_that_contradicts_its_own_rules_is_refused() {
    let scene = Scene::new().await;
    let options_of_file = sqlx::sqlite::SqliteConnectOptions::new().filename(scene.accounts.path());
    let other = sqlx::sqlite::SqlitePool::connect_with(options_of_file).await.unwrap();
    sqlx::raw_sql("PRAGMA ignore_check_constraints = ON; INSERT INTO store (one, key) VALUES (2, x'00')")
        .execute(&other)
        .await
        .unwrap();
    let refused = Accounts::open_with(scene.directory.path(), options()).await;
    assert!(matches!(refused, Err(OpenError::Damaged { .. })));
}
