//! `kind: App`.

use std::collections::BTreeSet;

use setpoint_core::fields::Fields;
use setpoint_core::name::{AppName, StoreName, TargetName};
use setpoint_core::value::Value;
use setpoint_yaml::{Class, Kind, Node};

use super::policy::Count;
use crate::cron::Cron;
use crate::declaration::{Field, Shape, object, one_of, words};
use crate::duration::{DAY, Duration, HOUR, MINUTE};
use crate::reader::{DIALECT, Reader};
use crate::text::{FieldPath, Label, Line, ProgramDigest, RelativePath, Url, Zone};
use crate::value::value_of;

object! {
    /// The unit of acceptance and management: what it is made from, where it is held, and by which rules.
    pub struct AppSpec => inputs_are_proper {
        /// What it is a part of, for people and for measures.
        "component" component: Label,
        /// Which of the component's environments it is.
        "environment" environment: Label,
        /// What it is made from: at least one folder of a store, each under a name of its own.
        "inputs" inputs: Vec<Input>,
        /// Values for `${NAME}` in what kustomizations render, as Flux's `postBuild.substitute`, but with their types kept. Without any, nothing is replaced.
        "parameters" parameters: Parameters = Parameters(Value::Map(Fields::new())),
        /// How inputs that are kustomizations are rendered.
        "kustomize" kustomize: Kustomize = Kustomize::all_defaults().expect("every field of `kustomize` has a default"),
        /// The system it is held on.
        "target" target: TargetName,
        /// How it is held.
        "sync" sync: Sync = Sync::all_defaults().expect("every field of `sync` has a default"),
        /// What must be true before it counts as healthy, beside what its resources say of themselves.
        "checks" checks: Vec<Check> = Vec::new(),
        /// What to do when a new version does not become healthy.
        "onFailure" on_failure: OnFailure = OnFailure::Rollback,
        /// Prune everything, then forget the app. Removing the document instead freezes it.
        "retire" retire: bool = false,
        /// Apps whose versions are accepted in one decision with this one.
        "acceptTogether" accept_together: Vec<AppName> = Vec::new(),
    }
}

/// An app without inputs would declare that nothing should be there; two of one name would hide one another.
fn inputs_are_proper(app: &AppSpec, node: Node<'_>, reader: &mut Reader) -> bool {
    let place = node.get("inputs").unwrap_or(node);
    if app.inputs.is_empty() {
        reader.report::<()>(
            Class::Value,
            place,
            "an app has at least one input",
            "add one, or set `retire: true` to take it down",
        );
        return false;
    }
    let names: BTreeSet<&str> = app.inputs.iter().map(|input| input.name.as_str()).collect();
    if names.len() < app.inputs.len() {
        reader.report::<()>(Class::Duplicate, place, "two inputs have the same name", "rename one of them");
        return false;
    }
    true
}

object! {
    /// A folder of a store.
    pub struct Input {
        /// How the renderer calls it.
        "name" name: Label,
        /// The store it is in.
        "store" store: StoreName,
        /// The folder.
        "path" path: RelativePath,
    }
}

object! {
    /// How inputs that are kustomizations are rendered.
    pub struct Kustomize => one_decides {
        /// Which files a kustomization may name.
        "loadRestrictor" load_restrictor: LoadRestrictor = LoadRestrictor::RootOnly,
        /// Stores that kustomizations may name as remote bases, by the URL that the Store has. Nothing else is ever fetched.
        "bases" bases: Vec<StoreName> = Vec::new(),
        /// What is done about `${NAME}` that `parameters` do not have and that has no default.
        "undeclared" undeclared: Undeclared = Undeclared::Refuse,
        /// Have them rendered by another program than this one: what it writes is what is declared.
        "external" external: Option<External> = None,
        /// Have them rendered by another program, too, and tell what it would do otherwise. What is declared stays what this program renders.
        "shadow" shadow: Option<Shadow> = None,
    }
}

