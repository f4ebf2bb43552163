//! The checks of an ID token (OpenID Connect Core 3.1.3.7). It is refused unless everything about it
//! is as expected.

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Map, Value};
use setpoint_core::secret::Secret;
use setpoint_core::time::{Span, Timestamp};
use subtle::ConstantTimeEq as _;

use crate::errors::InvalidToken;
use crate::keys::{KeySet, is_supported};

/// The longest token that is read. Entra ID limits groups at about 20 KiB.
const LONGEST: usize = 64 * 1024;

/// The difference between the clocks of the provider and of this machine that is tolerated.
const LEEWAY: Span = Span::minutes(1);

/// The claims of a person, from a token or a response whose origin was checked.
pub(crate) type Claims = Map<String, Value>;

/// The values that a token must have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) nonce: &'a Secret<String>,
    pub(crate) now: Timestamp,
}

/// A token of which nothing was checked but its form and algorithm.
pub(crate) struct Unverified {
    algorithm: String,
    key: Option<String>,
    message: Secret<String>,
    claims: Claims,
    signature: Vec<u8>,
}

impl Unverified {
    pub(crate) fn read(token: &Secret<String>) -> Result<Self, InvalidToken> {
        let token = token.open();
        if token.len() > LONGEST {
            return Err(InvalidToken::TooLong { length: token.len(), limit: LONGEST });
        }
        let (message, signature) = token.rsplit_once('.').ok_or(InvalidToken::Malformed)?;
        let (header, claims) = message.split_once('.').ok_or(InvalidToken::Malformed)?;
        let (header, claims) = (object(header)?, object(claims)?);
        let algorithm = header.get("alg").and_then(Value::as_str).ok_or(InvalidToken::Malformed)?;
        if !is_supported(algorithm) {
            let algorithm = algorithm.chars().take(20).flat_map(char::escape_default).collect();
            return Err(InvalidToken::Algorithm { algorithm });
        }
        if header.contains_key("crit") {
            return Err(InvalidToken::Extension);
        }
        let key = match header.get("kid") {
            None => None,
            Some(Value::String(id)) => Some(id.clone()),
            Some(_) => return Err(InvalidToken::Malformed),
        };
        let algorithm = algorithm.to_owned();
        let signature = BASE64URL_NOPAD.decode(signature.as_bytes()).map_err(|_| InvalidToken::Malformed)?;
        Ok(Self { algorithm, key, message: Secret::new(message.to_owned()), claims, signature })
    }

    /// Reports whether the set has a key that may have signed the token.
    pub(crate) fn is_known_to(&self, keys: &KeySet) -> bool {
        keys.fit(&self.algorithm, self.key.as_deref())
    }

    /// Checks the signature and the claims, and returns the claims.
    pub(crate) fn verify(self, keys: &KeySet, expected: &Expected<'_>) -> Result<Claims, InvalidToken> {
        let kind = (self.algorithm.as_str(), self.key.as_deref());
        keys.verify(kind, self.message.open().as_bytes(), &self.signature)?;
        check(&self.claims, expected)?;
        Ok(self.claims)
    }
}

fn object(part: &str) -> Result<Claims, InvalidToken> {
    let bytes = BASE64URL_NOPAD.decode(part.as_bytes()).map_err(|_| InvalidToken::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| InvalidToken::Malformed)
}

fn check(claims: &Claims, expected: &Expected<'_>) -> Result<(), InvalidToken> {
    if text(claims, "iss")? != expected.issuer {
        return Err(InvalidToken::Issuer);
    }
    if !is_for(claims, expected.client_id)? {
        return Err(InvalidToken::Audience);
    }
    if time(claims, "exp")? <= expected.now - LEEWAY {
        return Err(InvalidToken::Expired);
    }
    let latest = expected.now + LEEWAY;
    let begins_later = claims.contains_key("nbf") && time(claims, "nbf")? > latest;
    if begins_later || time(claims, "iat")? > latest {
        return Err(InvalidToken::NotYet);
    }
    let is_ours: bool = text(claims, "nonce")?.as_bytes().ct_eq(expected.nonce.open().as_bytes()).into();
    if !is_ours {
        return Err(InvalidToken::Nonce);
    }
    text(claims, "sub").map(drop)
}

/// Reports whether a token is for this client. If it is for others too, it must name this one as
/// the client that requested it.
fn is_for(claims: &Claims, client: &str) -> Result<bool, InvalidToken> {
    let malformed = InvalidToken::Claim { claim: "aud" };
    let audience: Vec<&str> = match claims.get("aud") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().map(Value::as_str).collect::<Option<_>>().ok_or(malformed)?,
        _ => return Err(malformed),
    };
    let requested_by = match claims.get("azp") {
        None => None,
        Some(_) => Some(text(claims, "azp")?),
    };
    let is_requester = match requested_by {
        Some(requester) => requester == client,
        None => audience.len() == 1,
    };
    Ok(audience.contains(&client) && is_requester)
}

/// Returns a claim that must be a text and not empty.
pub(crate) fn text<'a>(claims: &'a Claims, claim: &'static str) -> Result<&'a str, InvalidToken> {
    let text = claims.get(claim).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.ok_or(InvalidToken::Claim { claim })
}

/// Returns a claim that must be a time: seconds since 1970, for some providers with a fraction.
fn time(claims: &Claims, claim: &'static str) -> Result<Timestamp, InvalidToken> {
    let number = claims.get(claim).and_then(Value::as_f64);
    let seconds = number.filter(|seconds| (0.0..1e11).contains(seconds)).ok_or(InvalidToken::Claim { claim })?;
    Ok(Timestamp::from_millis((seconds * 1_000.0) as u64))
}
