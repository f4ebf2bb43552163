//! The two halves of a sign-in: what is sent to the provider, and which responses are accepted.

use std::collections::BTreeMap;
use std::fs;

use data_encoding::BASE64URL_NOPAD;
use serde_json::json;
use setpoint_core::secret::Secret;
use setpoint_core::time::Span;
use setpoint_oidc::{Callback, Failure, Providers, SignInError, VALIDITY};

use crate::issuer::Issuer;
use crate::scene::{NOW, Scene, settings};

fn form(body: &str) -> BTreeMap<String, String> {
    serde_urlencoded::from_str(body).expect("a form")
}

#[tokio::test]
async fn the_page_of_the_provider_has_state_nonce_and_challenge() {
    let scene = Scene::new().await;
    let (one, other) = (scene.begin().await, scene.begin().await);
    assert!(one.page.starts_with(&format!("{}/authorize?", scene.issuer.url)), "{}", one.page);
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", "setpoint"),
        ("redirect_uri", "https://ops.example/sign-in/corporate/callback"),
        ("scope", "openid profile email groups"),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(one.parameters[name], value);
    }
    for random in ["state", "nonce", "code_challenge"] {
        assert_eq!(one.parameters[random].len(), 43, "256 bits");
        assert_ne!(one.parameters[random], other.parameters[random]);
    }
    for secret in ["nonce", "state"] {
        assert!(!one.cookie.open().contains(&one.parameters[secret]), "the cookie is sealed");
    }
}

#[tokio::test]
async fn the_code_is_exchanged_with_the_verifier_of_the_challenge() {
    let scene = Scene::new().await;
    scene.sign_in_with(|_| {}).await.expect("signed in");
    let sent = scene.issuer.received("/token");
    let sent = form(&sent[0].body);
    assert_eq!((sent["grant_type"].as_str(), sent["code"].as_str()), ("authorization_code", "the-code"));
    assert_eq!((sent["client_id"].as_str(), sent["code_verifier"].len()), ("setpoint", 43));
    let begun = scene.begin().await;
    scene.issuer.respond("/token", 400, &json!({ "error": "invalid_grant" }));
    scene.finish(&begun, &begun.callback()).await.expect_err("the provider refuses it");
    let verifier = form(&scene.issuer.received("/token")[1].body)["code_verifier"].clone();
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, verifier.as_bytes());
    assert_eq!(begun.parameters["code_challenge"], BASE64URL_NOPAD.encode(digest.as_ref()));
}

/// Returns the head and the form with which a client with this secret exchanges its code.
async fn exchange(secret: &str, methods: Option<&[&str]>) -> (String, BTreeMap<String, String>) {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("secret");
    fs::write(&file, secret).expect("it is ours");
    let scene = Scene::with(|settings| settings.client_secret = Some(file)).await;
    if let Some(methods) = methods {
        scene.describe(|description| description["token_endpoint_auth_methods_supported"] = json!(methods));
    }
    scene.sign_in_with(|_| {}).await.expect("signed in");
    let sent = scene.issuer.received("/token").remove(0);
    (sent.head, form(&sent.body))
}

#[tokio::test]
async fn the_client_secret_is_sent_in_the_way_that_the_provider_supports() {
    for methods in [None, Some(&["client_secret_post", "client_secret_basic"][..])] {
        let (head, form) = exchange("a:b c\n", methods).await;
        let expected = data_encoding::BASE64.encode(b"setpoint:a%3Ab+c");
        assert!(head.contains(&format!("authorization: Basic {expected}")), "{head}");
        assert!(!form.contains_key("client_secret") && !form.contains_key("client_id"), "{form:?}");
    }
    let (head, form) = exchange("a:b c", Some(&["client_secret_post"])).await;
    assert!(!head.contains("authorization"), "{head}");
    assert_eq!((form["client_id"].as_str(), form["client_secret"].as_str()), ("setpoint", "a:b c"));
}