object! {
    /// A program that renders instead of this one.
    pub struct External {
        /// Which: the digest of a program that the Bootstrap document lists under `renderers`.
        "digest" digest: ProgramDigest,
    }
}

object! {
    /// A program that renders beside this one.
    pub struct Shadow {
        /// Which: the digest of a program that the Bootstrap document lists under `renderers`.
        "digest" digest: ProgramDigest,
        /// After so many versions it ends.
        "versions" versions: Count<1, 1000> = Count::of(10),
    }
}

/// Two programs cannot both decide, and neither of them follows a URL: where they run there is no network.
fn one_decides(kustomize: &Kustomize, node: Node<'_>, reader: &mut Reader) -> bool {
    let mut report = |field: &str, message: &str, help: &str| {
        reader.report::<()>(Class::Value, node.get(field).unwrap_or(node), message, help);
        false
    };
    if kustomize.external.is_some() && kustomize.shadow.is_some() {
        let message = "another program renders instead of this one, or beside it, and both are given";
        return report("shadow", message, "keep `external`, or keep `shadow`");
    }
    if !kustomize.bases.is_empty() && (kustomize.external.is_some() || kustomize.shadow.is_some()) {
        let message = "another program cannot follow remote bases: it has no network, and does not know of Stores";
        return report(
            "bases",
            message,
            "remove `bases` and copy what they lead to into the store, or let this program render alone",
        );
    }
    true
}

words! {
    /// Which files a kustomization may name.
    pub enum LoadRestrictor {
        /// Those in its own folder and below.
        "rootOnly" RootOnly,
        /// All files of the store.
        "none" None,
    }
}

words! {
    /// What is done about a variable that nobody declared.
    pub enum Undeclared {
        /// The version is refused.
        "refuse" Refuse,
        /// It stays as it is written, as shell scripts need it.
        "keep" Keep,
    }
}

object! {
    /// How an app is held.
    pub struct Sync {
        /// Who starts a change.
        "mode" mode: Mode = Mode::Auto,
        /// Delete what is no longer declared, within the budget.
        "prune" prune: bool = true,
        /// Take over what already exists under a declared key and nobody claims.
        "adopt" adopt: bool = true,
        /// Apps that must be healthy before this one changes.
        "dependsOn" depends_on: Vec<AppName> = Vec::new(),
        /// When declared changes may be made. Healing is not affected.
        "windows" windows: Vec<Window> = Vec::new(),
        /// Fields that are left to others: given when an object is made, then neither compared nor written. On Kubernetes only.
        "ignore" ignore: Vec<IgnoreRule> = Vec::new(),
        /// Others who may write some fields: no drift while they hold them. On Kubernetes only.
        "coOwners" co_owners: Vec<CoOwner> = Vec::new(),
        /// What is done about fields that others add beside what is declared. On Kubernetes only.
        "additions" additions: Vec<AdditionRule> = Vec::new(),
        /// Resources that may be deleted and made anew where they cannot be changed into what is declared. On Kubernetes only.
        "replace" replace: Vec<ReplaceRule> = Vec::new(),
        /// How long a change may take to become healthy.
        "deadline" deadline: Duration<1, DAY> = Duration::seconds(10 * MINUTE),
        /// How often every resource is looked at again, against missed events.
        "interval" interval: Duration<MINUTE, DAY> = Duration::seconds(DAY),
    }
}

words! {
    /// Who starts a change.
    pub enum Mode {
        /// The engine, as soon as a version is accepted.
        "auto" Auto,
        /// A person.
        "manual" Manual,
        /// Nobody: differences are reported, never written.
        "observe" Observe,
    }
}

words! {
    /// What to do when a new version does not become healthy.
    pub enum OnFailure {
        /// Go back to the last good bundle, and hold it.
        "rollback" Rollback,
        /// Stay, and change nothing more until a person decides.
        "hold" Hold,
        /// Tell people, and go on.
        "alert" Alert,
    }
}

