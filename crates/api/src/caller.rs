//! The caller of a request.

use std::collections::BTreeSet;

use setpoint_core::name::Actor;

use crate::rights::Rights;

/// The caller of a request: its identity, its rights, and the way it came in. Built by the server
/// from the connection, never from the content of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub actor: Actor,
    pub rights: Rights,
    pub via: Via,
}

/// The way in which a caller was identified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Via {
    /// The local socket: the kernel names the user.
    Socket,
    /// A session of a browser, after a sign-in by this method, such as `password`.
    Session { method: String },
    /// A machine token of this name.
    Token { name: String },
}

impl Via {
    /// Returns the way as the ledger records it.
    pub fn method(&self) -> &str {
        match self {
            Self::Socket => "local socket",
            Self::Session { method } => method,
            Self::Token { .. } => "token",
        }
    }
}

/// The identity of a caller that signed in, as the server has verified it. Access documents name
/// such identities. The default is no identity at all, which has no rights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Principal {
    /// The name of the account: of a local account if `provider` is `None`, otherwise the name that
    /// the provider gave.
    pub account: Option<String>,
    /// The groups of the local account, or those in the groups claim of the provider.
    pub groups: BTreeSet<String>,
    /// The identity provider that vouches for account and groups; `None` for a local account.
    pub provider: Option<String>,
    /// The name of the machine token. A token has no account and no groups: a token that acts for
    /// an account is passed as that account.
    pub token: Option<String>,
}

impl Caller {
    /// Returns a user of this machine that may use the socket. It has all rights, because it can
    /// also read and change the files of the agent.
    pub fn local(actor: Actor) -> Self {
        Self { actor, rights: Rights::All, via: Via::Socket }
    }
}
