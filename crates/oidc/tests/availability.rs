//! Providers that are down, slow or wrongly described, and the times at which they are asked.

use std::time::Duration;

use serde_json::json;
use setpoint_core::time::{Span, Timestamp};
use setpoint_oidc::{Failure, InvalidToken, Remedy, SignInError};
use setpoint_testbed::tls::Authority;

use crate::issuer::Issuer;
use crate::scene::{DESCRIPTION, Key, NOW, Scene};

/// Begins a sign-in; returns the reason why that is not possible.
async fn problem(scene: &Scene, now: Timestamp) -> String {
    let refused = scene.providers.begin("corporate", "", now).await.expect_err("it cannot begin");
    assert_eq!(refused.remedy(), Remedy::Wait);
    refused.to_string()
}

#[tokio::test]
async fn a_provider_that_does_not_listen_is_reported() {
    let scene = Scene::with(|settings| settings.issuer = "http://127.0.0.1:1".to_owned()).await;
    let problem = problem(&scene, NOW).await;
    assert!(problem.contains("no response of 127.0.0.1") && problem.contains("refused"), "{problem}");
}

#[tokio::test]
async fn a_provider_that_does_not_respond_is_given_up() {
    let scene = Scene::with(|settings| settings.patience = Duration::from_millis(300)).await;
    scene.issuer.fall_silent(DESCRIPTION);
    let problem = problem(&scene, NOW).await;
    assert!(problem.contains("it took too long"), "{problem}");
}

#[tokio::test]
async fn a_failure_is_not_tried_again_at_once() {
    let scene = Scene::with(|settings| settings.patience = Duration::from_secs(10)).await;
    scene.issuer.respond(DESCRIPTION, 503, "down");
    assert!(problem(&scene, NOW).await.contains("HTTP 503"));
    scene.describe(|_| {});
    assert!(problem(&scene, NOW + Span::seconds(14)).await.contains("HTTP 503"));
    assert_eq!(scene.issuer.received(DESCRIPTION).len(), 1);
    assert!(scene.providers.begin("corporate", "", NOW + Span::seconds(15)).await.is_ok());
}

#[tokio::test]
async fn the_description_and_the_keys_are_fetched_once_an_hour() {
    let scene = Scene::new().await;
    for _ in 0..3 {
        scene.sign_in_with(|_| {}).await.expect("signed in");
    }
    assert_eq!((scene.issuer.received(DESCRIPTION).len(), scene.issuer.received("/keys").len()), (1, 1));
    let later = NOW + Span::hours(1);
    let begun = scene.begin_at(later).await;
    scene
        .providers
        .finish("corporate", Some(begun.cookie.open()), &begun.callback(), later)
        .await
        .expect_err("no token");
    assert_eq!((scene.issuer.received(DESCRIPTION).len(), scene.issuer.received("/keys").len()), (2, 2));
}

#[tokio::test]
async fn keys_are_fetched_again_for_an_unknown_key_but_not_more_than_once_a_minute() {
    let mut scene = Scene::new().await;
    scene.sign_in_with(|_| {}).await.expect("signed in");
    // The provider has another key from now on.
    scene.key = Key::p256();
    scene.publish(&json!({ "keys": [scene.key.public("two")] }));
    let finish = async |now: Timestamp| {
        let begun = scene.begin().await;
        let token = scene.key.token(&json!({ "alg": "ES256", "kid": "two" }), &scene.claims(&begun));
        scene.issuer.respond("/token", 200, &json!({ "id_token": token }));
        let finished = scene.providers.finish("corporate", Some(begun.cookie.open()), &begun.callback(), now).await;
        finished.map_err(|Failure { error, .. }| error)
    };
    for _ in 0..3 {
        assert_eq!(finish(NOW + Span::seconds(59)).await, Err(SignInError::Token(InvalidToken::UnknownKey)));
    }
    assert_eq!(scene.issuer.received("/keys").len(), 1);
    assert!(finish(NOW + Span::minutes(1)).await.is_ok());
    assert_eq!(scene.issuer.received("/keys").len(), 2);
}

#[tokio::test]
async fn a_provider_that_names_another_issuer_is_refused() {
    let scene = Scene::new().await;
    scene.describe(|description| description["issuer"] = json!("https://evil.example"));
    let problem = problem(&scene, NOW).await;
    assert!(problem.contains("names itself `https://evil.example`") && problem.contains("must be equal"), "{problem}");
}

#[tokio::test]
async fn endpoints_without_encryption_on_other_machines_are_refused() {
    for endpoint in ["authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint"] {
        for address in ["http://login.example/x", "ftp://127.0.0.1/x", "javascript:alert(1)", "x"] {
            let scene = Scene::new().await;
            scene.describe(|description| description[endpoint] = json!(address));
            let problem = problem(&scene, NOW).await;
            assert!(problem.contains("is not an HTTPS address"), "{endpoint} {address}: {problem}");
        }
    }
}

#[tokio::test]
async fn malformed_descriptions_are_refused() {
    for (body, expected) in [
        ("<html>".to_owned(), "is not JSON"),
        ("[]".to_owned(), "its description is malformed"),
        ("{}".to_owned(), "missing field `issuer`"),
        ("[".repeat(100_000), "is not JSON"),
        (format!("\"{}\"", "a".repeat(1_100_000)), "more than 1048576 bytes"),
    ] {
        let scene = Scene::new().await;
        scene.issuer.respond(DESCRIPTION, 200, &body);
        let problem = problem(&scene, NOW).await;
        assert!(problem.contains(expected), "{expected}: {problem}");
    }
}

#[tokio::test]
async fn only_the_authorities_of_the_settings_are_trusted() {
    let (ours, other) = (Authority::fresh(), Authority::fresh());
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("ca.pem");
    let trusting = async || {
        let issuer = Issuer::start_with(Some(&ours.for_loopback())).await;
        Scene::at(issuer, |settings| settings.authorities = Some(file.clone()))
    };
    assert!(problem(&trusting().await, NOW).await.contains("No such file"));
    for (content, expected) in [("", "it holds no certificate"), (other.pem(), "invalid peer certificate")] {
        std::fs::write(&file, content).expect("it is ours");
        let problem = problem(&trusting().await, NOW).await;
        assert!(problem.contains(expected), "{problem}");
    }
    std::fs::write(&file, ours.pem()).expect("it is ours");
    let signed_in = trusting().await.sign_in_with(|_| {}).await;
    assert!(signed_in.is_ok(), "{signed_in:?}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let scene = Scene::new().await;
    scene.issuer.respond(DESCRIPTION, 302, &format!("{}/elsewhere", scene.issuer.url));
    assert!(problem(&scene, NOW).await.contains("HTTP 302"));
    assert!(scene.issuer.received("/elsewhere").is_empty());
}

#[tokio::test]
async fn a_provider_of_another_name_does_not_exist() {
    let scene = Scene::new().await;
    let refused = scene.providers.begin("partner", "", NOW).await.expect_err("there is none");
    assert_eq!(refused, SignInError::NoSuchProvider { name: "partner".to_owned() });
    assert!(scene.providers.contains("corporate") && !scene.providers.contains("partner"));
}
