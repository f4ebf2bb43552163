//! Sessions: how they begin, end, and are listed.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use setpoint_core::name::Actor;
use setpoint_core::time::Timestamp;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{QueryBuilder, Row as _};

use crate::change::Change;
use crate::client::Client;
use crate::columns::{before, groups_text, millis, timestamp};
use crate::errors::AccountsError;
use crate::journal::Author;
use crate::local_accounts::AccountRow;
use crate::names;
use crate::randomness;
use crate::secrets::{CsrfToken, SessionCookie, fingerprint};
use crate::sign_in::NewSession;
use crate::store::Accounts;

/// The identifier of a session. It is not secret, and opens nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub(crate) String);

impl SessionId {
    /// Builds an identifier from a text, for example of a form. A text of another length than ours
    /// becomes empty, and belongs to no session.
    pub fn new(text: &str) -> Self {
        let text = if text.len() == randomness::ID_LENGTH { text } else { "" };
        Self(text.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The way in which a person signed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    Password,
    /// An OIDC provider, by its name in the configuration.
    Provider(String),
}

impl Via {
    pub(crate) fn of(provider: Option<String>) -> Self {
        provider.map_or(Self::Password, Self::Provider)
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Password => f.write_str("password"),
            Self::Provider(name) => write!(f, "provider {name}"),
        }
    }
}

/// A session that has not ended, with the account as it is now.
#[derive(Clone, Debug)]
pub struct Session {
    pub id: SessionId,
    /// `account:<name>` or `oidc:<provider>/<subject>`.
    pub actor: Actor,
    /// The name to show.
    pub name: String,
    pub email: Option<String>,
    pub groups: Vec<String>,
    /// The session of a local administrator. People of a provider never have it.
    pub administrator: bool,
    pub signed_in_at: Timestamp,
    pub via: Via,
    pub csrf: CsrfToken,
}

impl Session {
    /// Reports in constant time whether a request carried the CSRF token of this session.
    pub fn accepts(&self, csrf: &str) -> bool {
        self.csrf.accepts(csrf)
    }
}

/// A person of an OIDC provider, from a token that the caller has verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub provider: String,
    pub subject: String,
    pub name: String,
    pub email: Option<String>,
    pub groups: Vec<String>,
}

/// An entry of the list of open sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenSession {
    pub id: SessionId,
    pub actor: Actor,
    pub name: String,
    pub via: Via,
    pub signed_in_at: Timestamp,
    /// The last request, to the minute.
    pub last_use: Timestamp,
    /// The address of the sign-in.
    pub address: IpAddr,
    pub agent: String,
}

/// The sessions that one person has at most. A further one ends the one that was not used for
/// longest.
const MOST_PER_ACTOR: i64 = 50;

/// The holder of a session to begin.
struct Holder<'a> {
    actor: &'a Actor,
    account: Option<i64>,
    provider: Option<&'a str>,
    name: &'a str,
    email: Option<&'a str>,
    groups: &'a [String],
    administrator: bool,
}

pub(crate) async fn begin_local(
    accounts: &Accounts,
    connection: &mut SqliteConnection,
    row: &AccountRow,
    client: &Client,
    now: Timestamp,
) -> Result<NewSession, AccountsError> {
    sqlx::query("UPDATE accounts SET last_sign_in = ? WHERE account = ?")
        .bind(millis(now))
        .bind(row.number)
        .execute(&mut *connection)
        .await?;
    let holder = Holder {
        actor: &row.account.actor,
        account: Some(row.number),
        provider: None,
        name: &row.account.name,
        email: None,
        groups: &row.account.groups,
        administrator: row.account.administrator,
    };
    begin(accounts, connection, &holder, client, now).await
}

async fn begin(
    accounts: &Accounts,
    connection: &mut SqliteConnection,
    holder: &Holder<'_>,
    client: &Client,
    now: Timestamp,
) -> Result<NewSession, AccountsError> {
    let (id, cookie) = (randomness::id()?, SessionCookie::from(randomness::secret()?));
    insert(connection, &id, &cookie, holder, client, now).await?;
    remove_ended(accounts, connection, holder.actor, now).await?;
    let via = Via::of(holder.provider.map(str::to_owned));
    let session = Session {
        csrf: accounts.key.csrf(&id),
        id: SessionId(id),
        actor: holder.actor.clone(),
        name: holder.name.to_owned(),
        email: holder.email.map(str::to_owned),
        groups: holder.groups.to_vec(),
        administrator: holder.administrator,
        signed_in_at: now,
        via: via.clone(),
    };
    let change = Change::SignedIn {
        actor: session.actor.clone(),
        name: session.name.clone(),
        session: session.id.clone(),
        via,
        administrator: session.administrator,
        address: client.address().to_string(),
    };
    Ok(NewSession { session, cookie, change })
}

