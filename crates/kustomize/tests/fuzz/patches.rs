//! Patches of both kinds, with targets and options.

use super::document::{Yaml, list, map, quoted, raw, text};
use super::text::varied;
use super::walk::{pointer, walk};
use super::words::odd;
use super::world::{Thing, World};

impl World {
    pub(super) fn patches(&mut self, folder: &str) -> Yaml {
        let number = 1 + self.dice.below(3);
        list((0..number).map(|_| self.patch(folder)).collect::<Vec<_>>())
    }

    pub(super) fn patch(&mut self, folder: &str) -> Yaml {
        let thing = self.thing();
        let is_json = self.dice.percent(40);
        let content = if is_json { self.operations(&thing) } else { self.strategic(&thing) };
        let mut patch = map([]);
        self.place(&mut patch, folder, content);
        if is_json || self.dice.percent(35) {
            patch.set("target", self.target(&thing));
        }
        if self.dice.percent(10) {
            let mut options = map([]);
            for flag in ["allowNameChange", "allowKindChange"] {
                if self.dice.percent(60) {
                    options.set(flag, raw(self.dice.pick(&["true", "true", "false"])));
                }
            }
            patch.set("options", options);
        }
        patch
    }

    /// Writes a patch to a file or inline.
    fn place(&mut self, patch: &mut Yaml, folder: &str, content: String) {
        if self.dice.percent(60) {
            patch.set("patch", Yaml::Lines(content));
            return;
        }
        let name = self.patch_file(folder, content);
        patch.set("path", raw(name));
    }

    fn patch_file(&mut self, folder: &str, content: String) -> String {
        let name = format!("patch{}.yaml", self.case.files.len());
        let content = varied(content, &mut self.dice);
        self.put_file(folder, &name, content)
    }

    pub(super) fn strategic_patches(&mut self, folder: &str) -> Yaml {
        let thing = self.thing();
        let mut content = self.strategic(&thing);
        if self.dice.percent(20) {
            let other = self.thing();
            content = format!("{content}---\n{}", self.strategic(&other));
        }
        match self.dice.percent(50) {
            true => list([Yaml::Lines(content)]),
            false => list([raw(self.patch_file(folder, content))]),
        }
    }

    pub(super) fn json_patches(&mut self, folder: &str) -> Yaml {
        let thing = self.thing();
        let content = self.operations(&thing);
        let (group, version) = thing.group_and_version();
        let mut target = map([("version", text(version)), ("kind", text(&thing.kind)), ("name", text(&thing.name))]);
        if !group.is_empty() {
            target.set("group", text(group));
        }
        if !thing.namespace.is_empty() {
            target.set("namespace", text(&thing.namespace));
        }
        let mut patch = map([("target", target)]);
        self.place(&mut patch, folder, content);
        list([patch])
    }

    pub(super) fn target(&mut self, thing: &Thing) -> Yaml {
        let mut target = map([]);
        let (group, version) = thing.group_and_version();
        for (field, value, percent) in [
            ("kind", thing.kind.as_str(), 80),
            ("name", &thing.name, 50),
            ("version", version, 25),
            ("group", group, 20),
        ] {
            if !value.is_empty() && self.dice.percent(percent) {
                let value = match self.dice.below(12) {
                    0 => format!("{}.*", &value[..1]),
                    1 => format!("^{value}$"),
                    2 => format!("({value}|x)"),
                    3 => ".*".to_owned(),
                    _ => value.to_owned(),
                };
                target.set(field, raw(quoted(&value)));
            }
        }
        if self.dice.percent(15) {
            target.set("namespace", text(if thing.namespace.is_empty() { "prod" } else { &thing.namespace }));
        }
        if self.dice.percent(15) {
            let selector = self.dice.pick(&[
                "app=web",
                "app",
                "!app",
                "app in (web, prod)",
                "tier notin (a)",
                "app!=web",
                "app==web,tier",
                "a b",
            ]);
            target.set(self.dice.pick(&["labelSelector", "annotationSelector"]), raw(quoted(selector)));
        }
        target
    }

