//! Landlock: which files this process and what it becomes can still open, and that it reaches
//! nobody.

use std::fs::File;
use std::io;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus, Scope,
};

/// The first that knows about TCP. Without all of it nothing is run.
const NEEDED: ABI = ABI::V4;

/// Devices, signals and sockets without a name came later. They are asked for where they are known;
/// `calls` refuses them anyway.
const BETTER: ABI = ABI::V6;

/// From here on only the tree can be read, and nothing written, executed, bound or connected to. A
/// file in memory belongs to no folder and is not subject to Landlock: this is how the program
/// itself is started, and why `calls` refuses to make another.
pub(crate) fn raise(tree: &File) -> io::Result<()> {
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(NEEDED)))
        .map(|rules| rules.set_compatibility(CompatLevel::BestEffort))
        .and_then(|rules| rules.handle_access(AccessFs::from_all(BETTER)))
        .and_then(|rules| rules.scope(Scope::from_all(BETTER)))
        .and_then(Ruleset::create)
        .map(|rules| rules.set_compatibility(CompatLevel::HardRequirement))
        .and_then(|rules| rules.add_rule(PathBeneath::new(tree, AccessFs::ReadFile | AccessFs::ReadDir)))
        .and_then(landlock::RulesetCreated::restrict_self)
        .map_err(|error| io::Error::new(io::ErrorKind::Unsupported, missing(&error.to_string())))?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err(io::Error::new(io::ErrorKind::Unsupported, missing("nothing of it is enforced")));
    }
    Ok(())
}

fn missing(what: &str) -> String {
    format!(
        "this kernel has no Landlock with rules about TCP ({what}); use Linux 6.7 or newer with `landlock` among its security modules (`lsm=`)"
    )
}
