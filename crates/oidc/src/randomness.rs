//! The door for randomness: states, nonces, verifiers and the key of sealed attempts begin here.

use data_encoding::BASE64URL_NOPAD;
use setpoint_core::secret::Secret;

/// The system gave no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system has no random numbers: check the kernel's random device")]
pub struct NoRandomness;

#[expect(clippy::disallowed_methods, reason = "the door: values that an attacker cannot guess")]
pub(crate) fn bytes() -> Result<[u8; 32], NoRandomness> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

/// Returns a text with 256 random bits, of 43 characters that need no encoding in URLs.
pub(crate) fn text() -> Result<Secret<String>, NoRandomness> {
    Ok(Secret::new(BASE64URL_NOPAD.encode(&bytes()?)))
}
