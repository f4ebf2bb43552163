//! `kind: App`.

use std::collections::BTreeSet;

use setpoint_core::fields::Fields;
use setpoint_core::name::{AppName, StoreName, TargetName};
use setpoint_core::value::Value;
use setpoint_yaml::{Class, Kind, Node};

use super::policy::Integer;
use crate::cron::Cron;
use crate::declaration::{Field, Shape, object, one_of, string_enum};
use crate::duration::{DAY, Duration, HOUR, MINUTE};
use crate::reader::{DIALECT, Reader};
use crate::text::{FieldPath, Label, Line, ProgramDigest, RelativePath, Url, Zone};
use crate::value::value_of;

object! {
    /// A unit of deployment: the files that declare it, the target that runs it, and the rules for
    /// changes.
    pub struct AppSpec => inputs_are_valid {
        /// The component that the app belongs to, for display and metrics.
        "component" component: Label,
        /// The environment of the component, such as `production`.
        "environment" environment: Label,
        /// The directories that declare the app: at least one, each with its own name.
        "inputs" inputs: Vec<Input>,
        /// Values for `${NAME}` in rendered kustomizations, as with Flux's `postBuild.substitute`,
        /// but with their types kept. If empty, nothing is substituted.
        "parameters" parameters: Parameters = Parameters(Value::Map(Fields::new())),
        /// Options for rendering inputs that are kustomizations.
        "kustomize" kustomize: Kustomize = Kustomize::all_defaults().expect("every field of `kustomize` has a default"),
        /// The target to which the app is deployed.
        "target" target: TargetName,
        /// Options for changes to the target.
        "sync" sync: Sync = Sync::all_defaults().expect("every field of `sync` has a default"),
        /// Conditions that must hold, in addition to the health of its resources, before the app is
        /// healthy. Not supported yet: only an empty list is accepted.
        "checks" checks: Vec<Check> = Vec::new(),
        /// The action when a new version does not become healthy within `sync.deadline`.
        "onFailure" on_failure: OnFailure = OnFailure::Rollback,
        /// Deletes all resources of the app and then forgets it. If the document is removed
        /// instead, the app is frozen.
        "retire" retire: bool = false,
        /// Apps whose versions are accepted together with those of this app. Not supported yet:
        /// only an empty list is accepted.
        "acceptTogether" accept_together: Vec<AppName> = Vec::new(),
    }
}

