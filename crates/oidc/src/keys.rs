//! The public keys of a provider, and signatures by them.
//!
//! A key fits only the algorithms of its own kind, and no symmetric key is ever read. So a token
//! cannot choose `none`, nor have the text of a public key taken for the secret of an HMAC.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use data_encoding::BASE64URL_NOPAD;
use serde_json::{Map, Value};

use crate::errors::InvalidToken;

/// The most keys of a provider that are read.
const MOST_KEYS: usize = 100;

/// The most keys that are tried for one token: those with the same ID.
const MOST_TRIES: usize = 4;

/// The keys of a provider that can sign ID tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeySet(Vec<Key>);

#[derive(Clone, Debug)]
struct Key {
    id: Option<String>,
    /// The only algorithm of the key, if the provider sets one.
    algorithm: Option<String>,
    public: PublicKey,
}

#[derive(Clone, Debug)]
enum PublicKey {
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl KeySet {
    /// Reads a JSON Web Key Set. Keys of other kinds and for other uses are left out.
    pub(crate) fn read(document: &Value) -> Option<Self> {
        let keys = document.get("keys")?.as_array()?;
        Some(Self(keys.iter().take(MOST_KEYS).filter_map(|key| key.as_object()).filter_map(Key::read).collect()))
    }

    /// Reports whether there is a key that may have signed a token with this header.
    pub(crate) fn fit(&self, algorithm: &str, id: Option<&str>) -> bool {
        !self.candidates(algorithm, id).is_empty()
    }

    /// Checks a signature.
    pub(crate) fn verify(
        &self,
        (algorithm, id): (&str, Option<&str>),
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidToken> {
        let candidates = self.candidates(algorithm, id);
        if candidates.is_empty() {
            return Err(InvalidToken::UnknownKey);
        }
        let mut tried = candidates.iter().take(MOST_TRIES);
        let is_right = tried.any(|key| key.public.verifies(algorithm, message, signature));
        if is_right { Ok(()) } else { Err(InvalidToken::Signature) }
    }

    /// Returns the keys with the ID of a token. A token without ID is accepted if only one key fits.
    fn candidates(&self, algorithm: &str, id: Option<&str>) -> Vec<&Key> {
        let fitting = self.0.iter().filter(|key| key.fits(algorithm));
        match id {
            Some(id) => fitting.filter(|key| key.id.as_deref() == Some(id)).collect(),
            None => Some(fitting.collect::<Vec<_>>()).filter(|keys| keys.len() == 1).unwrap_or_default(),
        }
    }
}

/// Reports whether tokens with this algorithm can be accepted at all.
pub(crate) fn is_supported(algorithm: &str) -> bool {
    rsa(algorithm).is_some() || matches!(algorithm, "ES256" | "ES384" | "EdDSA" | "Ed25519")
}

fn rsa(algorithm: &str) -> Option<&'static RsaParameters> {
    match algorithm {
        "RS256" => Some(&RSA_PKCS1_2048_8192_SHA256),
        "RS384" => Some(&RSA_PKCS1_2048_8192_SHA384),
        "RS512" => Some(&RSA_PKCS1_2048_8192_SHA512),
        "PS256" => Some(&RSA_PSS_2048_8192_SHA256),
        "PS384" => Some(&RSA_PSS_2048_8192_SHA384),
        "PS512" => Some(&RSA_PSS_2048_8192_SHA512),
        _ => None,
    }
}

impl Key {
    fn read(key: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| key.get(name).and_then(Value::as_str);
        let bytes = |name: &str| BASE64URL_NOPAD.decode(text(name)?.as_bytes()).ok();
        if text("use").is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let point = |length: usize| {
            let (x, y) = (bytes("x")?, bytes("y")?);
            (x.len() == length && y.len() == length).then(|| [&[4][..], &x, &y].concat())
        };
        let public = match (text("kty")?, text("crv")) {
            ("RSA", _) => PublicKey::Rsa(RsaPublicKeyComponents { n: number(&bytes("n")?), e: number(&bytes("e")?) }),
            ("EC", Some("P-256")) => PublicKey::P256(point(32)?),
            ("EC", Some("P-384")) => PublicKey::P384(point(48)?),
            ("OKP", Some("Ed25519")) => PublicKey::Ed25519(bytes("x")?),
            _ => return None,
        };
        Some(Self { id: text("kid").map(str::to_owned), algorithm: text("alg").map(str::to_owned), public })
    }

    fn fits(&self, algorithm: &str) -> bool {
        let is_of_kind = match &self.public {
            PublicKey::Rsa(_) => rsa(algorithm).is_some(),
            PublicKey::P256(_) => algorithm == "ES256",
            PublicKey::P384(_) => algorithm == "ES384",
            PublicKey::Ed25519(_) => matches!(algorithm, "EdDSA" | "Ed25519"),
        };
        is_of_kind && self.algorithm.as_deref().is_none_or(|only| only == algorithm)
    }
}

/// Removes the leading zeros that some providers write.
fn number(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().skip_while(|byte| *byte == 0).collect()
}

impl PublicKey {
    fn verifies(&self, algorithm: &str, message: &[u8], signature: &[u8]) -> bool {
        let by = |algorithm: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(algorithm, key).verify(message, signature).is_ok()
        };
        match self {
            Self::Rsa(key) => rsa(algorithm).is_some_and(|how| key.verify(how, message, signature).is_ok()),
            Self::P256(key) => by(&ECDSA_P256_SHA256_FIXED, key),
            Self::P384(key) => by(&ECDSA_P384_SHA384_FIXED, key),
            Self::Ed25519(key) => by(&ED25519, key),
        }
    }
}
