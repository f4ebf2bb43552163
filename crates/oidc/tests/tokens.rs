//! ID tokens that are accepted, and those of case 62, each of which is refused.

use aws_lc_rs::digest::SHA256;
use aws_lc_rs::hmac;
use aws_lc_rs::rsa::KeySize;
use serde_json::{Value, json};
use setpoint_oidc::{InvalidToken, SignInError};

use crate::scene::{Begun, Key, SECONDS, Scene, encoded, message};

/// Checks that a token with such claims is refused for this reason.
async fn assert_refused(change: impl FnOnce(&mut Value), expected: InvalidToken) {
    let refused = Scene::new().await.sign_in_with(change).await;
    assert_eq!(refused.expect_err("it must be refused"), SignInError::Token(expected));
}

async fn assert_token_refused(token: impl FnOnce(&Scene, &Begun) -> String, expected: InvalidToken) {
    let refused = Scene::new().await.sign_in(token).await;
    assert_eq!(refused.expect_err("it must be refused"), SignInError::Token(expected));
}

fn unsupported(algorithm: &str) -> InvalidToken {
    InvalidToken::Algorithm { algorithm: algorithm.to_owned() }
}

#[tokio::test]
async fn a_token_with_which_everything_is_in_order_signs_in() {
    let signed_in = Scene::new().await.sign_in_with(|_| {}).await.expect("it is accepted");
    assert_eq!((signed_in.person.subject.as_str(), signed_in.person.name.as_str()), ("00u1", "erika"));
    assert_eq!((signed_in.person.groups, signed_in.next.as_str()), (vec!["web".to_owned()], "/drift"));
}

#[tokio::test]
async fn tokens_of_all_usual_algorithms_are_accepted() {
    let keys = [
        ("RS256", Key::rs256(KeySize::Rsa2048)),
        ("PS256", Key::ps256()),
        ("EdDSA", Key::ed25519()),
        ("ES256", Key::p256()),
    ];
    for (algorithm, key) in keys {
        let scene = Scene { key, ..Scene::new().await };
        scene.publish(&json!({ "keys": [scene.key.public("one")] }));
        let header = json!({ "alg": algorithm, "kid": "one" });
        let signed_in = scene.sign_in(|scene, begun| scene.key.token(&header, &scene.claims(begun))).await;
        assert!(signed_in.is_ok(), "{algorithm}: {signed_in:?}");
    }
}

#[tokio::test]
async fn case_62_a_token_without_a_signature_is_refused() {
    for algorithm in ["none", "None", "NONE"] {
        let token =
            |scene: &Scene, begun: &Begun| format!("{}.", message(&json!({ "alg": algorithm }), &scene.claims(begun)));
        assert_token_refused(token, unsupported(algorithm)).await;
    }
    let token = |scene: &Scene, begun: &Begun| {
        format!("{}.", message(&json!({ "alg": "ES256", "kid": "one" }), &scene.claims(begun)))
    };
    assert_token_refused(token, InvalidToken::Signature).await;
}

#[tokio::test]
async fn case_62_a_public_key_is_not_taken_for_the_secret_of_an_hmac() {
    let token = |scene: &Scene, begun: &Begun| {
        let message = message(&json!({ "alg": "HS256", "kid": "one" }), &scene.claims(begun));
        let public = scene.key.public("one").to_string();
        let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, public.as_bytes()), message.as_bytes());
        format!("{message}.{}", encoded(signature.as_ref()))
    };
    assert_token_refused(token, unsupported("HS256")).await;
}

#[tokio::test]
async fn case_62_a_symmetric_key_among_the_keys_of_the_provider_is_never_used() {
    let scene = Scene::new().await;
    scene.publish(&json!({ "keys": [{ "kty": "oct", "kid": "one", "alg": "HS256", "k": encoded(b"known to all") }] }));
    let refused = scene.sign_in_with(|_| {}).await.expect_err("there is no key");
    assert_eq!(refused, SignInError::Token(InvalidToken::UnknownKey));
}

