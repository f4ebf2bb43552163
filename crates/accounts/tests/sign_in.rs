//! Tests of sign-ins: equal cost and equal errors, limits for each address.

use std::net::IpAddr;

use setpoint_accounts::{Accounts, Client, HashingCost, Options, Password, SignInError};
use setpoint_core::time::Span;

use crate::scene::{NOW, Scene, after, by, client, options, password};

#[tokio::test]
async fn an_unknown_name_a_wrong_password_and_a_disabled_account_are_one_error_at_one_cost() {
    let scene = Scene::new().await;
    scene.create("ada").await;
    scene.accounts.disable_account("ada", &by()).await.unwrap();
    let before = scene.accounts.hashes_computed();
    let unknown = scene.guess("nemo", 1, NOW).await;
    let wrong = scene.guess("root", 2, NOW).await;
    let disabled = scene.sign_in("ada", 3, NOW).await.unwrap_err();
    assert_eq!(scene.accounts.hashes_computed() - before, 3, "each of them costs one hash");
    assert_eq!(unknown.to_string(), wrong.to_string());
    assert_eq!(wrong.to_string(), disabled.to_string());
    assert!([unknown, wrong, disabled].iter().all(|error| matches!(error, SignInError::Wrong)));
}

#[tokio::test]
async fn limits_are_equal_for_administrators_accounts_and_unknown_names() {
    let mut admitted = Vec::new();
    for name in ["root", "ada", "nemo"] {
        let scene = Scene::new().await;
        scene.create("ada").await;
        let mut wrong = 0;
        for n in 0..100 {
            wrong += u32::from(matches!(scene.guess(name, n, NOW).await, SignInError::Wrong));
        }
        admitted.push(wrong);
    }
    assert_eq!(admitted, [20, 20, 20]);
}

#[tokio::test]
async fn what_cannot_be_a_name_or_a_password_is_refused_without_a_hash() {
    let scene = Scene::new().await;
    let before = scene.accounts.hashes_computed();
    let huge = "a".repeat(1 << 20);
    for (name, text) in [("root", huge.as_str()), (&huge, "a-good-password"), ("", "x"), ("a\0", "x")] {
        let refused = scene.accounts.sign_in(name, &Password::new(text.to_owned()), &client(1), NOW).await;
        assert!(matches!(refused, Err(SignInError::Wrong)));
    }
    assert_eq!(scene.accounts.hashes_computed(), before);
}

#[tokio::test]
async fn one_address_is_limited_and_another_one_is_not() {
    let scene = Scene::new().await;
    for _ in 0..10 {
        assert!(matches!(scene.guess("root", 1, NOW).await, SignInError::Wrong));
    }
    let SignInError::TooMany { retry_after } = scene.guess("root", 1, NOW).await else { panic!("it is limited") };
    assert_eq!(retry_after, Span::seconds(30));
    assert!(matches!(scene.sign_in("root", 1, NOW).await, Err(SignInError::TooMany { .. })), "the right one too");
    assert!(scene.sign_in("root", 2, NOW).await.is_ok());
    assert!(scene.sign_in("root", 1, after(retry_after)).await.is_ok(), "it is a delay, not a lock");
}

#[tokio::test]
async fn a_limited_attempt_costs_no_hash() {
    let scene = Scene::new().await;
    for _ in 0..10 {
        scene.guess("root", 1, NOW).await;
    }
    let before = scene.accounts.hashes_computed();
    for _ in 0..100 {
        assert!(matches!(scene.guess("root", 1, NOW).await, SignInError::TooMany { .. }));
    }
    assert_eq!(scene.accounts.hashes_computed(), before);
}

#[tokio::test]
async fn the_addresses_of_one_network_and_both_forms_of_an_ipv4_address_share_a_limit() {
    for [one, other] in [["2001:db8::1", "2001:db8::ffff:1:2:3"], ["192.0.2.1", "::ffff:192.0.2.1"]] {
        let scene = Scene::new().await;
        let wrong = Password::new("not-the-password".to_owned());
        let guess = async |address: &str| {
            let client = Client::new(address.parse::<IpAddr>().unwrap(), "");
            scene.accounts.sign_in("root", &wrong, &client, NOW).await.unwrap_err()
        };
        for _ in 0..5 {
            assert!(matches!(guess(one).await, SignInError::Wrong));
            assert!(matches!(guess(other).await, SignInError::Wrong));
        }
        assert!(matches!(guess(one).await, SignInError::TooMany { .. }));
        assert!(matches!(guess(other).await, SignInError::TooMany { .. }));
        assert!(matches!(guess("2001:db8:0:1::1").await, SignInError::Wrong), "another network");
    }
}

