//! From types to JSON Schema, and from types of queries to parameters.

use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// The schemas of all types that the document refers to.
#[derive(Default)]
pub(super) struct Schemas {
    all: Map<String, Value>,
}

impl Schemas {
    /// Returns a reference to the schema of a type, and adds that with those it refers to.
    pub(super) fn of<T: ToSchema>(&mut self) -> Value {
        let mut schemas = vec![(T::name().into_owned(), T::schema())];
        T::schemas(&mut schemas);
        for (name, schema) in schemas {
            let mut schema = serde_json::to_value(&schema).expect("a schema is plain JSON");
            tidy(&mut schema);
            let known = self.all.entry(name.clone()).or_insert_with(|| schema.clone());
            assert!(*known == schema, "two types have the name {name}: rename one of them");
        }
        json!({ "$ref": format!("#/components/schemas/{}", T::name()) })
    }

    /// Returns the parameters of a query, which are the fields of a type.
    pub(super) fn parameters<T: ToSchema>(&mut self) -> Vec<Value> {
        let own = format!("{}", T::name());
        let is_new = !self.all.contains_key(&own);
        self.of::<T>();
        let schema = self.all.get(&own).cloned().expect("it was added");
        if is_new {
            // Only its fields are in the document.
            self.all.remove(&own);
        }
        let required = |name: &str| is_required(&schema, name);
        let fields = schema["properties"].as_object().expect("queries have fields");
        let parameter = |(name, schema): (&String, &Value)| {
            let mut schema = schema.clone();
            let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            parameter("query", name, required(name), &description.unwrap_or_default(), &schema)
        };
        fields.iter().map(parameter).collect()
    }

    /// Returns the schema that a reference names.
    pub(super) fn get(&self, reference: &Value) -> &Value {
        let name = reference["$ref"].as_str().and_then(|path| path.rsplit('/').next()).expect("a reference");
        &self.all[name]
    }

    /// Adds a changed copy of a schema under another name; returns a reference to it.
    pub(super) fn variant(&mut self, of: &Value, name: &str, change: impl FnOnce(&mut Value)) -> Value {
        let mut schema = self.get(of).clone();
        change(&mut schema);
        self.all.insert(name.to_owned(), schema);
        json!({ "$ref": format!("#/components/schemas/{name}") })
    }

    pub(super) fn all(self) -> Value {
        Value::Object(self.all)
    }
}

/// Describes a parameter.
pub(super) fn parameter(place: &str, name: &str, required: bool, description: &Value, schema: &Value) -> Value {
    json!({ "name": name, "in": place, "required": required, "description": description, "schema": schema })
}

fn is_required(schema: &Value, field: &str) -> bool {
    schema["required"].as_array().is_some_and(|required| required.iter().any(|name| name == field))
}

/// Corrects what a derive cannot know: a field that may be missing is never `null`, the lines of a
/// comment end where the source is full, and `int64` ends at half of what a `u64` may be.
fn tidy(schema: &mut Value) {
    if schema["properties"].is_object() {
        let before = schema.clone();
        let fields = schema["properties"].as_object_mut().expect("it was checked");
        for (name, field) in fields {
            if !is_required(&before, name) {
                never_null(field);
            }
        }
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = paragraphs(text);
    }
    if schema["minimum"] == 0
        && let Some(Value::String(format)) = schema.get_mut("format")
    {
        *format = format.replace("int", "uint");
    }
    match schema {
        Value::Object(fields) => fields.values_mut().for_each(tidy),
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// Joins the lines of each paragraph of a comment.
fn paragraphs(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

fn never_null(field: &mut Value) {
    let Some(schema) = field.as_object_mut() else { return };
    if let Some(types) = schema.get_mut("type").and_then(Value::as_array_mut) {
        types.retain(|name| name != "null");
        if let [name] = types.as_slice() {
            let name = name.clone();
            schema.insert("type".to_owned(), name);
        }
    }
    let Some(mut choices) = schema.remove("oneOf") else { return };
    let choices_left = choices.as_array_mut().expect("`oneOf` is a list");
    choices_left.retain(|choice| *choice != json!({ "type": "null" }));
    match choices_left.as_mut_slice() {
        [Value::Object(only)] => schema.append(only),
        _ => drop(schema.insert("oneOf".to_owned(), choices)),
    }
}
