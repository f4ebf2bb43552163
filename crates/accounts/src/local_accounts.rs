//! Local accounts: created, changed, disabled and deleted by administrators. The caller checks that
//! the author of a request may do so.

use setpoint_core::name::Actor;
use setpoint_core::time::Timestamp;
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::change::{Change, Changed};
use crate::columns::{array, groups, groups_text, millis, optional_timestamp, timestamp};
use crate::errors::AccountsError;
use crate::hashing::{HashingCost, PasswordHash};
use crate::journal::Author;
use crate::names;
use crate::password_policy;
use crate::secrets::Password;
use crate::sessions::SessionId;
use crate::store::Accounts;

/// A local account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    /// `account:<name>`, as in the ledger and in rules of access.
    pub actor: Actor,
    pub groups: Vec<String>,
    /// The account has all rights, whatever the documents of access contain.
    pub administrator: bool,
    pub disabled: bool,
    pub created_at: Timestamp,
    pub password_set_at: Timestamp,
    pub last_sign_in: Option<Timestamp>,
}

/// The values of an account to create.
#[derive(Clone, Debug)]
pub struct NewAccount<'a> {
    pub name: &'a str,
    pub password: &'a Password,
    pub groups: Vec<String>,
    pub administrator: bool,
}

/// An account as the database has it.
#[derive(Clone, Debug)]
pub(crate) struct AccountRow {
    pub(crate) number: i64,
    pub(crate) account: Account,
    pub(crate) password: PasswordHash,
}

impl AccountRow {
    fn read(row: &SqliteRow) -> Result<Self, AccountsError> {
        let name: String = row.try_get("name")?;
        let actor = names::account_actor(&name)?;
        let cost = |what| row.try_get::<u32, _>(what);
        let account = Account {
            name,
            actor,
            groups: groups(row.try_get("groups")?)?,
            administrator: row.try_get("administrator")?,
            disabled: row.try_get("disabled")?,
            created_at: timestamp(row.try_get("created")?)?,
            password_set_at: timestamp(row.try_get("password_set")?)?,
            last_sign_in: optional_timestamp(row.try_get("last_sign_in")?)?,
        };
        let password = PasswordHash {
            cost: HashingCost { memory_kib: cost("memory_kib")?, passes: cost("passes")? },
            salt: array(row.try_get("salt")?, "salt")?,
            hash: array(row.try_get("hash")?, "password hash")?,
        };
        Ok(Self { number: row.try_get("account")?, account, password })
    }
}

/// Returns the account of a name, in any case of its letters.
pub(crate) async fn find(connection: &mut SqliteConnection, name: &str) -> Result<Option<AccountRow>, AccountsError> {
    let select = sqlx::query("SELECT * FROM accounts WHERE key = ?").bind(names::key(name));
    select.fetch_optional(connection).await?.map(|row| AccountRow::read(&row)).transpose()
}

/// Inserts an account, if its name is free.
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    new: &NewAccount<'_>,
    password: &PasswordHash,
    now: Timestamp,
) -> Result<Account, AccountsError> {
    let inserted = sqlx::query(
        "INSERT INTO accounts
             (name, key, administrator, groups, created, password_set, salt, hash, memory_kib, passes)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
    )
    .bind(new.name)
    .bind(names::key(new.name))
    .bind(new.administrator)
    .bind(groups_text(&new.groups))
    .bind(millis(now))
    .bind(millis(now))
    .bind(&password.salt[..])
    .bind(&password.hash[..])
    .bind(password.cost.memory_kib)
    .bind(password.cost.passes)
    .execute(&mut *connection)
    .await?;
    if inserted.rows_affected() == 0 {
        return Err(AccountsError::NameTaken { name: new.name.to_owned() });
    }
    let row = find(connection, new.name).await?.ok_or(AccountsError::damaged("account"))?;
    Ok(row.account)
}

