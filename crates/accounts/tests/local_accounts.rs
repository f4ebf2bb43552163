//! Tests of local accounts: names, passwords, and who may be removed.

use setpoint_accounts::{AccountsError, Change, NewAccount, Password, PasswordError, SignInError};

use crate::scene::{NOW, Scene, by, client, password};

async fn creation(scene: &Scene, name: &str, password: &str) -> Result<(), AccountsError> {
    let password = Password::new(password.to_owned());
    let new = NewAccount { name, password: &password, groups: Vec::new(), administrator: false };
    scene.accounts.create_account(new, &by()).await.map(drop)
}

async fn policy(scene: &Scene, name: &str, text: &str) -> Option<PasswordError> {
    match creation(scene, name, text).await {
        Ok(()) => None,
        Err(AccountsError::Password { source }) => Some(source),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn names_are_plain_short_and_unique_in_any_case() {
    let scene = Scene::new().await;
    let long = "a".repeat(65);
    let bad = ["", " ", "a b", "ä", "a/b", "a:b", "../a", "-a", ".a", "@a", "a\n", "a\0", "<b>", "\u{202e}a", &long];
    for name in bad {
        assert!(matches!(creation(&scene, name, "a-good-password").await, Err(AccountsError::Name { .. })), "{name}");
    }
    for name in ["a", "Ada.L_o-v@example.org", "7", &"b".repeat(64)] {
        creation(&scene, name, "a-good-password").await.unwrap();
        let account = scene.accounts.account(name).await.unwrap().unwrap();
        assert_eq!(account.actor.as_str(), format!("account:{name}"));
    }
    let taken = creation(&scene, "ROOT", "a-good-password").await;
    assert!(matches!(taken, Err(AccountsError::NameTaken { name }) if name == "ROOT"));
    assert!(scene.sign_in("RooT", 1, NOW).await.is_ok(), "a person may write the name in any case");
}

#[tokio::test]
async fn weak_passwords_are_refused() {
    let scene = Scene::new().await;
    assert_eq!(policy(&scene, "a", "elevenbytes").await, Some(PasswordError::TooShort { limit: 12 }));
    assert_eq!(policy(&scene, "b", &"0123456".repeat(147)).await, Some(PasswordError::TooLong { limit: 1_024 }));
    assert_eq!(policy(&scene, "Ada.Lovelace", "ada.lovelace").await, Some(PasswordError::EqualsName));
    assert_eq!(policy(&scene, "c", "abababababab").await, Some(PasswordError::TooUniform));
    assert_eq!(policy(&scene, "d", "Password1234").await, Some(PasswordError::Common));
    assert_eq!(policy(&scene, "e", "twelve bytes").await, None);
    assert_eq!(policy(&scene, "f", &"0123456789abcdef".repeat(64)).await, None);
    assert_eq!(policy(&scene, "g", "päßwörter✓").await, None, "bytes count, not letters");
}

#[tokio::test]
async fn a_new_password_ends_all_sessions_but_the_one_that_set_it() {
    let scene = Scene::new().await;
    let (own, stolen) = (scene.sign_in("root", 1, NOW).await.unwrap(), scene.sign_in("root", 2, NOW).await.unwrap());
    let new = Password::new("another-password".to_owned());
    let change = scene.accounts.set_password("root", &new, Some(&own.session.id), &by()).await.unwrap();
    assert!(matches!(change, Change::PasswordSet { sessions_ended: 1, .. }));
    assert!(scene.session(own.cookie.open(), NOW).await.is_some());
    assert!(scene.session(stolen.cookie.open(), NOW).await.is_none());
    assert!(matches!(scene.sign_in("root", 1, NOW).await, Err(SignInError::Wrong)));
    let change = scene.accounts.set_password("root", &password(), None, &by()).await.unwrap();
    assert!(matches!(change, Change::PasswordSet { sessions_ended: 1, .. }));
    assert!(scene.session(own.cookie.open(), NOW).await.is_none());
}

#[tokio::test]
async fn disabling_and_deleting_an_account_end_its_sessions() {
    let scene = Scene::new().await;
    let ada = scene.create("ada").await;
    let session = scene.sign_in("ada", 1, NOW).await.unwrap();
    let disabled = scene.accounts.disable_account("ada", &by()).await.unwrap();
    assert_eq!(disabled, Change::AccountDisabled { account: ada.actor.clone(), sessions_ended: 1 });
    assert!(scene.session(session.cookie.open(), NOW).await.is_none());
    assert!(scene.accounts.session_by_id(&session.session.id, NOW).await.unwrap().is_none());
    assert!(matches!(scene.sign_in("ada", 1, NOW).await, Err(SignInError::Wrong)));

    scene.accounts.enable_account("ada", &by()).await.unwrap();
    assert!(scene.session(session.cookie.open(), NOW).await.is_none(), "an ended session stays ended");
    let session = scene.sign_in("ada", 1, NOW).await.unwrap();
    let deleted = scene.accounts.delete_account("ada", &by()).await.unwrap();
    assert_eq!(deleted, Change::AccountDeleted { account: ada.actor, sessions_ended: 1 });
    scene.create("ada").await;
    assert!(scene.session(session.cookie.open(), NOW).await.is_none(), "another account has the name");
}

#[tokio::test]
async fn the_last_administrator_stays() {
    let scene = Scene::new().await;
    scene.create("ada").await;
    let last = |result| matches!(result, Err(AccountsError::LastAdministrator { name }) if name == "root");
    assert!(last(scene.accounts.disable_account("root", &by()).await));
    assert!(last(scene.accounts.delete_account("root", &by()).await));
    assert!(last(scene.accounts.set_administrator("root", false, &by()).await));
    let password = password();
    let second = NewAccount { name: "second", password: &password, groups: Vec::new(), administrator: true };
    scene.accounts.create_account(second, &by()).await.unwrap();
    scene.accounts.disable_account("second", &by()).await.unwrap();
    assert!(last(scene.accounts.delete_account("root", &by()).await), "a disabled administrator does not count");
    scene.accounts.delete_account("second", &by()).await.unwrap();
    assert!(last(scene.accounts.disable_account("root", &by()).await));
}

#[tokio::test]
async fn changes_to_a_name_without_an_account_are_errors() {
    let scene = Scene::new().await;
    let missing = |result| matches!(result, Err(AccountsError::NoSuchAccount));
    assert!(missing(scene.accounts.set_password("ada", &password(), None, &by()).await));
    assert!(missing(scene.accounts.set_groups("ada", Vec::new(), &by()).await));
    assert!(missing(scene.accounts.set_administrator("ada", true, &by()).await));
    assert!(missing(scene.accounts.trust_address("ada", &client(1), &by()).await));
    assert!(missing(scene.accounts.disable_account("ada", &by()).await));
    assert!(missing(scene.accounts.enable_account("ada", &by()).await));
    assert!(missing(scene.accounts.delete_account("ada", &by()).await));
}

#[tokio::test]
async fn new_groups_count_from_the_next_request_on() {
    let scene = Scene::new().await;
    scene.create("ada").await;
    let cookie = scene.sign_in("ada", 1, NOW).await.unwrap().cookie;
    assert_eq!(scene.session(cookie.open(), NOW).await.unwrap().session.groups, ["dev"]);
    scene.accounts.set_groups("ada", vec!["ops".to_owned(), "on call".to_owned()], &by()).await.unwrap();
    assert_eq!(scene.session(cookie.open(), NOW).await.unwrap().session.groups, ["ops", "on call"]);
    for bad in [vec![String::new()], vec!["a\nb".to_owned()], vec!["a".repeat(257)]] {
        assert!(matches!(scene.accounts.set_groups("ada", bad, &by()).await, Err(AccountsError::Name { .. })));
    }
    let many = vec!["a".to_owned(); 1_001];
    assert!(matches!(scene.accounts.set_groups("ada", many, &by()).await, Err(AccountsError::TooManyGroups { .. })));
}

#[tokio::test]
async fn the_rights_of_an_administrator_count_from_the_next_request_on() {
    let scene = Scene::new().await;
    scene.create("ada").await;
    let cookie = scene.sign_in("ada", 1, NOW).await.unwrap().cookie;
    for is_administrator in [true, false] {
        scene.accounts.set_administrator("ada", is_administrator, &by()).await.unwrap();
        let live = scene.session(cookie.open(), NOW).await.unwrap();
        assert_eq!(live.session.administrator, is_administrator);
    }
}
