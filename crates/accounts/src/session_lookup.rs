//! The look-up of a session at each request, and the rotation of its cookie.
//!
//! A new value is only offered at first: the old one stays valid until a request carries the new
//! one, and for a short grace after it. So a lost response ends no session, and requests that are
//! under way are not refused. A value that someone copied ends with the grace as soon as the
//! browser uses its successor.

use setpoint_core::name::Actor;
use setpoint_core::time::Timestamp;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _};

use crate::columns::{before, groups, millis, optional_timestamp, timestamp};
use crate::errors::AccountsError;
use crate::options::TOUCH;
use crate::randomness::{self, SECRET_LENGTH};
use crate::secrets::{SessionCookie, fingerprint};
use crate::sessions::{Session, SessionId, Via};
use crate::store::Accounts;

/// A session that a request has, with the new value of its cookie if it is time for one. The caller
/// sets the cookie to it.
#[derive(Clone, Debug)]
pub struct LiveSession {
    pub session: Session,
    pub new_cookie: Option<SessionCookie>,
}

/// The values of a session's cookie, as hashes.
struct Cookies {
    present: Vec<u8>,
    present_since: Timestamp,
    next: Option<Vec<u8>>,
    next_since: Option<Timestamp>,
    former: Option<Vec<u8>>,
    former_until: Option<Timestamp>,
}

struct Found {
    session: Session,
    last_use: Timestamp,
    cookies: Cookies,
}

const SELECT: &str = "
    SELECT sessions.*, accounts.groups AS account_groups, accounts.administrator
    FROM sessions LEFT JOIN accounts USING (account)
    WHERE (sessions.account IS NULL OR accounts.disabled = 0) AND last_use > ?2 AND signed_in > ?3 AND ";

const BY_COOKIE: &str = "(cookie = ?1 OR next_cookie = ?1 OR former_cookie = ?1)";
const BY_ID: &str = "session = CAST(?1 AS TEXT)";

impl Accounts {
    /// Returns the session of a request's cookie. Writes the last use, at most once a minute, and
    /// offers a new value of the cookie when it is time.
    pub async fn session(&self, cookie: &str, now: Timestamp) -> Result<Option<LiveSession>, AccountsError> {
        // Before any work: no cookie of ours has another length.
        if cookie.len() != SECRET_LENGTH {
            return Ok(None);
        }
        let hash = fingerprint(cookie);
        let Some(found) = self.find(Key::Cookie(&hash), now).await? else {
            return Ok(None);
        };
        let cookies = &found.cookies;
        let is_former = cookies.former.as_deref() == Some(&hash);
        if is_former && cookies.former_until.is_none_or(|until| now >= until) {
            return Ok(None);
        }
        // The writes below do not decide: with a full disk sessions go on, until their idle end.
        self.touch(&found, now).await.ok();
        let new_cookie = if cookies.next.as_deref() == Some(&hash) {
            self.promote(&found, now).await.ok();
            None
        } else if cookies.present == hash {
            self.offer(&found, now).await.ok().flatten()
        } else {
            None
        };
        Ok(Some(LiveSession { session: found.session, new_cookie }))
    }

    /// Returns a session by its identifier, if it has not ended. For open streams, which check
    /// their right again and again: it counts as no use.
    pub async fn session_by_id(&self, id: &SessionId, now: Timestamp) -> Result<Option<Session>, AccountsError> {
        Ok(self.find(Key::Id(id.as_str()), now).await?.map(|found| found.session))
    }

    async fn find(&self, key: Key<'_>, now: Timestamp) -> Result<Option<Found>, AccountsError> {
        let rules = self.options.sessions;
        let (condition, bytes) = match key {
            Key::Cookie(hash) => (BY_COOKIE, &hash[..]),
            Key::Id(id) => (BY_ID, id.as_bytes()),
        };
        let row = sqlx::query(AssertSqlSafe(format!("{SELECT}{condition}")))
            .bind(bytes)
            .bind(before(now, rules.idle))
            .bind(before(now, rules.absolute))
            .fetch_optional(&self.pool)
            .await?;
        row.map(|row| self.read(&row)).transpose()
    }

