//! The family of hosts: their fields of Target documents, their kinds for the accept plane, and how
//! the agent opens the machine it runs on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use setpoint_core::key::Key;
use setpoint_core::value::Value;
use setpoint_documents::declaration::object;
use setpoint_documents::{AbsolutePath, FieldLine, FieldProblem, KindPage, TargetKind, TargetSpec};
use setpoint_target::{Agent, Connection, Effects, Family, Kinds, NotConnected, Unidentifiable, after_implied};

use crate::declaration::{API_VERSION, FieldDoc, KINDS, KindDoc, METADATA, Problem, check, key_of};
use crate::identity::FAMILY;
use crate::options::HostOptions;
use crate::path::implied_dependencies;
use crate::target::HostTarget;

object! {
    /// The agent's machine.
    pub struct HostSection {
        /// The directory of a host to manage. If omitted, the whole host is managed.
        "root" root: Option<AbsolutePath> = None,
    }
}

/// The family of hosts: of the machine that the agent runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Host;

impl Family for Host {
    fn kind(&self) -> TargetKind {
        TargetKind::new::<HostSection>("host", "The agent's machine: files, directories, symbolic links and commands.")
    }

    fn noun(&self) -> &'static str {
        "a host"
    }

    fn tag(&self) -> &'static str {
        FAMILY
    }

    fn effects(&self) -> Effects {
        Effects { ends_with_agent: true, ..Effects::default() }
    }

    fn resource_pages(&self) -> Vec<KindPage> {
        KINDS.iter().map(page).collect()
    }

    fn offline_kinds(&self, _: &TargetSpec) -> Arc<dyn Kinds + Send + Sync> {
        Arc::new(HostKinds(None))
    }

    fn connect(&self, spec: &TargetSpec, agent: &Agent) -> Result<Connection, NotConnected> {
        let section: &HostSection = spec.section().expect("the family is asked about its own documents only");
        let root = section.root.as_ref().map(|root| PathBuf::from(root.as_str()));
        let mut options =
            HostOptions::new(root, agent.data.clone(), Arc::clone(&agent.clock), agent.digest_key.clone());
        // The lock of the data directory makes the agent the only process of its installation.
        options.alone = true;
        options.own.clone_from(&agent.own);
        options.complaint = Some(Arc::clone(&agent.log));
        let host = Arc::new(HostTarget::open(options)?);
        Ok(Connection { target: Arc::clone(&host) as _, kinds: Arc::new(HostKinds(Some(host))), tasks: Vec::new() })
    }
}

/// The kinds of a host, for the accept plane. Without a connection, the files and directories that
/// Setpoint itself needs are not known.
#[derive(Debug)]
struct HostKinds(Option<Arc<HostTarget>>);

impl Kinds for HostKinds {
    fn check(&self, api_version: &str, kind: &str, body: &Value) -> Vec<FieldProblem> {
        if api_version != API_VERSION {
            let message = format!("a host has no `{api_version}`");
            return vec![FieldProblem::new("apiVersion", message, format!("write `apiVersion: {API_VERSION}`"))];
        }
        let problem = |problem: Problem| FieldProblem::new(problem.path, problem.message, problem.hint);
        match check(kind, body) {
            Ok(declared) if self.0.as_ref().is_some_and(|host| host.is_own(&declared)) => {
                let message = "the path belongs to Setpoint itself";
                vec![FieldProblem::new("spec.path", message, "choose another path")]
            }
            Ok(_) => Vec::new(),
            Err(problems) => problems.into_iter().map(problem).collect(),
        }
    }

    fn key(&self, api_version: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable> {
        key_of(api_version, kind, body)
    }

    fn after(&self, declared: &[(Key, &Value)]) -> BTreeMap<Key, BTreeSet<Key>> {
        after_implied(declared, implied_dependencies)
    }

    /// A directory with entries is never deleted, and removing a command undoes nothing.
    fn is_protected(&self, _: &str, _: &str) -> bool {
        false
    }
}

/// Returns the documentation of a kind of host objects.
fn page(kind: &KindDoc) -> KindPage {
    let mut fields = Vec::new();
    add_lines(METADATA, "metadata", &mut fields);
    add_lines(kind.fields, "spec", &mut fields);
    KindPage { api_version: API_VERSION.to_owned(), name: kind.name.to_owned(), doc: kind.doc.to_owned(), fields }
}

fn add_lines(fields: &[FieldDoc], within: &str, lines: &mut Vec<FieldLine>) {
    for field in fields {
        let path = format!("{within}.{}", field.name);
        lines.push(FieldLine {
            path: path.clone(),
            holds: field.holds.to_owned(),
            default: field.default.map(ToOwned::to_owned),
            doc: field.doc.to_owned(),
        });
        let of_each = if field.holds.starts_with("list") { "[]" } else { "" };
        add_lines(field.fields, &format!("{path}{of_each}"), lines);
    }
}