#[tokio::test]
async fn case_62_a_key_is_used_for_its_own_algorithm_only() {
    let scene = Scene { key: Key::rs256(KeySize::Rsa2048), ..Scene::new().await };
    let mut key = scene.key.public("one");
    key["alg"] = json!("PS256");
    scene.publish(&json!({ "keys": [key] }));
    let header = json!({ "alg": "RS256", "kid": "one" });
    let refused = scene.sign_in(|scene, begun| scene.key.token(&header, &scene.claims(begun))).await;
    assert_eq!(refused.expect_err("another algorithm"), SignInError::Token(InvalidToken::UnknownKey));
    let mut key = scene.key.public("one");
    key["use"] = json!("enc");
    let scene = Scene { key: scene.key, ..Scene::new().await };
    scene.publish(&json!({ "keys": [key] }));
    let refused = scene.sign_in(|scene, begun| scene.key.token(&header, &scene.claims(begun))).await;
    assert_eq!(refused.expect_err("another use"), SignInError::Token(InvalidToken::UnknownKey));
}

#[tokio::test]
async fn case_62_a_key_in_the_token_itself_is_not_trusted() {
    let token = |scene: &Scene, begun: &Begun| {
        let own = Key::p256();
        let header = json!({ "alg": "ES256", "kid": "one", "jwk": own.public("one"), "jku": "https://evil.example" });
        own.token(&header, &scene.claims(begun))
    };
    assert_token_refused(token, InvalidToken::Signature).await;
}

#[tokio::test]
async fn case_62_changed_claims_are_refused() {
    let token = |scene: &Scene, begun: &Begun| {
        let header = json!({ "alg": "ES256", "kid": "one" });
        let signed = scene.key.token(&header, &scene.claims(begun));
        let mut claims = scene.claims(begun);
        claims["groups"] = json!(["administrators"]);
        format!("{}.{}", message(&header, &claims), signed.rsplit_once('.').expect("a signature").1)
    };
    assert_token_refused(token, InvalidToken::Signature).await;
}

#[tokio::test]
async fn case_62_a_short_rsa_key_is_not_trusted() {
    // `RsaKeyPair` makes no short keys: a modulus of 1024 bits, of which no one knows the factors.
    let scene = Scene { key: Key::rs256(KeySize::Rsa2048), ..Scene::new().await };
    let mut key = scene.key.public("one");
    key["n"] = json!(encoded(&[0xc5; 128]));
    scene.publish(&json!({ "keys": [key] }));
    let header = json!({ "alg": "RS256", "kid": "one" });
    let refused = scene.sign_in(|scene, begun| scene.key.token(&header, &scene.claims(begun))).await;
    assert_eq!(refused.expect_err("too short"), SignInError::Token(InvalidToken::Signature));
}

#[tokio::test]
async fn case_62_a_token_of_another_issuer_is_refused() {
    assert_refused(|claims| claims["iss"] = json!("https://evil.example"), InvalidToken::Issuer).await;
    let slash = |claims: &mut Value| claims["iss"] = json!(format!("{}/", claims["iss"].as_str().expect("a text")));
    assert_refused(slash, InvalidToken::Issuer).await;
    assert_refused(|claims| claims["iss"] = Value::Null, InvalidToken::Claim { claim: "iss" }).await;
}

#[tokio::test]
async fn case_62_a_token_for_another_application_is_refused() {
    assert_refused(|claims| claims["aud"] = json!("shop"), InvalidToken::Audience).await;
    assert_refused(|claims| claims["aud"] = json!([]), InvalidToken::Audience).await;
    assert_refused(|claims| claims["aud"] = json!(["setpoint", "shop"]), InvalidToken::Audience).await;
    assert_refused(|claims| claims["azp"] = json!("shop"), InvalidToken::Audience).await;
    assert_refused(|claims| claims["aud"] = json!(["setpoint", 7]), InvalidToken::Claim { claim: "aud" }).await;
    assert_refused(|claims| drop(claims.as_object_mut().unwrap().remove("aud")), InvalidToken::Claim { claim: "aud" })
        .await;
    let several = |claims: &mut Value| {
        claims["aud"] = json!(["shop", "setpoint"]);
        claims["azp"] = json!("setpoint");
    };
    assert!(Scene::new().await.sign_in_with(several).await.is_ok(), "it was requested by this client");
}

#[tokio::test]
async fn case_62_an_expired_token_is_refused() {
    assert_refused(|claims| claims["exp"] = json!(SECONDS - 60), InvalidToken::Expired).await;
    assert_refused(|claims| claims["exp"] = json!(0), InvalidToken::Expired).await;
    for wrong in [json!("soon"), json!(-1), json!(1e300), Value::Null] {
        assert_refused(|claims| claims["exp"] = wrong, InvalidToken::Claim { claim: "exp" }).await;
    }
    let signed_in = Scene::new().await.sign_in_with(|claims| claims["exp"] = json!(SECONDS - 59)).await;
    assert!(signed_in.is_ok(), "clocks may differ by a minute");
}

