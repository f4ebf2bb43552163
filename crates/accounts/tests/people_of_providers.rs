//! Tests of sessions for people of an OIDC provider.

use setpoint_accounts::{AccountsError, Identity, Via};
use setpoint_core::time::Span;

use crate::scene::{NOW, Scene, actor, after, by, client};

fn grace() -> Identity {
    Identity {
        provider: "corp".to_owned(),
        subject: "248289761001".to_owned(),
        name: "Grace Höpper".to_owned(),
        email: Some("grace@example.org".to_owned()),
        groups: vec!["navy".to_owned()],
    }
}

#[tokio::test]
async fn a_person_of_a_provider_has_a_session_with_the_groups_of_the_sign_in() {
    let scene = Scene::new().await;
    let begun = scene.accounts.begin_session(&grace(), &client(1), NOW).await.unwrap();
    let session = scene.session(begun.cookie.open(), NOW).await.unwrap().session;
    assert_eq!(session.actor, actor("oidc:corp/248289761001"));
    assert_eq!((session.name.as_str(), session.email.as_deref()), ("Grace Höpper", Some("grace@example.org")));
    assert!(session.accepts(begun.session.csrf.open()));
    assert_eq!((session.groups, session.via), (vec!["navy".to_owned()], Via::Provider("corp".to_owned())));
    assert!(scene.session(begun.cookie.open(), after(Span::hours(12))).await.is_none());
}

#[tokio::test]
async fn a_person_of_a_provider_is_never_an_administrator() {
    let scene = Scene::new().await;
    let namesake = Identity { name: "root".to_owned(), subject: "root".to_owned(), ..grace() };
    let begun = scene.accounts.begin_session(&namesake, &client(1), NOW).await.unwrap();
    assert!(!begun.session.administrator);
    let session = scene.session(begun.cookie.open(), NOW).await.unwrap().session;
    assert!(!session.administrator);
    assert_ne!(session.actor, actor("account:root"));
    scene.accounts.end_sessions_of(&actor("account:root"), &by()).await.unwrap();
    assert!(scene.session(begun.cookie.open(), NOW).await.is_some(), "another person");
    scene.accounts.end_sessions_of(&session.actor, &by()).await.unwrap();
    assert!(scene.session(begun.cookie.open(), NOW).await.is_none());
}

#[tokio::test]
async fn an_identity_that_could_deceive_is_refused() {
    let scene = Scene::new().await;
    let text = |text: &str| text.to_owned();
    let identities = [
        Identity { provider: text("a/b"), ..grace() },
        Identity { provider: text(""), ..grace() },
        Identity { subject: text(""), ..grace() },
        Identity { subject: text("root\u{202e}"), ..grace() },
        Identity { subject: text("a b"), ..grace() },
        Identity { subject: "a".repeat(256), ..grace() },
        Identity { name: text(""), ..grace() },
        Identity { name: text("a\nb"), ..grace() },
        Identity { email: Some("a".repeat(257)), ..grace() },
        Identity { groups: vec![text("")], ..grace() },
    ];
    for identity in identities {
        let refused = scene.accounts.begin_session(&identity, &client(1), NOW).await;
        assert!(matches!(refused, Err(AccountsError::Name { .. })), "{identity:?}");
    }
    let many = Identity { groups: vec![text("a"); 1_001], ..grace() };
    let refused = scene.accounts.begin_session(&many, &client(1), NOW).await;
    assert!(matches!(refused, Err(AccountsError::TooManyGroups { limit: 1_000 })));
    assert!(scene.accounts.open_sessions(None, NOW).await.unwrap().is_empty());
}
