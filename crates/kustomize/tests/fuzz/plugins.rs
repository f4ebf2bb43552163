//! Builtin plugins as files under `transformers` and `generators`.

use super::document::{Yaml, list, map, raw, text};
use super::words::NAMESPACES;
use super::world::World;

impl World {
    pub(super) fn transformers(&mut self, folder: &str) -> Yaml {
        let mut plugin = self.transformer(folder);
        plugin.set("apiVersion", text("builtin"));
        plugin.set("metadata", map([("name", text("plugin"))]));
        self.add(&format!("{folder}/transformer.yaml"), &plugin);
        list([raw("transformer.yaml")])
    }

    fn transformer(&mut self, folder: &str) -> Yaml {
        let field = |path: &str| map([("path", raw(path)), ("create", raw("true"))]);
        let number = self.dice.below(9);
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
            _ => map([("replacements", self.inline_replacements())]),
        };
        if number == 5 {
            plugin.set("fieldSpecs", list([map([("path", raw("spec/replicas")), ("create", raw("true"))])]));
        }
        const KINDS: [&str; 9] = [
            "PrefixTransformer",
            "SuffixTransformer",
            "LabelTransformer",
            "AnnotationsTransformer",
            "ImageTagTransformer",
            "ReplicaCountTransformer",
            "PatchTransformer",
            "NamespaceTransformer",
            "ReplacementTransformer",
        ];
        plugin.set("kind", text(KINDS[number]));
        plugin
    }

    pub(super) fn plugged_generators(&mut self, folder: &str) -> Yaml {
        let is_secret = self.dice.percent(40);
        let mut plugin = self.generator(folder, is_secret);
        let name = match plugin.get_mut("name") {
            Some(name) => name.clone(),
            None => text("web"),
        };
        plugin.set("apiVersion", text("builtin"));
        plugin.set("kind", text(if is_secret { "SecretGenerator" } else { "ConfigMapGenerator" }));
        plugin.set("metadata", map([("name", name)]));
        if self.dice.percent(70)
            && let Yaml::Map(fields) = &mut plugin
        {
            fields.retain(|(field, _)| field != "name");
        }
        self.add(&format!("{folder}/generator.yaml"), &plugin);
        list([raw("generator.yaml")])
    }
}
