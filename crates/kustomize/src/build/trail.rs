//! `buildMetadata`: annotations that record the file a resource came from, and the transformers
//! that changed it.
//!
//! As in kustomize, they are annotations from the start: patches and replacements can read and
//! change them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{BadBuild, Builder};
use crate::annotations::{ORIGIN, TRANSFORMATIONS};
use crate::fields::{BadField, Fields, wrong};
use crate::folder::{Folder, Way};
use crate::kustomization::Kustomization;
use crate::limits::BYTES;
use crate::node::{Content, Node};
use crate::origin::Origin;
use crate::read::read_document;
use crate::resource::Resource;

/// Kubernetes limits the annotations of a resource to this size. Without this limit, recording
/// transformers has quadratic cost.
const LARGEST: usize = 256 * 1024;

/// The steps to read the annotation of a resource.
const READ: usize = 500;

/// The requested build metadata.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked {
    /// Set for any request, known or not: both annotations are then recorded during the build.
    pub(super) anything: bool,
    pub(super) origins: bool,
    pub(super) transformations: bool,
    pub(super) managed_by: bool,
}

impl Asked {
    pub(super) fn of(kustomization: &Kustomization) -> Self {
        let has = |name: &str| kustomization.build_metadata.iter().any(|own| **own == *name);
        Self {
            anything: !kustomization.build_metadata.is_empty(),
            origins: has("originAnnotations"),
            transformations: has("transformerAnnotations"),
            managed_by: has("managedByLabel"),
        }
    }
}

/// A file, or a generator or transformer and the file that it is configured in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Step {
    path: Arc<str>,
    repo: Arc<str>,
    reference: Arc<str>,
    configured_in: Arc<str>,
    /// API version, kind, name and namespace.
    configured_by: [Arc<str>; 4],
}

const IDENTIFIER: [&str; 4] = ["apiVersion", "kind", "name", "namespace"];

impl Step {
    pub(super) fn file(way: Way) -> Self {
        let Way { path, repository, reference } = way;
        Self { path: path.into(), repo: repository.into(), reference: reference.into(), ..Self::default() }
    }

    fn builtin(configured_in: Way, kind: &str) -> Self {
        let configured_by = ["builtin".into(), kind.into(), "".into(), "".into()];
        let file = Self::file(configured_in);
        Self { path: "".into(), configured_in: file.path, configured_by, ..file }
    }

    /// Returns the step of a plugin's document; `None` if the document does not record its origin.
    pub(super) fn plugin(plugin: &Resource) -> Result<Option<Self>, BadBuild> {
        let Some(origin) = plugin.annotation(ORIGIN) else { return Ok(None) };
        let origin = read_step(origin)?;
        let api_version = plugin.node.at(&["apiVersion"]).and_then(Node::as_text).unwrap_or_default();
        let configured_by = [api_version.into(), plugin.kind().into(), plugin.name().into(), plugin.namespace().into()];
        Ok(Some(Self { path: "".into(), configured_in: origin.path, configured_by, ..origin }))
    }

    fn read(node: &Node, path: &str) -> Result<Self, BadField> {
        if node.is_null() {
            return Ok(Self::default());
        }
        let fields = Fields::of(node, path)?;
        let configured_by = fields.inner("configuredBy", |node, path| {
            let fields = Fields::of(node, path)?;
            let [api_version, kind, name, namespace] = IDENTIFIER.map(|name| fields.text_or_empty(name));
            Ok([api_version?, kind?, name?, namespace?])
        })?;
        Ok(Self {
            path: text(&fields, "path")?,
            repo: text(&fields, "repo")?,
            reference: text(&fields, "ref")?,
            configured_in: text(&fields, "configuredIn")?,
            configured_by: configured_by.unwrap_or_default(),
        })
    }

