//! Sealed values: opened when they are written, compared by their keyed digests, and never shown.

use std::sync::Arc;

use setpoint_core::digest::DigestKey;
use setpoint_core::secret::{Secret, SecretRef};
use setpoint_core::value::Value;
use setpoint_target::{Asker, Outcome, RefusalClass, Target};
use setpoint_target_host::Secrets;

use crate::scene::{Scene, refusal, resource};

const SECRET: &str = "hunter2";

#[derive(Debug)]
struct Vault;

impl Secrets for Vault {
    fn open(&self, reference: &SecretRef) -> Option<Secret<Vec<u8>>> {
        (&*reference.name == "db").then(|| Secret::new(SECRET.as_bytes().to_vec()))
    }
}

fn sealed(name: &str) -> Value {
    // The key of the scene's targets.
    let digest = DigestKey::new([7; 32]).digest(SECRET.as_bytes());
    Value::Secret(SecretRef { name: name.into(), digest })
}

fn with_content(content: Value) -> setpoint_core::resource::Resource {
    resource("File", "secret", Value::map([("path", Value::str("/secret")), ("content", content)]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sealed_content_is_written_open_and_compared_closed() {
    let scene = Scene::with(|options| options.secrets = Some(Arc::new(Vault)));
    let declared = with_content(sealed("db"));
    let live = scene.have(&declared).await;
    assert_eq!(scene.text("/secret").as_deref(), Some(SECRET));
    assert_eq!(live.value, declared.body);
    assert!(!format!("{live:?}{:?}", scene.target).contains(SECRET));
    scene.write("/secret", "stolen");
    let edited = scene.live(&declared).await;
    assert_ne!(edited.value, declared.body);
    assert!(!format!("{edited:?}").contains("stolen"));
    // Removing the declaration must not reveal the content.
    let alone =
        scene.target.observe([(declared.key.clone(), None)].into(), Asker::default(), crate::scene::now()).await;
    assert!(!format!("{alone:?}").contains("stolen"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_opened_is_refused_and_leaves_nothing() {
    let scene = Scene::new();
    let declared = with_content(sealed("db"));
    let previewed = scene.target.preview(&declared, &Asker::default()).await.map_err(|refusal| refusal.class);
    assert_eq!(previewed, Err(RefusalClass::Denied));
    let scene = Scene::with(|options| options.secrets = Some(Arc::new(Vault)));
    let outcome: Outcome = scene.create(&with_content(sealed("other"))).await;
    assert_eq!(refusal(&outcome).class, RefusalClass::Denied);
    assert!(scene.names("/").is_empty());
}
