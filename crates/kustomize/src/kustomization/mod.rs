//! A `kustomization.yaml`: its fields, and the meaning of deprecated ones.

mod replacements;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::field_spec::FieldSpec;
use crate::fields::{BadField, Fields, Texts};
use crate::identity::Gvk;
use crate::node::{Content, Map, Node};
use crate::origin::Origin;

pub use replacements::ReplacementEntry;
pub(crate) use replacements::{replacement, replacement_entry};

/// The possible file names of a kustomization. A directory may have only one of them.
pub const FILE_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

const VERSION: &str = "kustomize.config.k8s.io/v1beta1";
const COMPONENT_VERSION: &str = "kustomize.config.k8s.io/v1alpha1";

/// The content of a kustomization. Deprecated fields are already converted to their replacements.
#[derive(Clone, Debug, Default)]
pub struct Kustomization {
    pub is_component: bool,
    pub openapi: Texts,
    pub name_prefix: Arc<str>,
    pub name_suffix: Arc<str>,
    pub namespace: Arc<str>,
    pub common_labels: Texts,
    pub labels: Vec<Label>,
    pub common_annotations: Texts,
    /// Files, or inline patches.
    pub strategic_patches: Vec<Arc<str>>,
    pub json_patches: Vec<Patch>,
    pub patches: Vec<Patch>,
    pub images: Vec<Image>,
    pub replacements: Vec<ReplacementEntry>,
    pub replicas: Vec<Replica>,
    pub vars: Vec<Var>,
    pub sort: Option<Sort>,
    pub resources: Vec<Arc<str>>,
    pub components: Vec<Arc<str>>,
    pub crds: Vec<Arc<str>>,
    pub config_maps: Vec<Generator>,
    pub secrets: Vec<Generator>,
    /// Charts are not rendered here; a kustomization with charts is an error.
    pub helm_charts: Vec<Node>,
    pub generator_options: Option<GeneratorOptions>,
    pub configurations: Vec<Arc<str>>,
    pub generators: Vec<Arc<str>>,
    pub transformers: Vec<Arc<str>>,
    pub validators: Vec<Arc<str>>,
    pub build_metadata: Vec<Arc<str>>,
    /// Deprecated fields in use, with their replacements.
    pub deprecated: Vec<(&'static str, &'static str)>,
    pub origin: Origin,
    /// The places of its fields, and of the items of lists.
    places: BTreeMap<Arc<str>, (Origin, Vec<Origin>)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    pub pairs: Texts,
    pub include_selectors: bool,
    pub include_templates: bool,
    /// Additional fields.
    pub fields: Vec<FieldSpec>,
}

/// Selects resources. Each field is a regular expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    pub gvk: Gvk,
    pub name: Arc<str>,
    pub namespace: Arc<str>,
    pub annotations: Arc<str>,
    pub labels: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    pub path: Arc<str>,
    pub patch: Arc<str>,
    pub target: Option<Target>,
    pub may_change_name: bool,
    pub may_change_kind: bool,
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub name: Arc<str>,
    pub new_name: Arc<str>,
    pub tag_suffix: Arc<str>,
    pub new_tag: Arc<str>,
    pub digest: Arc<str>,
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    pub name: Arc<str>,
    pub count: i64,
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Var {
    pub name: Arc<str>,
    pub gvk: Gvk,
    pub of_name: Arc<str>,
    pub of_namespace: Arc<str>,
    pub field_path: Arc<str>,
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    pub order: Arc<str>,
    pub legacy: Option<LegacySort>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegacySort {
    pub first: Vec<Arc<str>>,
    pub last: Vec<Arc<str>>,
}

/// A ConfigMap or a Secret to generate.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Generator {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    pub behavior: Arc<str>,
    pub literals: Vec<Arc<str>>,
    pub files: Vec<Arc<str>>,
    pub envs: Vec<Arc<str>>,
    pub options: Option<GeneratorOptions>,
    /// The type of a Secret.
    pub kind_of_secret: Arc<str>,
    pub origin: Origin,
}

/// Leaves out values that may be secret.
impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let literals = self.literals.len();
        f.debug_struct("Generator").field("name", &self.name).field("literals", &literals).finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneratorOptions {
    pub labels: Option<Texts>,
    pub annotations: Option<Texts>,
    pub without_hash: bool,
    pub immutable: bool,
}

