//! Patches of objects: JSON merge patches, JSON patches, and whole objects.

use serde_json::{Value as Json, json};

use crate::refusal::Refused;
use crate::schema::Kind;
use crate::server::Place;
use crate::stored::Stored;

/// Applies a patch, or a whole object, to a stored object.
pub(crate) fn patched(kind: &Kind, place: &Place, stored: &Stored, how: &str, sent: Json) -> Result<Json, Refused> {
    let mut object = stored.render(place);
    match how {
        "application/merge-patch+json" => merge(&mut object, &sent),
        "application/json-patch+json" => {
            for step in sent.as_array().map(Vec::as_slice).unwrap_or_default() {
                patch(&mut object, step).ok_or_else(|| Refused::unpatchable(kind, &place.name))?;
            }
        }
        _ => {
            // A write without `managedFields` leaves them unchanged.
            let managed = object["metadata"].get("managedFields").cloned();
            object = sent;
            if let (Some(managed), None) = (managed, object["metadata"].get("managedFields")) {
                object["metadata"]["managedFields"] = managed;
            }
        }
    }
    Ok(object)
}

fn merge(object: &mut Json, patch: &Json) {
    let Json::Object(changes) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    let Some(fields) = object.as_object_mut() else { return };
    for (name, value) in changes {
        if value.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.clone()).or_insert(Json::Null), value);
        }
    }
}

/// Applies one step of a JSON patch.
fn patch(object: &mut Json, step: &Json) -> Option<()> {
    let (pointer, value) = (step["path"].as_str()?, &step["value"]);
    let (parent, last) = pointer.rsplit_once('/')?;
    let last = last.replace("~1", "/").replace("~0", "~");
    let parent = object.pointer_mut(parent)?;
    match (step["op"].as_str()?, parent) {
        ("remove", Json::Object(fields)) => fields.remove(&last).map(drop),
        ("remove", Json::Array(items)) => {
            let at: usize = last.parse().ok()?;
            (at < items.len()).then(|| drop(items.remove(at)))
        }
        ("add", Json::Object(fields)) => {
            fields.insert(last, value.clone());
            Some(())
        }
        ("replace", Json::Object(fields)) => fields.get_mut(&last).map(|at| *at = value.clone()),
        ("replace", Json::Array(items)) => items.get_mut(last.parse::<usize>().ok()?).map(|at| *at = value.clone()),
        ("test", parent) => (parent.get(&last) == Some(value)).then_some(()),
        _ => None,
    }
}
