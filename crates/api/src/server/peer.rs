//! Identifies the caller by the credentials that the kernel reports.

use setpoint_core::name::Actor;
use tokio::net::UnixStream;

use crate::agent::{Problem, ProblemKind};

const ACCOUNTS: &str = "/etc/passwd";

/// Returns the caller, if it is root or the socket's owner. The mode of the socket enforces the
/// same; this check holds even if the mode is changed.
pub(super) async fn of(stream: &UnixStream, owner: u32) -> Result<Actor, Problem> {
    let credentials = stream.peer_cred().map_err(|error| {
        Problem::new(ProblemKind::Forbidden, format!("cannot read the caller's credentials ({error}): connect again"))
    })?;
    let uid = credentials.uid();
    // Without the list of accounts, people are identified by number: the record still shows who it
    // was.
    let accounts = tokio::fs::read_to_string(ACCOUNTS).await.unwrap_or_default();
    let actor = actor(uid, &accounts);
    if uid == 0 || uid == owner {
        return Ok(actor);
    }
    let owner = self::actor(owner, &accounts);
    let message = format!("{actor} has no permission to use this agent: run the command as {owner} or root");
    Err(Problem::new(ProblemKind::Forbidden, message))
}

/// Returns a user of this machine, in the form of the ledger.
pub fn user(uid: u32) -> Actor {
    actor(uid, &std::fs::read_to_string(ACCOUNTS).unwrap_or_default())
}

/// Returns `user:<name>`, or `uid:<number>` if the accounts have no printable name for it.
fn actor(uid: u32, accounts: &str) -> Actor {
    let named = accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then_some(name)
    });
    named
        .filter(|name| !name.is_empty())
        .and_then(|name| Actor::new(&format!("user:{name}")).ok())
        .unwrap_or_else(|| Actor::new(&format!("uid:{uid}")).expect("a number is printable"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_named_as_the_system_names_them() {
        let accounts = "root:x:0:0:root:/root:/bin/bash\n\nbroken\nerika:x:1000:1000::/home/erika:/bin/sh\nm\u{fc}ller:x:1001:1001::/:/\n";
        assert_eq!(actor(0, accounts).as_str(), "user:root");
        assert_eq!(actor(1000, accounts).as_str(), "user:erika");
        assert_eq!(actor(1001, accounts).as_str(), "uid:1001");
        assert_eq!(actor(1002, accounts).as_str(), "uid:1002");
        assert_eq!(actor(0, "").as_str(), "uid:0");
    }
}