/// Checks all values of a new account before any work is done for it.
pub(crate) fn check(new: &NewAccount<'_>) -> Result<(), AccountsError> {
    names::check("account name", new.name)?;
    names::check_groups(&new.groups)?;
    Ok(password_policy::check(new.password, new.name)?)
}

impl Accounts {
    /// Creates an account. Its name must be free, also for names in other case.
    pub async fn create_account(
        &self,
        new: NewAccount<'_>,
        by: &Author<'_>,
    ) -> Result<Changed<Account>, AccountsError> {
        check(&new)?;
        let password = self.hasher.hash(new.password).await?;
        let mut writing = self.write().await?;
        let account = insert(writing.connection(), &new, &password, by.now).await?;
        let change = Change::AccountCreated {
            account: account.actor.clone(),
            administrator: account.administrator,
            groups: account.groups.clone(),
            by_setup_link: false,
        };
        let change = writing.commit_change(change, by, self).await?;
        Ok(Changed { value: account, change })
    }

    /// Returns all accounts, by name.
    pub async fn accounts(&self) -> Result<Vec<Account>, AccountsError> {
        let rows = sqlx::query("SELECT * FROM accounts ORDER BY key").fetch_all(&self.pool).await?;
        rows.iter().map(|row| AccountRow::read(row).map(|row| row.account)).collect()
    }

    /// Returns the account of a name, in any case of its letters.
    pub async fn account(&self, name: &str) -> Result<Option<Account>, AccountsError> {
        let mut connection = self.pool.acquire().await?;
        Ok(find(&mut connection, name).await?.map(|row| row.account))
    }

    /// Sets a password, and ends the sessions of the account except one: that of the owner who
    /// changes the password.
    pub async fn set_password(
        &self,
        name: &str,
        password: &Password,
        except: Option<&SessionId>,
        by: &Author<'_>,
    ) -> Result<Change, AccountsError> {
        // Before the hash: a name without an account costs nothing.
        let row = find(&mut *self.pool.acquire().await?, name).await?.ok_or(AccountsError::NoSuchAccount)?;
        password_policy::check(password, &row.account.name)?;
        let hash = self.hasher.hash(password).await?;
        let mut writing = self.write().await?;
        let set = store_password(writing.connection(), row.number, &hash, by.now).await?;
        if set == 0 {
            return Err(AccountsError::NoSuchAccount);
        }
        let sessions_ended = end_sessions(writing.connection(), row.number, except).await?;
        writing.commit_change(Change::PasswordSet { account: row.account.actor, sessions_ended }, by, self).await
    }

    /// Sets the groups of an account. Its sessions have them from the next request on.
    pub async fn set_groups(&self, name: &str, groups: Vec<String>, by: &Author<'_>) -> Result<Change, AccountsError> {
        names::check_groups(&groups)?;
        let mut writing = self.write().await?;
        let row = find(writing.connection(), name).await?.ok_or(AccountsError::NoSuchAccount)?;
        sqlx::query("UPDATE accounts SET groups = ? WHERE account = ?")
            .bind(groups_text(&groups))
            .bind(row.number)
            .execute(writing.connection())
            .await?;
        writing.commit_change(Change::GroupsSet { account: row.account.actor, groups }, by, self).await
    }

    /// Makes an account an administrator, or an ordinary one. The last administrator stays.
    pub async fn set_administrator(
        &self,
        name: &str,
        administrator: bool,
        by: &Author<'_>,
    ) -> Result<Change, AccountsError> {
        let mut writing = self.write().await?;
        let row = find(writing.connection(), name).await?.ok_or(AccountsError::NoSuchAccount)?;
        if !administrator {
            keep_an_administrator(writing.connection(), &row).await?;
        }
        sqlx::query("UPDATE accounts SET administrator = ? WHERE account = ?")
            .bind(administrator)
            .bind(row.number)
            .execute(writing.connection())
            .await?;
        writing.commit_change(Change::AdministratorSet { account: row.account.actor, administrator }, by, self).await
    }

