//! The tree of a case: folders with kustomizations, and what is in them.

use std::collections::BTreeMap;

use super::dice::Dice;
use super::document::{Yaml, list, map, raw, text};
use crate::case::{BUILT, Case};

/// Something that was declared somewhere, to be referred to.
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
    /// The group and the version of its kind.
    pub(super) fn group_and_version(&self) -> (&str, &str) {
        self.api_version.split_once('/').unwrap_or(("", &self.api_version))
    }
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) dice: Dice,
    /// How many of a hundred values are odd ones.
    pub(super) odd: usize,
    /// How many of a hundred fields that a kustomization may have it has.
    pub(super) busy: usize,
    /// What the kustomization that is being written holds.
    pub(super) things: Vec<Thing>,
    /// What those hold that are written.
    held: BTreeMap<String, Vec<Thing>>,
    pub(super) case: Case,
}

/// A case of a run.
pub(crate) fn case(seed: u64, number: u64) -> Case {
    let mut dice = Dice::of(seed, number);
    let odd = dice.pick(&[0, 0, 0, 2, 6, 15]);
    let busy = dice.pick(&[25, 50, 100]);
    let (things, held) = (Vec::new(), BTreeMap::new());
    let mut world = World { dice, odd, busy, things, held, case: Case::default() };
    world.tree();
    if world.dice.percent(8) {
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
        written.set("resources", list(resources));
        if self.dice.percent(20) {
            let component = self.component(folder);
            written.set("components", list([component]));
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
                // As a rule a base is named once, or what it holds is there twice.
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
            let mut file = documents.join("---\n");
            if self.dice.percent(5) {
                file.insert_str(0, "---\n");
            }
            if self.dice.percent(2) {
                file.push_str("---\n# nothing\n---\n");
            }
            self.case.files.insert(format!("{folder}/{name}"), file);
            resources.push(raw(name));
        }
        if self.dice.percent(3) {
            let items = list([self.new_object(), self.new_object()]);
            let all = map([("apiVersion", text("v1")), ("kind", text("List")), ("items", items)]);
            self.add(&format!("{folder}/all.yaml"), &all);
            resources.push(raw("all.yaml"));
        }
        resources
    }

    fn component(&mut self, folder: &str) -> Yaml {
        let name = format!("part-of-{folder}");
        let mut written = map([("apiVersion", text("kustomize.config.k8s.io/v1alpha1")), ("kind", text("Component"))]);
        if self.dice.percent(30) {
            let resources = self.resources(&name, &[]);
            written.set("resources", list(resources));
        }
        self.fields(&mut written, &name);
        if matches!(&written, Yaml::Map(fields) if fields.len() == 2) && self.dice.percent(95) {
            written.set("commonAnnotations", self.pairs());
        }
        self.add(&format!("{name}/kustomization.yaml"), &written);
        raw(format!("../{name}"))
    }

    /// Writes a file of one document.
    pub(super) fn add(&mut self, path: &str, document: &Yaml) {
        let text = document.write(&mut self.dice);
        self.case.files.insert(path.to_owned(), text);
    }

    /// Whether something of this kind and name is there.
    pub(super) fn is_there(&self, thing: &Thing) -> bool {
        let is_same = |known: &Thing| known.kind == thing.kind && known.name == thing.name;
        self.things.iter().any(is_same)
    }

    /// Something that was declared, as a rule.
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

    /// Breaks a line of a file.
    fn spoil(&mut self) {
        let at = self.dice.below(self.case.files.len());
        let Some((_, text)) = self.case.files.iter_mut().nth(at) else { return };
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.is_empty() {
            return;
        }
        let at = self.dice.below(lines.len());
        match self.dice.below(if self.dice.has_flow { 5 } else { 6 }) {
            0 => drop(lines.remove(at)),
            1 => {
                let line = lines[at].clone();
                lines.insert(at, line);
            }
            2 => lines[at].insert(0, ' '),
            3 => lines.truncate(at),
            5 => lines[at] = lines[at].split(':').next().unwrap_or_default().to_owned() + ":",
            _ => {
                let odd = super::words::odd(&mut self.dice).write(&mut self.dice);
                let start = lines[at].split_inclusive(": ").next().unwrap_or_default().to_owned();
                lines[at] = start + odd.trim_end();
            }
        }
        *text = lines.join("\n") + "\n";
    }
}