#[tokio::test]
async fn case_62_a_token_of_the_future_is_refused() {
    assert_refused(|claims| claims["nbf"] = json!(SECONDS + 61), InvalidToken::NotYet).await;
    assert_refused(|claims| claims["iat"] = json!(SECONDS + 61), InvalidToken::NotYet).await;
    assert_refused(|claims| claims["nbf"] = json!("now"), InvalidToken::Claim { claim: "nbf" }).await;
    let signed_in = Scene::new().await.sign_in_with(|claims| claims["nbf"] = json!(SECONDS + 60)).await;
    assert!(signed_in.is_ok(), "clocks may differ by a minute");
}

#[tokio::test]
async fn case_62_a_token_of_another_sign_in_is_refused() {
    assert_refused(|claims| claims["nonce"] = json!("another"), InvalidToken::Nonce).await;
    assert_refused(|claims| claims["nonce"] = json!(""), InvalidToken::Claim { claim: "nonce" }).await;
    let none = |claims: &mut Value| drop(claims.as_object_mut().unwrap().remove("nonce"));
    assert_refused(none, InvalidToken::Claim { claim: "nonce" }).await;
}

#[tokio::test]
async fn case_62_empty_claims_are_refused() {
    assert_refused(|claims| *claims = json!({}), InvalidToken::Claim { claim: "iss" }).await;
    for subject in [json!(""), Value::Null, json!(7)] {
        assert_refused(|claims| claims["sub"] = subject, InvalidToken::Claim { claim: "sub" }).await;
    }
    let token = |scene: &Scene, _: &Begun| scene.key.token(&json!({ "alg": "ES256", "kid": "one" }), &json!([]));
    assert_token_refused(token, InvalidToken::Malformed).await;
}

#[tokio::test]
async fn case_62_a_token_of_a_megabyte_is_refused() {
    let scene = Scene::new().await;
    let refused = scene.sign_in_with(|claims| claims["padding"] = json!("a".repeat(700_000))).await;
    let refused = refused.expect_err("it is too long");
    assert!(matches!(refused, SignInError::Token(InvalidToken::TooLong { .. })), "{refused:?}");
    let refused = scene.sign_in_with(|claims| claims["padding"] = json!("a".repeat(2_000_000))).await;
    let refused = refused.expect_err("it is too long for a response");
    assert!(matches!(refused, SignInError::Unavailable { .. }), "{refused:?}");
}

#[tokio::test]
async fn case_62_what_is_no_token_is_refused() {
    let digest = encoded(aws_lc_rs::digest::digest(&SHA256, b"a").as_ref());
    for text in ["", ".", "..", "a.b", "a.b.c", "a.b.c.d", "e30.e30.e30", "\u{1f980}.\u{1f980}.\u{1f980}", &digest] {
        assert_token_refused(|_, _| text.to_owned(), InvalidToken::Malformed).await;
    }
    let header = |header: Value| move |scene: &Scene, begun: &Begun| scene.key.token(&header, &scene.claims(begun));
    let critical = header(json!({ "alg": "ES256", "kid": "one", "crit": ["exp"] }));
    assert_token_refused(critical, InvalidToken::Extension).await;
    assert_token_refused(header(json!({ "alg": "ES256", "kid": 1 })), InvalidToken::Malformed).await;
    assert_token_refused(header(json!({ "alg": "ES256", "kid": "two" })), InvalidToken::UnknownKey).await;
}

#[tokio::test]
async fn a_token_without_the_name_of_its_key_needs_a_provider_with_one_key() {
    let header = json!({ "alg": "ES256" });
    let scene = Scene::new().await;
    assert!(scene.sign_in(|scene, begun| scene.key.token(&header, &scene.claims(begun))).await.is_ok());
    let scene = Scene::new().await;
    scene.publish(&json!({ "keys": [scene.key.public("one"), Key::p256().public("two")] }));
    let refused = scene.sign_in(|scene, begun| scene.key.token(&header, &scene.claims(begun))).await;
    assert_eq!(refused.expect_err("either key fits"), SignInError::Token(InvalidToken::UnknownKey));
}
