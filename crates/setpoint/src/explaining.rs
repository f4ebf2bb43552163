//! Explanations of fields in the types of the API: for the command, which reads a directory, and
//! for the agent, which reads an app.

use setpoint_api::answer::{Explained, ExplainedField};
use setpoint_core::version::Revision;
use setpoint_kustomize::explanation::Explanation;
use setpoint_kustomize::provenance::Set;

/// Converts an explanation. `name` returns the name under which a file is shown.
pub(crate) fn told(explanation: Explanation, revision: Option<Revision>, name: impl Fn(&str) -> String) -> Explained {
    let Explanation { resource, namespace, fields } = explanation;
    let field = |Set { field, value, file, line, by }: Set| ExplainedField {
        field,
        value: value.map(|value| value.to_string()),
        file: Some(name(&file)).filter(|file| !file.is_empty()),
        line: Some(line).filter(|line| *line > 0),
        by: by.map(|by| by.to_string()),
    };
    Explained { resource, namespace, revision, fields: fields.into_iter().map(field).collect() }
}
