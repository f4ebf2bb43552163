//! The signatures of webhooks, compared in constant time.

use axum::http::HeaderMap;
use data_encoding::{BASE64, HEXLOWER_PERMISSIVE};
use hmac::{Hmac, KeyInit, Mac};
use setpoint_core::time::{Span, Timestamp};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::Sender;

/// The largest difference between the time in a signed request and ours: an older request is a
/// replay.
const TOLERANCE: Span = Span::minutes(5);

/// The prefix of secrets in the Standard Webhooks specification. Base64 follows.
const STANDARD_PREFIX: &[u8] = b"whsec_";

/// Reports whether a request was signed with this secret.
pub(super) fn is_valid(sender: Sender, secret: &[u8], headers: &HeaderMap, body: &[u8], now: Timestamp) -> bool {
    match sender {
        Sender::GitHub => is_signed_body(secret, text(headers, "x-hub-signature-256"), body),
        // Bitbucket names the algorithm and not the header after it. It offers SHA-256 alone.
        Sender::Bitbucket => is_signed_body(secret, text(headers, "x-hub-signature"), body),
        Sender::Gitea => {
            let signature = text(headers, "x-gitea-signature").or_else(|| text(headers, "x-forgejo-signature"));
            signature.is_some_and(|signature| is_hmac(secret, &[body], &hex(signature)))
        }
        // GitLab sends the secret itself, or with a signing token the standard headers.
        Sender::GitLab => match text(headers, "x-gitlab-token") {
            Some(token) => token.as_bytes().ct_eq(secret).into(),
            None => is_standard(secret, headers, body, now),
        },
        Sender::Standard => is_standard(secret, headers, body, now),
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn hex(text: &str) -> Vec<u8> {
    HEXLOWER_PERMISSIVE.decode(text.as_bytes()).unwrap_or_default()
}

/// Checks a header such as `sha256=1f2e…` over the body.
fn is_signed_body(secret: &[u8], header: Option<&str>, body: &[u8]) -> bool {
    let signature = header.and_then(|header| header.strip_prefix("sha256="));
    signature.is_some_and(|signature| is_hmac(secret, &[body], &hex(signature)))
}

/// Checks the headers of the Standard Webhooks specification: one of several signatures over
/// identifier, time and body. The time makes a replayed request invalid.
fn is_standard(secret: &[u8], headers: &HeaderMap, body: &[u8], now: Timestamp) -> bool {
    let [id, time, signatures] =
        ["webhook-id", "webhook-timestamp", "webhook-signature"].map(|name| text(headers, name).unwrap_or_default());
    let Ok(seconds) = time.parse::<u64>() else { return false };
    let at = Timestamp::from_millis(seconds.saturating_mul(1_000));
    if now.since(at) > TOLERANCE || at.since(now) > TOLERANCE {
        return false;
    }
    let encoded = secret.strip_prefix(STANDARD_PREFIX).map(|encoded| BASE64.decode(encoded));
    let secret = match &encoded {
        Some(Ok(decoded)) => decoded,
        Some(Err(_)) => return false,
        None => secret,
    };
    let parts = [id.as_bytes(), b".", time.as_bytes(), b".", body];
    let given = signatures.split(' ').filter_map(|signature| signature.strip_prefix("v1,"));
    let mut given = given.filter_map(|signature| BASE64.decode(signature.as_bytes()).ok());
    given.any(|signature| is_hmac(secret, &parts, &signature))
}

fn is_hmac(secret: &[u8], parts: &[&[u8]], signature: &[u8]) -> bool {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else { return false };
    parts.iter().for_each(|part| mac.update(part));
    mac.verify_slice(signature).is_ok()
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};
    use data_encoding::HEXLOWER;

    use super::*;

    const SECRET: &[u8] = b"It's a Secret to Everybody";
    const BODY: &[u8] = b"Hello, World!";
    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let header = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(header).collect()
    }

    fn mac(secret: &[u8], text: &[u8]) -> Vec<u8> {
        Hmac::<Sha256>::new_from_slice(secret).unwrap().chain_update(text).finalize().into_bytes().to_vec()
    }

    fn valid(sender: Sender, pairs: &[(&'static str, &str)]) -> bool {
        is_valid(sender, SECRET, &headers(pairs), BODY, NOW)
    }

    #[test]
    fn the_example_of_github_is_valid() {
        let published = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert!(valid(Sender::GitHub, &[("x-hub-signature-256", published)]));
        assert!(valid(Sender::Bitbucket, &[("x-hub-signature", published)]));
        assert!(valid(Sender::Gitea, &[("x-gitea-signature", &published[7..])]));
        assert!(valid(Sender::Gitea, &[("x-forgejo-signature", &published[7..])]));
        assert!(valid(Sender::GitLab, &[("x-gitlab-token", "It's a Secret to Everybody")]));
    }

    #[test]
    fn a_missing_or_wrong_signature_is_not_valid() {
        let wrong = HEXLOWER.encode(&mac(b"another secret!!", BODY));
        for sender in [Sender::GitHub, Sender::GitLab, Sender::Gitea, Sender::Bitbucket, Sender::Standard] {
            assert!(!valid(sender, &[]), "{sender:?}");
            for signature in ["", "sha256=", "sha256=zz", "sha1=00", &wrong, &format!("sha256={wrong}")] {
                let all = ["x-hub-signature-256", "x-hub-signature", "x-gitea-signature", "x-gitlab-token"];
                let pairs = all.map(|name| (name, signature));
                assert!(!valid(sender, &pairs), "{sender:?}: {signature}");
            }
        }
        // The signature of one sender is none for another.
        let right = HEXLOWER.encode(&mac(SECRET, BODY));
        assert!(!valid(Sender::GitHub, &[("x-gitea-signature", &right)]));
        assert!(!valid(Sender::GitHub, &[("x-gitlab-token", "It's a Secret to Everybody")]));
    }

    fn standard(secret: &[u8], seconds: u64) -> bool {
        let text = [format!("msg_1.{seconds}.").as_bytes(), BODY].concat();
        let key = secret.strip_prefix(STANDARD_PREFIX).map_or(secret.to_vec(), |it| BASE64.decode(it).unwrap());
        let signature = format!("v1,AAAA v1,{}", BASE64.encode(&mac(&key, &text)));
        let seconds = seconds.to_string();
        let pairs = [("webhook-id", "msg_1"), ("webhook-timestamp", &*seconds), ("webhook-signature", &signature)];
        is_valid(Sender::Standard, secret, &headers(&pairs), BODY, NOW)
    }

    #[test]
    fn a_standard_webhook_is_valid_for_five_minutes() {
        let now = NOW.as_millis() / 1_000;
        assert!(standard(SECRET, now) && standard(b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", now));
        assert!(standard(SECRET, now - 299) && standard(SECRET, now + 299));
        assert!(!standard(SECRET, now - 301), "an old request is a replay");
        assert!(!standard(SECRET, now + 301) && !standard(SECRET, u64::MAX) && !standard(SECRET, 0));
    }
}