/// Reports an app without inputs, which would declare that nothing should exist, and two inputs of
/// the same name, of which one would hide the other.
fn inputs_are_valid(app: &AppSpec, node: Node<'_>, reader: &mut Reader) -> bool {
    let place = node.get("inputs").unwrap_or(node);
    if app.inputs.is_empty() {
        let help = "add an input, or set `retire: true` to delete all resources of the app";
        reader.report::<()>(Class::Value, place, "at least one input is required", help);
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
    /// A directory of a store.
    pub struct Input {
        /// The name of the input, unique in the app.
        "name" name: Label,
        /// The store to read from.
        "store" store: StoreName,
        /// The directory in the store.
        "path" path: RelativePath,
    }
}

object! {
    /// Options for rendering inputs that are kustomizations.
    pub struct Kustomize => renderers_are_consistent {
        /// The files that a kustomization may reference.
        "loadRestrictor" load_restrictor: LoadRestrictor = LoadRestrictor::RootOnly,
        /// Stores that kustomizations may use as remote bases, by the `url` of the Store. Other
        /// URLs are refused.
        "bases" bases: Vec<StoreName> = Vec::new(),
        /// The action for a `${NAME}` that has neither a value in `parameters` nor a default.
        "undeclared" undeclared: Undeclared = Undeclared::Refuse,
        /// Renders with an external program instead of the built-in renderer.
        "external" external: Option<External> = None,
        /// Also renders with an external program and reports the differences. The output of the
        /// built-in renderer is deployed.
        "shadow" shadow: Option<Shadow> = None,
    }
}

object! {
    /// An external program that replaces the built-in renderer.
    pub struct External {
        /// The digest of the program. It must be listed under `renderers` in the Bootstrap
        /// document.
        "digest" digest: ProgramDigest,
    }
}

object! {
    /// An external program whose output is compared with that of the built-in renderer.
    pub struct Shadow {
        /// The digest of the program. It must be listed under `renderers` in the Bootstrap
        /// document.
        "digest" digest: ProgramDigest,
        /// The number of versions to compare.
        "versions" versions: Integer<1, 1000> = Integer::of(10),
    }
}

/// Reports `external` together with `shadow`, and either of them together with `bases`: the sandbox
/// of an external program has no network, so it cannot follow a URL.
fn renderers_are_consistent(kustomize: &Kustomize, node: Node<'_>, reader: &mut Reader) -> bool {
    let mut report = |field: &str, message: &str, help: &str| {
        reader.report::<()>(Class::Value, node.get(field).unwrap_or(node), message, help);
        false
    };
    if kustomize.external.is_some() && kustomize.shadow.is_some() {
        let message = "`external` and `shadow` are both set; only one of them is allowed";
        return report("shadow", message, "remove `external` or `shadow`");
    }
    if !kustomize.bases.is_empty() && (kustomize.external.is_some() || kustomize.shadow.is_some()) {
        let message = "an external program cannot read remote bases: its sandbox has no network";
        return report(
            "bases",
            message,
            "remove `bases` and copy the bases into the store, or remove `external` and `shadow`",
        );
    }
    true
}

string_enum! {
    /// The files that a kustomization may reference.
    pub enum LoadRestrictor {
        /// Files in its own directory and below.
        "rootOnly" RootOnly,
        /// All files of the store.
        "none" None,
    }
}

string_enum! {
    /// The action for a variable that has no value.
    pub enum Undeclared {
        /// Refuse the version.
        "refuse" Refuse,
        /// Keep the text as written, for example in shell scripts.
        "keep" Keep,
    }
}

object! {
    /// Options for changes to the target.
    pub struct Sync {
        /// The trigger for changes.
        "mode" mode: Mode = Mode::Auto,
        /// Deletes resources that are no longer declared, within the prune budget.
        "prune" prune: bool = true,
        /// Takes over declared objects that exist already, unless another app has claimed them.
        "adopt" adopt: bool = true,
        /// Apps of the same scope that must have converged before this app changes.
        "dependsOn" depends_on: Vec<AppName> = Vec::new(),
        /// The times at which declared changes may be applied. Healing is not affected.
        "windows" windows: Vec<Window> = Vec::new(),
        /// Fields that Setpoint sets when it creates an object, and afterwards neither compares nor
        /// writes. Kubernetes only.
        "ignore" ignore: Vec<IgnoreRule> = Vec::new(),
        /// Other writers of declared fields. While such a writer owns a field, its value is not
        /// drift. Kubernetes only.
        "coOwners" co_owners: Vec<CoOwner> = Vec::new(),
        /// Rules for fields that others add to declared objects. If several rules match a field,
        /// the longest path decides; of equal paths, the mildest action (`ignore`, then `report`,
        /// then `heal`). Kubernetes only.
        "additions" additions: Vec<AdditionRule> = Vec::new(),
        /// Objects that may be deleted and recreated if a change to an immutable field is declared.
        /// Kubernetes only.
        "replace" replace: Vec<ReplaceRule> = Vec::new(),
        /// The time within which a new version must become healthy.
        "deadline" deadline: Duration<1, DAY> = Duration::seconds(10 * MINUTE),
        /// The interval at which every resource is read again, in case an event was missed. Not
        /// supported yet: only `1d` is accepted.
        "interval" interval: Duration<MINUTE, DAY> = Duration::seconds(DAY),
    }
}

string_enum! {
    /// The trigger for changes.
    pub enum Mode {
        /// Setpoint starts a change as soon as it has accepted a version.
        "auto" Auto,
        /// A person starts each change.
        "manual" Manual,
        /// Setpoint reports differences and never writes.
        "observe" Observe,
    }
}

string_enum! {
    /// The action when a new version does not become healthy.
    pub enum OnFailure {
        /// Return to the last healthy bundle and hold it.
        "rollback" Rollback,
        /// Keep the new version and change nothing until a person decides.
        "hold" Hold,
        /// Send a notification and continue.
        "alert" Alert,
    }
}

one_of! {
    /// A condition that must hold before an app is healthy.
    pub enum Check {
        /// A GET request that must return a status from 200 to 299.
        "http" Http(HttpCheck),
    }
}

object! {
    /// A GET request that must return a status from 200 to 299.
    pub struct HttpCheck {
        /// The URL to request.
        "url" url: Url,
        /// The time within which the response must arrive.
        "timeout" timeout: Duration<1, MINUTE> = Duration::seconds(5),
    }
}

object! {
    /// Fields that Setpoint neither compares nor writes after it created an object.
    pub struct IgnoreRule => ignore_rule_has_paths {
        /// Only objects of this API group, such as `apps`.
        "group" group: Option<Line> = None,
        /// Only objects of this kind.
        "kind" kind: Option<Line> = None,
        /// Only objects in this namespace.
        "namespace" namespace: Option<Line> = None,
        /// Only objects of this name.
        "name" name: Option<Line> = None,
        /// The fields, each including all fields below it: `spec.replicas`,
        /// `metadata.annotations[example.com/x]`, `spec.containers[*].image`.
        "paths" paths: Vec<FieldPath>,
    }
}

fn ignore_rule_has_paths(rule: &IgnoreRule, node: Node<'_>, reader: &mut Reader) -> bool {
    has_paths(&rule.paths, node, reader)
}

fn co_owner_has_paths(rule: &CoOwner, node: Node<'_>, reader: &mut Reader) -> bool {
    has_paths(&rule.paths, node, reader)
}

fn addition_rule_has_paths(rule: &AdditionRule, node: Node<'_>, reader: &mut Reader) -> bool {
    has_paths(&rule.paths, node, reader)
}

/// Reports a rule without paths, which would have no effect.
fn has_paths(paths: &[FieldPath], node: Node<'_>, reader: &mut Reader) -> bool {
    if paths.is_empty() {
        let place = node.get("paths").unwrap_or(node);
        let help = "add a path such as `spec.replicas`, or remove the rule";
        reader.report::<()>(Class::Value, place, "at least one path is required", help);
    }
    !paths.is_empty()
}

object! {
    /// Another writer of declared fields, such as an operator.
    pub struct CoOwner => co_owner_has_paths {
        /// The field manager of the other writer, as recorded by the cluster, or `scale` for every
        /// writer that uses the scale subresource.
        "writer" writer: Line,
        /// Only objects of this API group, such as `apps`.
        "group" group: Option<Line> = None,
        /// Only objects of this kind.
        "kind" kind: Option<Line> = None,
        /// Only objects in this namespace.
        "namespace" namespace: Option<Line> = None,
        /// Only objects of this name.
        "name" name: Option<Line> = None,
        /// The fields, each including all fields below it.
        "paths" paths: Vec<FieldPath>,
    }
}

object! {
    /// A rule for fields that others add to declared objects.
    pub struct AdditionRule => addition_rule_has_paths {
        /// Only objects of this API group, such as `apps`.
        "group" group: Option<Line> = None,
        /// Only objects of this kind.
        "kind" kind: Option<Line> = None,
        /// Only objects in this namespace.
        "namespace" namespace: Option<Line> = None,
        /// Only objects of this name.
        "name" name: Option<Line> = None,
        /// The fields, each including all fields below it: `metadata.labels`,
        /// `spec.template.spec.containers`.
        "paths" paths: Vec<FieldPath>,
        /// The action for added fields.
        "then" then: AdditionAction,
    }
}

string_enum! {
    /// The action for a field that others added.
    pub enum AdditionAction {
        /// Remove the field.
        "heal" Heal,
        /// Report the field and its writer once, and leave it in place.
        "report" Report,
        /// Do nothing.
        "ignore" Ignore,
    }
}

object! {
    /// Objects that may be deleted and recreated.
    pub struct ReplaceRule {
        /// Objects of this kind.
        "kind" kind: Line,
        /// Only objects of this API group, such as `apps`.
        "group" group: Option<Line> = None,
        /// Only objects in this namespace.
        "namespace" namespace: Option<Line> = None,
        /// Only objects of this name.
        "name" name: Option<Line> = None,
    }
}

/// A time window in which declared changes are allowed or denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    pub time: WindowTime,
    pub length: Duration<MINUTE, { 31 * DAY }>,
    pub zone: Zone,
}

