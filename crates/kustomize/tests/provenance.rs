//! The source of each field: tests every field of a kustomization that can set something, in the
//! form of `setpoint explain`.

use setpoint_kustomize::build::{Options, build};
use setpoint_kustomize::explanation::{Wanted, explain};

use crate::case::{BUILT, Case};

const FILES: [(&str, &str); 14] = [
    (
        "app/kustomization.yaml",
        "\
resources:
- ../base
- service.yaml
components:
- ../component
namespace: shop
namePrefix: pre-
nameSuffix: -suf
labels:
- pairs: {plain: l}
- pairs: {selected: l}
  includeSelectors: true
- pairs: {templated: l}
  includeTemplates: true
- pairs: {own: l}
  fields: [{path: spec/own, create: true}]
commonLabels:
  common: l
commonAnnotations:
  note: a
images:
- {name: nginx, newTag: '2'}
replicas:
- {name: web, count: 3}
patches:
- patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec: {inline: p}
- path: strategic.yaml
- target: {kind: Deployment}
  patch: |-
    - {op: add, path: /spec/json, value: p}
- target: {kind: Deployment}
  path: json.yaml
patchesStrategicMerge:
- old.yaml
patchesJson6902:
- target: {group: apps, version: v1, kind: Deployment, name: web}
  path: old-json.yaml
replacements:
- source: {kind: Service, fieldPath: spec.port}
  targets:
  - select: {kind: Deployment}
    fieldPaths: [spec.replaced]
    options: {create: true}
- sourceValue: v
  targets: [{select: {kind: Deployment}, fieldPaths: [spec.value], options: {create: true}}]
- path: replacement.yaml
vars:
- name: PORT
  objref: {apiVersion: v1, kind: Service, name: web}
  fieldref: {fieldpath: spec.port}
generatorOptions:
  labels: {generated: l}
  annotations: {generated: a}
  immutable: true
configMapGenerator:
- name: literal
  literals:
  - key=value
- name: file
  files: [key=data.txt]
- name: envs
  envs: [data.env]
- name: merged
  behavior: merge
  literals: [more=value]
secretGenerator:
- name: secret
  literals: [password=hunter2]
  options: {disableNameSuffixHash: true}
generators:
- generator.yaml
transformers:
- transformer.yaml
",
    ),
    ("app/service.yaml", "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  port: 80\n"),
    (
        "app/strategic.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  template:\n    spec:\n      containers:\n      - name: web\n        strategic: p\n",
    ),
    ("app/json.yaml", "- op: add\n  path: /spec/jsonFile\n  value: p\n"),
    ("app/old.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  old: p\n"),
    ("app/old-json.yaml", "- op: add\n  path: /spec/oldJson\n  value: p\n"),
    (
        "app/replacement.yaml",
        "- sourceValue: v\n  targets:\n  - select: {kind: Deployment}\n    fieldPaths: [spec.replacedByFile]\n    options: {create: true}\n",
    ),
    ("app/data.txt", "text"),
    ("app/data.env", "key=value\n"),
    (
        "app/generator.yaml",
        "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata:\n  name: plugin\nliterals:\n- key=value\n",
    ),
    (
        "app/transformer.yaml",
        "apiVersion: builtin\nkind: AnnotationsTransformer\nmetadata:\n  name: t\nannotations:\n  plugin: a\nfieldSpecs:\n- {path: metadata/annotations, create: true}\n",
    ),
    (
        "base/kustomization.yaml",
        "resources:\n- deployment.yaml\nnamePrefix: base-\nconfigMapGenerator:\n- name: merged\n  literals:\n  - key=value\n",
    ),
    (
        "base/deployment.yaml",
        "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: nginx:1
        args: [$(PORT)]
        envFrom:
        - configMapRef: {name: literal}
",
    ),
    (
        "component/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations:\n  component: a\n",
    ),
];

