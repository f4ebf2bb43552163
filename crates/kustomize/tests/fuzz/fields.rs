//! The fields of kustomizations, except patches and replacements.

use super::document::{Yaml, list, map, quoted, raw, text};
use super::walk::{var_path, walk};
use super::words::{IMAGE_NAMES, NAMES, NAMESPACES, lines, odd};
use super::world::{Thing, World};

/// A field, the percentage of kustomizations that have it, and its generator.
type Field = (&'static str, usize, fn(&mut World, &str) -> Yaml);

const FIELDS: &[Field] = &[
    ("namePrefix", 20, |world, _| world.affix(&["p-", "my-", "a"])),
    ("nameSuffix", 12, |world, _| world.affix(&["-s", "-v1", "z"])),
    ("namespace", 22, |world, _| world.affix(NAMESPACES)),
    ("commonLabels", 8, |world, _| world.pairs()),
    ("labels", 18, World::labels),
    ("commonAnnotations", 10, |world, _| world.pairs()),
    ("images", 15, World::images),
    ("replicas", 10, World::replicas),
    ("configMapGenerator", 20, |world, folder| world.generators(folder, false)),
    ("secretGenerator", 12, |world, folder| world.generators(folder, true)),
    ("generatorOptions", 10, |world, _| world.generator_options()),
    ("patches", 30, World::patches),
    ("patchesStrategicMerge", 8, World::strategic_patches),
    ("patchesJson6902", 5, World::json_patches),
    ("replacements", 18, World::replacements),
    ("vars", 8, World::vars),
    ("sortOptions", 5, |world, _| world.sort_options()),
    ("configurations", 6, World::configurations),
    ("transformers", 8, World::transformers),
    ("generators", 4, World::plugged_generators),
    ("buildMetadata", 5, |world, _| world.build_metadata()),
    ("crds", 3, World::crds),
    ("validators", 4, World::validators),
    ("openapi", 3, World::schema),
];

impl World {
    pub(super) fn fields(&mut self, written: &mut Yaml, folder: &str) {
        for (name, percent, make) in FIELDS {
            if self.dice.percent(*percent) && self.dice.percent(self.busy) {
                let value = if self.dice.percent(self.odd / 8) { odd(&mut self.dice) } else { make(self, folder) };
                written.set(name, value);
            }
        }
        // A variable is most interesting if its value changes during the build.
        if written.get_mut("vars").is_some() && self.dice.percent(40) {
            for (name, of) in [("namePrefix", &["p-", "my-"][..]), ("namespace", NAMESPACES)] {
                if self.dice.percent(60) {
                    written.set(name, text(self.dice.pick(of)));
                }
            }
        }
        if self.dice.percent(self.odd / 10) {
            written.set(self.dice.pick(&["metadata", "bases", "imageTags", "unknown", "Resources"]), list([]));
        }
    }

    fn affix(&mut self, of: &[&str]) -> Yaml {
        if self.dice.percent(self.odd / 4) { odd(&mut self.dice) } else { text(self.dice.pick(of)) }
    }

    pub(super) fn labels(&mut self, _: &str) -> Yaml {
        let mut labels = Vec::new();
        for _ in 0..=self.dice.below(2) {
            let mut label = map([("pairs", self.pairs())]);
            for flag in ["includeSelectors", "includeTemplates"] {
                if self.dice.percent(40) {
                    label.set(flag, raw(self.dice.pick(&["true", "true", "false"])));
                }
            }
            if self.dice.percent(15) {
                let path = self.dice.pick(&[
                    "spec/selector",
                    "spec/template/metadata/labels",
                    "spec/extra",
                    "metadata/labels",
                ]);
                let mut field = map([("path", raw(path)), ("create", raw(self.dice.pick(&["true", "false"])))]);
                if self.dice.percent(60) {
                    field.set("kind", text(self.dice.pick(&["Service", "Deployment", "Widget"])));
                }
                label.set("fields", list([field]));
            }
            labels.push(label);
        }
        list(labels)
    }

    pub(super) fn images(&mut self, _: &str) -> Yaml {
        let mut images = Vec::new();
        for _ in 0..=self.dice.below(2) {
            let mut image = map([("name", text(self.dice.pick(IMAGE_NAMES)))]);
            if self.dice.percent(40) {
                image.set("newName", text(self.dice.pick(&["other", "registry.example.com/x/web", "docker.io/nginx"])));
            }
            if self.dice.percent(60) {
                image.set("newTag", raw(self.dice.pick(&["v2", "\"1.10\"", "'2'", "1.8.0", "latest"])));
            }
            if self.dice.percent(15) {
                image.set("digest", raw(quoted("sha256:24a0c4b4")));
            }
            if self.dice.percent(10) {
                image.set("tagSuffix", text("-alpine"));
            }
            if self.dice.percent(self.odd / 2) {
                image.set("newTag", odd(&mut self.dice));
            }
            images.push(image);
        }
        list(images)
    }

    pub(super) fn replicas(&mut self, _: &str) -> Yaml {
        const SCALED: &[&str] = &["Deployment", "StatefulSet"];
        let scaled: Vec<&Thing> = self.things.iter().filter(|thing| SCALED.contains(&thing.kind.as_str())).collect();
        let name = match scaled.as_slice() {
            [] if self.dice.percent(95) => return list([]),
            [] => self.thing().name,
            scaled => scaled[self.dice.below(scaled.len())].name.clone(),
        };
        list([map([("name", text(&name)), ("count", self.number())])])
    }

    pub(super) fn generators(&mut self, folder: &str, is_secret: bool) -> Yaml {
        let number = 1 + self.dice.below(2);
        list((0..number).map(|_| self.generator(folder, is_secret)).collect::<Vec<_>>())
    }

    pub(super) fn generator(&mut self, folder: &str, is_secret: bool) -> Yaml {
        let kind = if is_secret { "Secret" } else { "ConfigMap" };
        let namespace = if self.dice.percent(15) { self.dice.pick(NAMESPACES) } else { "" };
        let mut thing = Thing {
            api_version: "v1".to_owned(),
            kind: kind.to_owned(),
            name: self.dice.pick(NAMES).to_owned(),
            namespace: namespace.to_owned(),
            object: map([("metadata", map([("name", text("web"))])), ("data", map([("key", text("value"))]))]),
        };
        let known: Vec<&Thing> = self.things.iter().filter(|known| known.kind == kind).collect();
        let behavior = if self.is_there(&thing) || (!known.is_empty() && self.dice.percent(30)) {
            thing = known[self.dice.below(known.len())].clone();
            if self.dice.percent(5) { "create" } else { self.dice.pick(&["merge", "replace"]) }
        } else {
            self.things.push(thing.clone());
            if self.dice.percent(3) { "merge" } else { self.dice.pick(&["", "", "create", "unspecified"]) }
        };
        let mut generator = map([("name", text(&thing.name))]);
        if !thing.namespace.is_empty() {
            generator.set("namespace", text(&thing.namespace));
        }
        if !behavior.is_empty() {
            generator.set("behavior", text(behavior));
        }
        if self.dice.percent(70) {
            generator.set("literals", self.literals());
        }
        if self.dice.percent(35) {
            generator.set("files", self.data_files(folder));
        }
        if self.dice.percent(20) {
            let envs = self.env_file(folder);
            match self.dice.percent(70) {
                true => generator.set("envs", list([envs])),
                false => generator.set("env", envs),
            }
        }
        if self.dice.percent(25) {
            generator.set("options", self.generator_options());
        }
        if is_secret && self.dice.percent(40) {
            generator.set("type", text(self.dice.pick(&["Opaque", "kubernetes.io/tls", "example.com/x"])));
        }
        generator
    }

    fn literals(&mut self) -> Yaml {
        const LITERALS: &[&str] = &[
            "key=value",
            "url=http://web:80/?a=b",
            "a.b=1",
            "key='quoted'",
            "key=\"double\"",
            "json={\"a\": 1}",
            "key=",
            "emoji=😀",
            "other=two words",
            "n=001",
            "key=$(VAR)",
            "lines=a\nb\n",
            "key='half",
            "key=\"",
            "note=\ttab ",
            "b=true",
            "cr=a\r\nb",
        ];
        const BAD: &[&str] = &["noequals", "=value", "bad key=x", "key", "", "a/b=c", "..=x"];
        let mut literals: Vec<&str> = Vec::new();
        let key = |literal: &str| literal.split('=').next().map(str::to_owned);
        for _ in 0..=self.dice.below(3) {
            let of = if self.dice.percent(1) { BAD } else { LITERALS };
            let literal = self.dice.pick(of);
            if self.dice.percent(2) || literals.iter().all(|known| key(known) != key(literal)) {
                literals.push(literal);
            }
        }
        list(literals.into_iter().map(|literal| raw(quoted(literal))))
    }

    fn data_files(&mut self, folder: &str) -> Yaml {
        const FILES: &[&str] = &["data.txt", "config.yaml", "sub/nginx.conf", "raw.bin"];
        let (mut files, first) = (Vec::new(), self.dice.below(FILES.len()));
        for number in 0..=self.dice.below(2) {
            let file = FILES[(first + number) % FILES.len()];
            let content = match file {
                // YAML cannot express the last character.
                "raw.bin" if self.dice.percent(20) => "\u{1}\u{0}x\u{ffff}".to_owned(),
                "raw.bin" => "\u{1}\u{0}x".to_owned(),
                _ => lines(&mut self.dice),
            };
            let way = if self.dice.percent(2) { file.to_owned() } else { self.put_file(folder, file, content) };
            files.push(match self.dice.below(5) {
                0 => raw(quoted(&format!("key-of-{}={way}", file.replace('/', "-")))),
                1 => raw(format!("./{way}")),
                _ => raw(way),
            });
        }
        if self.dice.percent(1) {
            files.push(raw(quoted(self.dice.pick(&["a=b=c", "=data.txt", "key=", "../base/r0.yaml", "", "sub"]))));
        }
        list(files)
    }

    fn env_file(&mut self, folder: &str) -> Yaml {
        const LINES: &[&str] = &[
            "A=1",
            "B=two words",
            "# remark",
            "",
            "C='quoted'",
            "D=\"x\"",
            "E=",
            "  F=indented",
            "G=a=b",
            "H = spaced ",
            "export I=1",
            "J=😀",
            "K=a # b",
            "A=again",
            "bad key=1",
        ];
        let mut content = String::new();
        if self.dice.percent(5) {
            content.push('\u{feff}');
        }
        let first = self.dice.below(9);
        for number in 0..=self.dice.below(4) {
            let line = if self.dice.percent(97) { LINES[(first + number) % 9] } else { self.dice.pick(LINES) };
            content.push_str(line);
            content.push_str(if self.dice.percent(5) { "\r\n" } else { "\n" });
        }
        raw(self.put_file(folder, "vars.env", content))
    }

    pub(super) fn generator_options(&mut self) -> Yaml {
        let mut options = map([]);
        for field in ["labels", "annotations"] {
            if self.dice.percent(40) {
                options.set(field, self.pairs());
            }
        }
        for flag in ["disableNameSuffixHash", "immutable"] {
            if self.dice.percent(40) {
                options.set(flag, raw(self.dice.pick(&["true", "true", "false"])));
            }
        }
        options
    }

    pub(super) fn vars(&mut self, _: &str) -> Yaml {
        let mut vars = Vec::new();
        for name in ["VAR", "HOST"] {
            if name == "HOST" && !self.dice.percent(30) {
                continue;
            }
            let thing = self.thing();
            let mut of = map([("kind", text(&thing.kind)), ("name", text(&thing.name))]);
            if self.dice.percent(80) {
                of.set("apiVersion", text(&thing.api_version));
            }
            if !thing.namespace.is_empty() && self.dice.percent(50) {
                of.set("namespace", text(&thing.namespace));
            }
            let mut var = map([("name", text(name)), ("objref", of)]);
            if self.dice.percent(60) {
                let path = var_path(&walk(&thing.object, &mut self.dice));
                let field = if self.dice.percent(80) { "fieldPath" } else { "fieldpath" };
                var.set("fieldref", map([(field, raw(quoted(&path)))]));
            }
            vars.push(var);
        }
        list(vars)
    }

    fn sort_options(&mut self) -> Yaml {
        let order = if self.dice.percent(5) { "other" } else { self.dice.pick(&["legacy", "fifo"]) };
        let mut options = map([]);
        if self.dice.percent(95) {
            options.set("order", text(order));
        }
        if self.dice.percent(if order == "legacy" { 60 } else { 5 }) {
            let mut legacy = map([]);
            let first = list([text(self.dice.pick(&["Deployment", "Service", "Widget"])), text("ConfigMap")]);
            let last = list([text(self.dice.pick(&["Namespace", "Secret", "Service", "ConfigMap"]))]);
            for (field, kinds) in [("orderFirst", first), ("orderLast", last)] {
                match self.dice.below(10) {
                    0 => {}
                    1 => legacy.set(field, list([])),
                    _ => legacy.set(field, kinds),
                }
            }
            options.set("legacySortOptions", legacy);
        }
        options
    }

    fn build_metadata(&mut self) -> Yaml {
        const ALL: &[&str] = &["originAnnotations", "transformerAnnotations", "managedByLabel"];
        let asked: Vec<&str> = ALL.iter().filter(|_| self.dice.percent(50)).copied().collect();
        list(asked.into_iter().map(text))
    }

    fn crds(&mut self, folder: &str) -> Yaml {
        let kind = self.dice.pick(&["ConfigMap", "Secret"]);
        let reference = map([
            ("x-kubernetes-object-ref-api-version", text("v1")),
            ("x-kubernetes-object-ref-kind", text(kind)),
            ("type", text("object")),
        ]);
        let spec = map([("properties", map([("ref", reference)]))]);
        let group = |kind: &str| map([("group", text("example.com")), ("kind", text(kind)), ("version", text("v1"))]);
        let schema = map([
            ("properties", map([("spec", spec), ("kind", map([("type", text("string"))]))])),
            ("x-kubernetes-group-version-kind", list([group("Widget")])),
        ]);
        let mut definition = map([("Schema", schema), ("Dependencies", list([]))]);
        if self.dice.percent(30) {
            definition.set("Dependencies", list([text("example.com/v1.Other")]));
        }
        list([raw(self.add_named(folder, "crd.yaml", &map([("example.com/v1.Widget", definition)])))])
    }

    fn configurations(&mut self, folder: &str) -> Yaml {
        let mut written = map([]);
        let reference = map([("path", raw("spec/ref/name")), ("kind", text("Widget"))]);
        let referred = text(self.dice.pick(&["ConfigMap", "Deployment", "Secret"]));
        if self.dice.percent(50) {
            let mut entry = map([("kind", referred), ("fieldSpecs", list([reference]))]);
            if self.dice.percent(60) {
                entry.set("version", text("v1"));
            }
            written.set("nameReference", list([entry]));
        }
        for (field, path) in [
            ("namePrefix", "metadata/name"),
            ("commonLabels", "spec/labels"),
            ("commonAnnotations", "spec/notes"),
            ("images", "spec/items/image"),
            ("replicas", "spec/size"),
            ("varReference", "spec/size"),
            ("namespace", "spec/namespace"),
            ("varReference", "spec/list"),
        ] {
            if self.dice.percent(25) {
                let create = raw(self.dice.pick(&["true", "false"]));
                written.set(field, list([map([("kind", text("Widget")), ("path", raw(path)), ("create", create)])]));
            }
        }
        list([raw(self.add_named(folder, "configuration.yaml", &written))])
    }
}
