//! A provider that signs in `erika`, unless a test says otherwise.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256,
    RsaEncoding, RsaKeyPair,
};
use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};
use setpoint_core::secret::Secret;
use setpoint_core::time::Timestamp;
use setpoint_oidc::{Callback, Failure, Providers, Settings, SignInError, SignedIn};

use crate::issuer::Issuer;

pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// The same in seconds, as tokens have it.
pub(crate) const SECONDS: u64 = 1_800_000_000;

pub(crate) const DESCRIPTION: &str = "/.well-known/openid-configuration";

/// A key of the issuer, with the algorithm of its tokens.
pub(crate) enum Key {
    P256(EcdsaKeyPair),
    Rsa(RsaKeyPair, &'static dyn RsaEncoding),
    Ed25519(Ed25519KeyPair),
}

impl Key {
    pub(crate) fn p256() -> Self {
        Self::P256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key"))
    }

    pub(crate) fn rs256(size: aws_lc_rs::rsa::KeySize) -> Self {
        Self::Rsa(RsaKeyPair::generate(size).expect("a key"), &RSA_PKCS1_SHA256)
    }

    pub(crate) fn ps256() -> Self {
        Self::Rsa(RsaKeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).expect("a key"), &RSA_PSS_SHA256)
    }

    pub(crate) fn ed25519() -> Self {
        Self::Ed25519(Ed25519KeyPair::generate().expect("a key"))
    }

    /// Returns the public key as a JSON Web Key.
    pub(crate) fn public(&self, id: &str) -> Value {
        match self {
            Self::P256(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "kid": id, "x": encoded(x), "y": encoded(y) })
            }
            Self::Rsa(pair, _) => {
                // The DER form ends with the modulus, `02 03` and the usual exponent.
                let der = pair.public_key().as_ref();
                let (rest, exponent) = der.split_at(der.len() - 3);
                let modulus = &rest[9..rest.len() - 2];
                json!({ "kty": "RSA", "use": "sig", "kid": id, "n": encoded(modulus), "e": encoded(exponent) })
            }
            Self::Ed25519(pair) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "x": encoded(pair.public_key().as_ref()) })
            }
        }
    }

    pub(crate) fn sign(&self, message: &str) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::P256(pair) => pair.sign(&random, message.as_bytes()).expect("signed").as_ref().to_vec(),
            Self::Rsa(pair, encoding) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(*encoding, &random, message.as_bytes(), &mut signature).expect("signed");
                signature
            }
            Self::Ed25519(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
        }
    }

    /// Returns a token with this header and these claims.
    pub(crate) fn token(&self, header: &Value, claims: &Value) -> String {
        let message = message(header, claims);
        format!("{message}.{}", encoded(&self.sign(&message)))
    }
}

pub(crate) fn message(header: &Value, claims: &Value) -> String {
    format!("{}.{}", encoded(header.to_string().as_bytes()), encoded(claims.to_string().as_bytes()))
}

pub(crate) fn encoded(bytes: &[u8]) -> String {
    BASE64URL_NOPAD.encode(bytes)
}

/// A sign-in that has begun.
pub(crate) struct Begun {
    pub(crate) page: String,
    pub(crate) cookie: Secret<String>,
    /// The parameters of the page.
    pub(crate) parameters: BTreeMap<String, String>,
}

impl Begun {
    pub(crate) fn state(&self) -> &str {
        &self.parameters["state"]
    }

    pub(crate) fn nonce(&self) -> &str {
        &self.parameters["nonce"]
    }

    /// Returns the parameters with which the provider sends a browser back.
    pub(crate) fn callback(&self) -> Callback {
        let code = Some(Secret::new("the-code".to_owned()));
        Callback { state: self.state().to_owned(), code, ..Callback::default() }
    }
}

pub(crate) struct Scene {
    pub(crate) issuer: Issuer,
    pub(crate) providers: Providers,
    pub(crate) key: Key,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// Builds a scene with other settings.
    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::at(Issuer::start().await, change)
    }

    /// Builds a scene with this issuer.
    pub(crate) fn at(issuer: Issuer, change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = settings(&issuer.url, "corporate");
        change(&mut settings);
        let scene = Self { providers: Providers::new([settings]).expect("random numbers"), issuer, key: Key::p256() };
        scene.describe(|_| {});
        scene.publish(&json!({ "keys": [scene.key.public("one")] }));
        scene
    }

    /// Publishes the description of the provider.
    pub(crate) fn describe(&self, change: impl FnOnce(&mut Value)) {
        let url = &self.issuer.url;
        let mut description = json!({
            "issuer": url, "authorization_endpoint": format!("{url}/authorize"), "token_endpoint": format!("{url}/token"),
            "jwks_uri": format!("{url}/keys"), "userinfo_endpoint": format!("{url}/me"),
        });
        change(&mut description);
        self.issuer.respond(DESCRIPTION, 200, &description);
    }

    pub(crate) fn publish(&self, keys: &Value) {
        self.issuer.respond("/keys", 200, keys);
    }

    pub(crate) async fn begin(&self) -> Begun {
        self.begin_at(NOW).await
    }

    pub(crate) async fn begin_at(&self, now: Timestamp) -> Begun {
        let start = self.providers.begin("corporate", "/drift", now).await.expect("it begins");
        let query = start.page.split_once('?').expect("it has parameters").1;
        let parameters = serde_urlencoded::from_str(query).expect("parameters");
        Begun { page: start.page, cookie: start.cookie, parameters }
    }

    pub(crate) async fn finish(&self, begun: &Begun, callback: &Callback) -> Result<SignedIn, SignInError> {
        let finished = self.providers.finish("corporate", Some(begun.cookie.open()), callback, NOW).await;
        finished.map_err(|Failure { error, .. }| error)
    }

    /// Signs someone in with a token that is made for the attempt.
    pub(crate) async fn sign_in(&self, token: impl FnOnce(&Self, &Begun) -> String) -> Result<SignedIn, SignInError> {
        let begun = self.begin().await;
        let token = token(self, &begun);
        self.issuer.respond("/token", 200, &json!({ "id_token": token, "access_token": "opaque" }));
        self.finish(&begun, &begun.callback()).await
    }

    /// Signs someone in with the usual token, except for these claims.
    pub(crate) async fn sign_in_with(&self, change: impl FnOnce(&mut Value)) -> Result<SignedIn, SignInError> {
        self.sign_in(|scene, begun| {
            let mut claims = scene.claims(begun);
            change(&mut claims);
            scene.key.token(&json!({ "alg": "ES256", "kid": "one" }), &claims)
        })
        .await
    }

    /// Returns the claims of a token with which everything is in order.
    pub(crate) fn claims(&self, begun: &Begun) -> Value {
        json!({
            "iss": self.issuer.url, "aud": "setpoint", "sub": "00u1", "exp": SECONDS + 300, "iat": SECONDS,
            "nonce": begun.nonce(), "preferred_username": "erika", "groups": ["web"],
        })
    }
}

pub(crate) fn settings(issuer: &str, name: &str) -> Settings {
    Settings {
        name: name.to_owned(),
        title: "Corporate".to_owned(),
        issuer: issuer.to_owned(),
        client_id: "setpoint".to_owned(),
        client_secret: None,
        scopes: None,
        groups_claim: "groups".to_owned(),
        name_claim: None,
        authorities: None,
        redirect: format!("https://ops.example/sign-in/{name}/callback"),
        patience: Duration::from_secs(30),
    }
}
