//! The cluster itself: state that all calls share, the places of objects, and the properties that
//! are read from each object.

use std::sync::Arc;
use std::sync::atomic::AtomicU16;

use setpoint_core::canonical;
use setpoint_core::digest::{Digest, DigestKey};
use setpoint_core::key::Key;
use setpoint_core::name::{LiveVersion, TargetIdentity, Uid};
use setpoint_core::observed::UnknownReason;
use setpoint_core::resource::Resource;
use setpoint_core::time::Timestamp;
use setpoint_core::value::Value;
use setpoint_kube::audit::Signature;
use setpoint_kube::audit::event::micros;
use setpoint_kube::health::{Rules as HealthRules, assess};
use setpoint_kube::key::group_and_kind;
use setpoint_kube::object;
use setpoint_kube::project::HashKey;
use setpoint_kube::request::{INSTALLATION_LABEL, fencing_manager, field_manager};
use setpoint_target::{Refusal, RefusalClass};

use crate::audit::Audit;
use crate::autoscalers::Autoscalers;
use crate::discovery::{Discovery, Unserved};
use crate::identity::Identity;
use crate::options::KubeOptions;
use crate::origins::Origins;
use crate::records::{Records, Standing};
use crate::requests::{Api, Collection, Place, Sender};
use crate::schemas::Schemas;
use crate::watch::Watches;
use setpoint_target::Cache;

/// The whole state of one target.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) api: Api,
    pub(crate) identity: Identity,
    pub(crate) discovery: Discovery,
    pub(crate) origins: Origins,
    pub(crate) schemas: Schemas,
    pub(crate) records: Records,
    pub(crate) watches: Watches,
    pub(crate) autoscalers: Autoscalers,
    /// The health rules for kinds that report their health in their own way.
    pub(crate) health: Arc<HealthRules>,
    pub(crate) hash_key: HashKey,
    pub(crate) digest_key: DigestKey,
    pub(crate) installation: Arc<str>,
    /// The namespace of resources that declare none.
    pub(crate) namespace: Arc<str>,
    pub(crate) trust_streams: bool,
    /// The audit events, if any will arrive.
    pub(crate) audit: Option<Arc<Audit>>,
    memory: Arc<dyn Cache>,
    /// The stored records have been loaded.
    recalled: futures_util::lock::Mutex<bool>,
}

