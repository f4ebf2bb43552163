//! Flux's `postBuild` substitution: replaces `${NAME}` in built resources by variables. The forms
//! are those of fluxcd/pkg/envsubst. The substitution works on the fields of a resource and not on
//! its text, so that a value never changes the structure or spills into other fields.
//!
//! - A scalar without quotes that is exactly `${NAME}` gets the value with its type: the string
//!   `004` stays a string, the number 3 is a number. A default (`${NAME:=3}`) is read like a scalar
//!   without quotes; a default that is an expression (`${NAME:=${OTHER}}`) has the type of that
//!   expression.
//! - All else becomes a string: quoted or block scalars, scalars with other text (`a-${NAME}`,
//!   `${A}${B}`, `1${NAME}`), and those with a function (`${NAME^^}`, `${#NAME}`).
//! - So do fields that can only hold strings: name, namespace, labels and annotations, and the data
//!   of a ConfigMap or Secret.
//! - A null inside a text is empty. Line breaks in a value are preserved; Flux removes them.
//! - Names of fields are substituted too, as strings. If two names in a map become equal, this is
//!   an error.
//! - Inserted text is not expanded again.
//!
//! A resource with the annotation or label `kustomize.toolkit.fluxcd.io/substitute: disabled` is
//! skipped. So are the schemas of a CustomResourceDefinition, unless it has `…/substitute:
//! enabled`: their descriptions and patterns contain `${…}` that is not meant for substitution
//! (Flux 2.9 broke its own by it). The rest of a CustomResourceDefinition is substituted: the
//! service of a conversion webhook often has a variable.
//!
//! A variable that is not declared and has no default is an error, or stays as written
//! ([`Undeclared`]). The caller decides whether to substitute at all if no variables are given:
//! Flux does not, unless `substituteStrategy` is `Always`.
//!
//! Unlike the reference, this module supports `${NAME-default}`, which the reference documents but
//! cannot parse. It rejects forms that the reference misinterprets: `:+` and `:?`, `,^` and `^,`,
//! `${NAME/#pattern/}` without a replacement, malformed patterns, a part of a character, and names
//! that cannot be declared, such as `${1:-x}`.

mod evaluate;
mod expression;
mod glob;
mod letter_case;
mod place;
mod problem;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use self::evaluate::Evaluation;
use self::expression::name_of;
use self::place::{Path, Place, Step};
use self::problem::Fault;
pub use self::problem::{BadSubstitution, BadVariable, Problem};
use crate::field_spec::shown;
use crate::folded::refolded;
use crate::identity::Id;
use crate::node::{Content, Map, Node, Scalar, Style, Tag};
use crate::origin::Origin;
use crate::resource::Resource;

/// Enables or disables the substitution of a resource.
pub const ANNOTATION: &str = "kustomize.toolkit.fluxcd.io/substitute";

/// The maximum number of inserted bytes and comparisons, in all resources together: a fraction of a
/// second.
const MOST: u64 = 1 << 26;

/// The maximum number of reported problems.
const MOST_PROBLEMS: usize = 200;

/// The values of variables.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables(BTreeMap<Arc<str>, Scalar>);

/// The treatment of a variable that is not declared and has no default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undeclared {
    #[default]
    Refuse,
    /// The outermost expression that contains it stays as written. So does an expression that
    /// cannot be parsed and does not name a variable, for resources with shell scripts.
    Keep,
}

impl Variables {
    /// Declares variables. Of equal names the last one wins. A timestamp becomes a string.
    pub fn new(pairs: impl IntoIterator<Item = (Arc<str>, Scalar)>) -> Result<Self, BadVariable> {
        let mut variables = BTreeMap::new();
        for (name, given) in pairs {
            if name.is_empty() || name_of(&name) != &*name {
                return Err(BadVariable::Name { name });
            }
            let tag = if given.tag == Tag::Any { Tag::of(&given.text) } else { given.tag };
            let scalar = match tag {
                Tag::Null => Scalar { text: "".into(), tag },
                Tag::Time => Scalar { tag: Tag::Text, ..given },
                tag => Scalar { tag, ..given },
            };
            if scalar.value().is_err() {
                return Err(BadVariable::Value { name });
            }
            variables.insert(name, scalar);
        }
        Ok(Self(variables))
    }

    fn get(&self, name: &str) -> Option<&Scalar> {
        self.0.get(name)
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// Prints only the names: values may be secret.
impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Variables").field(&self.0.keys()).finish()
    }
}

