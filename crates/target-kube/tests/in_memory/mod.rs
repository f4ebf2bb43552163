//! What the target sends, and what it makes of the answers, with an API server in memory: fast, and
//! to the exact request.

mod identity;
mod installations;
mod preconditions;
mod reading;
mod scene;
mod settling;
mod streams;