/// The start times and the effect of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WindowTime {
    /// Declared changes are applied only while a window of this variant is open.
    Allow(Cron),
    /// Declared changes are not applied while the window is open.
    Deny(Cron),
}

object! {
    /// A time window in which declared changes are allowed or denied.
    struct WindowFields {
        /// The start times of a window in which changes are allowed. If any window has `allow`,
        /// changes outside of such windows wait. Exactly one of `allow` and `deny` is required.
        "allow" allow: Option<Cron> = None,
        /// The start times of a window in which changes are denied, even if another window allows
        /// them.
        "deny" deny: Option<Cron> = None,
        /// The length of the window.
        "for" length: Duration<MINUTE, { 31 * DAY }> = Duration::seconds(HOUR),
        /// The time zone of the start times.
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
                let message = "exactly one of `allow` and `deny` is required";
                return reader.report(Class::Value, node, message, "add or remove one of them");
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

/// Returns a parameter whose value, substituted into text, would differ from what is written: the
/// version `1.20` would become 1.2.
fn ambiguous_scalar<'n>(name: Node<'n>, written: Node<'n>, parameters: &Value) -> Option<(Node<'n>, &'n str, String)> {
    let (Kind::Scalar(name), Kind::Scalar(text)) = (name.kind(), written.kind()) else { return None };
    let read = match parameters.get(name)? {
        Value::Num(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        _ => return None,
    };
    (read != text).then_some((written, text, read))
}

/// The values for substitution by the renderer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters(Value);

impl Parameters {
    /// Returns the values, always as a map.
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
            return reader.report(Class::Type, node, "expected a mapping", "write parameters as `name: value`");
        };
        let value = value_of(node, DIALECT, &mut reader.found)?;
        let entries = entries.merged().into_iter();
        let ambiguous: Vec<_> = entries.filter_map(|(name, node)| ambiguous_scalar(name, node, &value)).collect();
        for (written, text, read) in &ambiguous {
            let problem = format!("`{text}` means {read} in YAML and would be substituted as {read}");
            let help = format!("write {read}, or \"{text}\" in quotes to keep the text");
            reader.report::<()>(Class::Value, *written, problem, help);
        }
        ambiguous.is_empty().then_some(Self(value))
    }

    fn show(&self) -> String {
        "{}".to_owned()
    }
}
