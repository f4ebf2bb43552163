//! Secret texts that cannot be printed, their hashes, and the key of the store.

use std::fmt;

use data_encoding::BASE64URL_NOPAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// Declares a secret text: `Debug` prints only its type, and its memory is overwritten when it is
/// dropped.
macro_rules! secret_text {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name(Zeroizing<String>);

        impl $name {
            /// Wraps a text. The caller must hold no other copy of it.
            pub fn new(text: String) -> Self {
                Self(Zeroizing::new(text))
            }

            /// Returns the text itself. Every call is a place to review.
            pub fn open(&self) -> &str {
                &self.0
            }
        }

        impl From<Zeroizing<String>> for $name {
            fn from(text: Zeroizing<String>) -> Self {
                Self(text)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        }
    };
}

secret_text!(
    /// A password as a person typed it.
    Password
);
secret_text!(
    /// The one-time token of a set-up link.
    SetupToken
);
secret_text!(
    /// The value of a session's cookie. Only its hash is stored, so it exists once: in the response
    /// that sets the cookie.
    SessionCookie
);
secret_text!(
    /// The text of a machine token. Only its hash is stored, so it is shown once.
    TokenText
);
secret_text!(
    /// The token that requests of a session that change something must carry.
    CsrfToken
);

impl CsrfToken {
    /// Reports in constant time whether a request carried this token.
    pub fn accepts(&self, text: &str) -> bool {
        equal(self.open().as_bytes(), text.as_bytes())
    }
}

/// Compares in a time that depends on the lengths alone.
pub(crate) fn equal(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).into()
}

/// Returns the hash under which a text of 256 random bits is stored. Such a text cannot be guessed,
/// so the hash needs neither salt nor cost.
pub(crate) fn fingerprint(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// The random key of a store. It never leaves the store's file, and signs what the store gives out
/// without keeping it.
#[derive(Clone)]
pub(crate) struct StoreKey(Zeroizing<[u8; 32]>);

impl StoreKey {
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self(Zeroizing::new(key))
    }

    /// Returns the CSRF token of a session. The cookie's value rotates and the session's identifier
    /// does not, so forms in open pages survive a rotation.
    pub(crate) fn csrf(&self, session: &str) -> CsrfToken {
        CsrfToken::new(BASE64URL_NOPAD.encode(&self.mac("csrf", &[session.as_bytes()])))
    }

    /// Returns a keyed hash of values. `purpose` separates the uses of the key, and each value is
    /// preceded by its length, so that no two lists of values have the same bytes.
    pub(crate) fn mac(&self, purpose: &str, values: &[&[u8]]) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&*self.0).expect("HMAC takes a key of any length");
        for value in [&[purpose.as_bytes()], values].concat() {
            mac.update(&(value.len() as u64).to_be_bytes());
            mac.update(value);
        }
        mac.finalize().into_bytes().into()
    }
}

impl fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_lists_of_values_have_the_same_keyed_hash() {
        let key = StoreKey::new([7; 32]);
        let lists: [(&str, &[&[u8]]); 5] =
            [("ab", &[]), ("a", &[b"b"]), ("a", &[b"b", b""]), ("", &[b"ab"]), ("a", &[b"", b"b"])];
        let hashes = lists.map(|(purpose, values)| key.mac(purpose, values));
        for (n, hash) in hashes.iter().enumerate() {
            assert!(!hashes[n + 1..].contains(hash), "{:?}", lists[n]);
        }
        assert_ne!(key.mac("a", &[]), StoreKey::new([8; 32]).mac("a", &[]));
    }
}
