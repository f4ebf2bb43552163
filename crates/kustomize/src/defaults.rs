//! The default field specs of kustomize. They are in `defaults.txt`, one per line: the transformer,
//! whether missing fields are created, the resources, and the path. Their order is that of
//! kustomize's own lists, which it sorts by kind before use.

use std::sync::{Arc, LazyLock};

use crate::field_spec::{Conflict, FieldSpec};
use crate::identity::Gvk;
use crate::order::by_kind;

/// The default field specs of each transformer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defaults {
    pub name_prefix: Vec<FieldSpec>,
    pub name_suffix: Vec<FieldSpec>,
    pub namespace: Vec<FieldSpec>,
    /// Labels including selectors: `commonLabels`.
    pub common_labels: Vec<FieldSpec>,
    /// Labels of the resource and of its templates: `labels` with `includeTemplates`.
    pub template_labels: Vec<FieldSpec>,
    /// For all `labels`, whatever they include. Empty unless configured.
    pub labels: Vec<FieldSpec>,
    pub common_annotations: Vec<FieldSpec>,
    pub images: Vec<FieldSpec>,
    pub replicas: Vec<FieldSpec>,
    pub var_reference: Vec<FieldSpec>,
    pub name_reference: Vec<NameReference>,
}

/// Fields that hold the name of a resource of some kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameReference {
    pub referred: Gvk,
    pub fields: Vec<FieldSpec>,
}

impl Defaults {
    /// Adds the field specs of `other`.
    pub fn merge(&mut self, other: &Self) -> Result<(), Conflict> {
        let lists = [
            (&mut self.name_prefix, &other.name_prefix),
            (&mut self.name_suffix, &other.name_suffix),
            (&mut self.namespace, &other.namespace),
            (&mut self.common_labels, &other.common_labels),
            (&mut self.template_labels, &other.template_labels),
            (&mut self.labels, &other.labels),
            (&mut self.common_annotations, &other.common_annotations),
            (&mut self.images, &other.images),
            (&mut self.replicas, &other.replicas),
            (&mut self.var_reference, &other.var_reference),
        ];
        for (own, other) in lists {
            FieldSpec::merge(own, other)?;
        }
        for reference in &other.name_reference {
            match self.name_reference.iter_mut().find(|own| own.referred == reference.referred) {
                Some(own) => FieldSpec::merge(&mut own.fields, &reference.fields)?,
                None => self.name_reference.push(reference.clone()),
            }
        }
        self.sort();
        Ok(())
    }

    /// Returns the maximum number of steps to merge `other`: fields of one path are compared with
    /// each other.
    pub(crate) fn cost_of_merge(&self, other: &Self) -> usize {
        let lists = |of: &Self| {
            let [prefix, suffix, namespace] = [&of.name_prefix, &of.name_suffix, &of.namespace].map(Vec::len);
            let labels = [&of.common_labels, &of.template_labels, &of.labels, &of.common_annotations].map(Vec::len);
            let values = [&of.images, &of.replicas, &of.var_reference].map(Vec::len);
            let names = of.name_reference.iter().map(|reference| 1 + reference.fields.len()).sum::<usize>();
            [prefix, suffix, namespace, names].into_iter().chain(labels).chain(values).collect::<Vec<_>>()
        };
        let (own, other) = (lists(self), lists(other));
        own.iter().zip(&other).map(|(own, other)| 4 * (own + other) + own * other / 16 + other * other / 16).sum()
    }

    /// Sorts as kustomize does after each merge. The order decides which specs count as existing in
    /// the next merge.
    fn sort(&mut self) {
        let lists = [
            &mut self.name_prefix,
            &mut self.name_suffix,
            &mut self.namespace,
            &mut self.common_labels,
            &mut self.template_labels,
            &mut self.labels,
            &mut self.common_annotations,
            &mut self.images,
            &mut self.replicas,
            &mut self.var_reference,
        ];
        for list in lists {
            list.sort_by(|one, other| by_kind(&one.gvk, &other.gvk));
        }
        self.name_reference.sort_by(|one, other| by_kind(&one.referred, &other.referred));
    }
}

static DEFAULTS: LazyLock<Defaults> = LazyLock::new(|| {
    let mut defaults = read(include_str!("defaults.txt"));
    defaults.sort();
    defaults
});

impl Defaults {
    pub fn get() -> &'static Self {
        &DEFAULTS
    }
}

fn read(table: &str) -> Defaults {
    let mut defaults = Defaults::default();
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let columns: Vec<&str> = line.split(' ').collect();
        if let [what, "refer", referred] = columns[..] {
            debug_assert_eq!(what, "nameReference");
            defaults.name_reference.push(NameReference { referred: gvk(referred), fields: Vec::new() });
        } else if let [what, create, of, path] = columns[..] {
            let spec = FieldSpec { gvk: gvk(of), path: Arc::from(path), create: create == "create" };
            defaults.add(what, &spec);
        }
    }
    defaults
}

impl Defaults {
    fn add(&mut self, what: &str, spec: &FieldSpec) {
        let lists: &mut [&mut Vec<FieldSpec>] = match what {
            "namePrefix" => &mut [&mut self.name_prefix],
            "nameSuffix" => &mut [&mut self.name_suffix],
            "namespace" => &mut [&mut self.namespace],
            "selectors" => &mut [&mut self.common_labels],
            "labels" => &mut [&mut self.common_labels, &mut self.template_labels],
            "annotations" => &mut [&mut self.common_annotations],
            "images" => &mut [&mut self.images],
            "replicas" => &mut [&mut self.replicas],
            "varReference" => &mut [&mut self.var_reference],
            _ => match self.name_reference.last_mut() {
                Some(last) => &mut [&mut last.fields],
                None => &mut [],
            },
        };
        for list in lists {
            list.push(spec.clone());
        }
    }
}

/// Parses `group/version/Kind`, each of which may be `*`.
fn gvk(written: &str) -> Gvk {
    let mut parts = written.split('/').map(|part| if part == "*" { "" } else { part });
    let mut next = || parts.next().unwrap_or_default();
    Gvk::new(next(), next(), next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_in_a_list() {
        let defaults = Defaults::get();
        let lists = [
            (&defaults.name_prefix, 1),
            (&defaults.name_suffix, 1),
            (&defaults.namespace, 3),
            (&defaults.common_labels, 32),
            (&defaults.template_labels, 10),
            (&defaults.common_annotations, 9),
            (&defaults.images, 6),
            (&defaults.replicas, 4),
        ];
        for (at, (list, len)) in lists.into_iter().enumerate() {
            assert_eq!(list.len(), len, "list {at}");
        }
        let references: usize = defaults.name_reference.iter().map(|reference| reference.fields.len()).sum();
        let lines = |start: &str| include_str!("defaults.txt").lines().filter(|line| line.starts_with(start)).count();
        assert_eq!(references + defaults.name_reference.len(), lines("nameReference "));
        assert_eq!(defaults.var_reference.len(), lines("varReference "));
        assert!(defaults.name_reference.iter().all(|reference| !reference.fields.is_empty()));
    }
}
