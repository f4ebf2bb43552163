//! Access to an object for its health: fields by path, conditions, and the fields that every object
//! has. A field of the wrong type counts as absent: the server has checked the kinds we know, and
//! others have no guarantee.

use setpoint_core::value::Value;

use super::Verdict;
use crate::object;

/// An object under assessment.
#[derive(Clone, Copy)]
pub(super) struct Object<'a>(&'a Value);

/// A condition: a controller's report of one aspect.
#[derive(Clone, Copy)]
pub(super) struct Condition<'a> {
    pub(super) name: &'a str,
    pub(super) state: State,
    pub(super) reason: &'a str,
    pub(super) message: &'a str,
    /// The generation that it is about, if it has one.
    pub(super) generation: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    True,
    False,
    Unknown,
}

impl<'a> Object<'a> {
    pub(super) fn new(value: &'a Value) -> Self {
        Self(value)
    }

    pub(super) fn value(self) -> &'a Value {
        self.0
    }

    /// Returns the value at a path such as `spec.template.name`.
    pub(super) fn at(self, path: &str) -> Option<&'a Value> {
        path.split('.').try_fold(self.0, |value, field| value.get(field))
    }

    pub(super) fn text(self, path: &str) -> Option<&'a str> {
        self.at(path)?.as_str()
    }

    pub(super) fn int(self, path: &str) -> Option<i64> {
        integer(self.at(path)?)
    }

    /// Returns a count in a status: controllers leave out zeros.
    pub(super) fn count(self, path: &str) -> i64 {
        self.int(path).unwrap_or(0)
    }

    pub(super) fn is_set(self, path: &str) -> bool {
        self.at(path) == Some(&Value::Bool(true))
    }

    pub(super) fn items(self, path: &str) -> impl Iterator<Item = Object<'a>> + use<'a> {
        items_of(self.at(path))
    }

    /// Returns the conditions under a path, in the form of `status.conditions`.
    pub(super) fn conditions_at(self, path: &str) -> impl Iterator<Item = Condition<'a>> + use<'a> {
        Condition::all(self.at(path))
    }

    pub(super) fn condition(self, name: &str) -> Option<Condition<'a>> {
        self.conditions_at("status.conditions").find(|condition| condition.name == name)
    }

    /// Returns the condition, if it is true.
    pub(super) fn holds(self, name: &str) -> Option<Condition<'a>> {
        self.condition(name).filter(|condition| condition.state == State::True)
    }

    /// Returns the condition, if it is false.
    pub(super) fn denies(self, name: &str) -> Option<Condition<'a>> {
        self.condition(name).filter(|condition| condition.state == State::False)
    }

    /// Returns the API group (empty for the core group) and kind.
    pub(super) fn group_and_kind(self) -> (&'a str, &'a str) {
        let group =
            object::api_version(self.0).and_then(|version| version.split_once('/')).map_or("", |(group, _)| group);
        (group, object::kind(self.0).unwrap_or(""))
    }

    pub(super) fn generation(self) -> Option<i64> {
        object::generation(self.0)
    }

    /// Returns the generation that its controller has observed. A few write the number as text.
    pub(super) fn observed_generation(self) -> Option<i64> {
        match self.at("status.observedGeneration")? {
            Value::Str(text) => text.parse().ok(),
            number => integer(number),
        }
    }

    pub(super) fn terminating(self) -> Option<Verdict> {
        object::deletion_timestamp(self.0)?;
        let finalizers: Vec<&str> = self.items("metadata.finalizers").filter_map(|name| name.0.as_str()).collect();
        Some(Verdict::progressing(if finalizers.is_empty() {
            "terminating".to_owned()
        } else {
            format!("terminating: waits for {}", finalizers.join(", "))
        }))
    }

    /// Returns a verdict if the status is about another generation than the present one.
    pub(super) fn outdated(self) -> Option<Verdict> {
        let (stands, seen) = (self.generation()?, self.observed_generation()?);
        (stands != seen).then(|| {
            Verdict::progressing(format!(
                "its controller has observed generation {seen}, and generation {stands} is declared"
            ))
        })
    }

    /// Returns a verdict if the generation is not observed yet, for kinds whose controller always
    /// writes `observedGeneration`.
    pub(super) fn unobserved(self) -> Option<Verdict> {
        match self.observed_generation() {
            None => Some(Verdict::progressing("its controller has not observed it yet")),
            Some(_) => None,
        }
    }

    /// Reports whether there is no status.
    pub(super) fn is_silent(self) -> bool {
        match self.at("status") {
            None | Some(Value::Null) => true,
            Some(Value::Map(fields)) => fields.is_empty(),
            Some(_) => false,
        }
    }
}

fn items_of(value: Option<&Value>) -> impl Iterator<Item = Object<'_>> {
    let items: &[Value] = match value {
        Some(Value::Seq(items)) => items,
        _ => &[],
    };
    items.iter().map(Object)
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Num(number) => number.as_i128().and_then(|number| number.try_into().ok()),
        _ => None,
    }
}

impl<'a> Condition<'a> {
    /// Reads a list of conditions.
    pub(super) fn all(list: Option<&'a Value>) -> impl Iterator<Item = Self> + use<'a> {
        items_of(list).filter_map(Self::read)
    }

    fn read(item: Object<'a>) -> Option<Self> {
        let state = match item.text("status") {
            Some("True") => State::True,
            Some("False") => State::False,
            _ => State::Unknown,
        };
        Some(Self {
            name: item.text("type")?,
            state,
            reason: item.text("reason").unwrap_or(""),
            message: item.text("message").unwrap_or(""),
            generation: item.int("observedGeneration"),
        })
    }

    /// Formats the condition: `Ready is false: SecretSyncedError: no such key`.
    pub(super) fn told(self) -> String {
        let state = match self.state {
            State::True => "true",
            State::False => "false",
            State::Unknown => "unknown",
        };
        [self.reason, self.message]
            .iter()
            .filter(|text| !text.is_empty())
            .fold(format!("{} is {state}", self.name), |line, text| format!("{line}: {text}"))
    }
}
