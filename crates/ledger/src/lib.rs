//! The Ledger trait, records, Merkle log, checkpoints and the in-memory ledger
