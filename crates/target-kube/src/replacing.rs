//! Checks whether the server would accept a declaration as a new object while the old one still
//! exists under its name.
//!
//! The new object is tried by a dry-run under another name, through the server's validation and all
//! admission. The server may refuse it because of something the old object holds (a port, an
//! address, a share of a quota), although that would be free by then: in this case nothing is
//! deleted.

use std::sync::Arc;

use setpoint_core::digest::Digest;
use setpoint_core::key::Key;
use setpoint_core::resource::Resource;
use setpoint_core::value::Value;
use setpoint_kube::object;
use setpoint_kube::request::{Sending, for_request};
use setpoint_target::{Asker, Refusal, RefusalClass};

use crate::act::{never_there, refusal_of};
use crate::cluster::Cluster;
use crate::requests::{Behalf, Form, Manner, Place, Urgency};

/// The number of characters at the end of a stand-in's name that replace those of the real name.
const UNLIKE: usize = 8;
/// From this length on, a name may be close to the limit of its kind.
const LONG: usize = 24;

impl Cluster {
    pub(crate) async fn preview_replacement(&self, resource: &Resource, asker: &Asker) -> Result<(), Refusal> {
        let on = Behalf::of(asker, Urgency::from(asker.priority));
        let refusal = |class, detail| Refusal { class, detail, retry_after: None };
        self.visit().await.map_err(|reason| refusal(RefusalClass::Unavailable, reason.to_string()))?;
        let place = self.place(&resource.key, Some(resource)).await.map_err(|error| error.refusal())?;
        let found = self.api.get(&place, Form::Metadata, on).await;
        let stands = found.map_err(|failure| refusal_of(&failure, &resource.key))?;
        if let Some(since) = object::deletion_timestamp(&stands) {
            let detail =
                format!("{} has been in deletion since {since}: it is recreated once it is gone", resource.key);
            return Err(refusal(RefusalClass::Unready, detail));
        }
        let name = stand_in(&resource.key);
        let sending = Sending { installation: &self.installation, intent: None, expect: None };
        let body = never_there(named(for_request(resource, &sending), &name));
        let place = Place { name: name.into(), ..place };
        let manner = Manner { force: false, dry_run: true };
        let answer = self.api.apply(&place, &body, manner, self.dry_run_deadline(), on).await;
        match answer {
            Ok(applied) if applied.created => Ok(()),
            Ok(_) => Err(refusal(RefusalClass::Conflict, format!("{} is there already", place.name))),
            Err(failure) => Err(refusal_of(&failure, &resource.key)),
        }
    }
}

/// Builds an unused name. It begins like the real one, and has the same length if the real one is
/// long: the server judges both names alike.
fn stand_in(key: &Key) -> String {
    let digest = Digest::of(key.to_text().as_bytes()).to_string();
    let unlike: String = digest.chars().filter(char::is_ascii_hexdigit).rev().take(UNLIKE - 1).collect();
    let length = key.name().chars().count();
    if length < LONG {
        return format!("{}-x{unlike}", key.name());
    }
    let like: String = key.name().chars().take(length - UNLIKE).collect();
    format!("{like}x{unlike}")
}

fn named(mut body: Value, name: &str) -> Value {
    if let Value::Map(fields) = &mut body
        && let Some(Value::Map(metadata)) = fields.get_mut("metadata")
    {
        metadata.insert(Arc::from("name"), Value::str(name));
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stand_in_has_a_name_of_its_own_that_is_judged_like_the_real_one() {
        for name in
            ["w", "web", "front.example.com", &"x".repeat(23), &"x".repeat(24), &"a.".repeat(126), &"x".repeat(253)]
        {
            let stand_in = stand_in(&Key::new("apps/Deployment", "shop", name).unwrap());
            assert_ne!(stand_in, name);
            assert_eq!(stand_in.len() == name.len(), name.len() >= LONG, "{stand_in}");
            assert!(stand_in.len() <= name.len().max(LONG + UNLIKE), "{stand_in}");
            assert!(name.starts_with(&stand_in[..name.len().min(stand_in.len() - UNLIKE - 1)]), "{stand_in}");
            let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
            assert!(
                stand_in.bytes().all(plain) && stand_in.ends_with(|last: char| last.is_ascii_hexdigit()),
                "{stand_in}"
            );
        }
    }
}