one_of! {
    /// Something that must be true before an app counts as healthy.
    pub enum Check {
        /// A GET request that is answered with a status from 200 to 299.
        "http" Http(HttpCheck),
    }
}

object! {
    /// A GET request that is answered with a status from 200 to 299.
    pub struct HttpCheck {
        /// What is requested.
        "url" url: Url,
        /// How long an answer may take.
        "timeout" timeout: Duration<1, MINUTE> = Duration::seconds(5),
    }
}

object! {
    /// Fields that are left to others, whoever they are.
    pub struct IgnoreRule => ignores_something {
        /// Only in resources of this group of kinds, such as `apps`.
        "group" group: Option<Line> = None,
        /// Only in resources of this kind.
        "kind" kind: Option<Line> = None,
        /// Only in resources of this namespace.
        "namespace" namespace: Option<Line> = None,
        /// Only in resources of this name.
        "name" name: Option<Line> = None,
        /// The fields, each with all below it: `spec.replicas`, `metadata.annotations[example.com/x]`, `spec.containers[*].image`.
        "paths" paths: Vec<FieldPath>,
    }
}

fn ignores_something(rule: &IgnoreRule, node: Node<'_>, reader: &mut Reader) -> bool {
    names_a_field(&rule.paths, node, reader)
}

fn shares_something(rule: &CoOwner, node: Node<'_>, reader: &mut Reader) -> bool {
    names_a_field(&rule.paths, node, reader)
}

/// A rule about no field would look as if it did something.
fn names_a_field(paths: &[FieldPath], node: Node<'_>, reader: &mut Reader) -> bool {
    if paths.is_empty() {
        let place = node.get("paths").unwrap_or(node);
        reader.report::<()>(
            Class::Value,
            place,
            "no field is named",
            "name one such as `spec.replicas`, or remove the rule",
        );
    }
    !paths.is_empty()
}

object! {
    /// Somebody else who may write some fields, such as an autoscaler.
    pub struct CoOwner => shares_something {
        /// Who: the field manager that the cluster records the writes under, or `scale` for whoever writes by that subresource.
        "writer" writer: Line,
        /// Only in resources of this group of kinds, such as `apps`.
        "group" group: Option<Line> = None,
        /// Only in resources of this kind.
        "kind" kind: Option<Line> = None,
        /// Only in resources of this namespace.
        "namespace" namespace: Option<Line> = None,
        /// Only in resources of this name.
        "name" name: Option<Line> = None,
        /// The fields, each with all below it.
        "paths" paths: Vec<FieldPath>,
    }
}

object! {
    /// What is done about fields that others add, where it is not what is done by default. Of several rules about a field the most precise one
    /// holds, and of those the gentlest.
    pub struct AdditionRule => speaks_of_something {
        /// Only in resources of this group of kinds, such as `apps`.
        "group" group: Option<Line> = None,
        /// Only in resources of this kind.
        "kind" kind: Option<Line> = None,
        /// Only in resources of this namespace.
        "namespace" namespace: Option<Line> = None,
        /// Only in resources of this name.
        "name" name: Option<Line> = None,
        /// Where, each with all below it: `metadata.labels`, `spec.template.spec.containers`.
        "paths" paths: Vec<FieldPath>,
        /// What is done.
        "then" then: AdditionAction,
    }
}

fn speaks_of_something(rule: &AdditionRule, node: Node<'_>, reader: &mut Reader) -> bool {
    names_a_field(&rule.paths, node, reader)
}

words! {
    /// What is done about a field that somebody added.
    pub enum AdditionAction {
        /// It is taken out.
        "heal" Heal,
        /// It is told once, with who holds it, and left alone.
        "report" Report,
        /// Nothing.
        "ignore" Ignore,
    }
}