/// By resource: the field, the file and line that set it, and the field of the kustomization that
/// did; `-` for none.
const EXPECTED: &str = "\
ConfigMap/pre-base-merged-suf-kd4f9c65gf
  apiVersion = app/kustomization.yaml:67 configMapGenerator
  kind = app/kustomization.yaml:67 configMapGenerator
  metadata.name = - nameSuffixHash
  metadata.labels.generated = app/kustomization.yaml:56 generatorOptions
  metadata.labels.plain = app/kustomization.yaml:10 labels
  metadata.labels.selected = app/kustomization.yaml:11 labels
  metadata.labels.templated = app/kustomization.yaml:13 labels
  metadata.labels.own = app/kustomization.yaml:15 labels
  metadata.labels.common = app/kustomization.yaml:18 commonLabels
  metadata.namespace = app/kustomization.yaml:6 namespace
  metadata.annotations.generated = app/kustomization.yaml:56 generatorOptions
  metadata.annotations.component = component/kustomization.yaml:4 commonAnnotations
  metadata.annotations.note = app/kustomization.yaml:20 commonAnnotations
  metadata.annotations.plugin = app/transformer.yaml:1 transformers
  immutable = app/kustomization.yaml:56 generatorOptions
  data.key = base/kustomization.yaml:5 configMapGenerator
  data.more = app/kustomization.yaml:67 configMapGenerator
  spec.own.own = app/kustomization.yaml:15 labels
ConfigMap/pre-envs-suf-t757gk2bmf
  apiVersion = app/kustomization.yaml:65 configMapGenerator
  kind = app/kustomization.yaml:65 configMapGenerator
  metadata.name = - nameSuffixHash
  metadata.labels.generated = app/kustomization.yaml:56 generatorOptions
  metadata.labels.plain = app/kustomization.yaml:10 labels
  metadata.labels.selected = app/kustomization.yaml:11 labels
  metadata.labels.templated = app/kustomization.yaml:13 labels
  metadata.labels.own = app/kustomization.yaml:15 labels
  metadata.labels.common = app/kustomization.yaml:18 commonLabels
  metadata.namespace = app/kustomization.yaml:6 namespace
  metadata.annotations.generated = app/kustomization.yaml:56 generatorOptions
  metadata.annotations.component = component/kustomization.yaml:4 commonAnnotations
  metadata.annotations.note = app/kustomization.yaml:20 commonAnnotations
  metadata.annotations.plugin = app/transformer.yaml:1 transformers
  data.key = app/kustomization.yaml:65 configMapGenerator
  immutable = app/kustomization.yaml:56 generatorOptions
  spec.own.own = app/kustomization.yaml:15 labels
ConfigMap/pre-file-suf-fhd4fc8tdk
  apiVersion = app/kustomization.yaml:63 configMapGenerator
  kind = app/kustomization.yaml:63 configMapGenerator
  metadata.name = - nameSuffixHash
  metadata.labels.generated = app/kustomization.yaml:56 generatorOptions
  metadata.labels.plain = app/kustomization.yaml:10 labels
  metadata.labels.selected = app/kustomization.yaml:11 labels
  metadata.labels.templated = app/kustomization.yaml:13 labels
  metadata.labels.own = app/kustomization.yaml:15 labels
  metadata.labels.common = app/kustomization.yaml:18 commonLabels
  metadata.namespace = app/kustomization.yaml:6 namespace
  metadata.annotations.generated = app/kustomization.yaml:56 generatorOptions
  metadata.annotations.component = component/kustomization.yaml:4 commonAnnotations
  metadata.annotations.note = app/kustomization.yaml:20 commonAnnotations
  metadata.annotations.plugin = app/transformer.yaml:1 transformers
  data.key = app/kustomization.yaml:63 configMapGenerator
  immutable = app/kustomization.yaml:56 generatorOptions
  spec.own.own = app/kustomization.yaml:15 labels
