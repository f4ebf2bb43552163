//! Sign-ins with name and password: limited, at the same cost for every name.

use setpoint_core::time::{Span, Timestamp};
use sqlx::sqlite::SqliteConnection;

use crate::change::Change;
use crate::client::{Client, Network};
use crate::columns::{before, millis};
use crate::errors::{AccountsError, SignInError};
use crate::journal::Author;
use crate::limits::Attempt;
use crate::local_accounts::{AccountRow, find, store_password};
use crate::names;
use crate::password_policy::LONGEST;
use crate::secrets::{Password, SessionCookie};
use crate::sessions::{Session, begin_local};
use crate::store::{Accounts, Writing};

/// A session that has begun, with the value of its cookie.
#[derive(Clone, Debug)]
pub struct NewSession {
    pub session: Session,
    pub cookie: SessionCookie,
    pub change: Change,
}

impl NewSession {
    /// Commits the session with its change: its owner is the author.
    pub(crate) async fn committed(
        self,
        writing: Writing<'_>,
        accounts: &Accounts,
        now: Timestamp,
    ) -> Result<Self, AccountsError> {
        let via = self.session.via.to_string();
        let by = Author { actor: &self.session.actor, via: &via, reason: "", now };
        writing.commit_change(self.change.clone(), &by, accounts).await?;
        Ok(self)
    }
}

/// The number of addresses remembered for each account. The latest ones are kept.
const KNOWN_ADDRESSES: i64 = 32;

/// An address that was not used for this long is forgotten.
const KNOWN_FOR: Span = Span::hours(90 * 24);

impl Accounts {
    /// Begins a session for the right password. The session has a new identifier and a new cookie;
    /// the caller ends the one that the browser had before.
    pub async fn sign_in(
        &self,
        name: &str,
        password: &Password,
        client: &Client,
        now: Timestamp,
    ) -> Result<NewSession, SignInError> {
        let row = self.verified(name, password, client.network(), now).await?;
        let rehashed = match self.hasher.is_outdated(&row.password) {
            true => Some(self.hasher.hash(password).await?),
            false => None,
        };
        let mut writing = self.write().await.map_err(SignInError::from)?;
        // Again: since the password was read, an administrator may have changed or disabled the
        // account.
        let present = find(writing.connection(), name).await?;
        let unchanged = |present: &AccountRow| {
            present.number == row.number && !present.account.disabled && present.password == row.password
        };
        let Some(row) = present.filter(unchanged) else {
            return Err(SignInError::Wrong);
        };
        if let Some(password) = rehashed {
            store_password(writing.connection(), row.number, &password, row.account.password_set_at).await?;
        }
        let pair = self.pair(row.number, client.network());
        remember(writing.connection(), row.number, &pair, now).await?;
        let begun = begin_local(self, writing.connection(), &row, client, now).await?;
        Ok(begun.committed(writing, self, now).await?)
    }

    /// Checks a password without a session, with the limits of a sign-in: for requests that ask for
    /// the password again.
    pub async fn confirm(
        &self,
        name: &str,
        password: &Password,
        client: &Client,
        now: Timestamp,
    ) -> Result<(), SignInError> {
        self.verified(name, password, client.network(), now).await.map(drop)
    }

    /// Treats an address as one from which the account has signed in, so that sign-ins of others do
    /// not limit it. For a command on the machine itself: it lets an administrator in during an
    /// attack.
    pub async fn trust_address(&self, name: &str, client: &Client, by: &Author<'_>) -> Result<Change, AccountsError> {
        let mut writing = self.write().await?;
        let row = find(writing.connection(), name).await?.ok_or(AccountsError::NoSuchAccount)?;
        let pair = self.pair(row.number, client.network());
        remember(writing.connection(), row.number, &pair, by.now).await?;
        writing.commit_change(Change::AddressTrusted { account: row.account.actor }, by, self).await
    }

    /// Returns the account for the right password. A name without an account has the same limits
    /// and costs the same hash and the same statements as one with an account.
    async fn verified(
        &self,
        name: &str,
        password: &Password,
        network: Network,
        now: Timestamp,
    ) -> Result<AccountRow, SignInError> {
        // No account has such a name or password, so that an early response reveals nothing.
        if names::check("account name", name).is_err() || password.open().len() > LONGEST {
            return Err(SignInError::Wrong);
        }
        let (row, attempt) = self.attempt(name, network, now).await?;
        self.limiter.admit(&attempt, now).map_err(|retry_after| SignInError::TooMany { retry_after })?;
        let is_right = self.hasher.verify(password, row.as_ref().map(|row| &row.password)).await?;
        match row {
            Some(row) if is_right && !row.account.disabled => {
                self.limiter.succeeded(&attempt);
                Ok(row)
            }
            _ => Err(SignInError::Wrong),
        }
    }

    async fn attempt(
        &self,
        name: &str,
        network: Network,
        now: Timestamp,
    ) -> Result<(Option<AccountRow>, Attempt), AccountsError> {
        let mut connection = self.pool.acquire().await?;
        let row = find(&mut connection, name).await?;
        // SQLite numbers rows from 1.
        let number = row.as_ref().map_or(0, |row| row.number);
        let pair = self.pair(number, network);
        let select = "SELECT EXISTS (SELECT 1 FROM known_addresses WHERE account = ? AND pair = ? AND last_use > ?)";
        let select = sqlx::query_scalar(select).bind(number).bind(&pair[..]).bind(before(now, KNOWN_FOR));
        let attempt = match select.fetch_one(&mut *connection).await? {
            true => Attempt::Known { pair },
            false => Attempt::New { name: self.key.mac("name", &[names::key(name).as_bytes()]), network },
        };
        Ok((row, attempt))
    }

    /// Returns the keyed hash of an account and an address. The addresses themselves are not
    /// stored.
    fn pair(&self, account: i64, network: Network) -> [u8; 32] {
        self.key.mac("known address", &[&account.to_be_bytes(), network.text().as_bytes()])
    }
}

async fn remember(
    connection: &mut SqliteConnection,
    account: i64,
    pair: &[u8; 32],
    now: Timestamp,
) -> Result<(), AccountsError> {
    sqlx::query(
        "INSERT INTO known_addresses (account, pair, last_use) VALUES (?, ?, ?)
         ON CONFLICT (account, pair) DO UPDATE SET last_use = excluded.last_use",
    )
    .bind(account)
    .bind(&pair[..])
    .bind(millis(now))
    .execute(&mut *connection)
    .await?;
    sqlx::query(
        "DELETE FROM known_addresses WHERE account = ?1 AND (last_use <= ?2 OR pair NOT IN
             (SELECT pair FROM known_addresses WHERE account = ?1 ORDER BY last_use DESC LIMIT ?3))",
    )
    .bind(account)
    .bind(before(now, KNOWN_FOR))
    .bind(KNOWN_ADDRESSES)
    .execute(connection)
    .await?;
    Ok(())
}