impl Kustomization {
    /// Reads a document. `None` is an empty one.
    pub fn of(document: Option<&Node>) -> Result<Self, BadField> {
        let Some(document) = document else { return Err(empty(Origin::default())) };
        if let Some((name, origin)) = document.as_map().and_then(unwritable_field) {
            return Err(BadField {
                path: name.to_owned(),
                origin,
                problem: "yaml: control characters are not allowed".to_owned(),
                help: "remove them".to_owned(),
            });
        }
        let fields = Fields::of(document, "")?;
        let is_component = kind_of(&fields)?;
        fields.inner("metadata", metadata)?;
        let places = document.as_map().into_iter().flat_map(Map::iter);
        let places = places.map(|(name, node)| (Arc::clone(name), (node.origin, origins(node)))).collect();
        let mut kustomization = Self { is_component, origin: document.origin, places, ..Self::default() };
        kustomization.read_what_is_made(&fields)?;
        kustomization.read_what_is_changed(&fields)?;
        kustomization.deprecated = deprecated(&fields);
        let is_empty = document.as_map().is_some_and(|map| map.iter().all(|(name, node)| says_nothing(name, node)));
        fields.end()?;
        if is_empty { Err(empty(document.origin)) } else { Ok(kustomization) }
    }

    /// Returns the place of a field.
    pub fn place(&self, field: &str) -> Origin {
        self.places.get(field).map_or(self.origin, |(origin, _)| *origin)
    }

    /// Returns the place of a list item, counted from 0.
    pub fn place_of_item(&self, field: &str, at: usize) -> Origin {
        let item = self.places.get(field).and_then(|(_, items)| items.get(at));
        item.copied().unwrap_or_else(|| self.place(field))
    }

    /// Returns the place of one of [`Self::resources`]: the items of `bases` follow those of
    /// `resources`.
    pub fn place_of_resource(&self, at: usize) -> Origin {
        let own = self.places.get("resources").map_or(0, |(_, items)| items.len());
        match at.checked_sub(own) {
            None => self.place_of_item("resources", at),
            Some(at) => self.place_of_item("bases", at),
        }
    }

    fn read_what_is_made(&mut self, fields: &Fields<'_>) -> Result<(), BadField> {
        self.resources = fields.texts("resources")?;
        self.resources.extend(fields.texts("bases")?);
        self.components = fields.texts("components")?;
        self.crds = fields.texts("crds")?;
        self.config_maps = fields.list("configMapGenerator", |node, path| generator(node, path, false))?;
        self.secrets = fields.list("secretGenerator", |node, path| generator(node, path, true))?;
        self.generator_options = fields.inner("generatorOptions", generator_options)?;
        let as_it_is = |node: &Node, _: &str| Ok(node.clone());
        self.helm_charts = fields.list("helmCharts", as_it_is)?;
        self.helm_charts.extend(fields.list("helmChartInflationGenerator", as_it_is)?);
        fields.node("helmGlobals");
        self.generators = fields.texts("generators")?;
        self.openapi = fields.text_map("openapi")?.unwrap_or_default();
        Ok(())
    }

    fn read_what_is_changed(&mut self, fields: &Fields<'_>) -> Result<(), BadField> {
        self.name_prefix = fields.text_or_empty("namePrefix")?;
        self.name_suffix = fields.text_or_empty("nameSuffix")?;
        self.namespace = fields.text_or_empty("namespace")?;
        self.common_labels = fields.text_map("commonLabels")?.unwrap_or_default();
        self.labels = fields.list("labels", label)?;
        self.common_annotations = fields.text_map("commonAnnotations")?.unwrap_or_default();
        self.strategic_patches = fields.texts("patchesStrategicMerge")?;
        self.json_patches = fields.list("patchesJson6902", patch)?;
        self.patches = fields.list("patches", patch)?;
        self.images = fields.list("images", image)?;
        self.images.extend(fields.list("imageTags", image)?);
        self.replacements = fields.list("replacements", replacements::entry)?;
        self.replicas = fields.list("replicas", replica)?;
        self.vars = fields.list("vars", var)?;
        self.sort = fields.inner("sortOptions", sort)?;
        self.configurations = fields.texts("configurations")?;
        self.transformers = fields.texts("transformers")?;
        self.validators = fields.texts("validators")?;
        self.build_metadata = fields.texts("buildMetadata")?;
        Ok(())
    }
}

fn origins(node: &Node) -> Vec<Origin> {
    match &node.content {
        Content::Seq(items) => items.iter().map(|item| item.origin).collect(),
        _ => Vec::new(),
    }
}

