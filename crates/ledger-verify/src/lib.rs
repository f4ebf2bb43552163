//! Verifies a ledger without sharing code with its writer
