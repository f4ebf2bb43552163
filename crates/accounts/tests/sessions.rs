//! Tests of sessions: their ends, the rotation of their cookies, CSRF tokens, and lists.

use std::collections::BTreeSet;

use setpoint_accounts::{Change, Client, SessionCookie, SessionId, Via};
use setpoint_core::time::{Span, Timestamp};

use crate::scene::{NOW, Scene, actor, after, by, client, password};

#[tokio::test]
async fn a_session_has_the_rights_of_its_account() {
    let scene = Scene::new().await;
    scene.create("ada").await;
    let begun = scene.sign_in("ada", 1, NOW).await.unwrap();
    let session = scene.session(begun.cookie.open(), NOW).await.unwrap().session;
    assert_eq!(session.id, begun.session.id);
    assert_eq!((session.actor.as_str(), session.name.as_str()), ("account:ada", "ada"));
    assert_eq!((session.via, session.administrator, session.signed_in_at), (Via::Password, false, NOW));
    assert_eq!(begun.change.subject(), &actor("account:ada"));
    assert!(matches!(begun.change, Change::SignedIn { address, .. } if address == "10.0.0.1"));
}

#[tokio::test]
async fn only_the_whole_cookie_opens_a_session() {
    let scene = Scene::new().await;
    let begun = scene.sign_in("root", 1, NOW).await.unwrap();
    let cookie = begun.cookie.open();
    let (longer, swapped) = (format!("{cookie}A"), cookie.to_ascii_uppercase());
    let others =
        ["", &cookie[1..], &longer, &swapped, begun.session.id.as_str(), &"a".repeat(43), &"a".repeat(1 << 20)];
    for other in others {
        assert!(scene.session(other, NOW).await.is_none());
    }
}

#[tokio::test]
async fn a_session_without_requests_ends_after_twelve_hours() {
    let scene = Scene::new().await;
    let begun = scene.sign_in("root", 1, NOW).await.unwrap();
    let cookie = begun.cookie.open();
    let used = after(Span::hours(11));
    assert!(scene.session(cookie, used).await.is_some());
    assert!(scene.session(cookie, used + Span::millis(12 * 3_600_000 - 1)).await.is_some());
    let begun = scene.sign_in("root", 1, NOW).await.unwrap();
    assert!(scene.session(begun.cookie.open(), after(Span::hours(12))).await.is_none());
    assert!(scene.accounts.session_by_id(&begun.session.id, after(Span::hours(12))).await.unwrap().is_none());
}

