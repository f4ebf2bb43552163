//! The journal of changes for the ledger.

use std::time::Duration;

use setpoint_accounts::{AccountsError, Author, Change, NewToken};
use setpoint_core::time::Span;
use tokio::time::timeout;

use crate::scene::{Scene, actor, after, by, password};

#[tokio::test]
async fn every_change_is_in_the_journal_with_its_author_until_it_is_forgotten() {
    let scene = Scene::new().await;
    let by = Author { reason: "she left", ..by() };
    scene.create("ada").await;
    scene.sign_in("ada", 1, by.now).await.unwrap();
    scene.accounts.set_groups("ada", vec!["ops".to_owned()], &by).await.unwrap();
    scene.accounts.set_administrator("ada", true, &by).await.unwrap();
    scene.accounts.set_password("ada", &password(), None, &by).await.unwrap();
    scene.accounts.disable_account("ada", &by).await.unwrap();
    scene.accounts.enable_account("ada", &by).await.unwrap();
    scene.accounts.delete_account("ada", &by).await.unwrap();
    let new = NewToken { name: "ci", grants: String::new(), expires: after(Span::hours(1)) };
    let token = scene.accounts.create_token(new, &by).await.unwrap();
    scene.accounts.revoke_token(&token.token.id, &by).await.unwrap();
    scene.accounts.end_sessions_of(&actor("account:root"), &by).await.unwrap();
    let entries = scene.accounts.journal(100).await.unwrap();
    let texts: Vec<String> = entries.iter().map(|entry| entry.change.to_string()).collect();
    assert_eq!(
        texts,
        [
            "administrator account:root created through the set-up link",
            "account:ada created",
            "account:ada signed in by password",
            "groups of account:ada set, 1 in all",
            "account:ada made an administrator",
            "password of account:ada set, 1 session ended",
            "account:ada disabled",
            "account:ada enabled",
            "account:ada deleted",
            "token:ci created by account:root",
            "token:ci revoked",
            "sessions of account:root ended, 0 in all",
        ]
    );
    assert_eq!((entries[0].author.as_str(), entries[0].via.as_str()), ("account:root", "set-up link"));
    assert_eq!((entries[2].author.as_str(), entries[2].via.as_str()), ("account:ada", "password"));
    assert_eq!((entries[8].reason.as_str(), entries[8].at), ("she left", by.now));
    scene.accounts.forget_journal(entries[9].number).await.unwrap();
    let scene = scene.restarted().await;
    assert_eq!(scene.accounts.journal(100).await.unwrap(), entries[10..]);
    scene.accounts.forget_journal(entries[11].number).await.unwrap();
    scene.create("eve").await;
    let later = scene.accounts.journal(100).await.unwrap();
    assert!(later.len() == 1 && later[0].number > entries[11].number, "numbers are not used again");
}

#[tokio::test]
async fn a_change_without_effect_is_not_in_the_journal() {
    let scene = Scene::new().await;
    let before = scene.accounts.journal(100).await.unwrap();
    scene.accounts.disable_account("root", &by()).await.unwrap_err();
    scene.accounts.delete_account("nobody", &by()).await.unwrap_err();
    assert_eq!(scene.accounts.revoke_token("unknown", &by()).await.unwrap(), None);
    scene.guess("root", 1, by().now).await;
    let long = "x".repeat(4 * 1024 + 1);
    let refused = scene.accounts.set_groups("root", Vec::new(), &Author { reason: &long, ..by() }).await;
    assert!(matches!(refused, Err(AccountsError::ReasonTooLong { .. })));
    assert_eq!(scene.accounts.journal(100).await.unwrap(), before);
}

#[tokio::test]
async fn a_change_wakes_the_reader_of_the_journal() {
    let scene = Scene::new().await;
    scene.accounts.journal_grown().await;
    let waiting = timeout(Duration::from_secs(10), scene.accounts.journal_grown());
    let (woken, session) = tokio::join!(waiting, scene.sign_in("root", 1, by().now));
    woken.expect("it is woken");
    let entries = scene.accounts.journal(100).await.unwrap();
    let expected = Change::SignedIn {
        actor: actor("account:root"),
        name: "root".to_owned(),
        session: session.unwrap().session.id,
        via: setpoint_accounts::Via::Password,
        administrator: true,
        address: "10.0.0.1".to_owned(),
    };
    assert_eq!(entries.last().unwrap().change, expected);
}
