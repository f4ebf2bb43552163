//! Parses `Command`.

use std::sync::Arc;

use setpoint_core::time::Span;
use setpoint_core::value::Value;

use super::reading::{Object, Reading};
use super::{CommandSpec, Content, Variable, kinds};
use crate::path::HostPath;

/// An effect must land within 30 s of its intent, and the check runs after it.
const LONGEST: Span = Span::seconds(25);
const DEFAULT_TIMEOUT: Span = Span::seconds(20);

impl Reading {
    pub(super) fn command(&mut self, name: Option<Arc<str>>, spec: &Value) -> Option<CommandSpec> {
        let spec = self.object("spec".to_owned(), spec, kinds::COMMAND)?;
        let check = self.run(&spec, "check");
        let apply = self.run(&spec, "apply");
        let timeout = self.timeout(&spec);
        let environment = self.environment(&spec);
        let cwd = self.cwd(&spec);
        let sensitive = self.flag(&spec, "sensitive");
        Some(CommandSpec {
            name: name?,
            check: check?,
            apply: apply?,
            timeout: timeout?,
            environment: environment?,
            cwd: cwd?,
            sensitive,
        })
    }

    fn run(&mut self, spec: &Object<'_>, field: &str) -> Option<Vec<Arc<str>>> {
        let value = self.required(spec, field)?;
        let run = self.object(spec.at(field), value, kinds::RUN)?;
        let command = self.required(&run, "command")?;
        let items = self.list(&run, "command", command)?;
        let mut words = Vec::new();
        for (number, item) in items.iter().enumerate() {
            let place = format!("{}[{number}]", run.at("command"));
            let word = self.as_text(place.clone(), item)?;
            if word.contains('\0') {
                return self.report(place, "holds a NUL byte", "remove it");
            }
            words.push(Arc::clone(word));
        }
        match words.first() {
            Some(program) if program.starts_with('/') => Some(words),
            Some(_) => {
                let hint = "write the program's absolute path; a shell is `/bin/sh`, `-c`, …";
                self.report(format!("{}[0]", run.at("command")), "is not an absolute path", hint)
            }
            None => self.report(run.at("command"), "is empty", "name a program"),
        }
    }

    fn timeout(&mut self, spec: &Object<'_>) -> Option<Span> {
        let Some(text) = self.optional_text(spec, "timeout") else {
            return spec.get("timeout").is_none().then_some(DEFAULT_TIMEOUT);
        };
        let millis = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
            (Some(digits), _) => digits.parse::<u64>().ok(),
            (None, Some(digits)) => digits.parse::<u64>().ok().and_then(|seconds| seconds.checked_mul(1_000)),
            (None, None) => None,
        };
        match millis.map(Span::millis) {
            Some(span) if span > Span::ZERO && span <= LONGEST => Some(span),
            _ => self.report(
                spec.at("timeout"),
                "is not a valid duration",
                "write one from 1ms to 25s, for example `10s`",
            ),
        }
    }

    fn environment(&mut self, spec: &Object<'_>) -> Option<Vec<Variable>> {
        let Some(value) = spec.get("environment") else { return Some(Vec::new()) };
        let items = self.list(spec, "environment", value)?;
        let mut variables: Vec<Variable> = Vec::new();
        for (number, item) in items.iter().enumerate() {
            let variable = self.variable(format!("{}[{number}]", spec.at("environment")), item)?;
            if variables.iter().any(|earlier| earlier.name == variable.name) {
                let place = format!("{}[{number}].name", spec.at("environment"));
                return self.report(place, "is given twice", "keep one of them");
            }
            variables.push(variable);
        }
        Some(variables)
    }

    fn variable(&mut self, path: String, item: &Value) -> Option<Variable> {
        let variable = self.object(path, item, kinds::VARIABLE)?;
        let name = Arc::clone(self.text(&variable, "name")?);
        if name.is_empty() || name.contains(['=', '\0']) {
            return self.report(variable.at("name"), "cannot be the name of a variable", "use letters, digits and `_`");
        }
        let value = self.required(&variable, "value")?;
        let value = self.content(variable.at("value"), value)?;
        if value.bytes().is_some_and(|bytes| bytes.contains(&0)) {
            return self.report(variable.at("value"), "holds a NUL byte", "remove it");
        }
        let sensitive = self.flag(&variable, "sensitive") || matches!(value, Content::Sealed(_));
        Some(Variable { name, value, sensitive })
    }

    fn cwd(&mut self, spec: &Object<'_>) -> Option<Arc<str>> {
        let Some(text) = self.optional_text(spec, "cwd") else {
            return spec.get("cwd").is_none().then(|| "/".into());
        };
        match HostPath::new(text) {
            _ if &**text == "/" => Some("/".into()),
            Ok(path) => Some(path.as_str().into()),
            Err(bad) => self.report(spec.at("cwd"), "is not an absolute path", bad.problem),
        }
    }
}