    fn read(&self, row: &SqliteRow) -> Result<Found, AccountsError> {
        let id: String = row.try_get("session")?;
        let groups_of = match row.try_get::<Option<&str>, _>("account_groups")? {
            Some(groups_of_account) => groups_of_account,
            None => row.try_get("groups")?,
        };
        let session = Session {
            csrf: self.key.csrf(&id),
            id: SessionId(id),
            actor: Actor::new(row.try_get("actor")?)?,
            name: row.try_get("name")?,
            email: row.try_get("email")?,
            groups: groups(groups_of)?,
            administrator: row.try_get::<Option<bool>, _>("administrator")?.unwrap_or(false),
            signed_in_at: timestamp(row.try_get("signed_in")?)?,
            via: Via::of(row.try_get("provider")?),
        };
        let cookies = Cookies {
            present: row.try_get("cookie")?,
            present_since: timestamp(row.try_get("cookie_since")?)?,
            next: row.try_get("next_cookie")?,
            next_since: optional_timestamp(row.try_get("next_since")?)?,
            former: row.try_get("former_cookie")?,
            former_until: optional_timestamp(row.try_get("former_until")?)?,
        };
        Ok(Found { session, last_use: timestamp(row.try_get("last_use")?)?, cookies })
    }

    async fn touch(&self, found: &Found, now: Timestamp) -> Result<(), AccountsError> {
        if now.since(found.last_use) < TOUCH {
            return Ok(());
        }
        let mut writing = self.write().await?;
        sqlx::query("UPDATE sessions SET last_use = ? WHERE session = ? AND last_use <= ?")
            .bind(millis(now))
            .bind(found.session.id.as_str())
            // Of requests at the same time, one writes.
            .bind(before(now, TOUCH))
            .execute(writing.connection())
            .await?;
        writing.commit().await
    }

    /// Makes the offered value the present one, and ends the one before it after the grace.
    async fn promote(&self, found: &Found, now: Timestamp) -> Result<(), AccountsError> {
        let mut writing = self.write().await?;
        sqlx::query(
            "UPDATE sessions SET former_cookie = cookie, former_until = ?, cookie = next_cookie,
                 cookie_since = next_since, next_cookie = NULL, next_since = NULL
             WHERE session = ? AND next_cookie IS ?",
        )
        .bind(millis(now + self.options.sessions.grace))
        .bind(found.session.id.as_str())
        .bind(found.cookies.next.as_deref())
        .execute(writing.connection())
        .await?;
        writing.commit().await
    }

    /// Offers a new value if the present one is old. An offer that no request used within the grace
    /// was lost, and is replaced.
    async fn offer(&self, found: &Found, now: Timestamp) -> Result<Option<SessionCookie>, AccountsError> {
        let (rules, cookies) = (self.options.sessions, &found.cookies);
        let is_due = match cookies.next_since {
            None => now.since(cookies.present_since) >= rules.rotation,
            Some(offered) => now.since(offered) >= rules.grace,
        };
        if !is_due {
            return Ok(None);
        }
        let cookie = SessionCookie::from(randomness::secret()?);
        let mut writing = self.write().await?;
        let offered = sqlx::query(
            "UPDATE sessions SET next_cookie = ?, next_since = ? WHERE session = ? AND cookie = ? AND next_cookie IS ?",
        )
        .bind(&fingerprint(cookie.open())[..])
        .bind(millis(now))
        .bind(found.session.id.as_str())
        .bind(&cookies.present)
        .bind(cookies.next.as_deref())
        .execute(writing.connection())
        .await?;
        writing.commit().await?;
        // Another request at the same time may have made the offer.
        Ok((offered.rows_affected() == 1).then_some(cookie))
    }
}

/// The value by which a session is found.
enum Key<'a> {
    Cookie(&'a [u8; 32]),
    Id(&'a str),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_look_up_reads_indexes_and_not_the_whole_table() {
        let directory = tempfile::tempdir().unwrap();
        let accounts = Accounts::open(directory.path()).await.unwrap();
        for condition in [BY_COOKIE, BY_ID] {
            let explain = format!("EXPLAIN QUERY PLAN {SELECT}{condition}");
            let plan: Vec<(i64, i64, i64, String)> =
                sqlx::query_as(AssertSqlSafe(explain)).fetch_all(&accounts.pool).await.unwrap();
            assert!(!plan.is_empty() && plan.iter().all(|step| !step.3.starts_with("SCAN")), "{plan:?}");
        }
    }
}
