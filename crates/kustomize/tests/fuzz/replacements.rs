//! Replacements with all their options.

use super::document::{Yaml, list, map, quoted, raw, text};
use super::walk::{field_path, walk};
use super::world::{Thing, World};

const PATHS: &[&str] = &[
    "metadata.name",
    "metadata.labels.app",
    "metadata.annotations.note",
    "metadata.annotations.[app.kubernetes.io/name]",
    "spec.template.spec.containers.*.image",
    "spec.template.spec.containers.[name=app].image",
    "spec.template.spec.containers.*.env.*.value",
    "spec.items.[name=c].value",
    "spec.list.-",
    "data.json.config.host",
    "nope.nothing",
];

impl World {
    pub(super) fn replacements(&mut self, folder: &str) -> Yaml {
        let inline = self.inline_replacements();
        if !self.dice.percent(20) {
            return inline;
        }
        let name = format!("replacement{}.yaml", self.case.files.len());
        let way = match (inline, self.dice.percent(50)) {
            (Yaml::List(mut items), true) if items.len() == 1 => self.add_named(folder, &name, &items.remove(0)),
            (all, _) => self.add_named(folder, &name, &all),
        };
        let mut entry = map([(self.dice.pick(&["path", "path", "path", "Path"]), raw(way))]);
        if self.dice.percent(10) {
            let field = self.dice.pick(&["source", "sourceValue", "targets", "nonsense"]);
            entry.set(field, raw(self.dice.pick(&["{}", "[]", "null", "x"])));
        }
        list([entry])
    }

    fn inline_replacements(&mut self) -> Yaml {
        let number = 1 + self.dice.below(2);
        list((0..number).map(|_| self.replacement()).collect::<Vec<_>>())
    }

    fn replacement(&mut self) -> Yaml {
        let targets = 1 + self.dice.below(2);
        let targets = list((0..targets).map(|_| self.replaced()).collect::<Vec<_>>());
        if self.dice.percent(10) {
            return map([("sourceValue", self.value()), ("targets", targets)]);
        }
        let thing = self.thing();
        let mut source = map([("kind", text(&thing.kind)), ("name", text(&thing.name))]);
        if self.dice.percent(20) {
            source.set("version", text(thing.group_and_version().1));
        }
        if !thing.namespace.is_empty() && self.dice.percent(60) {
            source.set("namespace", text(&thing.namespace));
        }
        if self.dice.percent(70) {
            source.set("fieldPath", raw(quoted(&self.path(&thing))));
        }
        if self.dice.percent(25) {
            source.set("options", self.replacement_options(true));
        }
        map([("source", source), ("targets", targets)])
    }

    fn path(&mut self, thing: &Thing) -> String {
        if self.dice.percent(15) {
            return self.dice.pick(PATHS).to_owned();
        }
        let way = walk(&thing.object, &mut self.dice);
        field_path(&way, &mut self.dice)
    }

    fn replaced(&mut self) -> Yaml {
        let thing = self.thing();
        let mut select = map([("kind", text(&thing.kind))]);
        if self.dice.percent(60) {
            select.set("name", text(&thing.name));
        }
        if self.dice.percent(8) {
            select.set("labelSelector", raw("app=web"));
        }
        let mut target = map([("select", select)]);
        if self.dice.percent(15) {
            let other = self.thing();
            target.set("reject", list([map([("name", text(&other.name))])]));
        }
        if self.dice.percent(95) {
            let number = 1 + self.dice.below(2);
            let paths = (0..number).map(|_| raw(quoted(&self.path(&thing)))).collect::<Vec<_>>();
            target.set("fieldPaths", list(paths));
        }
        if self.dice.percent(65) {
            target.set("options", self.replacement_options(false));
        }
        target
    }

    fn replacement_options(&mut self, is_source: bool) -> Yaml {
        let mut options = map([]);
        if self.dice.percent(if is_source { 80 } else { 25 }) {
            options.set("delimiter", raw(quoted(self.dice.pick(&[":", "-", "/", ".", ",", ""]))));
        }
        if self.dice.percent(if is_source { 70 } else { 25 }) {
            options.set("index", raw(self.dice.pick(&["0", "1", "-1", "2", "9"])));
        }
        if !is_source && self.dice.percent(75) {
            options.set("create", raw(self.dice.pick(&["true", "true", "true", "false"])));
        }
        if self.dice.percent(2) {
            options.set("encoding", text("base64"));
        }
        options
    }
}
