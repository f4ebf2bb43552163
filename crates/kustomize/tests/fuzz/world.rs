//! The tree of a case: directories with kustomizations, and their content.

use std::collections::BTreeMap;

use super::dice::Dice;
use super::document::{Yaml, list, map, raw, text};
use super::text::{joined, varied};
use crate::case::{BUILT, Case};

/// A declared object that others may refer to.
#[derive(Clone, Debug)]
pub(super) struct Thing {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) namespace: String,
    /// As it was declared.
    pub(super) object: Yaml,
}

impl Thing {
    /// Returns the group and the version of its kind.
    pub(super) fn group_and_version(&self) -> (&str, &str) {
        self.api_version.split_once('/').unwrap_or(("", &self.api_version))
    }
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) dice: Dice,
    /// The percentage of odd values.
    pub(super) odd: usize,
    /// The percentage of the possible fields that a kustomization has.
    pub(super) busy: usize,
    /// The percentage of files outside of the directory that names them.
    outside: usize,
    /// The content of the kustomization that is being written.
    pub(super) things: Vec<Thing>,
    /// The content of the kustomizations that are complete.
    held: BTreeMap<String, Vec<Thing>>,
    pub(super) case: Case,
}

/// Returns one case of a run.
pub(crate) fn case(seed: u64, number: u64) -> Case {
    let mut dice = Dice::of(seed, number);
    let odd = dice.pick(&[0, 0, 0, 0, 0, 0, 2, 6, 15]);
    let busy = dice.pick(&[20, 40, 40, 100]);
    let (things, held) = (Vec::new(), BTreeMap::new());
    let is_unrestricted = dice.percent(10);
    let outside = if dice.percent(if is_unrestricted { 60 } else { 1 }) { 40 } else { 0 };
    let case = Case { is_unrestricted, ..Case::default() };
    let mut world = World { dice, odd, busy, outside, things, held, case };
    world.tree();
    if world.dice.percent(6) {
        world.spoil();
    }
    world.case
}

impl World {
    fn tree(&mut self) {
        let mut below: Vec<&str> = Vec::new();
        for (folder, percent) in [("base", 60), ("other", 25), ("mid", 25)] {
            if self.dice.percent(percent) {
                self.kustomization(folder, &below);
                below.push(folder);
            }
        }
        self.kustomization(BUILT, &below);
    }

    fn kustomization(&mut self, folder: &str, below: &[&str]) {
        self.things.clear();
        let mut written = map([]);
        if self.dice.percent(40) {
            written.set("apiVersion", text("kustomize.config.k8s.io/v1beta1"));
            written.set("kind", text("Kustomization"));
        }
        let resources = self.resources(folder, below);
        // Sometimes uses the deprecated `bases`.
        let (mut resources, mut bases) = (resources, Vec::new());
        if self.dice.percent(4) {
            (bases, resources) =
                resources.into_iter().partition(|way| matches!(way, Yaml::Raw(way) if way.starts_with("../")));
        }
        written.set("resources", list(resources));
        if !bases.is_empty() {
            written.set("bases", list(bases));
        }
        if self.dice.percent(20) {
            let components = self.components(folder, 0);
            written.set("components", components);
        }
        self.fields(&mut written, folder);
        let name = if self.dice.percent(95) { "kustomization.yaml" } else { "Kustomization" };
        self.add(&format!("{folder}/{name}"), &written);
        self.held.insert(folder.to_owned(), self.things.clone());
    }

