//! Renders the same kustomizations by Setpoint and by another program, for comparison. The result
//! does not affect what is declared.

use crate::kustomize::{Kustomized, is_meant_for};
use crate::rendering::Recordings;
use crate::request::{NotRendered, Request};

/// The outputs of both programs for one kustomization, or their errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides {
    /// The directory of the input, as messages name it.
    pub folder: String,
    pub ours: Result<String, String>,
    pub theirs: Result<String, String>,
}

/// Renders every kustomization among the inputs both ways, without parameters. Fails for a reason
/// outside the version.
pub fn both_sides(request: &Request<'_>, digest: &str) -> Result<Vec<Sides>, NotRendered> {
    let recordings = Recordings::of(request)?;
    let mut all = Vec::new();
    for input in request.inputs {
        let tree = recordings.tree(&input.store)?;
        if !is_meant_for(tree, &input.path)? {
            continue;
        }
        let naming = recordings.naming_of(input);
        let kustomized = Kustomized { request, input, tree, trees: &recordings, naming: &naming };
        let built = kustomized.built()?;
        let ours = built.and_then(|built| built.to_yaml()).map_err(|bad| bad.to_string());
        all.push(Sides { folder: naming.name(&input.path), ours, theirs: kustomized.written_elsewhere(digest)? });
    }
    Ok(all)
}
