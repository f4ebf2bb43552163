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

/// The properties of a caller that documents grant rights to. A caller without any has no rights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Principal {
    /// The name of a local account.
    pub account: Option<String>,
    /// The groups of the account, or those that the provider reports.
    pub groups: BTreeSet<String>,
    /// The provider that identified the caller; `None` for local accounts and tokens.
    pub provider: Option<String>,
    /// The name of a machine token.
    pub token: Option<String>,
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

impl Caller {
    /// Returns a user of this machine that may use the socket. It has all rights, because it can
    /// also read and change the files of the agent.
    pub fn local(actor: Actor) -> Self {
        Self { actor, rights: Rights::All, via: Via::Socket }
    }
}