#[tokio::test]
async fn an_attacker_at_the_address_of_a_user_limits_other_accounts_only() {
    let scene = Scene::new().await;
    scene.create("ada").await;
    scene.sign_in("ada", 1, NOW).await.unwrap();
    while matches!(scene.guess("root", 1, NOW).await, SignInError::Wrong) {}
    assert!(scene.sign_in("ada", 1, NOW).await.is_ok());
}

#[tokio::test]
async fn the_users_of_one_office_do_not_limit_each_other() {
    let scene = Scene::new().await;
    for n in 0..30 {
        let name = format!("user-{n}");
        scene.create(&name).await;
        scene.sign_in(&name, 1, NOW).await.unwrap();
    }
}

#[tokio::test]
async fn correct_sign_ins_are_limited_too() {
    let scene = Scene::new().await;
    let mut admitted = 0;
    while scene.sign_in("root", 1, NOW).await.is_ok() {
        admitted += 1;
    }
    assert_eq!(admitted, 11, "one from a new address, then the burst of a known one");
}

#[tokio::test]
async fn a_right_password_is_confirmed_without_a_session() {
    let scene = Scene::new().await;
    scene.accounts.confirm("root", &password(), &client(1), NOW).await.unwrap();
    assert!(scene.accounts.open_sessions(None, NOW).await.unwrap().is_empty());
    let wrong = Password::new("not-the-password".to_owned());
    let refused = scene.accounts.confirm("root", &wrong, &client(1), NOW).await;
    assert!(matches!(refused, Err(SignInError::Wrong)));
    scene.create("ada").await;
    scene.accounts.disable_account("ada", &by()).await.unwrap();
    let disabled = scene.accounts.confirm("ada", &password(), &client(1), NOW).await;
    assert!(matches!(disabled, Err(SignInError::Wrong)));
}

#[tokio::test]
async fn a_hash_of_another_cost_is_replaced_at_the_next_sign_in() {
    let scene = Scene::new().await;
    scene.accounts.close().await;
    let dearer = Options { hashing: HashingCost { memory_kib: 16, passes: 2 }, ..options() };
    let accounts = Accounts::open_with(scene.directory.path(), dearer).await.unwrap();
    for hashes in [2, 3] {
        accounts.sign_in("root", &password(), &client(1), NOW).await.unwrap();
        assert_eq!(accounts.hashes_computed(), hashes, "one to verify, and once one to replace");
    }
}

/// Signs in with hashes that take long, while another process changes the account, and reports
/// whether there is a session afterwards.
async fn session_after_a_change_by_another_process<F: Future>(change: impl AsyncFnOnce(Accounts) -> F) -> bool {
    let scene = Scene::new().await;
    scene.create("ada").await;
    // The old hash is cheap to verify, and its replacement takes long.
    let dear = Options { hashing: HashingCost { memory_kib: 32_768, passes: 4 }, ..options() };
    let slow = Accounts::open_with(scene.directory.path(), dear).await.unwrap();
    let password = password();
    let (from, other) = (client(1), scene.accounts);
    let sign_in = slow.sign_in("ada", &password, &from, NOW);
    let change = async {
        // The sign-in has verified the password, and computes the replacement.
        while slow.hashes_computed() < 2 {
            tokio::task::yield_now().await;
        }
        change(other).await.await;
    };
    let (begun, _) = tokio::join!(sign_in, change);
    // A session that was not refused at its begin would be valid again with its account.
    slow.enable_account("ada", &by()).await.ok();
    match begun {
        Ok(begun) => slow.session(begun.cookie.open(), NOW).await.unwrap().is_some(),
        Err(error) => {
            assert!(matches!(error, SignInError::Wrong));
            false
        }
    }
}

#[tokio::test]
async fn a_sign_in_while_the_account_changes_begins_no_session() {
    let disable = async |other: Accounts| async move { drop(other.disable_account("ada", &by()).await.unwrap()) };
    assert!(!session_after_a_change_by_another_process(disable).await);
    let delete = async |other: Accounts| async move { drop(other.delete_account("ada", &by()).await.unwrap()) };
    assert!(!session_after_a_change_by_another_process(delete).await);
    let set = async |other: Accounts| async move {
        let new = Password::new("another-password".to_owned());
        drop(other.set_password("ada", &new, None, &by()).await.unwrap());
    };
    assert!(!session_after_a_change_by_another_process(set).await);
    let nothing = async |_: Accounts| async move {};
    assert!(session_after_a_change_by_another_process(nothing).await);
}