    /// Disables an account and ends its sessions. The last administrator stays.
    pub async fn disable_account(&self, name: &str, by: &Author<'_>) -> Result<Change, AccountsError> {
        let mut writing = self.write().await?;
        let row = find(writing.connection(), name).await?.ok_or(AccountsError::NoSuchAccount)?;
        keep_an_administrator(writing.connection(), &row).await?;
        sqlx::query("UPDATE accounts SET disabled = 1 WHERE account = ?")
            .bind(row.number)
            .execute(writing.connection())
            .await?;
        let sessions_ended = end_sessions(writing.connection(), row.number, None).await?;
        writing.commit_change(Change::AccountDisabled { account: row.account.actor, sessions_ended }, by, self).await
    }

    /// Enables an account again. Its sessions stay ended.
    pub async fn enable_account(&self, name: &str, by: &Author<'_>) -> Result<Change, AccountsError> {
        let mut writing = self.write().await?;
        let row = find(writing.connection(), name).await?.ok_or(AccountsError::NoSuchAccount)?;
        sqlx::query("UPDATE accounts SET disabled = 0 WHERE account = ?")
            .bind(row.number)
            .execute(writing.connection())
            .await?;
        writing.commit_change(Change::AccountEnabled { account: row.account.actor }, by, self).await
    }

    /// Deletes an account with its sessions and known addresses. The last administrator stays. The
    /// tokens that it created stay too: they belong to machines.
    pub async fn delete_account(&self, name: &str, by: &Author<'_>) -> Result<Change, AccountsError> {
        let mut writing = self.write().await?;
        let row = find(writing.connection(), name).await?.ok_or(AccountsError::NoSuchAccount)?;
        keep_an_administrator(writing.connection(), &row).await?;
        let sessions_ended = end_sessions(writing.connection(), row.number, None).await?;
        sqlx::query("DELETE FROM accounts WHERE account = ?").bind(row.number).execute(writing.connection()).await?;
        writing.commit_change(Change::AccountDeleted { account: row.account.actor, sessions_ended }, by, self).await
    }
}

/// Stores a password hash, and returns the number of accounts that have it now: one or none.
pub(crate) async fn store_password(
    connection: &mut SqliteConnection,
    account: i64,
    password: &PasswordHash,
    now: Timestamp,
) -> Result<u64, AccountsError> {
    let stored = sqlx::query(
        "UPDATE accounts SET salt = ?, hash = ?, memory_kib = ?, passes = ?, password_set = ? WHERE account = ?",
    )
    .bind(&password.salt[..])
    .bind(&password.hash[..])
    .bind(password.cost.memory_kib)
    .bind(password.cost.passes)
    .bind(millis(now))
    .bind(account)
    .execute(connection)
    .await?;
    Ok(stored.rows_affected())
}

async fn end_sessions(
    connection: &mut SqliteConnection,
    account: i64,
    except: Option<&SessionId>,
) -> Result<u64, AccountsError> {
    let ended = sqlx::query("DELETE FROM sessions WHERE account = ? AND session IS NOT ?")
        .bind(account)
        .bind(except.map(SessionId::as_str))
        .execute(connection)
        .await?;
    Ok(ended.rows_affected())
}

/// Refuses a change after which no administrator could sign in: only someone with access to the
/// machine could correct it.
async fn keep_an_administrator(connection: &mut SqliteConnection, row: &AccountRow) -> Result<(), AccountsError> {
    if !row.account.administrator || row.account.disabled {
        return Ok(());
    }
    let others = "SELECT count(*) FROM accounts WHERE administrator = 1 AND disabled = 0 AND account <> ?";
    let others: i64 = sqlx::query_scalar(others).bind(row.number).fetch_one(connection).await?;
    if others == 0 {
        return Err(AccountsError::LastAdministrator { name: row.account.name.clone() });
    }
    Ok(())
}
