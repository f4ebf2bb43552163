//! Who set what of a resource, in the words of the API: for the command, which looks at a folder,
//! and for the agent, which looks at an app.

use setpoint_api::answer::{Explained, ExplainedField};
use setpoint_core::version::Revision;
use setpoint_kustomize::explanation::Explanation;
use setpoint_kustomize::provenance::Set;

/// An explanation whose files are called as `name` says.
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
