//! Case 57 of the bad-input list: passwords, cookies and tokens are in no output and no file.

use std::fmt::Debug;
use std::fs;

use setpoint_accounts::{Identity, NewAccount, NewToken, Options, Password};
use setpoint_core::time::Span;

use crate::scene::{NOW, PASSWORD, Scene, after, by, client, password};

/// Collects the outputs of a scene, in which no secret may be.
#[derive(Default)]
struct Outputs(String);

impl Outputs {
    fn add(&mut self, value: &impl Debug) {
        self.0.push_str(&format!("{value:?} {value:#?}\n"));
    }
}

#[tokio::test]
async fn no_type_prints_a_secret_and_no_file_contains_one() {
    let scene = Scene::empty().await;
    let (accounts, mut outputs) = (&scene.accounts, Outputs::default());
    let link = accounts.setup_link(NOW).await.unwrap().unwrap();
    let created = accounts.set_up(link.open(), "root", &password(), NOW).await.unwrap();
    let begun = scene.sign_in("root", 1, NOW).await.unwrap();
    let grace = Identity {
        provider: "corp".to_owned(),
        subject: "1".to_owned(),
        name: "Grace".to_owned(),
        email: None,
        groups: Vec::new(),
    };
    let person = accounts.begin_session(&grace, &client(1), NOW).await.unwrap();
    let live = scene.session(begun.cookie.open(), after(Span::hours(11))).await.unwrap();
    let live = scene.session(begun.cookie.open(), after(Span::hours(22))).await.map_or(live, |live| live);
    let rotated = scene.session(begun.cookie.open(), after(Span::hours(24))).await.unwrap();
    let next = rotated.new_cookie.clone().unwrap();
    let new = NewToken { name: "ci", grants: "{}".to_owned(), expires: after(Span::hours(1)) };
    outputs.add(&new);
    let issued = accounts.create_token(new, &by()).await.unwrap();
    let password = password();
    outputs.add(&NewAccount { name: "ada", password: &password, groups: Vec::new(), administrator: false });
    for value in [&created.change, &begun.change, &person.change, &issued.change] {
        outputs.add(value);
        outputs.0.push_str(&value.to_string());
    }
    // A person typed the password into the wrong field.
    outputs.add(&scene.guess(PASSWORD, 9, NOW).await);
    outputs.add(&(&scene.accounts, Options::default(), client(1), &grace));
    outputs.add(&(&link, &created, &begun, &begun.cookie, &begun.session.csrf, &person));
    outputs.add(&(&live, &rotated, &issued, accounts.tokens(NOW).await.unwrap()));
    outputs.add(&(accounts.accounts().await.unwrap(), accounts.open_sessions(None, NOW).await.unwrap()));
    outputs.add(&accounts.set_up(link.open(), "again", &password, NOW).await.unwrap_err());
    let common = Password::new("qwertyuiop123".to_owned());
    let refused = accounts.set_password("root", &common, None, &by()).await.unwrap_err();
    outputs.add(&refused);
    outputs.0.push_str(&refused.to_string());

    let secrets = [
        PASSWORD,
        "qwertyuiop123",
        link.open(),
        begun.cookie.open(),
        begun.session.csrf.open(),
        person.cookie.open(),
        next.open(),
        &issued.text.open()[26..69],
    ];
    for entry in fs::read_dir(scene.directory.path()).unwrap() {
        outputs.0.push_str(&String::from_utf8_lossy(&fs::read(entry.unwrap().path()).unwrap()));
    }
    for secret in secrets {
        assert!(secret.len() >= 12 && !outputs.0.contains(secret), "a secret of {} bytes is printed", secret.len());
    }
}

#[tokio::test]
async fn the_password_of_a_removed_account_leaves_the_file() {
    let scene = Scene::new().await;
    scene.create("ada").await;
    let row = async || -> Option<Vec<u8>> {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(scene.accounts.path());
        let pool = sqlx::sqlite::SqlitePool::connect_with(options).await.unwrap();
        let hash = sqlx::query_scalar("SELECT hash FROM accounts WHERE key = 'ada'").fetch_optional(&pool).await;
        pool.close().await;
        hash.unwrap()
    };
    let hash = row().await.unwrap();
    scene.accounts.delete_account("ada", &by()).await.unwrap();
    assert_eq!(row().await, None);
    let path = scene.accounts.path().to_owned();
    scene.accounts.close().await;
    let file = fs::read(path).unwrap();
    assert!(!file.windows(hash.len()).any(|bytes| bytes == hash), "no free page contains the hash");
}