impl Cluster {
    pub(crate) fn new(options: KubeOptions) -> Self {
        let sender = Sender::new(options.wire, options.clock);
        let signature = Signature::derived(&options.digest_key);
        Self {
            api: Api {
                sender,
                manager: field_manager(&options.installation),
                fencing_manager: fencing_manager(&options.installation),
                signature: signature.clone(),
                signed: AtomicU16::new(0),
            },
            identity: Identity::new(options.identity, options.identity_holds),
            discovery: Discovery::default(),
            origins: Origins::default(),
            schemas: Schemas::default(),
            records: Records::default(),
            watches: Watches::new(options.most_streams, options.most_by_name, options.poll_round),
            autoscalers: Autoscalers::default(),
            health: options.health,
            hash_key: HashKey::derived(&options.digest_key),
            digest_key: options.digest_key,
            installation: options.installation,
            namespace: options.namespace,
            trust_streams: options.trust_streams,
            audit: options.audit.map(|settles| Arc::new(Audit::new(signature, settles))),
            memory: options.memory,
            recalled: futures_util::lock::Mutex::new(false),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.api.sender.now()
    }

    /// Verifies the identity of the cluster, and loads its stored records on the first call.
    pub(crate) async fn visit(&self) -> Result<TargetIdentity, UnknownReason> {
        let identity = self.identity.verify(&self.api).await?;
        let mut recalled = self.recalled.lock().await;
        if !*recalled {
            // State that cannot be loaded is found out again, at the cost of requests.
            if let Ok(stored) = self.memory.load(&identity).await {
                self.origins.recall(&stored);
                let judged = |key: &Key| self.health.fingerprint(key.class());
                // A read finds their health by the current rules.
                self.records.recall(stored, judged).into_iter().for_each(|key| self.watches.tell(key));
            }
            *recalled = true;
        }
        Ok(identity)
    }

    /// Stores the records that changed since the last call.
    pub(crate) async fn remember(&self) {
        let Some(identity) = self.identity.expected() else { return };
        let mut moved = self.records.take_moved(|key| self.health.fingerprint(key.class()));
        moved.extend(self.origins.take_moved());
        if moved.is_empty() {
            return;
        }
        let names: Vec<String> = moved.iter().map(|(name, _)| name.clone()).collect();
        if self.memory.store(&identity, moved).await.is_err() {
            // Otherwise the next process would believe the older stored state.
            self.records.store_again(&names);
            self.origins.store_again(&names);
        }
    }

    /// Returns the path of a kind's objects, in the declared version or else in the preferred one.
    pub(crate) async fn collection(&self, key: &Key, resource: Option<&Resource>) -> Result<Collection, Unplaced> {
        let (group, kind) = group_and_kind(key.class());
        let version = resource.map(|resource| resource.api_version.rsplit('/').next().unwrap_or_default());
        let served = self.discovery.find(&self.api, group, kind, version).await?;
        let namespace: Arc<str> = match (served.namespaced, key.namespace()) {
            (true, "") => return Err(Unplaced::Namespace { key: key.clone(), needs: true }),
            (false, namespace) if !namespace.is_empty() => {
                return Err(Unplaced::Namespace { key: key.clone(), needs: false });
            }
            (_, namespace) => namespace.into(),
        };
        Ok(Collection { group: group.into(), version: served.version, resource: served.resource, namespace })
    }

    pub(crate) async fn place(&self, key: &Key, resource: Option<&Resource>) -> Result<Place, Unplaced> {
        let collection = self.collection(key, resource).await?;
        self.learn_origin(key.class(), &collection).await;
        Ok(collection.object(key.name()))
    }

    /// Reads the properties of an object, other than its value, that an observation needs.
    pub(crate) fn standing(&self, object: &Value) -> Standing {
        Standing {
            health: assess(object, &self.health).health,
            controlled: object::controller(object).is_some(),
            deleting: object::deletion_timestamp(object).is_some(),
            ended: object::has_run_out(object),
            made: made(object),
            generation: object::generation(object),
            metadata: metadata_hash(object),
        }
    }

    /// Reports whether the stream of its kind reports an object.
    pub(crate) fn is_covered(&self, object: &Value) -> bool {
        object::label(object, INSTALLATION_LABEL) == Some(&*self.installation)
    }
}

/// The reason why an object has no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unplaced {
    #[error("{0}")]
    Unserved(#[from] Unserved),
    #[error("{key} {}", if *needs { "lives in a namespace: declare `metadata.namespace`" } else { "lives in no namespace: remove `metadata.namespace`" })]
    Namespace { key: Key, needs: bool },
}

impl Unplaced {
    /// Returns the refusal of a step whose object has no place. Only the last two variants are
    /// errors of the declaration.
    pub(crate) fn refusal(&self) -> Refusal {
        let class = match self {
            Self::Unserved(Unserved::NoSuchKind { .. } | Unserved::Silent { .. }) => RefusalClass::Unready,
            Self::Unserved(Unserved::Unknown(_)) => RefusalClass::Unavailable,
            Self::Unserved(Unserved::NoSuchVersion { .. }) | Self::Namespace { .. } => RefusalClass::Invalid,
        };
        Refusal { class, detail: self.to_string(), retry_after: None }
    }
}

/// The UID and version of an object.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) uid: Uid,
    pub(crate) version: LiveVersion,
}

impl Named {
    pub(crate) fn of(object: &Value) -> Result<Self, UnknownReason> {
        let uid = object::uid(object).and_then(|uid| Uid::new(uid).ok());
        let version = object::resource_version(object).and_then(|version| LiveVersion::new(version).ok());
        match (uid, version) {
            (Some(uid), Some(version)) => Ok(Self { uid, version }),
            _ => Err(UnknownReason::Malformed { detail: "an object has no UID or no resourceVersion".to_owned() }),
        }
    }
}

/// Returns the second in which an object was created, by the server's clock.
fn made(object: &Value) -> Option<u32> {
    let time = object::at(object, &["metadata", "creationTimestamp"]).and_then(Value::as_str)?;
    u32::try_from(micros(time)? / 1_000_000).ok()
}

/// Hashes the metadata that a status update does not change. Together with the generation it shows
/// whether anything except the status changed.
pub(crate) fn metadata_hash(object: &Value) -> u64 {
    let fields = ["labels", "annotations", "ownerReferences", "finalizers", "deletionTimestamp"];
    let mut told: Vec<Option<&Value>> = fields.iter().map(|field| object::at(object, &["metadata", field])).collect();
    if let Some(Value::Seq(entries)) = object::at(object, &["metadata", "managedFields"]) {
        let of_status = |entry: &&Value| entry.get("subresource").and_then(Value::as_str) == Some("status");
        told.extend(entries.iter().filter(|entry| !of_status(entry)).map(Some));
    }
    let digest: Digest = canonical::digest_of(&told);
    let hex = digest.to_string();
    u64::from_str_radix(&hex[..16], 16).expect("a digest is written in hexadecimal digits")
}
