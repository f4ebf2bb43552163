//! The statements of a transaction, collected and sent together to SQLite's thread: the round trip
//! costs more than most statements.
//!
//! Nothing is written before a script is sent, so a refused request withdraws its statements and
//! the database need not undo them.

use sqlx::AssertSqlSafe;
use sqlx::sqlite::{SqliteArguments, SqliteConnection};
use sqlx::{Arguments as _, Executor as _};

/// The most rows of one statement: enough to make the round trip to SQLite's thread negligible.
const MOST_ROWS: usize = 64;
/// The most rows that are sent together, whatever their tables. More rows are sent alone: each new
/// mix of statements must be prepared once, which is cheaper than the round trip only for few rows.
const TOGETHER: usize = 32;

/// Returns how many of the remaining rows go into one statement. Always a power of two: few
/// different statements, so that all stay prepared.
fn next_piece(rows: usize) -> Option<usize> {
    Some(1 << rows.min(MOST_ROWS).checked_ilog2()?)
}

/// A value bound to a statement.
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
    /// The placeholders of one row.
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
    /// Returns the number of rows it counts for.
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

/// Statements in their order of execution.
#[derive(Debug, Default)]
pub(crate) struct Script {
    waiting: Vec<Statement>,
    /// How many were already sent.
    sent: usize,
}

impl Script {
    /// Adds one statement, with a value for each of its question marks.
    pub(crate) fn push<const N: usize>(&mut self, sql: &'static str, values: [Value; N]) {
        let form = Form { before: sql, row: "", after: "" };
        self.waiting.push(Statement { form, rows: 0, values: values.into() });
    }

    /// Adds as many statements as the rows need.
    pub(crate) fn push_rows<const N: usize>(&mut self, form: Form, rows: Vec<[Value; N]>) {
        let mut rows = rows.into_iter();
        while let Some(piece) = next_piece(rows.len()) {
            let values = rows.by_ref().take(piece).flatten().collect();
            self.waiting.push(Statement { form, rows: piece, values });
        }
    }

    /// Returns the end of the script, for [`Script::cut`].
    pub(crate) fn end(&self) -> usize {
        self.sent + self.waiting.len()
    }

    /// Removes the statements added since `end` and not sent.
    pub(crate) fn cut(&mut self, end: usize) {
        self.waiting.truncate(end.saturating_sub(self.sent));
    }

    /// Executes the waiting statements, in order.
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
            // Safe: the text consists of forms only, every value is bound.
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
