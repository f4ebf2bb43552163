//! Explains who set each field of a declared resource: a render that stores the origin of each
//! node.

use std::collections::BTreeSet;

use setpoint_core::secret;
use setpoint_kustomize::explanation::{Explanation, Unexplained, Wanted, explain as explain_among};
use setpoint_kustomize::node::{Content, Node};
use setpoint_kustomize::read::read;
use setpoint_kustomize::resource::Resource;
use setpoint_store::Tree;
use setpoint_yaml::Source;

use crate::kustomize::{self, Made, value_of};
use crate::problem::{Problem, Problems};
use crate::rendering::{Recordings, declared};
use crate::request::{Input, NotRendered, Request};
use crate::walk::{Naming, files_below};

/// The reason why there is no explanation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotExplained {
    #[error(transparent)]
    NotRendered(#[from] NotRendered),
    #[error(transparent)]
    Unexplained(#[from] Unexplained),
    /// Another program does not report the origin of its output.
    #[error(
        "{folder} is rendered by another program (`kustomize.external`), which does not report who set a field; without that program it is known"
    )]
    Elsewhere { folder: String },
    /// The resource is in none of the files that could be read for this, and may be in one that was
    /// only rendered.
    #[error("{missing}; it may be in this file, which cannot be explained: {problem}")]
    Untraced { missing: Unexplained, problem: Box<Problem> },
}

/// Explains who set the fields of a resource.
pub fn explain(request: &Request<'_>, wanted: &Wanted<'_>) -> Result<Explanation, NotExplained> {
    let recordings = Recordings::of(request).map_err(NotRendered::from)?;
    let plain = plain_inputs(request, &recordings)?;
    let mut all = Vec::new();
    // A refused version declares nothing: an unreadable part of it must not be reported as absent.
    let manifests = declared(request, &recordings, &mut |kustomized, made| all.push(kustomized.called(made)))?;
    let files: BTreeSet<&str> = manifests.iter().map(|manifest| manifest.place.file.as_str()).collect();
    let mut untraced = Problems::default();
    for input in plain {
        let tree = recordings.tree(&input.store).map_err(NotRendered::from)?;
        all.push(written(input, tree, &recordings.naming_of(input), &files, &mut untraced)?);
    }
    let all: Vec<_> = all.iter().map(|made| (made.resources.as_slice(), &made.sources)).collect();
    explain_among(&all, wanted, holds_secrets).map_err(|unexplained| {
        let problem = untraced.or_value(()).err().and_then(|found| found.into_iter().next());
        match (unexplained, problem) {
            (missing @ Unexplained::Missing { .. }, Some(problem)) => {
                NotExplained::Untraced { missing, problem: Box::new(problem) }
            }
            (unexplained, _) => unexplained.into(),
        }
    })
}

/// Reports whether the contents of a resource must not be shown. A resource without a value cannot
/// be checked, and so counts as secret.
pub fn holds_secrets(resource: &Resource) -> bool {
    value_of(&resource.node).map_or(true, |body| secret::holds_secrets(resource.kind(), &body))
}

/// Returns the inputs that are read unchanged. Fails if another input is rendered by another
/// program.
fn plain_inputs<'a>(request: &'a Request<'_>, recordings: &Recordings<'_>) -> Result<Vec<&'a Input>, NotExplained> {
    let mut plain = Vec::new();
    for input in request.inputs {
        let tree = recordings.tree(&input.store).map_err(NotRendered::from)?;
        let is_kustomization = kustomize::is_meant_for(tree, &input.path).map_err(NotRendered::from)?;
        if is_kustomization && request.kustomize.external.is_some() {
            return Err(NotExplained::Elsewhere { folder: recordings.naming_of(input).name(&input.path) });
        }
        plain.extend(Some(input).filter(|_| !is_kustomization));
    }
    Ok(plain)
}

/// Reads the files of an input that declare resources, and does not render them. The other files are
/// the content of resources.
fn written(
    input: &Input,
    tree: &dyn Tree,
    naming: &Naming,
    declaring: &BTreeSet<&str>,
    untraced: &mut Problems,
) -> Result<Made, NotRendered> {
    let mut made = Made::default();
    for path in files_below(tree, &input.path, naming, untraced)? {
        let name = naming.name(&path);
        if !declaring.contains(name.as_str()) {
            continue;
        }
        let Some(Some(blob)) = untraced.sort_out(&name, tree.read(&path))? else { continue };
        let origin = made.sources.add(name.as_str().into(), None);
        let nodes = Source::decode(&name, &blob.bytes).and_then(|source| read(&name, source.text(), origin));
        match nodes {
            Ok(nodes) => made.resources.extend(nodes.into_iter().flat_map(items_of).map(Resource::new)),
            Err(found) => untraced.add_all(found),
        }
    }
    Ok(made)
}

/// Returns the resources of a document: itself, or the items of a `kind: List`, at any depth.
fn items_of(root: Node) -> Vec<Node> {
    let (mut items, mut ahead) = (Vec::new(), vec![root]);
    while let Some(node) = ahead.pop() {
        let is_list = node.at(&["kind"]).and_then(Node::as_text) == Some("List");
        match node.at(&["items"]).map(|items| &items.content) {
            Some(Content::Seq(list)) if is_list => ahead.extend(list.iter().rev().cloned()),
            _ => items.push(node),
        }
    }
    items
}
