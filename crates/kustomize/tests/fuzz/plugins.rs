//! Builtin plugins as files under `transformers` and `generators`.

use super::document::{Yaml, list, map, raw, text};
use super::words::NAMESPACES;
use super::world::World;

const KINDS: [&str; 14] = [
    "PrefixTransformer",
    "SuffixTransformer",
    "LabelTransformer",
    "AnnotationsTransformer",
    "ImageTagTransformer",
    "ReplicaCountTransformer",
    "PatchTransformer",
    "NamespaceTransformer",
    "ReplacementTransformer",
    "ValueAddTransformer",
    "HashTransformer",
    "PatchStrategicMergeTransformer",
    "PatchJson6902Transformer",
    "PrefixSuffixTransformer",
];

/// Fields of some plugins, which others ignore.
const FIELDS: &[&str] =
    &["prefix", "suffix", "patch", "patches", "options", "type", "fieldSpecs", "labels", "nonsense"];

impl World {
    pub(super) fn transformers(&mut self, folder: &str) -> Yaml {
        let mut plugin = self.transformer(folder);
        self.mistake(&mut plugin);
        plugin.set("apiVersion", text("builtin"));
        if plugin.get_mut("metadata").is_none() {
            plugin.set("metadata", map([("name", text("plugin"))]));
        }
        self.named_plugin(folder, "transformer", &plugin)
    }

    /// Adds a plugin as a file, inline, or as the resource of a kustomization of its own.
    fn named_plugin(&mut self, folder: &str, name: &str, plugin: &Yaml) -> Yaml {
        match self.dice.below(10) {
            0 => list([Yaml::Lines(plugin.write(&mut self.dice))]),
            1 => {
                let own = format!("{folder}-{name}");
                self.add(&format!("{own}/plugin.yaml"), plugin);
                self.add(&format!("{own}/kustomization.yaml"), &map([("resources", list([raw("plugin.yaml")]))]));
                list([raw(format!("../{own}"))])
            }
            _ => list([raw(self.add_named(folder, &format!("{name}.yaml"), plugin))]),
        }
    }

    /// Adds a mistake to some plugins: a field is missing, null, in another case, or one of another
    /// plugin.
    fn mistake(&mut self, plugin: &mut Yaml) {
        let Yaml::Map(fields) = plugin else { return };
        if !self.dice.percent(20) || fields.is_empty() {
            return;
        }
        let at = self.dice.below(fields.len());
        match self.dice.below(4) {
            _ if fields[at].0 == "kind" => {}
            0 => drop(fields.remove(at)),
            1 => fields[at].1 = raw("null"),
            2 => fields[at].0 = fields[at].0.to_uppercase(),
            _ => {
                let field = self.dice.pick(FIELDS);
                plugin.set(field, raw(self.dice.pick(&["x", "5", "[]", "{}"])));
            }
        }
    }

    fn transformer(&mut self, folder: &str) -> Yaml {
        let field = |path: &str| map([("path", raw(path)), ("create", raw("true"))]);
        let number = self.dice.below(KINDS.len());
        let mut plugin = match number {
            0 => map([("prefix", text("x-")), ("fieldSpecs", list([field("metadata/name")]))]),
            1 => map([("suffix", text("-x")), ("fieldSpecs", list([field("metadata/name")]))]),
            2 => map([("labels", self.pairs()), ("fieldSpecs", list([field("metadata/labels")]))]),
            3 => map([("annotations", self.pairs()), ("fieldSpecs", list([field("metadata/annotations")]))]),
            4 => map([("imageTag", map([("name", text("nginx")), ("newTag", text("v9"))]))]),
            5 => map([("replica", map([("name", text(&self.thing().name)), ("count", raw("7"))]))]),
            6 => self.patch(folder),
            7 => {
                let name = map([("name", text("plugin")), ("namespace", text(self.dice.pick(NAMESPACES)))]);
                map([("metadata", name), ("fieldSpecs", list([field("metadata/namespace")]))])
            }
            8 => map([("replacements", self.replacements(folder))]),
            9 => self.added_values(),
            10 => map([]),
            11 => {
                let thing = self.thing();
                match self.dice.percent(50) {
                    true => map([("patches", Yaml::Lines(self.strategic(&thing)))]),
                    false => map([("paths", self.strategic_patches(folder))]),
                }
            }
            12 => {
                let thing = self.thing();
                let operations = Yaml::Lines(self.operations(&thing));
                map([("target", self.target(&thing)), ("jsonOp", operations)])
            }
            _ => map([
                ("prefix", text("x-")),
                ("suffix", text("-x")),
                ("fieldSpecs", list([field(self.dice.pick(&["metadata/name", "data/key"]))])),
            ]),
        };
        if number == 5 {
            plugin.set("fieldSpecs", list([map([("path", raw("spec/replicas")), ("create", raw("true"))])]));
        }
        plugin.set("kind", text(KINDS[number]));
        plugin
    }

