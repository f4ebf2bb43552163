//! The statements of a transaction, kept until they can go to SQLite's thread together: the way
//! there and back costs more than most of them do.
//!
//! Nothing is written before a script is sent, so that a request that is refused takes its
//! statements back instead of having them undone.

use sqlx::AssertSqlSafe;
use sqlx::sqlite::{SqliteArguments, SqliteConnection};
use sqlx::{Arguments as _, Executor as _};

/// Rows of one statement: enough that the way to SQLite's thread and back no longer counts.
const MOST_ROWS: usize = 64;
/// Rows that are sent together, whatever their tables. What has more is sent alone: every mix of
/// statements is prepared anew when it is first seen, and only for few rows is that cheaper than
/// the way.
const TOGETHER: usize = 32;

/// How many of the rows that are left go into one statement. Always a power of two: few different
/// statements, so that all stay prepared.
fn next_piece(rows: usize) -> Option<usize> {
    Some(1 << rows.min(MOST_ROWS).checked_ilog2()?)
}

/// What a statement is given.
#[derive(Debug)]
pub(crate) enum Value {
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
    Null,
}

impl From<i64> for Value {
    fn from(integer: i64) -> Self {
        Self::Integer(integer)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A statement, which may take any number of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) before: &'static str,
    /// The place of one row.
    pub(crate) row: &'static str,
    pub(crate) after: &'static str,
}

/// One statement with its values.
#[derive(Debug)]
struct Statement {
    form: Form,
    rows: usize,
    values: Vec<Value>,
}

impl Statement {
    /// How many rows it counts for.
    fn weight(&self) -> usize {
        self.rows.max(1)
    }

    fn write(&self, sql: &mut String) {
        sql.push_str(self.form.before);
        for row in 0..self.rows {
            sql.push_str(if row == 0 { "" } else { ", " });
            sql.push_str(self.form.row);
        }
        sql.push_str(self.form.after);
        sql.push(';');
    }
}

/// Statements in the order in which they are to be carried out.
#[derive(Debug, Default)]
pub(crate) struct Script {
    waiting: Vec<Statement>,
    /// How many were sent already.
    sent: usize,
}

impl Script {
    /// One statement, with a value for each of its question marks.
    pub(crate) fn push<const N: usize>(&mut self, sql: &'static str, values: [Value; N]) {
        let form = Form { before: sql, row: "", after: "" };
        self.waiting.push(Statement { form, rows: 0, values: values.into() });
    }

    /// As many statements as it takes for all rows.
    pub(crate) fn push_rows<const N: usize>(&mut self, form: Form, rows: Vec<[Value; N]>) {
        let mut rows = rows.into_iter();
        while let Some(piece) = next_piece(rows.len()) {
            let values = rows.by_ref().take(piece).flatten().collect();
            self.waiting.push(Statement { form, rows: piece, values });
        }
    }

    /// Where the script ends now, for [`Script::cut`].
    pub(crate) fn end(&self) -> usize {
        self.sent + self.waiting.len()
    }

    /// Takes back what was added since and not sent.
    pub(crate) fn cut(&mut self, end: usize) {
        self.waiting.truncate(end.saturating_sub(self.sent));
    }

    /// Carries out what waits, in order.
    pub(crate) async fn send(&mut self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        self.sent = self.end();
        let mut statements = self.waiting.drain(..).peekable();
        while let Some(first) = statements.next() {
            let mut rows = first.weight();
            let (mut sql, mut arguments) = (String::new(), SqliteArguments::default());
            add(first, &mut sql, &mut arguments);
            while let Some(next) = statements.next_if(|next| rows + next.weight() <= TOGETHER) {
                rows += next.weight();
                add(next, &mut sql, &mut arguments);
            }
            // Safe: made of the forms alone, every value is bound.
            connection.execute(sqlx::query_with(AssertSqlSafe(sql), arguments)).await?;
        }
        Ok(())
    }
}

fn add(statement: Statement, sql: &mut String, arguments: &mut SqliteArguments) {
    statement.write(sql);
    for value in statement.values {
        let added = match value {
            Value::Integer(integer) => arguments.add(integer),
            Value::Text(text) => arguments.add(text),
            Value::Bytes(bytes) => arguments.add(bytes),
            Value::Null => arguments.add(None::<i64>),
        };
        added.expect("integers, text and bytes are what SQLite is made of");
    }
}

#[cfg(test)]
mod tests {
    use sqlx::ConnectOptions as _;
    use sqlx::sqlite::SqliteConnectOptions;

    use super::*;

    #[test]
    fn rows_are_cut_into_powers_of_two() {
        let lengths = |rows: i64| {
            let mut script = Script::default();
            let form = Form { before: "INSERT INTO t VALUES ", row: "(?)", after: "" };
            script.push_rows(form, (0..rows).map(|row| [row.into()]).collect());
            script.waiting.iter().map(|statement| statement.rows).collect::<Vec<_>>()
        };
        assert_eq!(lengths(0), [0_usize; 0]);
        assert_eq!(lengths(100), [64, 32, 4]);
        assert_eq!(lengths(131), [64, 64, 2, 1]);
    }

    #[tokio::test]
    async fn values_reach_their_own_statement_whatever_is_sent_together() {
        let mut connection = SqliteConnectOptions::new().in_memory(true).connect().await.expect("a database");
        let mut script = Script::default();
        script.push("CREATE TABLE t (a INTEGER, b TEXT) STRICT", []);
        let form = Form { before: "INSERT INTO t VALUES ", row: "(?, ?)", after: "" };
        script.push_rows(form, (0..103).map(|row: i64| [row.into(), row.to_string().into()]).collect());
        script.push("DELETE FROM t WHERE a = ?", [7.into()]);
        script.push("UPDATE t SET b = ? WHERE a >= ?", [None::<i64>.into(), 100.into()]);
        script.send(&mut connection).await.expect("it is carried out");
        let rows: Vec<(i64, Option<String>)> =
            sqlx::query_as("SELECT a, b FROM t ORDER BY a").fetch_all(&mut connection).await.expect("rows");
        let expected = (0..103).filter(|row| *row != 7).map(|row| (row, (row < 100).then(|| row.to_string())));
        assert_eq!(rows, expected.collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn what_is_cut_is_not_carried_out_even_if_what_came_before_was_sent() {
        let mut connection = SqliteConnectOptions::new().in_memory(true).connect().await.expect("a database");
        let mut script = Script::default();
        script.push("CREATE TABLE t (a INTEGER) STRICT", []);
        script.push("INSERT INTO t VALUES (?)", [1.into()]);
        let end = script.end();
        script.send(&mut connection).await.expect("it is carried out");
        script.push("DELETE FROM t", []);
        script.cut(end);
        script.push("INSERT INTO t VALUES (?)", [2.into()]);
        script.send(&mut connection).await.expect("it is carried out");
        let sum: i64 = sqlx::query_scalar("SELECT sum(a) FROM t").fetch_one(&mut connection).await.expect("a row");
        assert_eq!(sum, 3);
    }
}
