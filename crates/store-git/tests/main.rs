//! Tests the Git store against real parts: `git` itself, `git http-backend` behind TLS, the
//! system's `sshd`; and against hostile servers and repositories. `case_NN` are the bad-input cases
//! that every store of this kind has to survive.

mod environment;
mod faults;
mod following;
mod hostile;
mod local;
mod offered;
mod packs;
mod pinned;
mod scene;
mod secrets;
mod ssh;
