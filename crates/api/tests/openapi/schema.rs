//! Compares JSON with a schema of the document. Knows the keywords that the document uses, and fails
//! on any other one. Stricter than JSON Schema: a field that the schema does not list is a problem.

use std::collections::BTreeSet;

use serde_json::Value;

/// Keywords that only describe.
const WORDS: [&str; 5] = ["description", "example", "format", "pattern", "maxLength"];

/// The document that schemas refer to.
#[derive(Clone, Copy)]
pub(super) struct Schemas<'a>(pub(super) &'a Value);

impl<'a> Schemas<'a> {
    fn referred(self, path: &Value) -> &'a Value {
        let path = path.as_str().and_then(|path| path.strip_prefix('#')).expect("a reference into the document");
        self.0.pointer(path).unwrap_or_else(|| panic!("{path} does not exist"))
    }

    /// Returns the schema of a component.
    pub(super) fn named(self, name: &str) -> &'a Value {
        &self.0["components"]["schemas"][name]
    }

    /// Returns the differences of a value from its schema.
    pub(super) fn problems(self, schema: &'a Value, value: &Value) -> Vec<String> {
        let mut problems = Vec::new();
        self.compare(schema, value, ("", true), &mut problems);
        problems
    }

    /// `at` is the place of the value; with `alone`, no other schema describes fields of it.
    fn compare(self, schema: &'a Value, value: &Value, (at, alone): (&str, bool), problems: &mut Vec<String>) {
        let keywords = schema.as_object().expect("a schema is an object");
        if alone && let Some(object) = value.as_object() {
            let mut known = BTreeSet::new();
            if self.fields(schema, &mut known) {
                let unknown = object.keys().filter(|name| !known.contains(name.as_str()));
                problems.extend(unknown.map(|name| format!("{at}/{name} is not in the schema")));
            }
        }
        for (keyword, rule) in keywords {
            match keyword.as_str() {
                "$ref" => self.compare(self.referred(rule), value, (at, false), problems),
                "type" => problems.extend((!has_type(rule, value)).then(|| format!("{at} is not {rule}: {value}"))),
                "enum" => {
                    let choices = rule.as_array().expect("a list");
                    problems.extend((!choices.contains(value)).then(|| format!("{at} is none of {rule}: {value}")));
                }
                "minimum" => {
                    let is_below = value.as_f64() < rule.as_f64();
                    problems.extend(is_below.then(|| format!("{at} is less than {rule}: {value}")));
                }
                "required" => {
                    let missing =
                        rule.as_array().expect("a list").iter().filter(|name| value.get(name_of(name)).is_none());
                    problems.extend(missing.map(|name| format!("{at} has no {name}")));
                }
                "properties" => {
                    for (name, schema) in rule.as_object().expect("schemas by name") {
                        if let Some(field) = value.get(name) {
                            self.compare(schema, field, (&format!("{at}/{name}"), true), problems);
                        }
                    }
                }
                "items" => {
                    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.compare(rule, item, (&format!("{at}/{number}"), true), problems);
                    }
                }
                "additionalProperties" if rule.is_object() => {
                    for (name, field) in value.as_object().into_iter().flatten() {
                        self.compare(rule, field, (&format!("{at}/{name}"), true), problems);
                    }
                }
                // `fields` reports unknown names.
                "additionalProperties" => assert_eq!(*rule, Value::Bool(false), "{schema}"),
                "propertyNames" => {
                    for name in value.as_object().into_iter().flat_map(serde_json::Map::keys) {
                        self.compare(rule, &Value::from(name.as_str()), (at, true), problems);
                    }
                }
                "allOf" => {
                    for part in rule.as_array().expect("a list") {
                        self.compare(part, value, (at, false), problems);
                    }
                }
                "anyOf" => {
                    let choices = rule.as_array().expect("a list").iter();
                    let compared: Vec<_> = choices.map(|choice| self.problems(choice, value)).collect();
                    if !compared.iter().any(Vec::is_empty) {
                        problems.push(format!("{at} fits no choice: {compared:?}"));
                    }
                }
                "oneOf" => self.choose(rule, value, (at, alone), problems),
                word => assert!(WORDS.contains(&word), "the test does not know the keyword {word}"),
            }
        }
    }

    fn choose(self, choices: &'a Value, value: &Value, place: (&str, bool), problems: &mut Vec<String>) {
        let choices = choices.as_array().expect("a list");
        let compared = choices.iter().map(|choice| {
            let mut problems = Vec::new();
            self.compare(choice, value, place, &mut problems);
            problems
        });
        let compared: Vec<_> = compared.collect();
        let fitting = compared.iter().filter(|problems| problems.is_empty()).count();
        if fitting != 1 {
            problems.push(format!("{} fits {fitting} of {} choices: {compared:?}", place.0, choices.len()));
        }
    }

    /// Collects the fields that a schema describes; `false` if it permits any.
    fn fields(self, schema: &'a Value, names: &mut BTreeSet<&'a str>) -> bool {
        let own = schema["properties"].as_object();
        names.extend(own.into_iter().flat_map(|fields| fields.keys().map(String::as_str)));
        let referred = schema.get("$ref").is_some_and(|path| self.fields(self.referred(path), names));
        let parts = ["allOf", "oneOf"].into_iter().filter_map(|keyword| schema[keyword].as_array()).flatten();
        // All parts are read, also after one that has fields.
        let combined = parts.filter(|part| self.fields(part, names)).count() > 0;
        own.is_some() || referred || combined
    }
}

fn name_of(name: &Value) -> &str {
    name.as_str().expect("a name")
}

fn has_type(rule: &Value, value: &Value) -> bool {
    let has = |name: &Value| match name_of(name) {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the test does not know the type {other}"),
    };
    rule.as_array().map_or_else(|| has(rule), |names| names.iter().any(has))
}
