//! The rules for names of accounts, tokens and groups, and the actors of the ledger that follow
//! from them.

use setpoint_core::name::{Actor, BadName};

use crate::errors::AccountsError;

/// The most groups of one account or session.
pub(crate) const MAX_GROUPS: usize = 1_000;

/// Checks the name of an account or a token: 1 to 64 letters, digits and `. _ - @`, the first one a
/// letter or a digit.
pub(crate) fn check(what: &'static str, name: &str) -> Result<(), BadName> {
    let problem = if name.is_empty() {
        "it is empty"
    } else if name.len() > 64 {
        "it is longer than 64 characters"
    } else if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-@".contains(&b)) {
        "use letters, digits, `.`, `_`, `-` and `@` only"
    } else if !name.as_bytes()[0].is_ascii_alphanumeric() {
        "begin it with a letter or a digit"
    } else {
        return Ok(());
    };
    Err(bad(what, name, problem))
}

/// Checks groups, as they come from a form or an OIDC provider: 1 to 256 printable characters each.
pub(crate) fn check_groups(groups: &[String]) -> Result<(), AccountsError> {
    if groups.len() > MAX_GROUPS {
        return Err(AccountsError::TooManyGroups { limit: MAX_GROUPS });
    }
    groups.iter().try_for_each(|group| check_text("group", group))
}

/// Checks a text from elsewhere: 1 to 256 characters without control characters.
pub(crate) fn check_text(what: &'static str, text: &str) -> Result<(), AccountsError> {
    let problem = if text.is_empty() {
        "it is empty"
    } else if text.chars().take(257).count() > 256 {
        "it is longer than 256 characters"
    } else if text.chars().any(char::is_control) {
        "it contains control characters"
    } else {
        return Ok(());
    };
    Err(bad(what, text, problem).into())
}

/// Checks the name of an OIDC provider, which is part of its users' actors.
pub(crate) fn check_provider(name: &str) -> Result<(), BadName> {
    check("provider", name)
}

/// Returns the key under which names are compared: `Ada` and `ada` are one account.
pub(crate) fn key(name: &str) -> String {
    name.to_ascii_lowercase()
}

/// Returns the actor of an account in the ledger.
pub(crate) fn account_actor(name: &str) -> Result<Actor, BadName> {
    Actor::new(&format!("account:{name}"))
}

/// Returns the actor of a machine token in the ledger.
pub(crate) fn token_actor(name: &str) -> Result<Actor, BadName> {
    Actor::new(&format!("token:{name}"))
}

/// Returns the actor of a person of an OIDC provider. A subject that is not plain ASCII is refused:
/// it could deceive readers of the ledger.
pub(crate) fn provider_actor(provider: &str, subject: &str) -> Result<Actor, BadName> {
    if subject.is_empty() || subject.len() > 255 {
        return Err(bad("subject", subject, "expected 1 to 255 characters"));
    }
    Actor::new(&format!("oidc:{provider}/{subject}"))
}

fn bad(what: &'static str, text: &str, problem: &'static str) -> BadName {
    let text = text.chars().take(80).flat_map(char::escape_default).collect();
    BadName { what, text, problem }
}
