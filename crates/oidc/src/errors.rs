//! The reasons why no one is signed in. None contains a token, a code or a secret, not even in part.

use crate::randomness::NoRandomness;

/// The reason why a sign-in does not begin, or does not end well.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignInError {
    #[error("there is no provider `{name}`: choose another way to sign in")]
    NoSuchProvider { name: String },
    #[error("the provider cannot be used now: {problem}")]
    Unavailable { problem: String },
    #[error("too many people sign in at this provider now: try again in a few seconds")]
    Busy,
    #[error("this sign-in did not begin in this browser, or more than 10 minutes ago: sign in again")]
    NotBegun,
    #[error("this sign-in has ended before: sign in again")]
    Repeated,
    /// The provider's own words, already reduced to visible characters.
    #[error("the provider did not sign you in: {words}")]
    Denied { words: String },
    #[error("the provider does not accept the end of the sign-in: {words}; check `clientId` and the client secret")]
    CodeRefused { words: String },
    #[error("the response comes from another provider than the one that was asked: sign in again")]
    OtherIssuer,
    #[error("the ID token of the provider is refused: {0}")]
    Token(InvalidToken),
    #[error("the provider describes another person in its user information than in the ID token")]
    OtherPerson,
    #[error("the provider sends no claim `{claim}`: add it to the ID token, or set another `nameClaim`")]
    NoName { claim: String },
    #[error("the provider has not verified the e-mail address, so it cannot name a person: set another `nameClaim`")]
    UnverifiedEmail,
    #[error("the name that the provider sends {problem}: correct it there")]
    Name { problem: &'static str },
    #[error("the claim `{claim}` is not a list of texts: set another `groupsClaim`")]
    Groups { claim: String },
    #[error("the provider leaves out the groups, since there are too many: limit the groups that it sends")]
    TooManyGroups,
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

/// The person who can do something about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Anyone: sign in again.
    Again,
    /// Wait until the provider can be used.
    Wait,
    /// The administrator of the provider or of Setpoint.
    Administrator,
}

impl SignInError {
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::NotBegun | Self::Repeated | Self::OtherIssuer | Self::NoSuchProvider { .. } => Remedy::Again,
            Self::Unavailable { .. } | Self::Busy | Self::NoRandomness(_) => Remedy::Wait,
            Self::Denied { .. }
            | Self::CodeRefused { .. }
            | Self::Token(_)
            | Self::OtherPerson
            | Self::NoName { .. }
            | Self::UnverifiedEmail
            | Self::Name { .. }
            | Self::Groups { .. }
            | Self::TooManyGroups => Remedy::Administrator,
        }
    }

    /// Reports whether operators should know of it. Anyone can cause the others, any number of times.
    pub fn is_worth_a_record(&self) -> bool {
        !matches!(self, Self::NotBegun | Self::Repeated | Self::Denied { .. } | Self::NoSuchProvider { .. })
    }

    pub(crate) fn unavailable(problem: impl Into<String>) -> Self {
        Self::Unavailable { problem: problem.into() }
    }
}

impl From<InvalidToken> for SignInError {
    fn from(problem: InvalidToken) -> Self {
        Self::Token(problem)
    }
}

/// The reason why an ID token is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidToken {
    #[error("it has {length} bytes, more than {limit}: reduce the claims that the provider puts into it")]
    TooLong { length: usize, limit: usize },
    #[error("it is not a signed token")]
    Malformed,
    #[error("its algorithm `{algorithm}` is not accepted: let the provider sign with RS256, PS256, ES256 or EdDSA")]
    Algorithm { algorithm: String },
    #[error("it requires an extension that is not supported")]
    Extension,
    #[error("the provider publishes no key that fits it: try again in a minute")]
    UnknownKey,
    #[error("its signature is wrong")]
    Signature,
    #[error("the claim `{claim}` is missing or malformed")]
    Claim { claim: &'static str },
    #[error("another issuer has signed it")]
    Issuer,
    #[error("it is for another application than this `clientId`")]
    Audience,
    #[error("it has expired: compare the clocks of the provider and of this machine")]
    Expired,
    #[error("it is not valid yet: compare the clocks of the provider and of this machine")]
    NotYet,
    #[error("it belongs to another sign-in")]
    Nonce,
}
