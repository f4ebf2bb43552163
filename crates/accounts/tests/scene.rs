//! A store in a temporary directory, with cheap hashes and an administrator.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::LazyLock;

use setpoint_accounts::{
    Account, Accounts, Author, Client, HashingCost, LiveSession, NewAccount, NewSession, Options, Password, SignInError,
};
use setpoint_core::name::Actor;
use setpoint_core::time::{Span, Timestamp};
use tempfile::TempDir;

pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// The password of every account of the tests, which no output may contain.
pub(crate) const PASSWORD: &str = "canary-of-a-password";

pub(crate) struct Scene {
    pub(crate) directory: TempDir,
    pub(crate) accounts: Accounts,
}

/// The options of production, with hashes that cost little.
pub(crate) fn options() -> Options {
    Options { hashing: HashingCost { memory_kib: 8, passes: 1 }, ..Options::default() }
}

impl Scene {
    /// A store without an account.
    pub(crate) async fn empty() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let accounts = Accounts::open_with(directory.path(), options()).await.unwrap();
        Self { directory, accounts }
    }

    /// A store with the administrator `root`.
    pub(crate) async fn new() -> Self {
        let scene = Self::empty().await;
        let token = scene.accounts.setup_link(NOW).await.unwrap().unwrap();
        scene.accounts.set_up(token.open(), "root", &password(), NOW).await.unwrap();
        scene
    }

    pub(crate) async fn restarted(self) -> Self {
        self.accounts.close().await;
        let accounts = Accounts::open_with(self.directory.path(), options()).await.unwrap();
        Self { directory: self.directory, accounts }
    }

    pub(crate) async fn create(&self, name: &str) -> Account {
        let password = password();
        let new = NewAccount { name, password: &password, groups: vec!["dev".to_owned()], administrator: false };
        self.accounts.create_account(new, &by()).await.unwrap().value
    }

    pub(crate) async fn sign_in(&self, name: &str, from: u32, now: Timestamp) -> Result<NewSession, SignInError> {
        self.accounts.sign_in(name, &password(), &client(from), now).await
    }

    /// Attempts a sign-in with a wrong password.
    pub(crate) async fn guess(&self, name: &str, from: u32, now: Timestamp) -> SignInError {
        let wrong = Password::new("not-the-password".to_owned());
        self.accounts.sign_in(name, &wrong, &client(from), now).await.unwrap_err()
    }

    pub(crate) async fn session(&self, cookie: &str, now: Timestamp) -> Option<LiveSession> {
        self.accounts.session(cookie, now).await.unwrap()
    }
}

/// The author of every change by an administrator.
pub(crate) fn by() -> Author<'static> {
    static ROOT: LazyLock<Actor> = LazyLock::new(|| actor("account:root"));
    Author { actor: &ROOT, via: "password", reason: "", now: NOW }
}

pub(crate) fn password() -> Password {
    Password::new(PASSWORD.to_owned())
}

/// The client with the nth IPv4 address.
pub(crate) fn client(n: u32) -> Client {
    Client::new(IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + n)), "Firefox")
}

pub(crate) fn actor(text: &str) -> Actor {
    Actor::new(text).unwrap()
}

pub(crate) fn after(span: Span) -> Timestamp {
    NOW + span
}