    /// Returns the targets of a ValueAddTransformer.
    fn added_values(&mut self) -> Yaml {
        let mut targets = Vec::new();
        for _ in 0..=self.dice.below(2) {
            let path = self.dice.pick(&[
                "metadata/name",
                "metadata/labels/app",
                "metadata/annotations/path",
                "spec/size",
                "spec/items/[name=a]/value",
                "spec/template/metadata/labels/app",
                "data/key",
            ]);
            let mut target = map([("fieldPath", text(path))]);
            if self.dice.percent(70) {
                target.set("selector", map([("kind", text(&self.thing().kind))]));
            }
            if self.dice.percent(50) {
                target.set("filePathPosition", raw(self.dice.below(4).to_string()));
            }
            targets.push(target);
        }
        let mut values = map([("targets", list(targets))]);
        if self.dice.percent(80) {
            values.set("value", self.value());
        }
        values
    }

    /// Adds validators. Most change nothing, or only the label that they may.
    pub(super) fn validators(&mut self, folder: &str) -> Yaml {
        let name = self.dice.pick(&["validated-by", "validated-by", "app"]);
        let mut plugin = map([
            ("apiVersion", text("builtin")),
            ("kind", text("LabelTransformer")),
            ("metadata", map([("name", text("validator"))])),
            ("labels", map([(name, self.value())])),
        ]);
        if self.dice.percent(80) {
            let field = map([("path", raw("metadata/labels")), ("create", raw(self.dice.pick(&["true", "false"])))]);
            plugin.set("fieldSpecs", list([field]));
        }
        self.named_plugin(folder, "validator", &plugin)
    }

    /// Adds a schema that defines how lists of widgets are merged.
    pub(super) fn schema(&mut self, folder: &str) -> Yaml {
        let key = self.dice.pick(&["name", "value", "absent"]);
        let mut items = map([("type", text("array")), ("items", map([("type", text("object"))]))]);
        if self.dice.percent(80) {
            items.set("x-kubernetes-patch-merge-key", text(key));
            items.set("x-kubernetes-patch-strategy", text(self.dice.pick(&["merge", "merge", "replace"])));
        }
        let group = [("group", text("example.com")), ("kind", text("Widget")), ("version", text("v1"))];
        let widget = map([
            ("x-kubernetes-group-version-kind", list([map(group)])),
            ("properties", map([("spec", map([("properties", map([("items", items)]))]))])),
        ]);
        let definitions = map([("definitions", map([("v1.Widget", widget)]))]);
        let mut schema = map([]);
        if self.dice.percent(90) {
            schema.set("path", raw(self.add_named(folder, "schema.yaml", &definitions)));
        }
        if self.dice.percent(8) {
            schema.set("version", raw(self.dice.pick(&["v1.21.2", "v1.20.4", "1.21.2", "\"\""])));
        }
        schema
    }

    pub(super) fn plugged_generators(&mut self, folder: &str) -> Yaml {
        let is_secret = self.dice.percent(40);
        let mut plugin = self.generator(folder, is_secret);
        let name = match plugin.get_mut("name") {
            Some(name) => name.clone(),
            None => text("web"),
        };
        self.mistake(&mut plugin);
        plugin.set("apiVersion", text("builtin"));
        plugin.set("kind", text(if is_secret { "SecretGenerator" } else { "ConfigMapGenerator" }));
        plugin.set("metadata", map([("name", name)]));
        if self.dice.percent(70)
            && let Yaml::Map(fields) = &mut plugin
        {
            fields.retain(|(field, _)| field != "name");
        }
        self.named_plugin(folder, "generator", &plugin)
    }
}