    /// Formats the step as YAML; all lines but the first begin with `indent`.
    fn write(&self, indent: &str) -> String {
        let mut out = String::new();
        let mut line = |indent: &str, name: &str, value: &str| {
            let start = if out.is_empty() { "" } else { indent };
            out.push_str(&format!("{start}{name}:{value}\n"));
        };
        let fields = [
            ("path", &self.path),
            ("repo", &self.repo),
            ("ref", &self.reference),
            ("configuredIn", &self.configured_in),
        ];
        for (name, text) in fields.into_iter().filter(|(_, text)| !text.is_empty()) {
            line(indent, name, &scalar(text, indent));
        }
        if self.configured_by.iter().any(|text| !text.is_empty()) {
            line(indent, "configuredBy", "");
            let indent = format!("{indent}  ");
            for (name, text) in IDENTIFIER.iter().zip(&self.configured_by).filter(|(_, text)| !text.is_empty()) {
                line(&indent, name, &scalar(text, &indent));
            }
        }
        if out.is_empty() { "{}\n".to_owned() } else { out }
    }
}

/// Reads a field as a string. Kustomize's reader converts numbers to strings, but not at the depth
/// of `configuredBy`.
fn text(fields: &Fields<'_>, name: &str) -> Result<Arc<str>, BadField> {
    match fields.node(name) {
        None => Ok("".into()),
        Some(Node { content: Content::Scalar(scalar), .. }) => Ok(Arc::clone(&scalar.text)),
        Some(node) => Err(wrong(name, node, "a text")),
    }
}

/// Formats a YAML string, with the blank before it.
fn scalar(text: &str, indent: &str) -> String {
    let mut written = String::from(" ");
    match setpoint_yaml::go::write(&Node::text(text, Origin::default()), &mut written) {
        Ok(()) => written.trim_end().replace('\n', &format!("\n{indent}")),
        Err(_) => format!(" {text:?}"),
    }
}

fn read_step(text: &str) -> Result<Step, BadBuild> {
    let document = read_document(ORIGIN, text, Origin::default()).map_err(|error| bad(ORIGIN, &error))?;
    let step = document.map(|node| Step::read(&node, "")).transpose();
    step.map(Option::unwrap_or_default).map_err(|error| bad(ORIGIN, &error))
}

/// Rewrites the steps of an annotation in our own format.
fn rewritten(text: &str) -> Result<String, BadBuild> {
    let document =
        read_document(TRANSFORMATIONS, text, Origin::default()).map_err(|error| bad(TRANSFORMATIONS, &error))?;
    let Some(document) = document else { return Ok(String::new()) };
    let Content::Seq(items) = &document.content else {
        return Err(bad(TRANSFORMATIONS, &wrong("", &document, "a list")));
    };
    items
        .iter()
        // A null item is no step, and is preserved.
        .map(
            |item| {
                if item.is_null() { Ok("- null\n".to_owned()) } else { Step::read(item, "").map(|step| item_of(&step)) }
            },
        )
        .collect::<Result<String, BadField>>()
        .map_err(|error| bad(TRANSFORMATIONS, &error))
}

fn item_of(step: &Step) -> String {
    format!("- {}", step.write("  "))
}

