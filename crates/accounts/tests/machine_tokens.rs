//! Tests of machine tokens.

use setpoint_accounts::{AccountsError, Change, IssuedToken, NewToken};
use setpoint_core::time::{Span, Timestamp};
use sha2::{Digest as _, Sha256};

use crate::scene::{NOW, Scene, actor, after, by};

const YEAR: Span = Span::hours(366 * 24);

async fn create(scene: &Scene, name: &str, expires: Timestamp) -> Result<IssuedToken, AccountsError> {
    let grants = "{\"verbs\":[\"see\"]}".to_owned();
    let new = NewToken { name, grants, expires };
    scene.accounts.create_token(new, &by()).await
}

#[tokio::test]
async fn a_token_has_its_grants_until_it_expires() {
    let scene = Scene::new().await;
    let issued = create(&scene, "ci", after(Span::hours(1))).await.unwrap();
    let token = scene.accounts.token(issued.text.open(), NOW).await.unwrap().unwrap();
    assert_eq!(token, issued.token);
    assert_eq!((token.actor.as_str(), token.grants.as_str()), ("token:ci", "{\"verbs\":[\"see\"]}"));
    assert_eq!(token.created_by, actor("account:root"));
    let last = after(Span::millis(3_599_999));
    assert!(scene.accounts.token(issued.text.open(), last).await.unwrap().is_some());
    let expired = after(Span::hours(1));
    assert!(scene.accounts.token(issued.text.open(), expired).await.unwrap().is_none());
    assert!(scene.accounts.token_by_id(&token.id, expired).await.unwrap().is_none());
}

#[tokio::test]
async fn a_token_has_the_form_that_scanners_find() {
    let scene = Scene::new().await;
    for n in 0..20 {
        let issued = create(&scene, &format!("ci-{n}"), after(Span::hours(1))).await.unwrap();
        let text = issued.text.open();
        let (prefix, rest) = text.split_at(9);
        let (id, rest) = rest.split_at(16);
        let (secret, sum) = rest.split_at(44);
        assert_eq!((prefix, id, text.len()), ("setpoint_", issued.token.id.as_str(), 78));
        assert!(id.bytes().all(|b| b.is_ascii_lowercase() || (b'2'..=b'7').contains(&b)), "{id}");
        assert!(secret.starts_with('_') && secret.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)));
        assert!(sum.starts_with('_') && sum[1..].bytes().all(|b| b.is_ascii_hexdigit()) && sum.len() == 9);
    }
}

#[tokio::test]
async fn only_the_whole_token_is_accepted() {
    let scene = Scene::new().await;
    let (one, other) =
        (create(&scene, "one", after(YEAR)).await.unwrap(), create(&scene, "other", after(YEAR)).await.unwrap());
    let text = one.text.open();
    let mixed = format!("setpoint_{}{}", other.token.id, &text[25..]);
    let upper = text.to_ascii_uppercase();
    let longer = format!("{text}0");
    let wide = "é".repeat(39);
    let wrong = ["", "setpoint_", &text[1..], &text[..77], &longer, &mixed, &upper, &wide, &one.token.id];
    for wrong in wrong {
        assert!(scene.accounts.token(wrong, NOW).await.unwrap().is_none());
    }
    for at in 0..text.len() {
        let mut bytes = text.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'a' { b'b' } else { b'a' };
        let changed = String::from_utf8(bytes).unwrap();
        assert!(scene.accounts.token(&changed, NOW).await.unwrap().is_none(), "at {at}");
    }
}

/// Appends the checksum of a token, which is not secret.
fn with_checksum(text: &str) -> String {
    let checksum = data_encoding::HEXLOWER.encode(&Sha256::digest(text.as_bytes())[..4]);
    format!("{text}_{checksum}")
}

#[tokio::test]
async fn a_forged_token_with_the_right_checksum_is_refused() {
    let scene = Scene::new().await;
    let issued = create(&scene, "ci", after(YEAR)).await.unwrap();
    assert_eq!(with_checksum(&issued.text.open()[..69]), issued.text.open());
    let forged = with_checksum(&format!("setpoint_{}_{}", issued.token.id, "a".repeat(43)));
    assert!(scene.accounts.token(&forged, NOW).await.unwrap().is_none());
    let unknown = with_checksum(&format!("setpoint_{}_{}", "a".repeat(16), "a".repeat(43)));
    assert!(scene.accounts.token(&unknown, NOW).await.unwrap().is_none());
}

#[tokio::test]
async fn a_megabyte_instead_of_a_token_is_refused_without_reading_the_database() {
    let scene = Scene::new().await;
    scene.accounts.close().await;
    let huge = format!("setpoint_{}", "a".repeat(1 << 20));
    assert!(scene.accounts.token(&huge, NOW).await.unwrap().is_none());
    let mistyped = format!("setpoint_{}_{}_{}", "a".repeat(16), "a".repeat(43), "a".repeat(8));
    assert!(scene.accounts.token(&mistyped, NOW).await.unwrap().is_none());
    let formed = with_checksum(&mistyped[..69]);
    assert!(scene.accounts.token(&formed, NOW).await.is_err(), "this one needs the database");
    assert!(scene.accounts.session(&huge, NOW).await.unwrap().is_none());
    assert!(scene.accounts.session(&"a".repeat(43), NOW).await.is_err(), "a closed database is an error, not an end");
}