#[tokio::test]
async fn a_session_ends_after_a_week_whatever_its_use() {
    let scene = Scene::new().await;
    let begun = scene.sign_in("root", 1, NOW).await.unwrap();
    let mut cookie = begun.cookie;
    for hour in 0..7 * 24 {
        let live = scene.session(cookie.open(), after(Span::hours(hour))).await.unwrap();
        cookie = live.new_cookie.unwrap_or(cookie);
    }
    let week = after(Span::hours(7 * 24));
    assert!(scene.session(cookie.open(), week - Span::millis(1)).await.is_some());
    assert!(scene.session(cookie.open(), week).await.is_none());
    assert!(scene.accounts.session_by_id(&begun.session.id, week).await.unwrap().is_none());
    assert!(scene.accounts.open_sessions(None, week).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_last_use_is_written_once_a_minute_and_streams_are_no_use() {
    let scene = Scene::new().await;
    let begun = scene.sign_in("root", 1, NOW).await.unwrap();
    let last_use = async || scene.accounts.open_sessions(None, NOW).await.unwrap()[0].last_use;
    scene.session(begun.cookie.open(), after(Span::seconds(59))).await.unwrap();
    assert_eq!(last_use().await, NOW);
    let later = after(Span::minutes(5));
    assert!(scene.accounts.session_by_id(&begun.session.id, later).await.unwrap().is_some());
    assert_eq!(last_use().await, NOW);
    scene.session(begun.cookie.open(), later).await.unwrap();
    assert_eq!(last_use().await, later);
    scene.session(begun.cookie.open(), NOW).await.unwrap();
    assert_eq!(last_use().await, later, "a clock that went backwards changes nothing");
}

/// A session that was used every hour until its cookie is a day old.
async fn a_day_old(scene: &Scene) -> (SessionCookie, Timestamp) {
    let begun = scene.sign_in("root", 1, NOW).await.unwrap();
    for hour in 0..24 {
        let live = scene.session(begun.cookie.open(), after(Span::hours(hour))).await.unwrap();
        assert!(live.new_cookie.is_none(), "hour {hour}");
    }
    (begun.cookie, after(Span::hours(24)))
}

#[tokio::test]
async fn a_cookie_is_replaced_after_a_day_and_its_former_value_has_a_grace() {
    let scene = Scene::new().await;
    let (old, day) = a_day_old(&scene).await;
    let offer = scene.session(old.open(), day).await.unwrap();
    let new = offer.new_cookie.unwrap();
    assert_ne!(new.open(), old.open());
    let used = day + Span::seconds(5);
    let live = scene.session(new.open(), used).await.unwrap();
    assert_eq!((live.session.id.clone(), live.new_cookie.is_none()), (offer.session.id, true));
    assert!(live.session.accepts(offer.session.csrf.open()), "forms of open pages stay valid");
    // Requests that were under way have the old value.
    let under_way = scene.session(old.open(), used + Span::seconds(59)).await.unwrap();
    assert!(under_way.new_cookie.is_none());
    assert!(scene.session(old.open(), used + Span::seconds(60)).await.is_none(), "a copy of the old value has ended");
    assert!(scene.session(new.open(), used + Span::seconds(60)).await.is_some());
}

#[tokio::test]
async fn a_lost_response_with_a_new_cookie_ends_no_session() {
    let scene = Scene::new().await;
    let (old, day) = a_day_old(&scene).await;
    let lost = scene.session(old.open(), day).await.unwrap().new_cookie.unwrap();
    let soon = scene.session(old.open(), day + Span::seconds(30)).await.unwrap();
    assert!(soon.new_cookie.is_none(), "the first offer may be under way");
    let again = scene.session(old.open(), day + Span::hours(2)).await.unwrap().new_cookie.unwrap();
    assert!(scene.session(lost.open(), day + Span::hours(2)).await.is_none());
    assert!(scene.session(again.open(), day + Span::hours(2)).await.is_some());
}

#[tokio::test]
async fn of_requests_at_the_same_time_one_gets_the_new_cookie() {
    let scene = Scene::new().await;
    let (old, day) = a_day_old(&scene).await;
    let (a, b, c) =
        tokio::join!(scene.session(old.open(), day), scene.session(old.open(), day), scene.session(old.open(), day));
    let offered: Vec<_> = [a, b, c].into_iter().filter_map(|live| live.unwrap().new_cookie).collect();
    let [new] = offered.as_slice() else { panic!("{} new cookies", offered.len()) };
    assert!(scene.session(new.open(), day).await.is_some());
}

#[tokio::test]
async fn each_sign_in_has_a_new_session_and_a_new_cookie() {
    let scene = Scene::new().await;
    let (one, other) = (scene.sign_in("root", 1, NOW).await.unwrap(), scene.sign_in("root", 1, NOW).await.unwrap());
    assert_ne!(one.session.id, other.session.id);
    assert_ne!(one.cookie.open(), other.cookie.open());
}

#[tokio::test]
async fn a_csrf_token_is_accepted_by_its_session_only() {
    let scene = Scene::new().await;
    let (one, other) = (scene.sign_in("root", 1, NOW).await.unwrap(), scene.sign_in("root", 1, NOW).await.unwrap());
    let csrf = one.session.csrf.open();
    assert!(one.session.accepts(csrf));
    assert!(scene.session(one.cookie.open(), NOW).await.unwrap().session.accepts(csrf));
    assert!(!other.session.accepts(csrf));
    for wrong in ["", &csrf[1..], one.cookie.open(), one.session.id.as_str(), &"a".repeat(1 << 20)] {
        assert!(!one.session.accepts(wrong));
    }
}

#[tokio::test]
async fn sessions_end_singly_and_together() {
    let scene = Scene::new().await;
    let [a, b, c] = [1, 2, 3].map(|n| scene.sign_in("root", n, NOW));
    let (a, b, c) = (a.await.unwrap(), b.await.unwrap(), c.await.unwrap());
    let ended = scene.accounts.end_session(&a.session.id, &by()).await.unwrap();
    assert_eq!(ended, Some(Change::SessionEnded { actor: actor("account:root"), session: a.session.id.clone() }));
    assert_eq!(scene.accounts.end_session(&a.session.id, &by()).await.unwrap(), None);
    assert_eq!(scene.accounts.end_session(&SessionId::new("'; DROP TABLE"), &by()).await.unwrap(), None);
    assert_eq!(scene.accounts.end_session(&SessionId::new(&format!("{}x", b.session.id)), &by()).await.unwrap(), None);
    assert!(scene.session(a.cookie.open(), NOW).await.is_none());
    assert!(scene.session(b.cookie.open(), NOW).await.is_some());
    let ended = scene.accounts.end_sessions_of(&actor("account:root"), &by()).await.unwrap();
    assert_eq!(ended, Change::SessionsEnded { actor: actor("account:root"), sessions_ended: 2 });
    assert!(scene.session(c.cookie.open(), NOW).await.is_none());
}

#[tokio::test]
async fn the_list_of_sessions_shows_where_they_began_in_bounded_text() {
    let scene = Scene::new().await;
    scene.create("ada").await;
    let noisy = Client::new(client(1).address(), &format!("Mozilla\r\n\0{}", "x".repeat(10_000)));
    scene.accounts.sign_in("root", &password(), &noisy, NOW).await.unwrap();
    scene.sign_in("ada", 2, after(Span::minutes(1))).await.unwrap();
    let all = scene.accounts.open_sessions(None, NOW).await.unwrap();
    assert_eq!(all.iter().map(|open| open.name.as_str()).collect::<Vec<_>>(), ["ada", "root"]);
    let of_root = scene.accounts.open_sessions(Some(&actor("account:root")), NOW).await.unwrap();
    let [open] = of_root.as_slice() else { panic!("one session") };
    assert_eq!((open.address, open.signed_in_at, open.last_use), (client(1).address(), NOW, NOW));
    assert_eq!(open.agent, format!("Mozilla{}", "x".repeat(193)));
}

#[tokio::test]
async fn a_person_has_fifty_sessions_at_most() {
    let scene = Scene::new().await;
    let mut cookies = Vec::new();
    for minute in 0..51 {
        let begun = scene.sign_in("root", 1, after(Span::minutes(minute))).await.unwrap();
        cookies.push(begun.cookie);
    }
    let now = after(Span::minutes(51));
    assert_eq!(scene.accounts.open_sessions(None, now).await.unwrap().len(), 50);
    assert!(scene.session(cookies[0].open(), now).await.is_none(), "the oldest has ended");
    assert_eq!(cookies.iter().map(SessionCookie::open).collect::<BTreeSet<_>>().len(), 51);
}

#[tokio::test]
async fn a_restart_keeps_sessions_and_their_csrf_tokens() {
    let scene = Scene::new().await;
    let begun = scene.sign_in("root", 1, NOW).await.unwrap();
    let scene = scene.restarted().await;
    let session = scene.session(begun.cookie.open(), NOW).await.unwrap().session;
    assert!(session.accepts(begun.session.csrf.open()));
}
