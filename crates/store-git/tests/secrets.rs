//! Tests that credentials open the store and are never shown.

use setpoint_core::observed::UnknownReason;
use setpoint_store::{Store, StoreError};
use setpoint_store_git::Credentials;
use setpoint_testbed::{Fault, Item, On};

use crate::scene::{Scene, head, opened, poll, read};

const CANARY: &str = "canary-5d1f0c7e9b";

fn scene() -> Scene {
    let scene = Scene::new();
    scene.repository.commit("main", None, &[("a", Item::File("1"))]);
    scene
}

fn secret_file(scene: &Scene, text: &str) -> std::path::PathBuf {
    let file = scene.folder.path().join("secret");
    std::fs::write(&file, text).expect("the folder is ours");
    file
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_and_a_password_open_the_store() {
    let scene = scene();
    scene.server.require(&format!("Basic {}", data_encoding::BASE64.encode(b"me:p:w")));
    let file = secret_file(&scene, "me:p:w\n");
    let store = scene.store_with(|options| options.credentials = Credentials::Basic { file });
    assert_eq!(read(&*opened(&store).await.unwrap(), "a").as_deref(), Some("1"));
    scene.server.require(&format!("Basic {}", data_encoding::BASE64.encode(b"x-access-token:abc")));
    let refused = poll(&store).await.unwrap_err().to_string();
    assert!(refused.contains("check the credentials in the file of `credentialsFrom`"), "{refused}");
    let file = secret_file(&scene, "abc\n");
    let store = scene.store_with(|options| options.credentials = Credentials::Token { file });
    assert!(poll(&store).await.is_ok());
    secret_file(&scene, "rotated");
    assert!(
        matches!(poll(&store).await, Err(UnknownReason::Unauthenticated { .. })),
        "the secret is read for every poll"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_that_cannot_be_read_are_told_by_their_file() {
    let scene = scene();
    let missing = scene.folder.path().join("missing");
    let cases = [
        Credentials::Token { file: missing },
        Credentials::Token { file: secret_file(&scene, "\n") },
        Credentials::Basic { file: scene.folder.path().join("secret") },
    ];
    for credentials in cases {
        let store = scene.store_with(|options| options.credentials = credentials.clone());
        assert!(matches!(poll(&store).await, Err(UnknownReason::Denied { .. })), "{credentials:?}");
    }
    assert!(scene.server.take_seen().is_empty(), "nothing was asked without the credentials that are declared");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_in_no_error_and_in_no_text_of_the_store() {
    let scene = scene();
    let file = secret_file(&scene, &format!("me:{CANARY}"));
    let store = scene.store_with(|options| options.credentials = Credentials::Basic { file: file.clone() });
    let mut texts = vec![format!("{store:?}")];
    let elsewhere = Fault::Redirect("https://elsewhere.invalid".into());
    for fault in [Fault::Status(401), Fault::Status(500), elsewhere, Fault::Cut(3), Fault::Shorten(3)] {
        scene.server.break_with(On::Everything, fault);
        texts.push(format!("{:?}", poll(&store).await.unwrap_err()));
    }
    secret_file(&scene, &format!("me:{CANARY}\nInjected: header"));
    texts.push(format!("{:?}", poll(&store).await.unwrap_err()));
    secret_file(&scene, CANARY);
    texts.push(format!("{:?}", poll(&store).await.unwrap_err()));
    let encoded = data_encoding::BASE64.encode(CANARY.as_bytes());
    for text in texts {
        assert!(!text.contains(CANARY) && !text.contains(&encoded[..12]), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_without_credentials_reads_no_copy_that_was_fetched_with_them() {
    let scene = scene();
    scene.server.require(&format!("Basic {}", data_encoding::BASE64.encode(b"me:pw")));
    let file = secret_file(&scene, "me:pw\n");
    let admitted = scene.store_with(|options| options.credentials = Credentials::Basic { file });
    let version = head(&admitted).await;
    let stranger = scene.store();
    assert!(matches!(stranger.open(&version).await, Err(StoreError::Vanished { .. })));
    assert!(matches!(stranger.find(version.as_str()).await, Err(StoreError::Vanished { .. })));
    assert!(
        matches!(stranger.find_offered(version.as_str()).await, Err(error) if !matches!(error, StoreError::Refused { .. }))
    );
    assert!(matches!(poll(&stranger).await, Err(UnknownReason::Unauthenticated { .. })));
}
