//! Grouping, retrying, and the errors when a notifier does not accept a message.

use std::time::Duration;

use serde_json::json;
use setpoint_core::time::Timestamp;
use setpoint_documents::{AbsolutePath, Credentials, NotifierFormat, NotifierSpec, Url};
use setpoint_notify::{Courier, DeliveryProblem, Limits, Message, Notifier, Trouble};

use crate::receiver::{Does, Receiver};

const QUICK: Limits = Limits { window: Duration::from_millis(50), patience: Duration::from_millis(400) };

fn message(subject: &str) -> Message {
    Message {
        kind: "not-converged".to_owned(),
        subject: subject.to_owned(),
        text: "it did not converge within 10 min".to_owned(),
        at: Timestamp::from_millis(1_794_744_000_000),
        installation: "prod-1".to_owned(),
    }
}

fn spec(url: &str, format: NotifierFormat) -> NotifierSpec {
    NotifierSpec { url: Url::new(url).expect("a URL"), format, credentials_from: None }
}

fn slack(name: &str, receiver: &Receiver) -> Notifier {
    Notifier::new(name, &spec(&receiver.url(), NotifierFormat::Slack))
}

fn courier(notifiers: Vec<Notifier>) -> Courier {
    Courier::with_limits(notifiers, QUICK).expect("TLS can be set up")
}

fn only(problems: Result<(), Vec<DeliveryProblem>>) -> DeliveryProblem {
    let mut problems = problems.expect_err("not taken");
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems.remove(0)
}

#[tokio::test]
async fn slack_hears_what_its_webhooks_take() {
    let receiver = Receiver::new(&[]).await;
    courier(vec![slack("ops", &receiver)]).deliver(&message("web/shop")).await.expect("it is accepted");
    let heard = receiver.heard();
    assert_eq!(heard.len(), 1);
    assert!(heard[0].head.starts_with("post /services/t0/b0/hush-hush http/1.1"), "{}", heard[0].head);
    assert!(heard[0].head.contains("content-type: application/json"), "{}", heard[0].head);
    let text = "[prod-1] not-converged: *web/shop*: it did not converge within 10 min";
    assert_eq!(heard[0].body, json!({ "text": text }));
}

#[tokio::test]
async fn messages_of_one_kind_that_come_together_leave_as_one() {
    let receiver = Receiver::new(&[]).await;
    let courier = courier(vec![slack("ops", &receiver)]);
    let other = Message { kind: "version-refused".to_owned(), ..message("web/shop") };
    let (first, second, again, third) = (message("web/shop"), message("web/cart"), message("web/shop"), other);
    let (a, b, c, d) = tokio::join!(
        courier.deliver(&first),
        courier.deliver(&second),
        courier.deliver(&again),
        courier.deliver(&third)
    );
    assert_eq!((a, b, c, d), (Ok(()), Ok(()), Ok(()), Ok(())));
    let mut texts: Vec<String> =
        receiver.heard().iter().map(|heard| heard.body["text"].as_str().expect("a text").to_owned()).collect();
    texts.sort();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].starts_with("[prod-1] not-converged: 2 messages\n• *web/cart*"), "{texts:?}");
    assert!(texts[1].starts_with("[prod-1] version-refused: *web/shop*"), "{texts:?}");
}

#[tokio::test]
async fn who_gives_up_waiting_does_not_hold_up_the_others() {
    let receiver = Receiver::new(&[]).await;
    let courier = courier(vec![slack("ops", &receiver)]);
    let (first, second) = (message("web/shop"), message("web/cart"));
    let leader = async {
        let impatient = tokio::time::timeout(Duration::from_millis(1), courier.deliver(&first)).await;
        assert!(impatient.is_err(), "the window is longer than this");
    };
    let ((), taken) = tokio::join!(leader, courier.deliver(&second));
    assert_eq!(taken, Ok(()));
    assert_eq!(receiver.heard().len(), 1);
    // No caller is left: the pending message is submitted again, and the earlier round does not
    // interfere.
    let _ = tokio::time::timeout(Duration::from_millis(1), courier.deliver(&first)).await;
    assert_eq!(courier.deliver(&first).await, Ok(()));
}

#[tokio::test]
async fn a_receiver_that_fails_in_every_way_and_recovers_has_the_message_once() {
    let receiver = Receiver::new(&[Does::Answer(500), Does::Hang, Does::Reset, Does::Answer(429)]).await;
    let courier = courier(vec![slack("ops", &receiver)]);
    let message = message("web/shop");
    let host = || "127.0.0.1".to_owned();
    let next = "Setpoint tries again later";
    let failed = only(courier.deliver(&message).await);
    assert_eq!(failed.trouble, Trouble::Answered { host: host(), status: 500, next });
    assert_eq!(only(courier.deliver(&message).await).trouble, Trouble::Silent { host: host(), after: QUICK.patience });
    let reset = only(courier.deliver(&message).await).trouble;
    assert!(matches!(reset, Trouble::Unreachable { .. }), "{reset:?}");
    assert_eq!(only(courier.deliver(&message).await).trouble, Trouble::Answered { host: host(), status: 429, next });
    assert_eq!(courier.deliver(&message).await, Ok(()));
    // 500, 429 and the successful 200.
    assert_eq!(receiver.heard().len(), 3);
}

