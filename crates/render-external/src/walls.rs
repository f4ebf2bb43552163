//! Landlock: restricts the files that this process and the program it becomes can open, and blocks
//! the network.

use std::fs::File;
use std::io;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus, Scope,
};

/// The first ABI with rules about TCP. If any of it is missing, nothing is run.
const NEEDED: ABI = ABI::V4;

/// A later ABI with rules about devices, signals and abstract sockets. They are used where the
/// kernel has them; `calls` refuses these operations anyway.
const BETTER: ABI = ABI::V6;

/// Restricts the process: from here on only the tree can be read, and nothing written, executed,
/// bound or connected to. A file in memory belongs to no directory and is not subject to Landlock.
/// This is how the program itself is started, and why `calls` refuses to create another such file.
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
        return Err(io::Error::new(io::ErrorKind::Unsupported, missing("none of it is enforced")));
    }
    Ok(())
}

fn missing(what: &str) -> String {
    format!(
        "this kernel has no Landlock with rules about TCP ({what}); use Linux 6.7 or newer with `landlock` among its security modules (`lsm=`)"
    )
}
