//! The changes of accounts, sessions and tokens, for the ledger. Nothing in them is secret.

use std::fmt;

use serde::{Deserialize, Serialize};
use setpoint_core::name::Actor;
use setpoint_core::time::Timestamp;

use crate::sessions::{SessionId, Via};

/// A result together with the change that produced it.
#[derive(Clone, Debug)]
pub struct Changed<T> {
    pub value: T,
    pub change: Change,
}

/// A change, as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Change {
    AccountCreated { account: Actor, administrator: bool, groups: Vec<String>, by_setup_link: bool },
    PasswordSet { account: Actor, sessions_ended: u64 },
    GroupsSet { account: Actor, groups: Vec<String> },
    AdministratorSet { account: Actor, administrator: bool },
    AccountDisabled { account: Actor, sessions_ended: u64 },
    AccountEnabled { account: Actor },
    AccountDeleted { account: Actor, sessions_ended: u64 },
    AddressTrusted { account: Actor },
    SignedIn { actor: Actor, name: String, session: SessionId, via: Via, administrator: bool, address: String },
    SessionEnded { actor: Actor, session: SessionId },
    SessionsEnded { actor: Actor, sessions_ended: u64 },
    TokenCreated { token: Actor, id: String, grants: String, created_by: Actor, expires: Timestamp },
    TokenRevoked { token: Actor, id: String },
}

impl Change {
    /// Returns the account, person or token that was changed.
    pub fn subject(&self) -> &Actor {
        match self {
            Self::AccountCreated { account, .. }
            | Self::PasswordSet { account, .. }
            | Self::GroupsSet { account, .. }
            | Self::AdministratorSet { account, .. }
            | Self::AccountDisabled { account, .. }
            | Self::AccountEnabled { account }
            | Self::AccountDeleted { account, .. }
            | Self::AddressTrusted { account } => account,
            Self::SignedIn { actor, .. } | Self::SessionEnded { actor, .. } | Self::SessionsEnded { actor, .. } => {
                actor
            }
            Self::TokenCreated { token, .. } | Self::TokenRevoked { token, .. } => token,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = |f: &mut fmt::Formatter<'_>, count: &u64| match count {
            0 => Ok(()),
            1 => f.write_str(", 1 session ended"),
            count => write!(f, ", {count} sessions ended"),
        };
        match self {
            Self::AccountCreated { account, administrator, by_setup_link, .. } => {
                let role = if *administrator { "administrator " } else { "" };
                let origin = if *by_setup_link { " through the set-up link" } else { "" };
                write!(f, "{role}{account} created{origin}")
            }
            Self::PasswordSet { account, sessions_ended } => {
                write!(f, "password of {account} set")?;
                ended(f, sessions_ended)
            }
            Self::GroupsSet { account, groups } => write!(f, "groups of {account} set, {} in all", groups.len()),
            Self::AdministratorSet { account, administrator: true } => write!(f, "{account} made an administrator"),
            Self::AdministratorSet { account, .. } => write!(f, "{account} made an ordinary account"),
            Self::AccountDisabled { account, sessions_ended } => {
                write!(f, "{account} disabled")?;
                ended(f, sessions_ended)
            }
            Self::AccountEnabled { account } => write!(f, "{account} enabled"),
            Self::AccountDeleted { account, sessions_ended } => {
                write!(f, "{account} deleted")?;
                ended(f, sessions_ended)
            }
            Self::AddressTrusted { account } => write!(f, "address for sign-ins of {account} trusted"),
            Self::SignedIn { actor, via, .. } => write!(f, "{actor} signed in by {via}"),
            Self::SessionEnded { actor, session } => write!(f, "session {session} of {actor} ended"),
            Self::SessionsEnded { actor, sessions_ended } => {
                write!(f, "sessions of {actor} ended, {sessions_ended} in all")
            }
            Self::TokenCreated { token, created_by, .. } => write!(f, "{token} created by {created_by}"),
            Self::TokenRevoked { token, .. } => write!(f, "{token} revoked"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_a_stable_form_for_the_ledger() {
        let actor = |text| Actor::new(text).unwrap();
        let signed_in = Change::SignedIn {
            actor: actor("oidc:corp/1"),
            name: "Grace".to_owned(),
            session: SessionId("mfrggzdfmztwq2lk".to_owned()),
            via: Via::Provider("corp".to_owned()),
            administrator: false,
            address: "192.0.2.1".to_owned(),
        };
        assert_eq!(
            serde_json::to_string(&signed_in).unwrap(),
            r#"{"change":"signed-in","actor":"oidc:corp/1","name":"Grace","session":"mfrggzdfmztwq2lk","via":{"provider":"corp"},"administrator":false,"address":"192.0.2.1"}"#
        );
        assert_eq!(signed_in.to_string(), "oidc:corp/1 signed in by provider corp");
        let set = Change::PasswordSet { account: actor("account:ada"), sessions_ended: 2 };
        assert_eq!(
            serde_json::to_string(&set).unwrap(),
            r#"{"change":"password-set","account":"account:ada","sessionsEnded":2}"#
        );
        assert_eq!(
            (set.to_string().as_str(), set.subject()),
            ("password of account:ada set, 2 sessions ended", &actor("account:ada"))
        );
    }
}