fn bad(annotation: &str, error: &(dyn std::error::Error + 'static)) -> BadBuild {
    BadBuild::new(error).within(&format!("the annotation `{annotation}`, in which `buildMetadata` is stored"))
}

/// The last annotation texts written here, by their address in memory, so that they need not be
/// parsed again.
#[derive(Debug, Default)]
pub(super) struct Written(BTreeMap<usize, Arc<str>>);

impl Builder<'_> {
    /// Records the file that resources came from.
    pub(super) fn note_file(
        &mut self,
        folder: &Folder<'_>,
        path: &str,
        resources: &mut [Resource],
    ) -> Result<(), BadBuild> {
        if !self.asked.anything {
            return Ok(());
        }
        let step = Step::file(folder.way_from_the_first(path)).write("");
        let origin = self.sources.add("".into(), Some("buildMetadata".into()));
        let annotation = crate::fields::Texts::from([(ORIGIN.into(), step.into())]);
        let field = crate::field_spec::FieldSpec::new(crate::identity::Gvk::default(), "metadata/annotations", true);
        crate::transform::annotations(resources, &annotation, &[field], origin, self.budget)
            .map_err(|error| BadBuild::new(&error))
    }

    /// Returns the step of a kustomization's field; `None` if no build metadata is requested.
    pub(super) fn builtin_step(&self, folder: &Folder<'_>, kustomization: &Kustomization, kind: &str) -> Option<Step> {
        let file = &self.sources.get(kustomization.origin).file;
        let name = file.rsplit('/').next().unwrap_or_default();
        self.asked.anything.then(|| Step::builtin(folder.way_from_the_first(name), kind))
    }

    /// Records the origin of generated resources that have none yet.
    pub(super) fn note_generated(&mut self, step: Option<&Step>, resources: &mut [Resource]) -> Result<(), BadBuild> {
        let Some(step) = step else { return Ok(()) };
        let origin = self.sources.add("".into(), Some("buildMetadata".into()));
        let text: Arc<str> = step.write("").into();
        for resource in resources.iter_mut().filter(|resource| resource.annotation(ORIGIN).is_none()) {
            self.note_origin(resource, &text, origin)?;
        }
        Ok(())
    }

    /// Records the origin of a resource. One text may be shared by many resources, but is written
    /// for each.
    fn note_origin(&self, resource: &mut Resource, text: &Arc<str>, origin: Origin) -> Result<(), BadBuild> {
        let counted = self.budget.steps(cost(resource)).and_then(|()| self.budget.hold_text(text));
        counted.map_err(|error| self.at_resource(error, resource))?;
        resource.annotate(ORIGIN, Arc::clone(text), origin);
        Ok(())
    }

    /// Records a transformer on all resources, whether it changed them or not.
    pub(super) fn note_transformed(&mut self, step: Option<&Step>, resources: &mut [Resource]) -> Result<(), BadBuild> {
        let Some(step) = step else { return Ok(()) };
        let origin = self.sources.add("".into(), Some("buildMetadata".into()));
        let (own_origin, item): (Arc<str>, _) = (step.write("").into(), item_of(step));
        let mut done: BTreeMap<usize, (Arc<str>, Arc<str>)> = BTreeMap::new();
        for resource in resources {
            let Some(noted) = resource.annotation(ORIGIN) else {
                self.note_origin(resource, &own_origin, origin)?;
                continue;
            };
            self.budget.steps(READ + 2 * noted.len() + item.len() / BYTES + cost(resource))?;
            let own = resource.node.origin;
            read_step(noted).map_err(|error| error.or_at(&self.sources, own))?;
            let old = resource.annotation(TRANSFORMATIONS).cloned().unwrap_or_default();
            let at = place(&old);
            let new = match done.get(&at) {
                Some((_, new)) => Arc::clone(new),
                None if !self.written.0.contains_key(&at) => {
                    self.budget.steps(2 * old.len())?;
                    Arc::from(rewritten(&old).map_err(|error| error.or_at(&self.sources, own))? + &item)
                }
                None if old.len() + item.len() <= LARGEST => Arc::from(format!("{old}{item}")),
                None => Arc::clone(&old),
            };
            let fits = new.len() <= LARGEST && !Arc::ptr_eq(&new, &old);
            let grown = new.len().saturating_sub(old.len());
            done.insert(at, (Arc::clone(&old), if fits { Arc::clone(&new) } else { old }));
            if fits {
                self.budget.hold(grown)?;
                resource.annotate(TRANSFORMATIONS, new, origin);
            } else if self.asked.transformations {
                return Err(too_many(resource).or_at(&self.sources, own));
            }
        }
        self.written = Written(done.into_values().map(|(_, new)| (place(&new), new)).collect());
        Ok(())
    }
}

/// Returns the number of steps to set an annotation, which sets all annotations of the resource
/// again.
fn cost(resource: &Resource) -> usize {
    resource.texts("annotations").map(|(_, text)| 1 + text.len() / BYTES).sum()
}

fn too_many(resource: &Resource) -> BadBuild {
    BadBuild::of(format!(
        "the transformers of {} `{}` do not fit into an annotation: remove `transformerAnnotations` from `buildMetadata`",
        resource.kind(),
        resource.name()
    ))
}

fn place(text: &Arc<str>) -> usize {
    text.as_ptr() as usize
}
