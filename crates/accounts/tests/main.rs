//! The integration tests of accounts, sessions and machine tokens, in one binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene fails at that line")]

mod brute_force;
mod journal;
mod local_accounts;
mod machine_tokens;
mod no_secrets;
mod people_of_providers;
mod scene;
mod sessions;
mod set_up;
mod sign_in;
mod storage;
