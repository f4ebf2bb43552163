//! Case 67 of the bad-input list: guesses from many addresses are bounded, and keep no one out.

use setpoint_accounts::{Author, SignInError};
use setpoint_core::time::{Span, Timestamp};

use crate::scene::{NOW, Scene, after, by, client};

/// Guesses once from each address, and returns the number of guesses that were compared with the
/// password.
async fn attack(scene: &Scene, name: &str, addresses: std::ops::Range<u32>, now: Timestamp) -> u32 {
    let mut compared = 0;
    for n in addresses {
        compared += u32::from(matches!(scene.guess(name, n, now).await, SignInError::Wrong));
    }
    compared
}

#[tokio::test]
async fn a_thousand_guesses_from_a_thousand_addresses_are_bounded_and_lock_no_administrator_out() {
    let scene = Scene::new().await;
    scene.sign_in("root", 1, NOW).await.unwrap();
    let before = scene.accounts.hashes_computed();
    let compared = attack(&scene, "root", 1_000..2_000, NOW).await;
    assert!(compared <= 20, "{compared} guesses were compared");
    assert_eq!(scene.accounts.hashes_computed() - before, u64::from(compared));
    assert!(scene.sign_in("root", 1, NOW).await.is_ok(), "from the address that signed in before");
    assert!(matches!(scene.sign_in("root", 2, NOW).await, Err(SignInError::TooMany { .. })));
    assert!(scene.sign_in("root", 2, after(Span::seconds(6))).await.is_ok(), "from a new address, seconds later");
}

#[tokio::test]
async fn guesses_for_many_names_are_bounded_together_and_lock_no_one_out() {
    let scene = Scene::new().await;
    scene.create("ada").await;
    scene.sign_in("root", 1, NOW).await.unwrap();
    scene.sign_in("ada", 2, NOW).await.unwrap();
    let mut compared = 0;
    for n in 0..1_000 {
        compared += attack(&scene, &format!("name-{n}"), 1_000 + n..1_001 + n, NOW).await;
    }
    assert!(compared <= 60, "{compared} guesses were compared");
    assert!(scene.sign_in("root", 1, NOW).await.is_ok());
    assert!(scene.sign_in("ada", 2, NOW).await.is_ok());
}

#[tokio::test]
async fn an_attack_on_one_account_does_not_delay_new_addresses_of_another() {
    let scene = Scene::new().await;
    scene.create("ada").await;
    attack(&scene, "root", 1_000..2_000, NOW).await;
    assert!(scene.sign_in("ada", 1, NOW).await.is_ok());
}

#[tokio::test]
async fn a_day_of_guesses_on_one_account_is_bounded() {
    let scene = Scene::new().await;
    let mut compared = 0;
    for second in 0..1_000u32 {
        let addresses = 1_000 + second * 3..1_003 + second * 3;
        compared += attack(&scene, "root", addresses, after(Span::seconds(u64::from(second)))).await;
    }
    assert!(compared <= 20 + 1_000 / 6 + 1, "ten a minute after the first burst: {compared}");
    assert!(scene.accounts.limits_in_memory() < 1_000);
}

#[tokio::test]
async fn a_restart_keeps_known_addresses() {
    let scene = Scene::new().await;
    scene.sign_in("root", 1, NOW).await.unwrap();
    let scene = scene.restarted().await;
    attack(&scene, "root", 1_000..1_100, NOW).await;
    assert!(scene.sign_in("root", 1, NOW).await.is_ok());
}

#[tokio::test]
async fn a_known_address_is_known_for_its_account_only() {
    let scene = Scene::new().await;
    scene.create("ada").await;
    scene.sign_in("ada", 1, NOW).await.unwrap();
    attack(&scene, "root", 1_000..1_100, NOW).await;
    assert!(matches!(scene.sign_in("root", 1, NOW).await, Err(SignInError::TooMany { .. })));
}

#[tokio::test]
async fn guesses_from_a_known_address_are_limited() {
    let scene = Scene::new().await;
    scene.sign_in("root", 1, NOW).await.unwrap();
    let mut compared = 0;
    while matches!(scene.guess("root", 1, NOW).await, SignInError::Wrong) {
        compared += 1;
    }
    assert_eq!(compared, 10);
    assert!(scene.sign_in("root", 2, NOW).await.is_ok(), "another address is not delayed");
}

#[tokio::test]
async fn a_command_on_the_machine_lets_an_administrator_in_from_a_new_address() {
    let scene = Scene::new().await;
    attack(&scene, "root", 1_000..1_100, NOW).await;
    assert!(matches!(scene.sign_in("root", 1, NOW).await, Err(SignInError::TooMany { .. })));
    scene.accounts.trust_address("root", &client(1), &by()).await.unwrap();
    assert!(scene.sign_in("root", 1, NOW).await.is_ok());
}

#[tokio::test]
async fn an_address_that_was_not_used_for_long_is_forgotten() {
    let scene = Scene::new().await;
    scene.sign_in("root", 1, NOW).await.unwrap();
    let later = after(Span::hours(90 * 24));
    attack(&scene, "root", 1_000..1_100, later).await;
    assert!(matches!(scene.sign_in("root", 1, later).await, Err(SignInError::TooMany { .. })));
}

#[tokio::test]
async fn the_addresses_of_an_account_that_are_remembered_have_a_bound() {
    let scene = Scene::new().await;
    for n in 0..33 {
        scene
            .accounts
            .trust_address("root", &client(n), &Author { now: after(Span::seconds(n.into())), ..by() })
            .await
            .unwrap();
    }
    let now = after(Span::minutes(1));
    attack(&scene, "root", 1_000..1_100, now).await;
    assert!(matches!(scene.sign_in("root", 0, now).await, Err(SignInError::TooMany { .. })), "the oldest");
    assert!(scene.sign_in("root", 1, now).await.is_ok());
}

#[tokio::test]
async fn accounts_that_share_an_address_do_not_limit_each_other() {
    let scene = Scene::new().await;
    scene.create("ada").await;
    scene.sign_in("root", 1, NOW).await.unwrap();
    scene.sign_in("ada", 1, NOW).await.unwrap();
    while matches!(scene.guess("ada", 1, NOW).await, SignInError::Wrong) {}
    assert!(scene.sign_in("root", 1, NOW).await.is_ok());
}
