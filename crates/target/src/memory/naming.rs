//! The key of a declaration in memory: group and kind, namespace and name, never the version of its
//! API.

use setpoint_core::key::Key;
use setpoint_core::value::Value;

use crate::contract::Unidentifiable;

pub(super) fn key_of(api_version: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable> {
    let class = match api_version.rsplit_once('/') {
        Some((group, _)) => format!("{group}/{kind}"),
        None => kind.to_owned(),
    };
    let namespace = text_at(body, "namespace")?.unwrap_or_default();
    let name = text_at(body, "name")?
        .ok_or_else(|| Unidentifiable { problem: "`metadata.name` is missing: name the object".to_owned() })?;
    Key::new(&class, namespace, name).map_err(|bad| Unidentifiable { problem: bad.to_string() })
}

fn text_at<'a>(body: &'a Value, field: &str) -> Result<Option<&'a str>, Unidentifiable> {
    match body.get("metadata").and_then(|metadata| metadata.get(field)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Str(text)) => Ok(Some(text)),
        Some(_) => Err(Unidentifiable { problem: format!("`metadata.{field}` is not a text: put it in quotes") }),
    }
}
