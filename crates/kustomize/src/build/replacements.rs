//! Replacements of a kustomization or a plugin, including those in the files that they name.

use super::arguments::prepare_replacements;
use super::{BadBuild, Builder};
use crate::fields::BadField;
use crate::folder::Folder;
use crate::kustomization::{ReplacementEntry, replacement};
use crate::node::Content;
use crate::origin::Origin;
use crate::replacement::{self, Replacement};
use crate::resource::Resource;

impl Builder<'_> {
    /// Applies replacements. The origin of each value set is the place and field where the
    /// replacement is written.
    pub(super) fn replace_all(
        &mut self,
        folder: &Folder<'_>,
        entries: &[ReplacementEntry],
        by: &str,
        all: &mut [Resource],
    ) -> Result<(), BadBuild> {
        let mut replacements = Vec::with_capacity(entries.len());
        for entry in entries {
            match entry {
                ReplacementEntry::Inline(replacement) => replacements.push((**replacement).clone()),
                ReplacementEntry::File { path, origin } => {
                    let read = self.replacements_in(folder, path);
                    replacements.extend(read.map_err(|error| error.or_at(&self.sources, *origin))?);
                }
            }
        }
        for replacement in &mut replacements {
            replacement.origin = self.by(folder, by, replacement.origin);
        }
        replacement::replace(all, &replacements, self.budget)
            .map_err(|(at, error)| BadBuild::new(&error).or_at(&self.sources, at))
    }

    /// Reads a file, which holds one replacement or a list of them.
    fn replacements_in(&mut self, folder: &Folder<'_>, path: &str) -> Result<Vec<Replacement>, BadBuild> {
        let path = folder.file(path).map_err(|error| BadBuild::new(&error))?;
        let text = self.text(&path)?;
        let mut document = self.document(&path, &text)?;
        document.iter_mut().for_each(prepare_replacements);
        let bad = |error: BadField| BadBuild::new(&error);
        match document.as_ref().map(|document| (document, &document.content)) {
            Some((document, Content::Map(_))) => Ok(vec![replacement(document, &path).map_err(bad)?]),
            Some((_, Content::Seq(items))) => items.iter().map(|item| replacement(item, &path).map_err(bad)).collect(),
            _ => {
                let problem = format!(
                    "unsupported replacement type encountered within replacement path: write a replacement or a list of them into `{path}`"
                );
                Err(BadBuild::of(problem).at(&path, Origin::default().on(1)))
            }
        }
    }
}
