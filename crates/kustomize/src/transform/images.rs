//! Sets names, tags and digests of images.

use std::sync::Arc;

use super::TransformError;
use super::image_name::ImageName;
use crate::field_spec::{Create, FieldProblem, FieldSpec, set_plain, shown};
use crate::limits::Budget;
use crate::node::{Content, Node};
use crate::origin::Origin;
use crate::resource::Resource;

/// The changes for images of a name. Empty values change nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewImage {
    /// The name of the images to change.
    pub name: Arc<str>,
    pub new_name: Arc<str>,
    pub new_tag: Arc<str>,
    /// Appended to the existing tag, unless there is a new tag or a digest.
    pub tag_suffix: Arc<str>,
    pub digest: Arc<str>,
}

/// Changes the images of all containers, and the fields of the field specs.
pub fn images(
    resources: &mut [Resource],
    image: &NewImage,
    specs: &[FieldSpec],
    origin: Origin,
    budget: &Budget,
) -> Result<(), TransformError> {
    let name = ImageName::new(&image.name)
        .map_err(|problem| TransformError::Pattern { name: Arc::clone(&image.name), problem })?;
    budget.steps(name.size())?;
    let update = &mut |node: &mut Node| update(node, &name, image, origin, budget);
    for resource in resources.iter_mut().filter(|resource| has_images(resource)) {
        let id = shown(&resource.node);
        in_containers(&mut resource.node, budget, update)
            .map_err(|problem| TransformError::Containers { resource: id, problem })?;
    }
    for resource in resources.iter_mut().filter(|resource| has_images(resource)) {
        for spec in specs {
            resource.set_fields(spec, Create::Nothing, origin, budget, update)?;
        }
    }
    Ok(())
}

/// The schema of a custom resource may have a field called `containers`.
fn has_images(resource: &Resource) -> bool {
    resource.kind() != "CustomResourceDefinition"
}

type Update<'u> = dyn FnMut(&mut Node) -> Result<(), FieldProblem> + 'u;

/// Finds the images in every field called `containers`.
fn in_containers(node: &mut Node, budget: &Budget, update: &mut Update<'_>) -> Result<(), FieldProblem> {
    budget.steps(2)?;
    match &mut node.content {
        Content::Scalar(_) => {}
        Content::Seq(items) => items.iter_mut().try_for_each(|item| in_containers(item, budget, update))?,
        Content::Map(map) => {
            for (name, field) in map.iter_mut() {
                in_containers(field, budget, update)?;
                if matches!(&**name, "containers" | "initContainers") {
                    of_items(field, update)?;
                }
            }
        }
    }
    Ok(())
}

fn of_items(list: &mut Node, update: &mut Update<'_>) -> Result<(), FieldProblem> {
    let Content::Seq(items) = &mut list.content else { return Ok(()) };
    for item in items.iter_mut().filter(|item| !item.is_null()) {
        let Some(container) = item.as_map_mut() else { return Err(FieldProblem::kind("MappingNode", item)) };
        if let Some(image) = container.get_mut("image") {
            update(image)?;
        }
    }
    Ok(())
}

fn update(
    node: &mut Node,
    name: &ImageName,
    image: &NewImage,
    origin: Origin,
    budget: &Budget,
) -> Result<(), FieldProblem> {
    let Some(old) = node.as_text() else { return Err(FieldProblem::kind("ScalarNode", node)) };
    let is_meant = name.is_of(old, budget);
    budget.steps(0)?;
    if !is_meant {
        return Ok(());
    }
    let new = image.of(old);
    budget.hold(new.len())?;
    // An unchanged image keeps its origin.
    let origin = if new == old { node.origin } else { origin };
    set_plain(node, &new, origin)
}

impl NewImage {
    fn of(&self, old: &str) -> String {
        let (name, tag, digest) = split(old);
        let name = if self.new_name.is_empty() { name } else { &self.new_name };
        let has = |text: &Arc<str>| !text.is_empty();
        let (tag, digest) = match (has(&self.new_tag), has(&self.digest)) {
            (false, false) if has(&self.tag_suffix) => (format!("{tag}{}", self.tag_suffix), ""),
            (false, false) => (tag.to_owned(), digest),
            _ => (self.new_tag.to_string(), &*self.digest),
        };
        let mut new = name.to_owned();
        for (sign, part) in [(':', &*tag), ('@', digest)] {
            if !part.is_empty() {
                new.push(sign);
                new.push_str(part);
            }
        }
        new
    }
}

/// Splits an image into name, tag and digest. A colon before the first slash belongs to a port.
fn split(image: &str) -> (&str, &str, &str) {
    let from = image.find('/').unwrap_or_default();
    let find = |sign: char| image[from..].find(sign).map(|at| from + at);
    match (find(':'), find('@')) {
        (None, None) => (image, "", ""),
        (Some(colon), Some(at)) if colon < at => (&image[..colon], &image[colon + 1..at], &image[at + 1..]),
        (_, Some(at)) => (&image[..at], "", &image[at + 1..]),
        (Some(colon), None) => (&image[..colon], &image[colon + 1..], ""),
    }
}