#[tokio::test]
async fn who_has_a_message_does_not_hear_it_again_because_another_has_not() {
    let (well, ill) = (Receiver::new(&[]).await, Receiver::new(&[Does::Answer(503), Does::Answer(503)]).await);
    let courier = courier(vec![slack("well", &well), slack("ill", &ill)]);
    let message = message("web/shop");
    for _ in 0..2 {
        assert_eq!(only(courier.deliver(&message).await).notifier, "ill");
    }
    assert_eq!(courier.deliver(&message).await, Ok(()));
    assert_eq!((well.heard().len(), ill.heard().len()), (1, 3));
    // The event is over. If it recurs, both are notified.
    assert_eq!(courier.deliver(&message).await, Ok(()));
    assert_eq!((well.heard().len(), ill.heard().len()), (2, 4));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let receiver = Receiver::new(&[Does::Answer(307)]).await;
    let problem = only(courier(vec![slack("ops", &receiver)]).deliver(&message("web/shop")).await);
    assert!(problem.to_string().contains("redirects are not followed"), "{problem}");
}

#[tokio::test]
async fn the_secret_in_a_url_is_never_shown() {
    let gone = Receiver::new(&[]).await.url();
    let notifiers = [Does::Answer(500), Does::Answer(404), Does::Hang, Does::Reset];
    let mut shown = vec![format!("{:?}", Notifier::new("ops", &spec(&gone, NotifierFormat::Slack)))];
    for does in notifiers {
        let receiver = Receiver::new(&[does]).await;
        let courier = courier(vec![slack("ops", &receiver)]);
        let problem = only(courier.deliver(&message("web/shop")).await);
        shown.extend([problem.to_string(), format!("{problem:?}"), format!("{courier:?}")]);
    }
    let unreachable = courier(vec![Notifier::new("ops", &spec(&gone, NotifierFormat::Slack))]);
    shown.push(only(unreachable.deliver(&message("web/shop")).await).to_string());
    assert!(shown.iter().all(|text| !text.contains("hush")), "{shown:#?}");
}

#[tokio::test]
async fn a_token_is_read_from_its_file_each_time() {
    let receiver = Receiver::new(&[]).await;
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("token");
    let path = AbsolutePath::new(file.to_str().expect("a plain path")).expect("an absolute path");
    let with_token = NotifierSpec {
        credentials_from: Some(Credentials::File(path)),
        ..spec(&receiver.url(), NotifierFormat::Generic)
    };
    let courier = courier(vec![Notifier::new("ops", &with_token)]);
    let missing = only(courier.deliver(&message("web/shop")).await);
    assert!(matches!(missing.trouble, Trouble::Credentials { .. }), "{missing}");
    for token in ["first", "second"] {
        std::fs::write(&file, format!("{token}\n")).expect("it can be written");
        courier.deliver(&message("web/shop")).await.expect("it is accepted");
        let heard = receiver.heard().pop().expect("a request");
        assert!(heard.head.contains(&format!("authorization: bearer {token}")), "{}", heard.head);
    }
}

#[tokio::test]
async fn a_token_is_not_sent_in_the_open() {
    let path = AbsolutePath::new("/nonexistent").expect("an absolute path");
    let open = NotifierSpec {
        credentials_from: Some(Credentials::File(path)),
        ..spec("http://hooks.example/x", NotifierFormat::Generic)
    };
    let problem = only(courier(vec![Notifier::new("ops", &open)]).deliver(&message("web/shop")).await);
    assert_eq!(problem.trouble, Trouble::Exposed { host: "hooks.example".to_owned() });
}

#[tokio::test]
async fn a_test_message_tells_how_each_notifier_fared() {
    let (well, ill) = (Receiver::new(&[]).await, Receiver::new(&[Does::Answer(403)]).await);
    let courier = courier(vec![slack("well", &well), slack("ill", &ill)]);
    let tested = courier.test(&message("setpoint notify test")).await;
    assert_eq!(tested.len(), 2);
    assert_eq!((tested[0].notifier.as_str(), &tested[0].problem), ("well", &None));
    let problem = tested[1].problem.as_ref().expect("it was refused").to_string();
    assert!(problem.contains("returned 403: check its URL and credentials"), "{problem}");
}

#[tokio::test]
async fn where_there_is_no_notifier_there_is_nobody_to_wait_for() {
    assert_eq!(courier(Vec::new()).deliver(&message("web/shop")).await, Ok(()));
}
