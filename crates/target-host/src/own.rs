//! The files and directories that Setpoint itself needs on a host. No app may declare them,
//! directly or through links.

use std::fs;
use std::path::{Path, PathBuf};

/// Files and directories of Setpoint itself, relative to the root of a target.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnPlaces(Vec<String>);

impl OwnPlaces {
    /// Returns the places below the root.
    pub(crate) fn seen_from(root: Option<&Path>, places: &[PathBuf]) -> Self {
        // A place whose real path cannot be resolved is compared by its given path.
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let root = real(root.unwrap_or(Path::new("/")));
        let below = |place: &PathBuf| Some(format!("/{}", real(place).strip_prefix(&root).ok()?.to_str()?));
        Self(places.iter().filter_map(below).collect())
    }

    /// Reports whether a path without links is one of these places or is inside of one.
    pub(crate) fn hold(&self, path: &str) -> bool {
        let within = |place: &String| path.strip_prefix(place.trim_end_matches('/'));
        self.0.iter().filter_map(within).any(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_place_of_ours_is_ours_and_what_only_begins_like_it_is_not() {
        let places = ["/srv/data", "/etc/setpoint.yaml", "/opt/elsewhere"].map(PathBuf::from);
        let own = OwnPlaces::seen_from(Some(Path::new("/srv")), &places);
        assert!(own.hold("/data") && own.hold("/data/ledger.db"));
        assert!(!own.hold("/database") && !own.hold("/") && !own.hold("/etc/setpoint.yaml"));
        let own = OwnPlaces::seen_from(None, &places);
        assert!(own.hold("/srv/data/x") && own.hold("/etc/setpoint.yaml") && !own.hold("/srv"));
        assert!(OwnPlaces::seen_from(Some(Path::new("/srv/data")), &places).hold("/anything"));
    }
}