#[tokio::test]
async fn a_client_secret_that_cannot_be_read_is_reported_without_its_content() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("secret");
    let scene = Scene::with(|settings| settings.client_secret = Some(file.clone())).await;
    let refused = scene.sign_in_with(|_| {}).await.expect_err("there is no file").to_string();
    assert!(refused.contains("the client secret in") && refused.contains("No such file"), "{refused}");
    fs::write(&file, "hunter2".repeat(1_000)).expect("it is ours");
    let refused = scene.sign_in_with(|_| {}).await.expect_err("it is too long").to_string();
    assert!(refused.contains("expected 1 to 4096 bytes") && !refused.contains("hunter2"), "{refused}");
    fs::write(&file, "hunter2").expect("it is ours");
    assert!(scene.sign_in_with(|_| {}).await.is_ok(), "the file is read at each sign-in");
}

#[tokio::test]
async fn usual_scopes_that_the_provider_does_not_list_are_left_out() {
    let scene = Scene::new().await;
    scene.describe(|description| description["scopes_supported"] = json!(["openid", "email", "offline_access"]));
    assert_eq!(scene.begin().await.parameters["scope"], "openid email");
    let scene = Scene::with(|settings| settings.scopes = Some(vec!["openid".into(), "teams".into()])).await;
    scene.describe(|description| description["scopes_supported"] = json!(["openid"]));
    assert_eq!(scene.begin().await.parameters["scope"], "openid teams", "scopes that are set are requested");
}

#[tokio::test]
async fn a_response_for_another_browser_is_refused() {
    let scene = Scene::new().await;
    let (one, other) = (scene.begin().await, scene.begin().await);
    let finish = async |cookie: Option<&str>, callback: &Callback| {
        scene.providers.finish("corporate", cookie, callback, NOW).await.map_err(|Failure { error, .. }| error)
    };
    assert_eq!(finish(None, &one.callback()).await, Err(SignInError::NotBegun));
    assert_eq!(finish(Some(other.cookie.open()), &one.callback()).await, Err(SignInError::NotBegun));
    assert_eq!(finish(Some("rubbish"), &one.callback()).await, Err(SignInError::NotBegun));
    let empty = Callback { state: String::new(), ..one.callback() };
    assert_eq!(finish(Some(one.cookie.open()), &empty).await, Err(SignInError::NotBegun));
    assert!(scene.issuer.received("/token").is_empty(), "nothing was sent");
    let denied = Callback { error: Some("pay us at evil.example".to_owned()), ..Callback::default() };
    assert_eq!(finish(None, &denied).await, Err(SignInError::NotBegun), "strangers put no words on our page");
}

#[tokio::test]
async fn a_sign_in_ends_once_and_within_ten_minutes() {
    let scene = Scene::new().await;
    let begun = scene.begin().await;
    let (callback, late) = (begun.callback(), NOW + VALIDITY + Span::millis(1));
    let refused = scene.providers.finish("corporate", Some(begun.cookie.open()), &callback, late).await;
    assert_eq!(refused.expect_err("too late").error, SignInError::NotBegun);
    scene.issuer.respond("/token", 400, &json!({ "error": "invalid_grant" }));
    scene.finish(&begun, &begun.callback()).await.expect_err("the provider refuses the code");
    assert_eq!(scene.finish(&begun, &begun.callback()).await, Err(SignInError::Repeated));
    assert_eq!(scene.issuer.received("/token").len(), 1, "the code was sent once");
}

#[tokio::test]
async fn a_response_for_another_provider_is_refused() {
    let (one, other) = (Issuer::start().await, Issuer::start().await);
    let providers = [settings(&one.url, "corporate"), settings(&other.url, "partner")];
    let scene = Scene { providers: Providers::new(providers).expect("random numbers"), ..Scene::new().await };
    let scene = Scene { issuer: one, ..scene };
    scene.describe(|_| {});
    let begun = scene.begin().await;
    let finished = scene.providers.finish("partner", Some(begun.cookie.open()), &begun.callback(), NOW).await;
    assert_eq!(finished.expect_err("it began elsewhere").error, SignInError::NotBegun);
    let mixed_up = Callback { issuer: Some(other.url.clone()), ..begun.callback() };
    assert_eq!(scene.finish(&begun, &mixed_up).await, Err(SignInError::OtherIssuer));
    assert!(scene.issuer.received("/token").is_empty() && other.received("/token").is_empty(), "nothing was sent");
}

