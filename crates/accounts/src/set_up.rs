//! The first account. There is no default password: a one-time link, printed at the start, creates
//! the administrator.

use setpoint_core::time::{Span, Timestamp};
use sqlx::sqlite::SqliteConnection;

use crate::change::{Change, Changed};
use crate::columns::millis;
use crate::errors::{AccountsError, SetUpError};
use crate::journal::Author;
use crate::local_accounts::{Account, NewAccount, check, insert};
use crate::randomness::{self, SECRET_LENGTH};
use crate::secrets::{Password, SetupToken, equal, fingerprint};
use crate::store::Accounts;

/// The time in which a set-up link is valid.
const VALIDITY: Span = Span::hours(1);

impl Accounts {
    /// Reports whether there is an account, so that set-up links are not valid any more.
    pub async fn is_set_up(&self) -> Result<bool, AccountsError> {
        has_accounts(&mut *self.pool.acquire().await?).await
    }

    /// Creates the token of a set-up link, if there is no account yet. It replaces an earlier one.
    pub async fn setup_link(&self, now: Timestamp) -> Result<Option<SetupToken>, AccountsError> {
        let token = SetupToken::from(randomness::secret()?);
        let mut writing = self.write().await?;
        if has_accounts(writing.connection()).await? {
            return Ok(None);
        }
        sqlx::query("INSERT OR REPLACE INTO set_up (one, hash, expires) VALUES (1, ?, ?)")
            .bind(&fingerprint(token.open())[..])
            .bind(millis(now + VALIDITY))
            .execute(writing.connection())
            .await?;
        writing.commit().await?;
        Ok(Some(token))
    }

    /// Creates the first account, an administrator, and uses up the token. A name or a password
    /// that is refused leaves the token valid.
    pub async fn set_up(
        &self,
        token: &str,
        name: &str,
        password: &Password,
        now: Timestamp,
    ) -> Result<Changed<Account>, SetUpError> {
        // Before the hash: only the holder of the link makes the server work.
        if !is_valid(&mut *self.pool.acquire().await?, token, now).await? {
            return Err(SetUpError::InvalidLink);
        }
        let new = NewAccount { name, password, groups: Vec::new(), administrator: true };
        check(&new)?;
        let hash = self.hasher.hash(password).await?;
        let mut writing = self.write().await?;
        // Again: in the meantime another request may have used or replaced the token.
        if !is_valid(writing.connection(), token, now).await? {
            return Err(SetUpError::InvalidLink);
        }
        let account = insert(writing.connection(), &new, &hash, now).await?;
        sqlx::query("DELETE FROM set_up").execute(writing.connection()).await?;
        let change = Change::AccountCreated {
            account: account.actor.clone(),
            administrator: true,
            groups: Vec::new(),
            by_setup_link: true,
        };
        let by = Author { actor: &account.actor, via: "set-up link", reason: "", now };
        let change = writing.commit_change(change, &by, self).await?;
        Ok(Changed { value: account, change })
    }
}

async fn has_accounts(connection: &mut SqliteConnection) -> Result<bool, AccountsError> {
    Ok(sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM accounts)").fetch_one(connection).await?)
}

async fn is_valid(connection: &mut SqliteConnection, token: &str, now: Timestamp) -> Result<bool, AccountsError> {
    if token.len() != SECRET_LENGTH || has_accounts(connection).await? {
        return Ok(false);
    }
    let stored = "SELECT hash FROM set_up WHERE expires > ?";
    let stored: Option<Vec<u8>> = sqlx::query_scalar(stored).bind(millis(now)).fetch_optional(connection).await?;
    Ok(stored.is_some_and(|hash| equal(&hash, &fingerprint(token))))
}
