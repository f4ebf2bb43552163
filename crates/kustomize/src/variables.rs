//! Variables: in certain fields, `$(NAME)` is replaced by the value of a field of a resource.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::field_spec::FieldSpec;
use crate::limits::{Budget, Exceeded};
use crate::node::{Content, Node, Scalar, Style, Tag, Value};
use crate::origin::Origin;
use crate::references::follow_field;
use crate::resource::Resource;

/// The values of variables.
pub type Values = BTreeMap<Arc<str>, Value>;

/// A field that may contain variables but has the wrong type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("considering field '{path}'")]
pub struct BadVariable {
    pub path: Arc<str>,
    pub origin: Origin,
    #[source]
    pub problem: Problem,
}

/// The reason why a field is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("{0}: correct it, or leave the field out of `varReference`")]
    Kind(&'static str),
    #[error("limit")]
    Limit(#[from] Exceeded),
}

impl From<&'static str> for Problem {
    fn from(problem: &'static str) -> Self {
        Self::Kind(problem)
    }
}

/// Replaces variables by their values and returns the names of those used.
pub fn put(
    resources: &mut [Resource],
    fields: &[FieldSpec],
    values: &Values,
    origin: Origin,
    budget: &Budget,
) -> Result<BTreeSet<Arc<str>>, BadVariable> {
    let mut putting = Putting { values, origin, budget, used: BTreeSet::new() };
    for resource in resources {
        let gvk = resource.gvk();
        budget.spend(fields.len());
        for field in fields.iter().filter(|field| gvk.is_selected(&field.gvk)) {
            let put = resource.sharing(budget, |resource| {
                follow_field(field, &mut resource.node, budget, &mut |node| putting.put_into(node))
            });
            put.map_err(|(origin, problem)| BadVariable { path: Arc::clone(&field.path), origin, problem })?;
        }
    }
    Ok(putting.used)
}

struct Putting<'v> {
    values: &'v Values,
    origin: Origin,
    budget: &'v Budget,
    used: BTreeSet<Arc<str>>,
}

impl Putting<'_> {
    fn put_into(&mut self, node: &mut Node) -> Result<(), (Origin, Problem)> {
        match &mut node.content {
            Content::Scalar(_) => self.expand(node)?,
            Content::Map(map) => map.iter_mut().try_for_each(|(_, value)| self.expand(value))?,
            Content::Seq(items) => {
                for item in items {
                    if !item.as_scalar().is_some_and(is_text) {
                        return Err((item.origin, "invalid value type expect a string".into()));
                    }
                    self.expand(item)?;
                }
            }
        }
        Ok(())
    }

    /// Replaces variables in a string. It is set even if it has none: from then on it is a string
    /// in any case, and no longer folded.
    fn expand(&mut self, node: &mut Node) -> Result<(), (Origin, Problem)> {
        let at = node.origin;
        let limit = |exceeded: Exceeded| (at, exceeded.into());
        self.budget.steps(1).map_err(limit)?;
        let Content::Scalar(scalar) = &mut node.content else { return Ok(()) };
        if !is_text(scalar) {
            return Ok(());
        }
        node.style = Style::Plain;
        scalar.tag = Tag::Text;
        if !scalar.text.contains('$') {
            return Ok(());
        }
        let expanded = expanded(&scalar.text, self.values, self.budget, &mut self.used).map_err(limit)?;
        let expanded = match expanded {
            Value::Null => return Ok(()),
            Value::Bool(value) => Scalar { text: value.to_string().into(), tag: Tag::Bool },
            Value::Number(json) => {
                let tag = if json.parse::<i64>().is_ok() { Tag::Int } else { Tag::Float };
                Scalar { text: json.into(), tag }
            }
            Value::Text(text) => Scalar::text(text),
        };
        if expanded != *scalar {
            *scalar = expanded;
            node.origin = self.origin;
        }
        Ok(())
    }
}

/// Reports whether kustomize takes the scalar for a string, even if it has no tag.
fn is_text(scalar: &Scalar) -> bool {
    matches!(scalar.tag, Tag::Text | Tag::Any)
}

