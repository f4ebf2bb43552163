//! The errors of the crate. None contains a password, a token or a cookie, not even in part.

use std::io;
use std::path::PathBuf;

use setpoint_core::name::BadName;
use setpoint_core::time::Span;

/// The reason why the store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the file {path} cannot be used: check that its directory exists and belongs to this user")]
    File { path: PathBuf, source: io::Error },
    #[error("the accounts in {path} cannot be opened: check the disk, then restore a copy")]
    Database { path: PathBuf, source: sqlx::Error },
    #[error("the file {path} contains no accounts of Setpoint: move it out of the data directory")]
    NotAccounts { path: PathBuf },
    #[error("the accounts in {path} have format {found}, this program knows up to {known}: use a newer program")]
    TooNew { path: PathBuf, found: i64, known: i64 },
    #[error("the accounts in {path} are damaged: restore a copy")]
    Damaged { path: PathBuf },
    #[error("the cost of password hashes is outside of the limits of argon2: use at least 8 KiB and one pass")]
    Cost,
    #[error("the key of the accounts in {path} cannot be created")]
    Key { path: PathBuf, source: Box<AccountsError> },
}

/// The reason why a function of the store had no effect.
#[derive(Debug, thiserror::Error)]
pub enum AccountsError {
    /// The database failed. Nothing may be concluded from this about accounts, sessions or tokens.
    #[error("the accounts cannot be read or written: check the disk of the data directory")]
    Database { source: sqlx::Error },
    #[error("a stored {what} is damaged: restore a copy of the accounts")]
    Damaged { what: &'static str },
    #[error("the system has no random numbers: check the kernel's random device")]
    Randomness { source: getrandom::Error },
    #[error("the password could not be hashed: check the free memory")]
    Hashing { problem: String },
    #[error("a name cannot be used")]
    Name { source: BadName },
    #[error("the password cannot be used")]
    Password { source: PasswordError },
    #[error("`{name}` exists: choose another name")]
    NameTaken { name: String },
    #[error("there is no account of this name: check the list of accounts")]
    NoSuchAccount,
    #[error("`{name}` is the last administrator that can sign in: create another administrator first")]
    LastAdministrator { name: String },
    #[error("a token needs an expiry between now and {limit_days} days from now")]
    Expiry { limit_days: u64 },
    #[error("the grants of a token are longer than {limit} bytes: grant less, or name a role")]
    GrantsTooLong { limit: usize },
    #[error("the reason is longer than {limit} bytes: shorten it, or give a link")]
    ReasonTooLong { limit: usize },
    #[error("there are more than {limit} groups: limit the groups that the provider sends")]
    TooManyGroups { limit: usize },
}

impl AccountsError {
    pub(crate) const fn damaged(what: &'static str) -> Self {
        Self::Damaged { what }
    }
}

impl From<sqlx::Error> for AccountsError {
    fn from(source: sqlx::Error) -> Self {
        Self::Database { source }
    }
}

impl From<BadName> for AccountsError {
    fn from(source: BadName) -> Self {
        Self::Name { source }
    }
}

impl From<PasswordError> for AccountsError {
    fn from(source: PasswordError) -> Self {
        Self::Password { source }
    }
}

/// The reason why a password is refused when it is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    #[error("it has fewer than {limit} characters; use several words")]
    TooShort { limit: usize },
    #[error("it has more than {limit} bytes; use a shorter one")]
    TooLong { limit: usize },
    #[error("it is the name of the account; use another one")]
    EqualsName,
    #[error("it repeats a few characters; use several words")]
    TooUniform,
    #[error("it is in lists of common passwords; use several words that do not belong together")]
    Common,
}

/// The reason why the first account was not created.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// One variant for all cases: an expired, used, replaced or invented token.
    #[error("the set-up link is not valid: it is used once and expires after an hour; restart Setpoint for a new one")]
    InvalidLink,
    #[error("the account cannot be created")]
    Account { source: AccountsError },
}

impl<E: Into<AccountsError>> From<E> for SetUpError {
    fn from(source: E) -> Self {
        Self::Account { source: source.into() }
    }
}

/// The reason why a sign-in is refused.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// One variant for an unknown name, a wrong password and a disabled account.
    #[error("name or password is wrong: check both")]
    Wrong,
    #[error("there were too many sign-ins: try again in {retry_after}")]
    TooMany { retry_after: Span },
    #[error("the sign-in cannot be checked")]
    Unavailable { source: AccountsError },
}

impl<E: Into<AccountsError>> From<E> for SignInError {
    fn from(source: E) -> Self {
        Self::Unavailable { source: source.into() }
    }
}
