//! Tests of the set-up link.

use setpoint_accounts::{AccountsError, Change, Password, PasswordError, SetUpError};
use setpoint_core::time::Span;

use crate::scene::{NOW, Scene, after, password};

async fn is_refused(scene: &Scene, token: &str, now: setpoint_core::time::Timestamp) -> bool {
    let refused = scene.accounts.set_up(token, "root", &password(), now).await;
    matches!(refused, Err(SetUpError::InvalidLink))
}

#[tokio::test]
async fn the_link_creates_an_administrator_once() {
    let scene = Scene::empty().await;
    assert!(!scene.accounts.is_set_up().await.unwrap());
    let token = scene.accounts.setup_link(NOW).await.unwrap().unwrap();
    let created = scene.accounts.set_up(token.open(), "root", &password(), NOW).await.unwrap();
    assert!(scene.accounts.is_set_up().await.unwrap());
    assert!(created.value.administrator && !created.value.disabled);
    assert_eq!(created.value.actor.as_str(), "account:root");
    assert!(matches!(created.change, Change::AccountCreated { by_setup_link: true, administrator: true, .. }));
    assert!(is_refused(&scene, token.open(), NOW).await, "it is used up");
    assert!(scene.accounts.setup_link(NOW).await.unwrap().is_none(), "there is an account");
    assert!(scene.sign_in("root", 1, NOW).await.unwrap().session.administrator);
}

#[tokio::test]
async fn the_link_expires_after_an_hour() {
    let scene = Scene::empty().await;
    let token = scene.accounts.setup_link(NOW).await.unwrap().unwrap();
    assert!(is_refused(&scene, token.open(), after(Span::hours(1))).await);
    let last = after(Span::millis(3_599_999));
    assert!(scene.accounts.set_up(token.open(), "root", &password(), last).await.is_ok());
}

#[tokio::test]
async fn a_new_start_replaces_the_link() {
    let scene = Scene::empty().await;
    let first = scene.accounts.setup_link(NOW).await.unwrap().unwrap();
    let scene = scene.restarted().await;
    let second = scene.accounts.setup_link(NOW).await.unwrap().unwrap();
    assert!(is_refused(&scene, first.open(), NOW).await);
    assert!(scene.accounts.set_up(second.open(), "root", &password(), NOW).await.is_ok());
}

#[tokio::test]
async fn an_invented_link_costs_no_hash() {
    let scene = Scene::empty().await;
    assert!(is_refused(&scene, &"a".repeat(43), NOW).await, "there is no link at all");
    let token = scene.accounts.setup_link(NOW).await.unwrap().unwrap();
    let other = token.open().chars().rev().collect::<String>();
    for invented in ["", "a", &"a".repeat(43), &other, &"a".repeat(1 << 20), "é\0\n"] {
        assert!(is_refused(&scene, invented, NOW).await);
    }
    assert_eq!(scene.accounts.hashes_computed(), 0);
}

#[tokio::test]
async fn a_refused_password_or_name_leaves_the_link_valid() {
    let scene = Scene::empty().await;
    let token = scene.accounts.setup_link(NOW).await.unwrap().unwrap();
    let short = Password::new("short".to_owned());
    let refused = scene.accounts.set_up(token.open(), "root", &short, NOW).await;
    let is_short =
        |source: &AccountsError| matches!(source, AccountsError::Password { source: PasswordError::TooShort { .. } });
    assert!(matches!(refused, Err(SetUpError::Account { source }) if is_short(&source)));
    let refused = scene.accounts.set_up(token.open(), "ro ot", &password(), NOW).await;
    assert!(matches!(refused, Err(SetUpError::Account { source: AccountsError::Name { .. } })));
    assert!(scene.accounts.set_up(token.open(), "root", &password(), NOW).await.is_ok());
}

#[tokio::test]
async fn of_two_uses_at_the_same_time_one_creates_an_account() {
    let scene = Scene::empty().await;
    let token = scene.accounts.setup_link(NOW).await.unwrap().unwrap();
    let password = password();
    let (one, other) = tokio::join!(
        scene.accounts.set_up(token.open(), "one", &password, NOW),
        scene.accounts.set_up(token.open(), "other", &password, NOW),
    );
    assert_eq!(usize::from(one.is_ok()) + usize::from(other.is_ok()), 1);
    assert_eq!(scene.accounts.accounts().await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_account_that_was_created_otherwise_ends_the_link() {
    let scene = Scene::empty().await;
    let token = scene.accounts.setup_link(NOW).await.unwrap().unwrap();
    scene.create("ada").await;
    assert!(is_refused(&scene, token.open(), NOW).await);
}