/// Returns a text with its variables replaced. A text that is exactly one variable gets the type of
/// its value. `$$` is a dollar sign.
fn expanded(text: &str, values: &Values, budget: &Budget, used: &mut BTreeSet<Arc<str>>) -> Result<Value, Exceeded> {
    budget.hold(text.len())?;
    budget.spend(text.len() / 8);
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        match after.chars().next() {
            None => {
                expanded.push('$');
                rest = after;
            }
            Some('$') => {
                expanded.push('$');
                rest = &after[1..];
            }
            Some('(') => match after.find(')') {
                Some(end) => {
                    let name = &after[1..end];
                    let value = values.get_key_value(name);
                    used.extend(value.map(|(name, _)| Arc::clone(name)));
                    match value.map(|(_, value)| value) {
                        Some(value) => {
                            let shown = shown(value);
                            budget.hold(shown.len())?;
                            if text.len() == name.len() + 3 {
                                return Ok(value.clone());
                            }
                            expanded.push_str(&shown);
                        }
                        None => expanded.push_str(&rest[at..=at + 1 + end]),
                    }
                    rest = &after[end + 1..];
                }
                None => {
                    budget.steps(after.len() / 16)?;
                    expanded.push_str("$(");
                    rest = &after[1..];
                }
            },
            Some(c) => {
                expanded.push('$');
                expanded.push(c);
                rest = &after[c.len_utf8()..];
            }
        }
    }
    expanded.push_str(rest);
    Ok(Value::Text(expanded.into()))
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(value) => value.to_string(),
        Value::Number(json) => setpoint_yaml::go::written_number(json).into_owned(),
        Value::Text(text) => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::defaults::Defaults;
    use crate::read::read;

    fn values() -> Values {
        BTreeMap::from([
            ("NAME".into(), Value::Text("web".into())),
            ("PORT".into(), Value::Number("8080".to_owned())),
            ("ON".into(), Value::Bool(true)),
        ])
    }

    #[test]
    fn a_variable_stands_for_its_value_and_alone_for_its_kind_too() {
        let is = |text: &str, expected: Value| {
            assert_eq!(expanded(text, &values(), &Budget::default(), &mut BTreeSet::new()), Ok(expected), "{text}");
        };
        let text = |text: &str| Value::Text(text.into());
        is("$(NAME)", text("web"));
        is("$(PORT)", Value::Number("8080".to_owned()));
        is("$(ON)", Value::Bool(true));
        is("http://$(NAME):$(PORT)/$(ON)", text("http://web:8080/true"));
        is("$(OTHER) $(NAME)", text("$(OTHER) web"));
        is("$(OTHER)", text("$(OTHER)"));
        is("$$(NAME) $$ $", text("$(NAME) $ $"));
        is("$(NAME", text("$(NAME"));
        is("$NAME ${NAME} $é", text("$NAME ${NAME} $é"));
        is("$($(NAME))", text("$($(NAME))"));
    }

    #[test]
    fn variables_are_replaced_where_they_are_looked_for() {
        let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {a: $(NAME)}}\nspec:\n  containers:\n  - args: [$(NAME), x]\n    env: [{name: A, value: $(PORT)}]\n    image: $(NAME)\n";
        let nodes = read("pod.yaml", text, Origin::default()).unwrap();
        let mut resources: Vec<Resource> = nodes.into_iter().map(Resource::new).collect();
        let used =
            put(&mut resources, &Defaults::get().var_reference, &values(), Origin::default().on(3), &Budget::default())
                .unwrap();
        assert_eq!(used, BTreeSet::from(["NAME".into(), "PORT".into()]));
        let mut out = String::new();
        setpoint_yaml::go::write(&resources[0].node, &mut out).unwrap();
        assert!(
            out.contains(
                "- args:\n    - web\n    - x\n    env:\n    - name: A\n      value: 8080\n    image: $(NAME)\n"
            ),
            "{out}"
        );
        assert!(out.contains("a: web"), "{out}");
    }

    #[test]
    fn a_list_that_holds_something_else_is_told() {
        let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - args: [1]\n";
        let mut resources: Vec<Resource> =
            read("pod.yaml", text, Origin::default()).unwrap().into_iter().map(Resource::new).collect();
        let error =
            put(&mut resources, &Defaults::get().var_reference, &values(), Origin::default(), &Budget::default())
                .unwrap_err();
        assert_eq!(error.origin.line(), 6);
        assert!(error.problem.to_string().contains("invalid value type expect a string"), "{error}");
    }
}
