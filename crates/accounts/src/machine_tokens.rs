//! Machine tokens: shown once, stored as a hash, with an expiry that cannot be left out.
//!
//! A token is `setpoint_<id>_<secret>_<checksum>`. The prefix lets scanners find a token in a
//! repository; the checksum lets them, and us, recognise a real one without the database.

use setpoint_core::name::Actor;
use setpoint_core::time::{Span, Timestamp};
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use zeroize::Zeroizing;

use crate::change::Change;
use crate::columns::{before, millis, optional_timestamp, timestamp};
use crate::errors::AccountsError;
use crate::journal::Author;
use crate::names;
use crate::options::TOUCH;
use crate::randomness::{self, ID_LENGTH, SECRET_LENGTH};
use crate::secrets::{TokenText, equal, fingerprint};
use crate::store::Accounts;

const PREFIX: &str = "setpoint_";
const CHECKSUM_LENGTH: usize = 8;
const LENGTH: usize = PREFIX.len() + ID_LENGTH + 1 + SECRET_LENGTH + 1 + CHECKSUM_LENGTH;

/// The longest life of a token.
const LONGEST_DAYS: u64 = 366;
const LONGEST: Span = Span::hours(LONGEST_DAYS * 24);

/// The longest text of grants.
const MOST_GRANTS: usize = 65_536;

/// The time for which the list shows a token that was revoked or has expired.
const LISTED_FOR: Span = Span::hours(90 * 24);

/// The values of a token to create.
#[derive(Clone, Debug)]
pub struct NewToken<'a> {
    /// A name that no other valid token has.
    pub name: &'a str,
    /// The rights of the token, in a form that this crate does not read.
    pub grants: String,
    pub expires: Timestamp,
}

/// A machine token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineToken {
    pub id: String,
    pub name: String,
    /// `token:<name>`, as in the ledger.
    pub actor: Actor,
    pub grants: String,
    pub created_by: Actor,
    pub created_at: Timestamp,
    pub expires: Timestamp,
    /// The last use, to the minute.
    pub last_use: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// A token that was created, with its text, which cannot be shown again.
#[derive(Clone, Debug)]
pub struct IssuedToken {
    pub token: MachineToken,
    pub text: TokenText,
    pub change: Change,
}

impl Accounts {
    /// Creates a token. Its text is in the result, and nowhere else.
    pub async fn create_token(&self, new: NewToken<'_>, by: &Author<'_>) -> Result<IssuedToken, AccountsError> {
        let now = by.now;
        names::check("token name", new.name)?;
        if new.expires <= now || new.expires > now + LONGEST {
            return Err(AccountsError::Expiry { limit_days: LONGEST_DAYS });
        }
        if new.grants.len() > MOST_GRANTS {
            return Err(AccountsError::GrantsTooLong { limit: MOST_GRANTS });
        }
        let id = randomness::id()?;
        let text = new_text(&id)?;
        let mut writing = self.write().await?;
        free_name(writing.connection(), new.name, now).await?;
        let token = insert(writing.connection(), &id, &text, &new, by).await?;
        let change = Change::TokenCreated {
            token: token.actor.clone(),
            id,
            grants: new.grants,
            created_by: by.actor.clone(),
            expires: new.expires,
        };
        let change = writing.commit_change(change, by, self).await?;
        Ok(IssuedToken { token, text, change })
    }

    /// Returns the token of a request, if it is valid. Writes the last use, at most once a minute.
    pub async fn token(&self, text: &str, now: Timestamp) -> Result<Option<MachineToken>, AccountsError> {
        let Some(id) = id_of(text) else {
            return Ok(None);
        };
        let Some(row) = self.valid_token(id, now).await? else {
            return Ok(None);
        };
        if !equal(row.try_get("hash")?, &fingerprint(text)) {
            return Ok(None);
        }
        let token = read(&row)?;
        if token.last_use.is_none_or(|last| now.since(last) >= TOUCH) {
            // This write does not decide: with a full disk tokens go on.
            self.touch_token(id, now).await.ok();
        }
        Ok(Some(token))
    }

    /// Returns a token by its identifier, if it is valid. For open streams, which check their right
    /// again and again: it counts as no use.
    pub async fn token_by_id(&self, id: &str, now: Timestamp) -> Result<Option<MachineToken>, AccountsError> {
        self.valid_token(id, now).await?.map(|row| read(&row)).transpose()
    }

    /// Revokes a token. Returns nothing if there is no such token, or if it was revoked before.
    pub async fn revoke_token(&self, id: &str, by: &Author<'_>) -> Result<Option<Change>, AccountsError> {
        let mut writing = self.write().await?;
        let row = sqlx::query("UPDATE tokens SET revoked = ? WHERE token = ? AND revoked IS NULL RETURNING *")
            .bind(millis(by.now))
            .bind(id)
            .fetch_optional(writing.connection())
            .await?;
        let Some(token) = row.map(|row| read(&row)).transpose()? else { return Ok(None) };
        let change = Change::TokenRevoked { token: token.actor, id: token.id };
        writing.commit_change(change, by, self).await.map(Some)
    }

