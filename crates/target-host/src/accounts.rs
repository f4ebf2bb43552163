//! The users and groups of the host, from `/etc/passwd` and `/etc/group`.
//!
//! Accounts that only a directory service knows must be declared by number: querying the service
//! would load its code into this process.

use std::collections::BTreeMap;
use std::path::Path;

use crate::declaration::Account;
use crate::disk::Dress;
use setpoint_target::{Refusal, RefusalClass};

#[derive(Debug)]
pub(crate) struct Accounts {
    users: Table,
    groups: Table,
}

/// The names and IDs of one file, or the error that prevented reading it.
type Table = Result<Names, String>;

#[derive(Debug, Default)]
struct Names {
    ids: BTreeMap<String, u32>,
    names: BTreeMap<u32, String>,
}

impl Accounts {
    pub(crate) fn read() -> Self {
        Self { users: table(Path::new("/etc/passwd")), groups: table(Path::new("/etc/group")) }
    }

    /// Formats an account that was found, in the form of the declared one: an equal account is
    /// written as it is declared.
    pub(crate) fn shown(&self, of: Kind, declared: &Account, found: u32) -> String {
        let names = self.table(of).as_ref().ok();
        match declared {
            Account::Id(_) => found.to_string(),
            Account::Name(name) if names.and_then(|names| names.ids.get(&**name)) == Some(&found) => name.to_string(),
            Account::Name(_) => {
                names.and_then(|names| names.names.get(&found)).cloned().unwrap_or_else(|| found.to_string())
            }
        }
    }

    fn table(&self, of: Kind) -> &Table {
        match of {
            Kind::User => &self.users,
            Kind::Group => &self.groups,
        }
    }

    /// Returns the mode with the numeric IDs of the declared owner and group.
    pub(crate) fn dress(&self, mode: u32, owner: Option<&Account>, group: Option<&Account>) -> Result<Dress, Refusal> {
        let owner = owner.map(|owner| self.id(Kind::User, owner)).transpose()?;
        let group = group.map(|group| self.id(Kind::Group, group)).transpose()?;
        Ok(Dress { mode, owner, group })
    }

    fn id(&self, of: Kind, account: &Account) -> Result<u32, Refusal> {
        let name = match account {
            Account::Id(id) => return Ok(*id),
            Account::Name(name) => name,
        };
        let word = of.word();
        let refused = |class, detail| Err(Refusal { class, detail, retry_after: None });
        match self.table(of) {
            Err(error) => refused(RefusalClass::Unavailable, error.clone()),
            Ok(names) => match names.ids.get(&**name) {
                Some(id) => Ok(*id),
                None => {
                    let detail = format!("this host has no {word} `{name}`: create it first, or write its number");
                    refused(RefusalClass::Unready, detail)
                }
            },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    User,
    Group,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Group => "group",
        }
    }
}

fn table(file: &Path) -> Table {
    let text = std::fs::read(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    Ok(parse(&String::from_utf8_lossy(&text)))
}

fn parse(text: &str) -> Names {
    let mut names = Names::default();
    for line in text.lines() {
        let mut fields = line.split(':');
        let (Some(name), _, Some(Ok(id))) = (fields.next(), fields.next(), fields.next().map(str::parse)) else {
            continue;
        };
        // The first of several wins, as it does for the C library.
        names.ids.entry(name.to_owned()).or_insert(id);
        names.names.entry(id).or_insert_with(|| name.to_owned());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts() -> Accounts {
        let users = parse("root:x:0:0:root:/root:/bin/sh\nweb:x:33:33::/:/bin/false\ntoor:x:0:0::/:/bin/sh\nbroken\n");
        Accounts { users: Ok(users), groups: Err("/etc/group cannot be read".to_owned()) }
    }

    #[test]
    fn an_account_is_found_by_name_and_by_number() {
        let dress = accounts().dress(0o600, Some(&Account::Name("web".into())), Some(&Account::Id(7)));
        assert_eq!(dress, Ok(Dress { mode: 0o600, owner: Some(33), group: Some(7) }));
    }

    #[test]
    fn an_account_that_cannot_be_found_is_told_and_not_guessed() {
        let unknown = accounts().dress(0, Some(&Account::Name("nobody-here".into())), None).unwrap_err();
        assert!(unknown.detail.contains("no user `nobody-here`"), "{unknown}");
        let unreadable = accounts().dress(0, None, Some(&Account::Name("web".into()))).unwrap_err();
        assert_eq!(unreadable.class, RefusalClass::Unavailable);
    }

    #[test]
    fn an_equal_account_is_shown_as_it_was_declared() {
        let accounts = accounts();
        assert_eq!(accounts.shown(Kind::User, &Account::Name("toor".into()), 0), "toor");
        assert_eq!(accounts.shown(Kind::User, &Account::Name("web".into()), 0), "root");
        assert_eq!(accounts.shown(Kind::User, &Account::Id(33), 33), "33");
    }
}
