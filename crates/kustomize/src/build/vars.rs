//! Variables of a kustomization: finds the resource that each refers to, and its final value.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Accumulated, BadBuild, Builder, NAMED};
use crate::field_path::{self, PathError};
use crate::identity::{Gvk, Id};
use crate::kustomization::{Kustomization, Var};
use crate::limits::{Budget, named};
use crate::node::{Tag, Value};
use crate::resource::Resource;
use crate::variables;

/// The steps to compare the id of a resource.
const LOOK: usize = 25;

impl Builder<'_> {
    /// Adds variables, and marks the resources they refer to.
    pub(super) fn merge_vars(&self, all: &mut Accumulated, kustomization: &Kustomization) -> Result<(), BadBuild> {
        let names: usize =
            all.resources.iter().map(|resource| LOOK * (1 + resource.former.len()) + named(&resource.node)).sum();
        for (at, var) in kustomization.vars.iter().enumerate() {
            let merged = self.budget.steps(names).map_err(BadBuild::from).and_then(|()| self.note_var(all, var));
            merged.map_err(|error| error.or_at(&self.sources, kustomization.place_of_item("vars", at)))?;
        }
        merge_var_lists(&mut all.vars, kustomization.vars.clone(), self.budget)
            .map_err(|error| error.or_at(&self.sources, kustomization.place("vars")))
    }

    /// Marks the resource that a variable refers to.
    fn note_var(&self, all: &mut Accumulated, var: &Var) -> Result<(), BadBuild> {
        let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
        let target = Id {
            gvk: var.gvk.clone(),
            name: Arc::clone(&var.of_name),
            namespace: Arc::clone(&var.of_namespace),
            // Kustomize does not check this when a variable is declared.
            is_cluster_scoped: false,
        };
        let by_namespace = !target.namespace.is_empty();
        let is_it = |id: &Id| if by_namespace { id.is_same(&target) } else { id.is_named_as(&target) };
        let mut found = all
            .resources
            .iter_mut()
            .filter(|resource| is_it(&resource.id(&scope)) || resource.former_ids().any(|id| is_it(&id)));
        if let Some(resource) = found.next() {
            resource.variables.push(Arc::clone(&var.name));
        }
        let more = found.count();
        if more > 0 {
            let problem = format!(
                "found {} resId matches for var {{{} {} {{{}}}}} (unable to disambiguate): name it more precisely",
                more + 1,
                var.name,
                var.gvk,
                var.field_path
            );
            return Err(BadBuild::of(problem));
        }
        Ok(())
    }

    /// Replaces variables by their values.
    pub(super) fn put_variables(&mut self, all: &mut Accumulated) -> Result<(), BadBuild> {
        let mut values = variables::Values::new();
        let mut by_name: BTreeMap<&str, &Resource> = BTreeMap::new();
        for resource in &all.resources {
            for name in &resource.variables {
                by_name.entry(name).or_insert(resource);
            }
        }
        for var in &all.vars {
            let value = value_of(var, by_name.get(&*var.name).copied(), self.budget);
            if let Some(value) = value.map_err(|error| error.or_at(&self.sources, var.origin))? {
                values.insert(Arc::clone(&var.name), value);
            }
        }
        if all.vars.is_empty() {
            return Ok(());
        }
        let origin = self.sources.add("".into(), Some("vars".into()));
        let used = variables::put(&mut all.resources, &all.fields.get().var_reference, &values, origin, self.budget)
            .map_err(|error| BadBuild::new(&error).or_at(&self.sources, origin))?;
        let unused: Vec<&str> = values.keys().filter(|name| !used.contains(*name)).map(|name| &**name).collect();
        if !unused.is_empty() {
            self.warnings.push(format!("well-defined vars that were never replaced: {}", unused.join(",")));
        }
        Ok(())
    }
}

/// Returns the value of a variable, or `None` if the value cannot be part of a text.
fn value_of(var: &Var, of: Option<&Resource>, budget: &Budget) -> Result<Option<Value>, BadBuild> {
    let name = &var.name;
    let Some(of) = of else {
        let problem = "cannot be mapped to a field in the set of known resources: correct its objref";
        return Err(BadBuild::of(format!("var '{name}' {problem}")));
    };
    let missing = || {
        let problem = "not found in corresponding resource: correct its fieldref";
        BadBuild::of(format!("field specified in var '{name}' {problem}"))
    };
    let parts = field_path::split(&var.field_path).map_err(|error| BadBuild::new(&error))?;
    let parts: Vec<String> = parts.into_iter().flat_map(|part| indexed(&part)).collect();
    let steps = match field_path::find_within(&of.node, &parts, budget) {
        Ok(steps) => steps.ok_or_else(missing)?,
        Err(PathError::Limit(exceeded)) => return Err(exceeded.into()),
        Err(_) => return Err(missing()),
    };
    let found = field_path::at(&of.node, &steps).ok_or_else(missing)?;
    let Some(scalar) = found.as_scalar() else { return Ok(None) };
    Ok(Some(match scalar.tag {
        // Only decimal numbers are allowed. A number in octal notation is read as decimal, too.
        Tag::Int => Value::Number(scalar.text.parse::<i64>().map_err(|_| missing())?.to_string()),
        Tag::Bool => scalar.value().map_err(|error| BadBuild::new(&error))?,
        Tag::Float => as_float(scalar.value().map_err(|error| BadBuild::new(&error))?),
        // Every other scalar gives its text as written: a date, and null too.
        Tag::Null | Tag::Text | Tag::Time | Tag::Any => Value::Text(Arc::clone(&scalar.text)),
    }))
}

/// Returns a number with a point or an exponent, so that it is written as Go writes floats:
/// `1e+06`, `-0`.
fn as_float(value: Value) -> Value {
    match value {
        Value::Number(json) if !json.contains(['.', 'e']) => Value::Number(json + ".0"),
        other => other,
    }
}

/// Splits an index off a part of a path: `ports[0]` is `ports` and `0`.
fn indexed(part: &str) -> Vec<String> {
    let index = part.strip_suffix(']').and_then(|part| part.rsplit_once('['));
    match index {
        Some((field, index)) if !field.is_empty() && index.bytes().all(|b| b.is_ascii_digit()) => {
            vec![field.to_owned(), index.to_owned()]
        }
        _ => vec![part.to_owned()],
    }
}

/// Adds variables, none of which may exist already.
pub(super) fn merge_var_lists(all: &mut Vec<Var>, more: Vec<Var>, budget: &Budget) -> Result<(), BadBuild> {
    if more.is_empty() {
        return Ok(());
    }
    budget.steps(NAMED * (all.len() + more.len()))?;
    let mut names: BTreeSet<Arc<str>> = all.iter().map(|own| Arc::clone(&own.name)).collect();
    for var in more {
        match names.insert(Arc::clone(&var.name)) {
            true => all.push(var),
            false => {
                let problem = format!("var '{}' already encountered: rename one of them", var.name);
                return Err(BadBuild::of(problem).coming_from(var.origin));
            }
        }
    }
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(())
}