object! {
    /// Resources that may be deleted and made anew.
    pub struct ReplaceRule {
        /// Resources of this kind.
        "kind" kind: Line,
        /// Only those of this group of kinds, such as `apps`.
        "group" group: Option<Line> = None,
        /// Only those of this namespace.
        "namespace" namespace: Option<Line> = None,
        /// Only the one of this name.
        "name" name: Option<Line> = None,
    }
}

/// A time in which declared changes may, or may not, be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    pub time: WindowTime,
    pub length: Duration<MINUTE, { 31 * DAY }>,
    pub zone: Zone,
}

/// When a window begins, and what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WindowTime {
    /// Changes may be made only in windows like this one.
    Allow(Cron),
    /// Changes may not be made.
    Deny(Cron),
}

object! {
    /// A time in which declared changes may, or may not, be made. Exactly one of `allow` and `deny` is given.
    struct WindowFields {
        /// Changes may be made only in windows that begin at these times.
        "allow" allow: Option<Cron> = None,
        /// Changes may not be made in windows that begin at these times.
        "deny" deny: Option<Cron> = None,
        /// How long the window stays open.
        "for" length: Duration<MINUTE, { 31 * DAY }> = Duration::seconds(HOUR),
        /// The time zone of the times.
        "zone" zone: Zone = Zone::new("UTC").expect("`UTC` is a time zone"),
    }
}

impl Field for Window {
    fn shape() -> Shape {
        WindowFields::shape()
    }

    fn read(node: Node<'_>, reader: &mut Reader) -> Option<Self> {
        let fields = WindowFields::read(node, reader)?;
        let time = match (fields.allow, fields.deny) {
            (Some(times), None) => WindowTime::Allow(times),
            (None, Some(times)) => WindowTime::Deny(times),
            _ => {
                return reader.report(
                    Class::Value,
                    node,
                    "a window either allows or denies",
                    "give one of `allow` and `deny`",
                );
            }
        };
        Some(Self { time, length: fields.length, zone: fields.zone })
    }

    fn show(&self) -> String {
        let (allow, deny) = match &self.time {
            WindowTime::Allow(times) => (Some(times.clone()), None),
            WindowTime::Deny(times) => (None, Some(times.clone())),
        };
        WindowFields { allow, deny, length: self.length, zone: self.zone.clone() }.show()
    }
}

/// A parameter that is written otherwise than it will be put into a text: a version `1.20` would become 1.2 there.
fn misread<'n>(name: Node<'n>, written: Node<'n>, parameters: &Value) -> Option<(Node<'n>, &'n str, String)> {
    let (Kind::Scalar(name), Kind::Scalar(text)) = (name.kind(), written.kind()) else { return None };
    let read = match parameters.get(name)? {
        Value::Num(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        _ => return None,
    };
    (read != text).then_some((written, text, read))
}

/// Values handed to the renderer: a map of anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters(Value);

impl Parameters {
    /// Always a map.
    pub fn value(&self) -> &Value {
        &self.0
    }
}

impl Field for Parameters {
    fn shape() -> Shape {
        Shape::Any
    }

    fn read(node: Node<'_>, reader: &mut Reader) -> Option<Self> {
        let Kind::Mapping(entries) = node.kind() else {
            return reader.report(Class::Type, node, "parameters are a mapping", "write them as `name: value`");
        };
        let value = value_of(node, DIALECT, &mut reader.found)?;
        let entries = entries.merged().into_iter();
        let misread: Vec<_> = entries.filter_map(|(name, written)| misread(name, written, &value)).collect();
        for (written, text, read) in &misread {
            let problem = format!("`{text}` is read as {read}, and would be put in as that");
            let help = format!("write {read} if that is meant, or \"{text}\" in quotes");
            reader.report::<()>(Class::Value, *written, problem, help);
        }
        misread.is_empty().then_some(Self(value))
    }

    fn show(&self) -> String {
        "{}".to_owned()
    }
}