#[tokio::test]
async fn a_provider_that_names_itself_in_responses_must_do_so() {
    let scene = Scene::new().await;
    scene.describe(|description| description["authorization_response_iss_parameter_supported"] = json!(true));
    let begun = scene.begin().await;
    assert_eq!(scene.finish(&begun, &begun.callback()).await, Err(SignInError::OtherIssuer));
}

#[tokio::test]
async fn words_of_the_provider_are_shown_as_text() {
    let scene = Scene::new().await;
    let begun = scene.begin().await;
    let callback = Callback {
        error: Some("access_denied".to_owned()),
        error_description: Some(format!("not \u{202e}today\n{}", "!".repeat(1_000))),
        ..begun.callback()
    };
    let Err(SignInError::Denied { words }) = scene.finish(&begun, &callback).await else { panic!("it is refused") };
    assert!(words.starts_with("access_denied: not today!!!") && words.len() <= 300, "{words}");
    let begun = scene.begin().await;
    let callback = Callback { code: None, ..begun.callback() };
    assert!(matches!(scene.finish(&begun, &callback).await, Err(SignInError::Denied { .. })));
    let refusal = json!({ "error": "invalid_client", "error_description": "wrong secret" });
    scene.issuer.respond("/token", 401, &refusal);
    let begun = scene.begin().await;
    let words = "invalid_client: wrong secret".to_owned();
    assert_eq!(scene.finish(&begun, &begun.callback()).await, Err(SignInError::CodeRefused { words }));
}

#[tokio::test]
async fn what_the_token_lacks_comes_from_the_user_information_of_the_same_person() {
    let scene = Scene::new().await;
    let without_groups = |claims: &mut serde_json::Value| drop(claims.as_object_mut().unwrap().remove("groups"));
    scene.issuer.respond("/me", 200, &json!({ "sub": "00u1", "groups": ["ops"], "preferred_username": "boss" }));
    let person = scene.sign_in_with(without_groups).await.expect("signed in").person;
    assert_eq!((person.groups, person.name.as_str()), (vec!["ops".to_owned()], "erika"), "the token has priority");
    assert!(scene.issuer.received("/me")[0].head.contains("authorization: Bearer opaque"));
    scene.sign_in_with(|_| {}).await.expect("signed in");
    assert_eq!(scene.issuer.received("/me").len(), 1, "a token that has everything needs no more");
    scene.issuer.respond("/me", 200, &json!({ "sub": "00u2", "groups": ["administrators"] }));
    assert_eq!(scene.sign_in_with(without_groups).await, Err(SignInError::OtherPerson));
    scene.issuer.respond("/me", 200, &json!({ "groups": ["administrators"] }));
    assert_eq!(scene.sign_in_with(without_groups).await, Err(SignInError::OtherPerson));
    scene.issuer.respond("/me", 200, &json!({ "sub": "00u1" }));
    assert!(scene.sign_in_with(without_groups).await.expect("signed in").person.groups.is_empty());
    scene.issuer.respond("/me", 500, &json!({}));
    let refused = scene.sign_in_with(without_groups).await;
    assert!(matches!(refused, Err(SignInError::Unavailable { .. })), "unknown groups are not taken for none");
}

#[tokio::test]
async fn nothing_secret_can_be_printed() {
    let scene = Scene::new().await;
    let begun = scene.begin().await;
    let callback = Callback { code: Some(Secret::new("hunter2".to_owned())), ..begun.callback() };
    let printed = format!("{callback:?} {:?} {:?}", scene.providers, begun.cookie);
    assert!(!printed.contains("hunter2") && !printed.contains(begun.state()), "{printed}");
}
