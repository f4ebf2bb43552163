//! Selects fields of the objects in a list: `?fields=app,state`. Works on JSON, for any type.

use std::collections::BTreeSet;

use serde::de::{DeserializeOwned, Deserializer, Visitor, value};
use serde::{Serialize, forward_to_deserialize_any};
use serde_json::Value;

use crate::agent::{Problem, ProblemKind};

/// The fields that a client wants of each object.
pub(crate) struct Fields(BTreeSet<String>);

impl Fields {
    /// Parses the names of fields of a type, separated by commas.
    pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<Self, Problem> {
        let known = fields_of::<T>();
        let wanted: BTreeSet<_> = text.split(',').map(|name| name.trim().to_owned()).collect();
        match wanted.iter().find(|name| !known.contains(&name.as_str())) {
            None => Ok(Self(wanted)),
            Some(unknown) => {
                let (unknown, known) = (unknown.escape_debug(), known.join(", "));
                let message = format!("`fields` has no field `{unknown}`; the fields are {known}");
                Err(Problem::new(ProblemKind::Question, message))
            }
        }
    }

    /// Returns a response in which the objects of a list have only these fields.
    pub(crate) fn of(&self, response: &impl Serialize, list: &str) -> Result<Value, Problem> {
        let mut response = serde_json::to_value(response).map_err(|error| {
            Problem::new(ProblemKind::Unavailable, format!("the response cannot be written as JSON: {error}"))
        })?;
        for item in response.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(item) = item.as_object_mut() {
                item.retain(|name, _| self.0.contains(name));
            }
        }
        Ok(response)
    }
}

/// Returns the names of the fields of a struct, as JSON has them.
fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut found: &'static [&'static str] = &[];
    // Reading it fails, once the names are known.
    let _ = T::deserialize(Names(&mut found));
    found
}

/// A deserializer without content, which asks a type for the names of its fields.
struct Names<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Names<'_> {
    type Error = value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_unit()
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::answer::AppSummary;

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Item {
        name: String,
        moved_to: Option<String>,
    }

    fn selected(fields: &str) -> Result<Value, Problem> {
        let item = |name: &str| Item { name: name.to_owned(), moved_to: None };
        Fields::parse::<Item>(fields)?.of(&json!({ "items": [item("a"), item("b")], "total": 2 }), "items")
    }

    #[test]
    fn objects_have_only_the_named_fields_and_the_rest_stays() {
        assert_eq!(selected("name").unwrap(), json!({ "items": [{ "name": "a" }, { "name": "b" }], "total": 2 }));
        assert_eq!(selected("movedTo, name").unwrap()["items"][0], json!({ "name": "a", "movedTo": null }));
    }

    #[test]
    fn an_unknown_field_is_refused_with_the_names_of_all() {
        for (fields, unknown) in [("name,moved_to", "moved_to"), ("", ""), ("name,", ""), ("n\nm", "n\\nm")] {
            let message = selected(fields).expect_err("it is unknown").message;
            assert_eq!(message, format!("`fields` has no field `{unknown}`; the fields are name, movedTo"));
        }
    }

    #[test]
    fn the_fields_of_an_app_are_known() {
        let fields = fields_of::<AppSummary>();
        assert!(["app", "state", "targetName", "setBack"].iter().all(|name| fields.contains(name)), "{fields:?}");
    }
}