async fn insert(
    connection: &mut SqliteConnection,
    id: &str,
    cookie: &SessionCookie,
    holder: &Holder<'_>,
    client: &Client,
    now: Timestamp,
) -> Result<(), AccountsError> {
    sqlx::query(
        "INSERT INTO sessions (session, actor, account, provider, name, email, groups, signed_in, last_use, address,
             agent, cookie, cookie_since) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(id)
    .bind(holder.actor.as_str())
    .bind(holder.account)
    .bind(holder.provider)
    .bind(holder.name)
    .bind(holder.email)
    // The groups of a local account are read from the account at each look-up.
    .bind(groups_text(if holder.account.is_some() { &[] } else { holder.groups }))
    .bind(millis(now))
    .bind(millis(now))
    .bind(client.address().to_string())
    .bind(client.agent())
    .bind(&fingerprint(cookie.open())[..])
    .bind(millis(now))
    .execute(connection)
    .await?;
    Ok(())
}

/// Removes the rows of ended sessions, and the oldest sessions of a person who has too many.
async fn remove_ended(
    accounts: &Accounts,
    connection: &mut SqliteConnection,
    actor: &Actor,
    now: Timestamp,
) -> Result<(), AccountsError> {
    let rules = accounts.options.sessions;
    sqlx::query("DELETE FROM sessions WHERE last_use <= ? OR signed_in <= ?")
        .bind(before(now, rules.idle))
        .bind(before(now, rules.absolute))
        .execute(&mut *connection)
        .await?;
    sqlx::query(
        "DELETE FROM sessions WHERE actor = ?1 AND session NOT IN
             (SELECT session FROM sessions WHERE actor = ?1 ORDER BY last_use DESC, signed_in DESC LIMIT ?2)",
    )
    .bind(actor.as_str())
    .bind(MOST_PER_ACTOR)
    .execute(connection)
    .await?;
    Ok(())
}

impl Accounts {
    /// Begins a session for a person of an OIDC provider. The groups are those of the sign-in until
    /// the session ends.
    pub async fn begin_session(
        &self,
        identity: &Identity,
        client: &Client,
        now: Timestamp,
    ) -> Result<NewSession, AccountsError> {
        names::check_provider(&identity.provider)?;
        names::check_text("display name", &identity.name)?;
        identity.email.as_deref().map_or(Ok(()), |email| names::check_text("email address", email))?;
        names::check_groups(&identity.groups)?;
        let actor = names::provider_actor(&identity.provider, &identity.subject)?;
        let holder = Holder {
            actor: &actor,
            account: None,
            provider: Some(&identity.provider),
            name: &identity.name,
            email: identity.email.as_deref(),
            groups: &identity.groups,
            administrator: false,
        };
        let mut writing = self.write().await?;
        let begun = begin(self, writing.connection(), &holder, client, now).await?;
        begun.committed(writing, self, now).await
    }

    /// Ends a session. Returns nothing if it has ended before.
    pub async fn end_session(&self, id: &SessionId, by: &Author<'_>) -> Result<Option<Change>, AccountsError> {
        let mut writing = self.write().await?;
        let actor: Option<String> = sqlx::query_scalar("DELETE FROM sessions WHERE session = ? RETURNING actor")
            .bind(id.as_str())
            .fetch_optional(writing.connection())
            .await?;
        let Some(actor) = actor else { return Ok(None) };
        let change = Change::SessionEnded { actor: Actor::new(&actor)?, session: id.clone() };
        writing.commit_change(change, by, self).await.map(Some)
    }

    /// Ends all sessions of a person, local or of a provider.
    pub async fn end_sessions_of(&self, actor: &Actor, by: &Author<'_>) -> Result<Change, AccountsError> {
        let mut writing = self.write().await?;
        let ended = sqlx::query("DELETE FROM sessions WHERE actor = ?")
            .bind(actor.as_str())
            .execute(writing.connection())
            .await?;
        let change = Change::SessionsEnded { actor: actor.clone(), sessions_ended: ended.rows_affected() };
        writing.commit_change(change, by, self).await
    }

    /// Returns the open sessions, of one person or of all, the latest used first.
    pub async fn open_sessions(&self, of: Option<&Actor>, now: Timestamp) -> Result<Vec<OpenSession>, AccountsError> {
        let rules = self.options.sessions;
        let mut query = QueryBuilder::new(
            "SELECT sessions.* FROM sessions LEFT JOIN accounts USING (account)
             WHERE (sessions.account IS NULL OR accounts.disabled = 0) AND last_use > ",
        );
        query.push_bind(before(now, rules.idle)).push(" AND signed_in > ").push_bind(before(now, rules.absolute));
        if let Some(actor) = of {
            query.push(" AND actor = ").push_bind(actor.as_str().to_owned());
        }
        query.push(" ORDER BY last_use DESC, session");
        query.build().fetch_all(&self.pool).await?.iter().map(open_session).collect()
    }
}

fn open_session(row: &SqliteRow) -> Result<OpenSession, AccountsError> {
    let address: String = row.try_get("address")?;
    Ok(OpenSession {
        id: SessionId(row.try_get("session")?),
        actor: Actor::new(row.try_get("actor")?)?,
        name: row.try_get("name")?,
        via: Via::of(row.try_get("provider")?),
        signed_in_at: timestamp(row.try_get("signed_in")?)?,
        last_use: timestamp(row.try_get("last_use")?)?,
        address: address.parse().map_err(|_| AccountsError::damaged("address"))?,
        agent: row.try_get("agent")?,
    })
}