#[tokio::test]
async fn a_revoked_token_ends_at_the_next_request() {
    let scene = Scene::new().await;
    let issued = create(&scene, "ci", after(YEAR)).await.unwrap();
    let id = &issued.token.id;
    assert!(scene.accounts.token_by_id(id, NOW).await.unwrap().is_some());
    let revoked = scene.accounts.revoke_token(id, &by()).await.unwrap();
    assert_eq!(revoked, Some(Change::TokenRevoked { token: actor("token:ci"), id: id.clone() }));
    assert!(scene.accounts.token(issued.text.open(), NOW).await.unwrap().is_none());
    assert!(scene.accounts.token_by_id(id, NOW).await.unwrap().is_none());
    assert_eq!(scene.accounts.revoke_token(id, &by()).await.unwrap(), None, "it was revoked before");
    assert_eq!(scene.accounts.revoke_token("unknown", &by()).await.unwrap(), None);
}

#[tokio::test]
async fn an_expiry_cannot_be_left_out_or_be_beyond_a_year() {
    let scene = Scene::new().await;
    for expires in [NOW, NOW - Span::hours(1), after(YEAR + Span::millis(1)), Timestamp::from_millis(u64::MAX)] {
        let refused = create(&scene, "ci", expires).await;
        assert!(matches!(refused, Err(AccountsError::Expiry { limit_days: 366 })));
    }
    assert!(create(&scene, "ci", after(YEAR)).await.is_ok());
}

#[tokio::test]
async fn valid_tokens_have_different_names() {
    let scene = Scene::new().await;
    let first = create(&scene, "ci", after(YEAR)).await.unwrap();
    assert!(matches!(create(&scene, "CI", after(YEAR)).await, Err(AccountsError::NameTaken { .. })));
    assert!(matches!(create(&scene, "a b", after(YEAR)).await, Err(AccountsError::Name { .. })));
    scene.accounts.revoke_token(&first.token.id, &by()).await.unwrap();
    assert!(create(&scene, "ci", after(YEAR)).await.is_ok());
    assert!(scene.accounts.token(first.text.open(), NOW).await.unwrap().is_none());
}

#[tokio::test]
async fn the_last_use_of_a_token_is_written_once_a_minute() {
    let scene = Scene::new().await;
    let issued = create(&scene, "ci", after(YEAR)).await.unwrap();
    let last_use = async || scene.accounts.tokens(NOW).await.unwrap()[0].last_use;
    assert_eq!(last_use().await, None);
    for (seconds, expected) in [(1, 1), (60, 1), (61, 61), (100, 61)] {
        scene.accounts.token(issued.text.open(), after(Span::seconds(seconds))).await.unwrap().unwrap();
        assert_eq!(last_use().await, Some(after(Span::seconds(expected))));
    }
    scene.accounts.token_by_id(&issued.token.id, after(Span::hours(1))).await.unwrap().unwrap();
    assert_eq!(last_use().await, Some(after(Span::seconds(61))), "a stream is no use");
}

#[tokio::test]
async fn the_list_shows_ended_tokens_for_a_while() {
    let scene = Scene::new().await;
    let revoked = create(&scene, "a", after(YEAR)).await.unwrap();
    create(&scene, "b", after(Span::hours(1))).await.unwrap();
    create(&scene, "c", after(YEAR)).await.unwrap();
    scene.accounts.revoke_token(&revoked.token.id, &by()).await.unwrap();
    let names = async |now| {
        let tokens = scene.accounts.tokens(now).await.unwrap();
        tokens.iter().map(|token| token.name.clone()).collect::<String>()
    };
    assert_eq!(names(after(Span::hours(2))).await, "abc");
    assert_eq!(names(after(Span::hours(90 * 24))).await, "bc");
    assert_eq!(names(after(Span::hours(91 * 24))).await, "c");
}

#[tokio::test]
async fn grants_have_a_bound() {
    let scene = Scene::new().await;
    let grants = "x".repeat(65_537);
    let new = NewToken { name: "ci", grants, expires: after(YEAR) };
    let refused = scene.accounts.create_token(new, &by()).await;
    assert!(matches!(refused, Err(AccountsError::GrantsTooLong { limit: 65_536 })));
}

#[tokio::test]
async fn a_restart_keeps_tokens() {
    let scene = Scene::new().await;
    let issued = create(&scene, "ci", after(YEAR)).await.unwrap();
    let scene = scene.restarted().await;
    assert!(scene.accounts.token(issued.text.open(), NOW).await.unwrap().is_some());
}
