//! The door for randomness: keys, salts, identifiers and secret texts begin here, and nowhere else.

use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD};
use zeroize::Zeroizing;

use crate::errors::AccountsError;

/// The length of a secret text: 256 bits in base64url without padding.
pub(crate) const SECRET_LENGTH: usize = 43;

/// The length of an identifier: 80 bits in base32 without padding.
pub(crate) const ID_LENGTH: usize = 16;

#[expect(clippy::disallowed_methods, reason = "the door: secrets that an attacker cannot guess")]
pub(crate) fn bytes<const N: usize>() -> Result<[u8; N], AccountsError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|source| AccountsError::Randomness { source })?;
    Ok(bytes)
}

/// Returns a text of [`SECRET_LENGTH`] characters with 256 random bits.
pub(crate) fn secret() -> Result<Zeroizing<String>, AccountsError> {
    let bytes = Zeroizing::new(bytes::<32>()?);
    Ok(Zeroizing::new(BASE64URL_NOPAD.encode(&*bytes)))
}

/// Returns an identifier of [`ID_LENGTH`] lower-case letters and digits. It is unique, not secret.
pub(crate) fn id() -> Result<String, AccountsError> {
    Ok(BASE32_NOPAD.encode(&bytes::<10>()?).to_ascii_lowercase())
}