/// Options are only passed to generators.
fn unwritable_field(fields: &Map) -> Option<(&str, Origin)> {
    let is_generated = ["configMapGenerator", "secretGenerator"].iter().any(|field| fields.get(field).is_some());
    let is_handed_on = |name: &str| is_generated || !name.eq_ignore_ascii_case("generatorOptions");
    let mut handed_on = fields.iter().filter(|(name, _)| is_handed_on(name));
    handed_on.find_map(|(name, node)| Some((&**name, unwritable(node)?)))
}

/// Finds a string with a character that kustomize cannot pass to a transformer: JSON does not
/// escape it, and YAML forbids it.
fn unwritable(node: &Node) -> Option<Origin> {
    let is_refused = |c: char| matches!(c, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}');
    match &node.content {
        Content::Scalar(scalar) => scalar.text.contains(is_refused).then_some(node.origin),
        Content::Seq(items) => items.iter().find_map(unwritable),
        Content::Map(map) => map.iter().find_map(|(_, node)| unwritable(node)),
    }
}

/// Reports whether a field leaves the kustomization empty. An empty list or map counts as content,
/// except for the deprecated fields whose items are moved.
fn says_nothing(name: &str, node: &Node) -> bool {
    let is_any = |names: &[&str]| names.iter().any(|own| own.eq_ignore_ascii_case(name));
    node.is_null()
        || is_any(&["apiVersion", "kind"])
        || node.as_text() == Some("")
        || is_any(&["bases", "imageTags"]) && matches!(&node.content, Content::Seq(items) if items.is_empty())
}

fn empty(origin: Origin) -> BadField {
    BadField {
        path: "the document".to_owned(),
        origin,
        problem: "kustomization.yaml is empty".to_owned(),
        help: "write at least `resources`".to_owned(),
    }
}

/// Reports whether it is a component.
fn kind_of(fields: &Fields<'_>) -> Result<bool, BadField> {
    let (kind, api_version) = (fields.text_or_empty("kind")?, fields.text_or_empty("apiVersion")?);
    let bad = |path: &str, problem: String| BadField {
        path: path.to_owned(),
        origin: fields.node(path).map_or_else(|| fields.origin(), |node| node.origin),
        problem,
        help: "correct it, or leave it out".to_owned(),
    };
    let (is_component, expected) = match &*kind {
        "" | "Kustomization" => (false, VERSION),
        "Component" => (true, COMPONENT_VERSION),
        _ => return Err(bad("kind", "kind should be Kustomization or Component".to_owned())),
    };
    match &*api_version {
        "" => Ok(is_component),
        api_version if api_version == expected => Ok(is_component),
        _ => {
            let kind = if is_component { "Component" } else { "Kustomization" };
            Err(bad("apiVersion", format!("apiVersion for {kind} should be {expected}")))
        }
    }
}

fn deprecated(fields: &Fields<'_>) -> Vec<(&'static str, &'static str)> {
    let old = [
        ("bases", "resources"),
        ("commonLabels", "labels"),
        ("imageTags", "images"),
        ("patchesJson6902", "patches"),
        ("patchesStrategicMerge", "patches"),
        ("vars", "replacements"),
    ];
    old.into_iter().filter(|(name, _)| fields.node(name).is_some()).collect()
}

fn metadata(node: &Node, path: &str) -> Result<(), BadField> {
    let fields = Fields::of(node, path)?;
    fields.text("name")?;
    fields.text("namespace")?;
    fields.text_map("labels")?;
    fields.text_map("annotations")?;
    fields.end()
}

fn label(node: &Node, path: &str) -> Result<Label, BadField> {
    let fields = Fields::of(node, path)?;
    let label = Label {
        pairs: fields.text_map("pairs")?.unwrap_or_default(),
        include_selectors: fields.flag("includeSelectors")?.unwrap_or_default(),
        include_templates: fields.flag("includeTemplates")?.unwrap_or_default(),
        fields: fields.list("fields", FieldSpec::read)?,
    };
    fields.end()?;
    Ok(label)
}

pub(crate) fn target(node: &Node, path: &str) -> Result<Target, BadField> {
    let fields = Fields::of(node, path)?;
    let target = Target {
        gvk: fields.gvk()?,
        name: fields.text_or_empty("name")?,
        namespace: fields.text_or_empty("namespace")?,
        annotations: fields.text_or_empty("annotationSelector")?,
        labels: fields.text_or_empty("labelSelector")?,
    };
    fields.end()?;
    Ok(target)
}

