//! The ledger in SQLite