    /// Returns a strategic merge patch: an object of the same kind with only some of the fields.
    pub(super) fn strategic(&mut self, thing: &Thing) -> String {
        let mut object = self.object(thing);
        if let Yaml::Map(fields) = &mut object {
            for (name, value) in fields.iter_mut() {
                if name != "apiVersion" && name != "kind" && name != "metadata" {
                    self.thin(value);
                }
            }
            if self.dice.percent(3) {
                fields.push(("$patch".to_owned(), text(self.dice.pick(&["delete", "replace", "merge"]))));
            }
        }
        object.write(&mut self.dice)
    }

    /// Removes fields, and adds directives.
    fn thin(&mut self, value: &mut Yaml) {
        match value {
            Yaml::Map(fields) => {
                fields.retain(|(name, _)| name == "name" || name == "containerPort" || self.dice.percent(65));
                for (_, value) in fields.iter_mut() {
                    match self.dice.below(30) {
                        0 => *value = raw("null"),
                        1 if self.odd > 0 => *value = odd(&mut self.dice),
                        _ => self.thin(value),
                    }
                }
                if self.dice.percent(3) {
                    fields.push(("$patch".to_owned(), text(self.dice.pick(&["delete", "replace", "merge"]))));
                }
            }
            Yaml::List(items) => {
                items.iter_mut().for_each(|item| self.thin(item));
                if self.dice.percent(2) {
                    items.push(map([("$patch", text("replace"))]));
                }
            }
            Yaml::Raw(_) | Yaml::Lines(_) => {}
        }
    }

    /// Returns a patch of RFC 6902.
    pub(super) fn operations(&mut self, thing: &Thing) -> String {
        let number = 1 + self.dice.below(2);
        let operations: Vec<Yaml> = (0..number).map(|_| self.operation(thing)).collect();
        if self.dice.percent(15) {
            return self.operations_as_json();
        }
        list(operations).write(&mut self.dice)
    }

    fn operations_as_json(&mut self) -> String {
        const TEXTS: &[&str] = &[
            "[{\"op\": \"add\", \"path\": \"/metadata/labels/x\", \"value\": \"y\"}]",
            "[\n  {\"op\": \"replace\", \"path\": \"/metadata/name\", \"value\": \"renamed\"}\n]\n",
            "[{\"op\": \"add\", \"path\": \"/metadata/annotations\", \"value\": {\"n\": \"1\", \"a/b\": \"<&>\"}}]",
            "[]",
        ];
        self.dice.pick(TEXTS).to_owned()
    }

    fn operation(&mut self, thing: &Thing) -> Yaml {
        let op = self.dice.pick(&[
            "add", "add", "add", "replace", "replace", "replace", "replace", "remove", "remove", "test", "copy", "move",
        ]);
        let mut operation = map([("op", text(op)), ("path", raw(quoted(&self.pointer(thing))))]);
        match op {
            "copy" | "move" => operation.set("from", raw(quoted(&self.pointer(thing)))),
            "remove" => {}
            _ => {
                let value = match self.dice.below(6) {
                    0 => self.pairs(),
                    1 => list([self.value()]),
                    2 => self.number(),
                    3 => self.container(),
                    _ => self.value(),
                };
                operation.set("value", value);
            }
        }
        operation
    }

    fn pointer(&mut self, thing: &Thing) -> String {
        const ANY: &[&str] = &[
            "/metadata/name",
            "/metadata/labels",
            "/metadata/labels/app",
            "/metadata/annotations",
            "/metadata/annotations/a~1b",
            "/kind",
        ];
        const BAD: &[&str] = &[
            "",
            "/",
            "/nope/x",
            "/spec/",
            "spec",
            "/metadata/labels/a~2b",
            "/spec/template/spec/containers/-1",
            "/spec/list/00",
        ];
        match self.dice.below(40) {
            0 => self.dice.pick(BAD).to_owned(),
            1..=4 => self.dice.pick(ANY).to_owned(),
            _ => {
                let way = walk(&thing.object, &mut self.dice);
                pointer(&way, &mut self.dice)
            }
        }
    }
}
