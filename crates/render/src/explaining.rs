//! Who set what of a resource that an app declares: its inputs are read as for a render, but each node keeps where it came from.

use setpoint_kustomize::explanation::{Explanation, Unexplained, Wanted, explain as explain_among};
use setpoint_kustomize::load;
use setpoint_store::{StoreError, Tree};
use setpoint_yaml::Source;

use crate::kustomize::{self, Kustomized, Made};
use crate::plain::SUFFIXES;
use crate::problem::Problems;
use crate::rendering::{Recordings, render};
use crate::request::{Input, NotRendered, Request};
use crate::walk::{Naming, files_below};

/// Why nothing is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotExplained {
    #[error(transparent)]
    NotRendered(#[from] NotRendered),
    #[error(transparent)]
    Unexplained(#[from] Unexplained),
    /// Another program does not say where what it writes came from.
    #[error(
        "{folder} is rendered by another program (`kustomize.external`), which does not say who set what; without it that is known"
    )]
    Elsewhere { folder: String },
}

/// Says who set the fields of a resource.
pub fn explain(request: &Request<'_>, wanted: &Wanted<'_>) -> Result<Explanation, NotExplained> {
    let recordings = Recordings::of(request).map_err(NotRendered::from)?;
    let mut problems = Problems::default();
    let mut all = Vec::new();
    for input in request.inputs {
        all.push(traced(request, input, &recordings, &mut problems)?);
    }
    let all = problems.or_value(all).map_err(NotRendered::from)?;
    // A version that would be refused declares nothing: what of it cannot be read is not told as not being there.
    render(request)?;
    let all: Vec<_> = all.iter().map(|traced| (traced.resources.as_slice(), &traced.sources)).collect();
    Ok(explain_among(&all, wanted)?)
}

fn traced(
    request: &Request<'_>,
    input: &Input,
    recordings: &Recordings<'_>,
    problems: &mut Problems,
) -> Result<Made, NotExplained> {
    let (naming, tree) = (recordings.naming_of(input), recordings.tree(&input.store).map_err(NotRendered::from)?);
    if kustomize::is_meant_for(tree, &input.path).map_err(NotRendered::from)? {
        if request.kustomize.external.is_some() {
            return Err(NotExplained::Elsewhere { folder: naming.name(&input.path) });
        }
        let kustomized = Kustomized { request, input, tree, trees: recordings, naming: &naming };
        Ok(kustomized.traced(problems)?.unwrap_or_default())
    } else {
        Ok(written(input, tree, &naming, problems).map_err(NotRendered::from)?)
    }
}

/// What files declare as they stand. A file that holds no resources is content of one, if the version renders at all.
fn written(input: &Input, tree: &dyn Tree, naming: &Naming, problems: &mut Problems) -> Result<Made, StoreError> {
    let mut made = Made::default();
    for path in files_below(tree, &input.path, naming, problems)? {
        if !SUFFIXES.iter().any(|suffix| path.as_str().ends_with(suffix)) {
            continue;
        }
        let name = naming.name(&path);
        let Some(Some(blob)) = problems.sort_out(&name, tree.read(&path))? else { continue };
        let Ok(source) = Source::decode(&name, &blob.bytes) else { continue };
        let origin = made.sources.add(name.as_str().into(), None);
        made.resources.extend(load::resources(&name, source.text(), origin).unwrap_or_default());
    }
    Ok(made)
}