ConfigMap/pre-literal-suf-t757gk2bmf
  apiVersion = app/kustomization.yaml:60 configMapGenerator
  kind = app/kustomization.yaml:60 configMapGenerator
  metadata.name = - nameSuffixHash
  metadata.labels.generated = app/kustomization.yaml:56 generatorOptions
  metadata.labels.plain = app/kustomization.yaml:10 labels
  metadata.labels.selected = app/kustomization.yaml:11 labels
  metadata.labels.templated = app/kustomization.yaml:13 labels
  metadata.labels.own = app/kustomization.yaml:15 labels
  metadata.labels.common = app/kustomization.yaml:18 commonLabels
  metadata.namespace = app/kustomization.yaml:6 namespace
  metadata.annotations.generated = app/kustomization.yaml:56 generatorOptions
  metadata.annotations.component = component/kustomization.yaml:4 commonAnnotations
  metadata.annotations.note = app/kustomization.yaml:20 commonAnnotations
  metadata.annotations.plugin = app/transformer.yaml:1 transformers
  data.key = app/kustomization.yaml:60 configMapGenerator
  immutable = app/kustomization.yaml:56 generatorOptions
  spec.own.own = app/kustomization.yaml:15 labels
ConfigMap/pre-plugin-suf-t757gk2bmf
  apiVersion = app/generator.yaml:1 generators
  kind = app/generator.yaml:1 generators
  metadata.name = - nameSuffixHash
  metadata.namespace = app/kustomization.yaml:6 namespace
  metadata.labels.plain = app/kustomization.yaml:10 labels
  metadata.labels.selected = app/kustomization.yaml:11 labels
  metadata.labels.templated = app/kustomization.yaml:13 labels
  metadata.labels.own = app/kustomization.yaml:15 labels
  metadata.labels.common = app/kustomization.yaml:18 commonLabels
  metadata.annotations.component = component/kustomization.yaml:4 commonAnnotations
  metadata.annotations.note = app/kustomization.yaml:20 commonAnnotations
  metadata.annotations.plugin = app/transformer.yaml:1 transformers
  data.key = app/generator.yaml:1 generators
  spec.own.own = app/kustomization.yaml:15 labels
Secret/pre-secret-suf
  apiVersion = app/kustomization.yaml:71 secretGenerator
  kind = app/kustomization.yaml:71 secretGenerator
  metadata.name = app/kustomization.yaml:8 nameSuffix
  metadata.labels.generated = app/kustomization.yaml:56 generatorOptions
  metadata.labels.plain = app/kustomization.yaml:10 labels
  metadata.labels.selected = app/kustomization.yaml:11 labels
  metadata.labels.templated = app/kustomization.yaml:13 labels
  metadata.labels.own = app/kustomization.yaml:15 labels
  metadata.labels.common = app/kustomization.yaml:18 commonLabels
  metadata.namespace = app/kustomization.yaml:6 namespace
  metadata.annotations.generated = app/kustomization.yaml:56 generatorOptions
  metadata.annotations.component = component/kustomization.yaml:4 commonAnnotations
  metadata.annotations.note = app/kustomization.yaml:20 commonAnnotations
  metadata.annotations.plugin = app/transformer.yaml:1 transformers
  type = app/kustomization.yaml:71 secretGenerator
  data.password = app/kustomization.yaml:71 secretGenerator
  immutable = app/kustomization.yaml:56 generatorOptions
  spec.own.own = app/kustomization.yaml:15 labels
Service/pre-web-suf
  apiVersion = app/service.yaml:1 -
  kind = app/service.yaml:2 -
  metadata.name = app/kustomization.yaml:8 nameSuffix
  metadata.namespace = app/kustomization.yaml:6 namespace
  metadata.labels.plain = app/kustomization.yaml:10 labels
  metadata.labels.selected = app/kustomization.yaml:11 labels
  metadata.labels.templated = app/kustomization.yaml:13 labels
  metadata.labels.own = app/kustomization.yaml:15 labels
  metadata.labels.common = app/kustomization.yaml:18 commonLabels
  metadata.annotations.component = component/kustomization.yaml:4 commonAnnotations
  metadata.annotations.note = app/kustomization.yaml:20 commonAnnotations
  metadata.annotations.plugin = app/transformer.yaml:1 transformers
  spec.port = app/service.yaml:6 -
  spec.selector.selected = app/kustomization.yaml:11 labels
  spec.selector.common = app/kustomization.yaml:18 commonLabels
  spec.own.own = app/kustomization.yaml:15 labels
