//! Recognition of our own audit events. Every write of ours bears an audit id, which contains the
//! time and a MAC over the time, the verb and the object, under a key that only this installation
//! has. The server records the id unchanged. So our events are recognized after a restart too, and
//! those of a writer that uses our name are not ours.

use hmac::{Hmac, KeyInit, Mac};
use setpoint_core::canonical;
use setpoint_core::digest::DigestKey;
use setpoint_core::time::Timestamp;
use sha2::Sha256;

use super::event::{AuditEvent, ObjectName, Verb};

/// The prefix of our audit ids, for people who read the log.
const MARK: &str = "setpoint-";
const HALF: usize = 16;
/// The maximum difference between the server's clock and ours. After that time, an id that was
/// copied from the log is useless.
const CLOCKS_APART: u64 = 10 * 60 * 1_000_000;

/// Signs our audit ids and recognizes them.
#[derive(Clone, Debug)]
pub struct Signature {
    keyed: Hmac<Sha256>,
}

impl Signature {
    pub fn derived(key: &DigestKey) -> Self {
        let seed = canonical::to_bytes(&key.digest(b"setpoint.dev/kube/audit/1"));
        Self { keyed: Hmac::new_from_slice(&seed).expect("HMAC takes a key of any length") }
    }

    /// Returns the id of a write. `number` distinguishes the writes of one instant.
    pub fn sign(&self, at: Timestamp, number: u16, verb: Verb, object: &ObjectName) -> String {
        let nonce = at.as_millis() << 16 | u64::from(number);
        format!("{MARK}{nonce:016x}{:016x}", self.seal(nonce, verb, object))
    }

    /// Returns the time when we sent this write, by our own clock; `None` if it was not ours.
    pub fn sent(&self, event: &AuditEvent) -> Option<Timestamp> {
        let digits = event.id.strip_prefix(MARK).filter(|digits| digits.len() == 2 * HALF && digits.is_ascii())?;
        let (nonce, seal) = digits.split_at(HALF);
        let (nonce, seal) = (u64::from_str_radix(nonce, 16).ok()?, u64::from_str_radix(seal, 16).ok()?);
        let at = Timestamp::from_millis(nonce >> 16);
        let timely = event.received.abs_diff(at.as_millis().saturating_mul(1_000)) <= CLOCKS_APART;
        (timely && seal == self.seal(nonce, event.verb, &event.object)).then_some(at)
    }

    fn seal(&self, nonce: u64, verb: Verb, object: &ObjectName) -> u64 {
        let ObjectName { group, resource, namespace, name } = object;
        let mut mac = self.keyed.clone();
        mac.update(&nonce.to_be_bytes());
        for part in [&verb.to_string(), &**group, &**resource, &**namespace, &**name] {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        let seal: [u8; 32] = mac.finalize().into_bytes().into();
        u64::from_be_bytes(*seal.first_chunk().expect("a seal has 32 bytes"))
    }
}

#[cfg(test)]
pub(super) mod samples {
    use serde_json::{Value, json};

    /// Builds a line of a log with these JSON pointers set.
    pub(crate) fn line(changes: &[(&str, &str)]) -> String {
        let mut event = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "auditID": "one",
            "stage": "ResponseComplete", "verb": "patch",
            "requestURI": "/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=kubectl+edit%2F2&x=1",
            "user": {"username": "jane", "groups": ["people"]}, "impersonatedUser": null,
            "sourceIPs": ["10.0.0.7"], "userAgent": "kubectl/v1.36.0 (linux/amd64)",
            "objectRef": {"resource": "deployments", "namespace": "shop", "name": "web", "apiGroup": "apps", "apiVersion": "v1"},
            "responseStatus": {"code": 200},
            "responseObject": {"kind": "Deployment", "metadata": {"uid": "u-1", "resourceVersion": "42"}},
            "requestReceivedTimestamp": "2026-11-16T10:00:01.100000Z", "stageTimestamp": "2026-11-16T10:00:01.104500Z",
            "annotations": {"authorization.k8s.io/decision": "allow"},
        });
        for (pointer, value) in changes {
            *event.pointer_mut(pointer).unwrap() = serde_json::from_str::<Value>(value).unwrap();
        }
        event.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::event::{micros, read_event};

    fn signed(by: &Signature, at: &str) -> AuditEvent {
        let event = read_event(samples::line(&[]).as_bytes()).unwrap().unwrap();
        let at = Timestamp::from_millis(micros(at).unwrap() / 1_000);
        AuditEvent { id: by.sign(at, 7, event.verb, &event.object).into(), ..event }
    }

    #[test]
    fn our_own_ids_are_known_again_and_no_others() {
        let ours = Signature::derived(&DigestKey::new([1; 32]));
        let event = signed(&ours, "2026-11-16T10:00:01.050Z");
        assert_eq!(
            ours.sent(&event).map(Timestamp::as_millis),
            Some(micros("2026-11-16T10:00:01.050Z").unwrap() / 1_000)
        );
        assert!(event.id.len() <= 64, "the server cuts longer ones");
        assert_eq!(Signature::derived(&DigestKey::new([2; 32])).sent(&event), None);
        for id in ["one", "setpoint-", &event.id[..40], &format!("{}0", event.id), &"setpoint-é".repeat(4)] {
            assert_eq!(ours.sent(&AuditEvent { id: id.into(), ..event.clone() }), None, "{id}");
        }
    }

    #[test]
    fn an_id_of_ours_is_worth_nothing_on_another_object_verb_or_day() {
        let ours = Signature::derived(&DigestKey::new([1; 32]));
        let event = signed(&ours, "2026-11-16T10:00:01.050Z");
        let other = ObjectName { name: "other".into(), ..event.object.clone() };
        assert_eq!(ours.sent(&AuditEvent { object: other, ..event.clone() }), None);
        assert_eq!(ours.sent(&AuditEvent { verb: Verb::Delete, ..event.clone() }), None);
        assert_eq!(ours.sent(&AuditEvent { received: event.received + 86_400_000_000, ..event }), None);
    }
}
