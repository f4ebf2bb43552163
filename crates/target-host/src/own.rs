//! What Setpoint itself runs from on a host: nothing there is declared by any app, whatever links
//! lead to it.

use std::fs;
use std::path::{Path, PathBuf};

/// Files and folders of Setpoint's own, seen from the root of a target.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnPlaces(Vec<String>);

impl OwnPlaces {
    /// Those of the places that are below the root.
    pub(crate) fn seen_from(root: Option<&Path>, places: &[PathBuf]) -> Self {
        // What cannot be found under its real name is known by the name it was given.
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let root = real(root.unwrap_or(Path::new("/")));
        let below = |place: &PathBuf| Some(format!("/{}", real(place).strip_prefix(&root).ok()?.to_str()?));
        Self(places.iter().filter_map(below).collect())
    }

    /// Whether a path without links is one of them, or in one.
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