    fn resources(&mut self, folder: &str, below: &[&str]) -> Vec<Yaml> {
        let mut resources = Vec::new();
        for base in below {
            if self.dice.percent(if folder == BUILT { 85 } else { 50 }) {
                // A base is usually named only once, because its content would be duplicated.
                let held = self.held.get(*base).cloned().unwrap_or_default();
                let is_new = held.iter().all(|thing| !self.is_there(thing));
                if is_new || self.dice.percent(5) {
                    self.things.extend(held);
                    resources.push(raw(format!("../{base}")));
                }
            }
        }
        let fewest = usize::from(resources.is_empty());
        for number in 0..fewest + self.dice.below(3) {
            let name = format!("r{number}.yaml");
            let documents: Vec<String> = (0..=self.dice.below(3))
                .map(|_| {
                    let object = self.new_object();
                    object.write(&mut self.dice)
                })
                .collect();
            let file = joined(&documents, &mut self.dice);
            let way = self.put_file(folder, &name, file);
            resources.push(raw(way));
        }
        if self.dice.percent(3) {
            let items = list([self.new_object(), self.new_object()]);
            let all = map([("apiVersion", text("v1")), ("kind", text("List")), ("items", items)]);
            resources.push(raw(self.add_named(folder, "all.yaml", &all)));
        }
        resources
    }

    fn components(&mut self, folder: &str, depth: usize) -> Yaml {
        let mut components = vec![self.component(folder, 0, depth)];
        if self.dice.percent(15) {
            components.push(self.component(folder, 1, depth));
        }
        if self.dice.percent(2) {
            components.push(components[0].clone());
        }
        list(components)
    }

    /// Returns a component, which may have components.
    fn component(&mut self, folder: &str, number: usize, depth: usize) -> Yaml {
        let name = format!("part{number}-of-{folder}");
        let mut written = map([("apiVersion", text("kustomize.config.k8s.io/v1alpha1")), ("kind", text("Component"))]);
        if self.dice.percent(30) {
            let resources = self.resources(&name, &[]);
            written.set("resources", list(resources));
        }
        if depth < 2 && self.dice.percent(20) {
            let components = self.components(&name, depth + 1);
            written.set("components", components);
        }
        self.fields(&mut written, &name);
        if matches!(&written, Yaml::Map(fields) if fields.len() == 2) && self.dice.percent(95) {
            written.set("commonAnnotations", self.pairs());
        }
        self.add(&format!("{name}/kustomization.yaml"), &written);
        raw(format!("../{name}"))
    }

    /// Writes a file with one document.
    pub(super) fn add(&mut self, path: &str, document: &Yaml) {
        let text = document.write(&mut self.dice);
        let text = varied(text, &mut self.dice);
        self.case.files.insert(path.to_owned(), text);
    }

    /// Writes a file with one document for a kustomization, and returns the path to it.
    pub(super) fn add_named(&mut self, folder: &str, name: &str, document: &Yaml) -> String {
        let text = document.write(&mut self.dice);
        let text = varied(text, &mut self.dice);
        self.put_file(folder, name, text)
    }

    /// Writes a file to a directory, or outside of it, and returns the path to it.
    pub(super) fn put_file(&mut self, folder: &str, name: &str, text: String) -> String {
        if !self.dice.percent(self.outside) {
            self.case.files.insert(format!("{folder}/{name}"), text);
            return name.to_owned();
        }
        let name = format!("{folder}-{name}");
        self.case.files.insert(format!("shared/{name}"), text);
        format!("../shared/{name}")
    }

    /// Reports whether an object of this kind and name exists.
    pub(super) fn is_there(&self, thing: &Thing) -> bool {
        let is_same = |known: &Thing| known.kind == thing.kind && known.name == thing.name;
        self.things.iter().any(is_same)
    }

    /// Returns an object, usually a declared one.
    pub(super) fn thing(&mut self) -> Thing {
        if self.things.is_empty() || self.dice.percent(3) {
            let (api_version, kind) = self.dice.pick(super::objects::KINDS);
            let name = self.dice.pick(super::words::NAMES).to_owned();
            let object = map([]);
            return Thing {
                api_version: api_version.into(),
                kind: kind.into(),
                name,
                namespace: String::new(),
                object,
            };
        }
        let at = self.dice.below(self.things.len());
        self.things[at].clone()
    }
}