    /// Returns the tokens by name, with those that were revoked or expired in the last 90 days.
    pub async fn tokens(&self, now: Timestamp) -> Result<Vec<MachineToken>, AccountsError> {
        let select = "SELECT * FROM tokens WHERE coalesce(min(revoked, expires), expires) > ? ORDER BY key, token";
        let rows = sqlx::query(select).bind(before(now, LISTED_FOR)).fetch_all(&self.pool).await?;
        rows.iter().map(read).collect()
    }

    async fn valid_token(&self, id: &str, now: Timestamp) -> Result<Option<SqliteRow>, AccountsError> {
        let select = "SELECT * FROM tokens WHERE token = ? AND revoked IS NULL AND expires > ?";
        Ok(sqlx::query(select).bind(id).bind(millis(now)).fetch_optional(&self.pool).await?)
    }

    async fn touch_token(&self, id: &str, now: Timestamp) -> Result<(), AccountsError> {
        let mut writing = self.write().await?;
        sqlx::query("UPDATE tokens SET last_use = ? WHERE token = ? AND coalesce(last_use, 0) <= ?")
            .bind(millis(now))
            .bind(id)
            // Of requests at the same time, one writes.
            .bind(before(now, TOUCH))
            .execute(writing.connection())
            .await?;
        writing.commit().await
    }
}

/// Checks that no valid token has a name, and removes tokens that ended long ago.
async fn free_name(connection: &mut SqliteConnection, name: &str, now: Timestamp) -> Result<(), AccountsError> {
    let taken = "SELECT EXISTS (SELECT 1 FROM tokens WHERE key = ? AND revoked IS NULL AND expires > ?)";
    let taken = sqlx::query_scalar(taken).bind(names::key(name)).bind(millis(now));
    if taken.fetch_one(&mut *connection).await? {
        return Err(AccountsError::NameTaken { name: name.to_owned() });
    }
    sqlx::query("DELETE FROM tokens WHERE revoked <= ?1 OR expires <= ?1")
        .bind(before(now, LISTED_FOR))
        .execute(connection)
        .await?;
    Ok(())
}

async fn insert(
    connection: &mut SqliteConnection,
    id: &str,
    text: &TokenText,
    new: &NewToken<'_>,
    by: &Author<'_>,
) -> Result<MachineToken, AccountsError> {
    let insert = "INSERT INTO tokens (token, hash, name, key, grants, created_by, created, expires)
                  VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING *";
    let row = sqlx::query(insert)
        .bind(id)
        .bind(&fingerprint(text.open())[..])
        .bind(new.name)
        .bind(names::key(new.name))
        .bind(&new.grants)
        .bind(by.actor.as_str())
        .bind(millis(by.now))
        .bind(millis(new.expires))
        .fetch_one(connection)
        .await?;
    read(&row)
}

fn new_text(id: &str) -> Result<TokenText, AccountsError> {
    let secret = randomness::secret()?;
    // With room for the whole text: a text that grows leaves a copy of its beginning in memory.
    let mut text = Zeroizing::new(String::with_capacity(LENGTH));
    for part in [PREFIX, id, "_", &secret] {
        text.push_str(part);
    }
    let checksum = checksum(&text);
    text.push('_');
    text.push_str(&checksum);
    Ok(text.into())
}

/// Returns the identifier in a token's text. Anything without the form and the checksum of a token
/// is refused here, before the database is read.
fn id_of(text: &str) -> Option<&str> {
    if text.len() != LENGTH || !text.is_ascii() || !text.starts_with(PREFIX) {
        return None;
    }
    let (start, sum) = text.split_at(LENGTH - CHECKSUM_LENGTH);
    let covered = start.strip_suffix('_')?;
    let (id, rest) = covered[PREFIX.len()..].split_at(ID_LENGTH);
    (rest.starts_with('_') && equal(sum.as_bytes(), checksum(covered).as_bytes())).then_some(id)
}

/// Returns the first 32 bits of the SHA-256 of a text, in hex.
fn checksum(text: &str) -> String {
    data_encoding::HEXLOWER.encode(&fingerprint(text)[..CHECKSUM_LENGTH / 2])
}

fn read(row: &SqliteRow) -> Result<MachineToken, AccountsError> {
    let name: String = row.try_get("name")?;
    Ok(MachineToken {
        id: row.try_get("token")?,
        actor: names::token_actor(&name)?,
        name,
        grants: row.try_get("grants")?,
        created_by: Actor::new(row.try_get("created_by")?)?,
        created_at: timestamp(row.try_get("created")?)?,
        expires: timestamp(row.try_get("expires")?)?,
        last_use: optional_timestamp(row.try_get("last_use")?)?,
        revoked_at: optional_timestamp(row.try_get("revoked")?)?,
    })
}