Deployment/pre-base-web-suf
  apiVersion = base/deployment.yaml:1 -
  kind = base/deployment.yaml:2 -
  metadata.name = app/kustomization.yaml:8 nameSuffix
  metadata.namespace = app/kustomization.yaml:6 namespace
  metadata.labels.plain = app/kustomization.yaml:10 labels
  metadata.labels.selected = app/kustomization.yaml:11 labels
  metadata.labels.templated = app/kustomization.yaml:13 labels
  metadata.labels.own = app/kustomization.yaml:15 labels
  metadata.labels.common = app/kustomization.yaml:18 commonLabels
  metadata.annotations.component = component/kustomization.yaml:4 commonAnnotations
  metadata.annotations.note = app/kustomization.yaml:20 commonAnnotations
  metadata.annotations.plugin = app/transformer.yaml:1 transformers
  spec.replicas = app/kustomization.yaml:24 replicas
  spec.selector.matchLabels.app = base/deployment.yaml:8 -
  spec.selector.matchLabels.selected = app/kustomization.yaml:11 labels
  spec.selector.matchLabels.common = app/kustomization.yaml:18 commonLabels
  spec.template.metadata.labels.app = base/deployment.yaml:11 -
  spec.template.metadata.labels.selected = app/kustomization.yaml:11 labels
  spec.template.metadata.labels.templated = app/kustomization.yaml:13 labels
  spec.template.metadata.labels.common = app/kustomization.yaml:18 commonLabels
  spec.template.metadata.annotations.component = component/kustomization.yaml:4 commonAnnotations
  spec.template.metadata.annotations.note = app/kustomization.yaml:20 commonAnnotations
  spec.template.spec.containers[0].name = base/deployment.yaml:14 -
  spec.template.spec.containers[0].image = app/kustomization.yaml:22 images
  spec.template.spec.containers[0].args[0] = - vars
  spec.template.spec.containers[0].envFrom[0].configMapRef.name = - nameReference
  spec.template.spec.containers[0].strategic = app/strategic.yaml:10 patches
  spec.old = app/old.yaml:5 patchesStrategicMerge
  spec.inline = app/kustomization.yaml:26 patches
  spec.json = app/kustomization.yaml:32 patches
  spec.jsonFile = app/json.yaml:1 patches
  spec.own.own = app/kustomization.yaml:15 labels
  spec.oldJson = app/old-json.yaml:1 patchesJson6902
  spec.replaced = app/kustomization.yaml:43 replacements
  spec.value = app/kustomization.yaml:48 replacements
  spec.replacedByFile = app/replacement.yaml:1 replacements
";

#[test]
fn each_field_of_a_kustomization_is_told_where_it_set_something() {
    let files = FILES.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let built = build(&Case { files, ..Case::default() }, BUILT, &Options::default()).expect("it is built");
    let mut rows = String::new();
    for resource in &built.resources {
        let wanted = Wanted { kind: resource.kind(), name: resource.name(), namespace: None, field: "" };
        let explanation = explain(&[(&built.resources, &built.sources)], &wanted, |_| false).expect("it is there");
        rows += &format!("{}\n", explanation.resource);
        for set in explanation.fields {
            let place = if set.file.is_empty() { "-".to_owned() } else { format!("{}:{}", set.file, set.line) };
            rows += &format!("  {} = {place} {}\n", set.field, set.by.as_deref().unwrap_or("-"));
        }
    }
    assert_eq!(rows, EXPECTED, "told is:\n{rows}");
}
