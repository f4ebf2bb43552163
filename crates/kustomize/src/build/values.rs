//! `ValueAddTransformer`: adds a value to fields, or to the paths in them.

use std::sync::Arc;

use super::arguments::prepare_targets;
use super::{BadBuild, Builder};
use crate::field_path;
use crate::field_spec::beginning;
use crate::fields::{BadField, Fields};
use crate::folder::Folder;
use crate::identity::Gvk;
use crate::kustomization::{self, Target};
use crate::limits::{BYTES, Weight};
use crate::node::{Content, Node, Scalar, Style};
use crate::origin::Origin;
use crate::resource::Resource;
use crate::transform::{self, Namespace, Subjects};

/// A place where the value is added.
struct Place {
    target: Option<Target>,
    path: Arc<str>,
    /// The position of the value among the parts of the path in the field, counted from 1; 0 if it
    /// replaces the whole field.
    position: i64,
}

impl Builder<'_> {
    pub(super) fn add_value(
        &mut self,
        folder: &Folder<'_>,
        fields: &Fields<'_>,
        origin: Origin,
        all: &mut [Resource],
    ) -> Result<(), BadBuild> {
        let bad = |error: BadField| BadBuild::new(&error);
        let written = fields.text_or_empty("value").map_err(bad)?;
        let value = match written.trim() {
            "" => folder.path().rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("/"),
            value => value,
        };
        let mut places = fields.list("targets", place).map_err(bad)?;
        places.extend(self.places_in_file(folder, &fields.text_or_empty("targetFilePath").map_err(bad)?)?);
        if places.is_empty() {
            return Err(BadBuild::of("must specify at least one target: write `targets`".to_owned()));
        }
        for place in places {
            let selected = match &place.target {
                Some(target) => self.selected(all, target)?,
                None => (0..all.len()).collect(),
            };
            for at in selected {
                self.put(&mut all[at], value, &place, origin)?;
            }
        }
        Ok(())
    }

    fn places_in_file(&mut self, folder: &Folder<'_>, path: &str) -> Result<Vec<Place>, BadBuild> {
        if path.is_empty() {
            return Ok(Vec::new());
        }
        let path = folder.file(path).map_err(|error| BadBuild::new(&error))?;
        let text = self.text(&path)?;
        let Some(mut document) = self.document(&path, &text)? else { return Ok(Vec::new()) };
        prepare_targets(&mut document);
        let places = Fields::of(&document, "").and_then(|fields| fields.list("targets", place));
        places.map_err(|error| BadBuild::new(&error).at(&path, error.origin))
    }

    fn put(&self, resource: &mut Resource, value: &str, place: &Place, origin: Origin) -> Result<(), BadBuild> {
        if &*place.path == "metadata/namespace" {
            let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
            let namespace = Namespace { name: value.into(), unset_only: false, subjects: Subjects::default() };
            let done = transform::set_namespace(resource, &namespace, &[], &scope, origin, self.budget);
            return done.map_err(|error| BadBuild::new(&error));
        }
        let before = Weight::of(&resource.node);
        self.budget.steps(1 + before.nodes + (value.len() + place.path.len()) / BYTES)?;
        let put = field_path::reach(&mut resource.node, &field_path::split_at(&place.path, '/'), origin);
        let node = match put {
            Ok(node) if node.as_scalar().is_some() => node,
            Ok(_) => {
                let problem = "wrong node kind: expected ScalarNode: correct the path";
                return Err(not_put(BadBuild::of(problem.to_owned()), place, resource));
            }
            Err(error) => return Err(not_put(BadBuild::new(&error), place, resource)),
        };
        let old: Arc<str> = node.as_scalar().map(|scalar| Arc::clone(&scalar.text)).unwrap_or_default();
        self.budget.steps(old.len() / BYTES)?;
        let text = match place.position {
            0 => value.to_owned(),
            position => inserted(&old, position, value),
        };
        // Without quotes, the text is read as whatever type it looks like.
        let scalar = if node.style == Style::Plain { Scalar::plain(text) } else { Scalar::text(text) };
        *node = Node { style: node.style, ..Node::new(Content::Scalar(scalar), origin) };
        let new = node.clone();
        resource.spread(&old, &new, self.budget);
        self.budget.grow(before, &resource.node)?;
        Ok(())
    }
}

/// Describes a failed addition. Only the beginning of the path is printed, since it may be long.
fn not_put(error: BadBuild, place: &Place, resource: &Resource) -> BadBuild {
    let (path, kind, name) = (beginning(&place.path), resource.kind(), resource.name());
    error.within(&format!("adding a value at `{path}` of {kind} `{name}`"))
}

fn place(node: &Node, path: &str) -> Result<Place, BadField> {
    let fields = Fields::of(node, path)?;
    let place = Place {
        target: fields.inner("selector", kustomization::target)?,
        path: fields.text_or_empty("fieldPath")?,
        position: fields.integer("filePathPosition")?.unwrap_or_default(),
    };
    let problem = match place {
        Place { position: ..0, .. } => "value of FilePathPosition cannot be negative",
        _ if place.path.is_empty() => "fieldPath cannot be empty",
        _ => return Ok(place),
    };
    let help = "correct it".to_owned();
    Err(BadField { path: path.to_owned(), origin: node.origin, problem: problem.to_owned(), help })
}

/// Inserts a part into a path and joins them as Go's `filepath` does.
fn inserted(path: &str, position: i64, part: &str) -> String {
    let mut parts: Vec<&str> = if path.is_empty() { Vec::new() } else { path.split('/').collect() };
    let is_absolute = path.starts_with('/');
    // A leading slash counts as one part, and so do two of them.
    if path == "/" || path.starts_with("//") {
        parts.remove(0);
    }
    let at = usize::try_from(position - 1).unwrap_or(usize::MAX).min(parts.len());
    parts.insert(at + usize::from(is_absolute && at < parts.len()), part);
    let is_rooted = parts.first().is_some_and(|first| first.is_empty());
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("{}{}", if is_rooted { "/" } else { "" }, cleaned(&parts.join("/")))
}

/// Cleans a path: drops empty parts, `.` and `..`.
fn cleaned(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let mut clean: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if clean.last().is_some_and(|last| *last != "..") => drop(clean.pop()),
            ".." if is_absolute => {}
            part => clean.push(part),
        }
    }
    match clean.join("/") {
        clean if is_absolute => format!("/{clean}"),
        clean if clean.is_empty() && !path.is_empty() => ".".to_owned(),
        clean => clean,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_inserted_where_it_is_wanted() {
        for (path, position, expected) in [
            ("", 3, "PEACH"),
            ("/", 1, "/PEACH"),
            ("pie", 1, "PEACH/pie"),
            ("/pie", 1, "/PEACH/pie"),
            ("raw", 2, "raw/PEACH"),
            ("/raw", 9999, "/raw/PEACH"),
            ("a/nice/warm/pie", 4, "a/nice/warm/PEACH/pie"),
            ("/a/nice/warm/pie", 4, "/a/nice/warm/PEACH/pie"),
            ("a//b/../c", 2, "a/PEACH/c"),
            ("http://web:80/path", 3, "http:/PEACH/web:80/path"),
            ("//a", 1, "/PEACH/a"),
            ("/../a", 3, "/../a/PEACH"),
            ("a/", 2, "a/PEACH"),
        ] {
            assert_eq!(inserted(path, position, "PEACH"), expected, "{path} {position}");
        }
    }
}