pub(crate) fn patch(node: &Node, path: &str) -> Result<Patch, BadField> {
    let fields = Fields::of(node, path)?;
    let options = fields.inner("options", |node, path| {
        let fields = Fields::of(node, path)?;
        let name = fields.flag("allowNameChange")?.unwrap_or_default();
        let kind = fields.flag("allowKindChange")?.unwrap_or_default();
        fields.end()?;
        Ok((name, kind))
    })?;
    let (may_change_name, may_change_kind) = options.unwrap_or_default();
    let patch = Patch {
        path: fields.text_or_empty("path")?,
        patch: fields.text_or_empty("patch")?,
        target: fields.inner("target", target)?,
        may_change_name,
        may_change_kind,
        origin: node.origin,
    };
    fields.end()?;
    Ok(patch)
}

pub(crate) fn image(node: &Node, path: &str) -> Result<Image, BadField> {
    let fields = Fields::of(node, path)?;
    let image = Image {
        name: fields.text_or_empty("name")?,
        new_name: fields.text_or_empty("newName")?,
        tag_suffix: fields.text_or_empty("tagSuffix")?,
        new_tag: fields.text_or_empty("newTag")?,
        digest: fields.text_or_empty("digest")?,
        origin: node.origin,
    };
    fields.end()?;
    Ok(image)
}

pub(crate) fn replica(node: &Node, path: &str) -> Result<Replica, BadField> {
    let fields = Fields::of(node, path)?;
    let replica = Replica {
        name: fields.text_or_empty("name")?,
        count: fields.integer("count")?.unwrap_or_default(),
        origin: node.origin,
    };
    fields.end()?;
    Ok(replica)
}

fn var(node: &Node, path: &str) -> Result<Var, BadField> {
    let fields = Fields::of(node, path)?;
    let of = fields.inner("objref", |node, path| {
        let fields = Fields::of(node, path)?;
        let own = fields.gvk()?;
        let gvk = match &*fields.text_or_empty("apiVersion")? {
            "" => own,
            api_version => Gvk { kind: own.kind, ..Gvk::from_api_version(api_version, "") },
        };
        let of = (gvk, fields.text_or_empty("name")?, fields.text_or_empty("namespace")?);
        fields.end()?;
        Ok(of)
    })?;
    let field_path = fields.inner("fieldref", |node, path| {
        let fields = Fields::of(node, path)?;
        let field_path = fields.text_or_empty("fieldPath")?;
        fields.end()?;
        Ok(field_path)
    })?;
    let (gvk, of_name, of_namespace) = of.unwrap_or_default();
    let field_path = field_path.filter(|path| !path.is_empty()).unwrap_or_else(|| "metadata.name".into());
    let name = fields.text_or_empty("name")?;
    let var = Var { name, gvk, of_name, of_namespace, field_path, origin: node.origin };
    fields.end()?;
    Ok(var)
}

fn sort(node: &Node, path: &str) -> Result<Sort, BadField> {
    let fields = Fields::of(node, path)?;
    let legacy = fields.inner("legacySortOptions", |node, path| {
        let fields = Fields::of(node, path)?;
        let legacy = LegacySort { first: fields.texts("orderFirst")?, last: fields.texts("orderLast")? };
        fields.end()?;
        Ok(legacy)
    })?;
    let sort = Sort { order: fields.text_or_empty("order")?, legacy };
    fields.end()?;
    Ok(sort)
}

pub(crate) fn generator(node: &Node, path: &str, is_secret: bool) -> Result<Generator, BadField> {
    let fields = Fields::of(node, path)?;
    let mut envs = fields.texts("envs")?;
    envs.extend(fields.text("env")?.filter(|env| !env.is_empty()));
    let generator = Generator {
        namespace: fields.text_or_empty("namespace")?,
        name: fields.text_or_empty("name")?,
        behavior: fields.text_or_empty("behavior")?,
        literals: fields.texts("literals")?,
        files: fields.texts("files")?,
        envs,
        options: fields.inner("options", generator_options)?,
        kind_of_secret: if is_secret { fields.text_or_empty("type")? } else { "".into() },
        origin: node.origin,
    };
    fields.end()?;
    Ok(generator)
}

fn generator_options(node: &Node, path: &str) -> Result<GeneratorOptions, BadField> {
    let fields = Fields::of(node, path)?;
    let options = GeneratorOptions {
        labels: fields.text_map("labels")?,
        annotations: fields.text_map("annotations")?,
        without_hash: fields.flag("disableNameSuffixHash")?.unwrap_or_default(),
        immutable: fields.flag("immutable")?.unwrap_or_default(),
    };
    fields.end()?;
    Ok(options)
}

#[cfg(test)]
mod tests;
