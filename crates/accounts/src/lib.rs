//! Local accounts, sessions, machine tokens, first set-up and sign-in limits of the server, in
//! SQLite.
//!
//! The crate has no HTTP, no clock and no cache: every call brings its time, and every look-up
//! reads the database, so that a right that was removed is gone at the next request. It does not
//! decide who may call which function: the caller checks that. Every change is in the journal until
//! the caller has recorded it in the ledger.
//!
//! Reading order: `secrets` (texts that cannot be printed), `options`, `database` (the file and its
//! tables), `store` (the handle), `hashing` and `password_policy`, `set_up`, `local_accounts`,
//! `limits` and `sign_in`, `sessions` and `session_lookup`, `machine_tokens`, `change`, `journal`.

#![forbid(unsafe_code)]

mod change;
mod client;
mod columns;
mod database;
mod errors;
mod hashing;
mod journal;
mod limits;
mod local_accounts;
mod machine_tokens;
mod names;
mod options;
mod password_policy;
mod randomness;
mod secrets;
mod session_lookup;
mod sessions;
mod set_up;
mod sign_in;
mod store;

pub use change::{Change, Changed};
pub use client::Client;
pub use errors::{AccountsError, OpenError, PasswordError, SetUpError, SignInError};
pub use hashing::HashingCost;
pub use journal::{Author, JournalEntry};
pub use limits::{Limits, Rate};
pub use local_accounts::{Account, NewAccount};
pub use machine_tokens::{IssuedToken, MachineToken, NewToken};
pub use options::{Options, SessionRules};
pub use secrets::{CsrfToken, Password, SessionCookie, SetupToken, TokenText};
pub use session_lookup::LiveSession;
pub use sessions::{Identity, OpenSession, Session, SessionId, Via};
pub use sign_in::NewSession;
pub use store::Accounts;