/// Substitutes variables in resources. Inserted values come from `origin`. After an error the
/// resources must not be used.
pub fn substitute(
    resources: &mut [Resource],
    variables: &Variables,
    undeclared: Undeclared,
    origin: Origin,
) -> Result<(), Vec<BadSubstitution>> {
    let evaluation = Evaluation::new(variables, undeclared, MOST);
    let mut substitution = Substitution { evaluation, origin, resource: Box::default(), problems: Vec::new() };
    for resource in resources {
        let says = |wanted: &str| {
            let of = |field| resource.texts(field).any(|(name, value)| **name == *ANNOTATION && value == wanted);
            of("annotations") || of("labels")
        };
        if says("disabled") {
            continue;
        }
        let place = match Place::of(&resource.gvk()) {
            Place::Definition if says("enabled") => Place::Anything,
            place => place,
        };
        substitution.resource = shown(&resource.node);
        substitution.node(&mut resource.node, place, None);
    }
    if substitution.problems.is_empty() { Ok(()) } else { Err(substitution.problems) }
}

struct Substitution<'v> {
    evaluation: Evaluation<'v>,
    origin: Origin,
    resource: Box<Id>,
    problems: Vec<BadSubstitution>,
}

impl Substitution<'_> {
    fn node(&mut self, node: &mut Node, place: Place, path: Option<&Path<'_>>) {
        if place == Place::Schema || self.is_over() {
            return;
        }
        match &mut node.content {
            Content::Scalar(scalar) if scalar.text.contains('$') => {
                match self.scalar(scalar, node.style, place) {
                    Ok(Some(value)) => {
                        *scalar = value;
                        node.origin = self.origin;
                        // A folded scalar becomes quoted as if parsed again: inserted values must
                        // not be folded.
                        if node.style == Style::Folded {
                            node.style = Style::Quoted;
                        }
                    }
                    Ok(None) => {}
                    Err(fault) => {
                        let is_told = place != Place::Secrets || fault.expression == *scalar.text;
                        self.tell(node.origin, path, is_told.then_some(fault.expression), fault.problem);
                    }
                }
            }
            Content::Scalar(_) => {}
            Content::Seq(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    self.node(item, place, Some(&Path { before: path, step: Step::Item(at) }));
                }
            }
            Content::Map(map) => {
                for (name, value) in map.iter_mut() {
                    let way = Path { before: path, step: Step::Field(name) };
                    self.node(value, place.field(name, path.is_none()), Some(&way));
                }
                if map.iter().any(|(name, _)| name.contains('$')) {
                    self.rename(map, path);
                }
            }
        }
    }

    /// Returns the new value of a scalar, if it changes.
    fn scalar(&mut self, scalar: &Scalar, style: Style, place: Place) -> Result<Option<Scalar>, Fault> {
        let is_plain = style == Style::Plain && matches!(scalar.tag, Tag::Text | Tag::Any);
        if is_plain && let Some(value) = self.evaluation.typed(&scalar.text)? {
            let tag = if place.is_of_texts() { Tag::Text } else { value.tag };
            return Ok(Some(Scalar { tag, ..value }));
        }
        let text = match style {
            Style::Folded => refolded(&scalar.text),
            _ => (&*scalar.text).into(),
        };
        let value = self.evaluation.text(&text)?;
        if value == *text {
            return Ok(None);
        }
        let tag = if scalar.tag == Tag::Any { Tag::Text } else { scalar.tag };
        let value = Scalar { text: value.into(), tag };
        match value.value() {
            Ok(_) => Ok(Some(value)),
            Err(_) => Err(Fault::new("", Problem::OtherTag)),
        }
    }

    /// Substitutes the names of fields.
    fn rename(&mut self, map: &mut Map, path: Option<&Path<'_>>) {
        let mut renamed = Map::default();
        let mut former: BTreeMap<Arc<str>, Arc<str>> = BTreeMap::new();
        for (name, node) in map.iter_mut() {
            let way = Path { before: path, step: Step::Field(name) };
            let new: Arc<str> = match self.evaluation.text(name) {
                Ok(new) => new.into(),
                Err(fault) => {
                    self.tell(node.origin, Some(&way), Some(fault.expression), fault.problem);
                    return;
                }
            };
            if let Some(first) = former.insert(Arc::clone(&new), Arc::clone(name)) {
                let problem = Problem::SameName { first, second: Arc::clone(name) };
                self.tell(node.origin, path, None, problem);
            }
            renamed.push(new, std::mem::replace(node, Node::text("", Origin::default())));
        }
        *map = renamed;
    }

    fn tell(&mut self, origin: Origin, path: Option<&Path<'_>>, expression: Option<String>, problem: Problem) {
        if !self.is_over() {
            let path = path.map(ToString::to_string).unwrap_or_default();
            let expression = expression.filter(|text| !text.is_empty());
            self.problems.push(BadSubstitution { resource: self.resource.clone(), path, origin, expression, problem });
        }
    }

    /// Reports whether enough problems were found.
    fn is_over(&self) -> bool {
        let is_exhausted = |problem: &BadSubstitution| matches!(problem.problem, Problem::TooMuch(_));
        self.problems.len() >= MOST_PROBLEMS || self.problems.last().is_some_and(is_exhausted)
    }
}
