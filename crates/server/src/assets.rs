//! The files that pages link to, embedded in the binary.
//!
//! The path of an asset contains its digest, so that browsers can keep it forever.

use std::sync::LazyLock;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

/// The number of hexadecimal digits of the digest in a path.
const DIGITS: usize = 12;

/// A file as it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asset {
    pub content_type: &'static str,
    pub bytes: &'static [u8],
}

/// An embedded file.
struct Embedded {
    name: &'static str,
    asset: Asset,
}

static EMBEDDED: [Embedded; 3] = [
    Embedded {
        name: "app.js",
        asset: Asset { content_type: "text/javascript; charset=utf-8", bytes: include_bytes!("../assets/app.js") },
    },
    Embedded {
        name: "mark.svg",
        asset: Asset { content_type: "image/svg+xml", bytes: include_bytes!("../assets/mark.svg") },
    },
    Embedded {
        name: "style.css",
        asset: Asset { content_type: "text/css; charset=utf-8", bytes: include_bytes!("../assets/style.css") },
    },
];

/// The path of each embedded file, in the same order.
static PATHS: LazyLock<Vec<String>> = LazyLock::new(|| EMBEDDED.iter().map(path_of).collect());

fn path_of(Embedded { name, asset }: &Embedded) -> String {
    let mut digest = HEXLOWER.encode(&Sha256::digest(asset.bytes));
    digest.truncate(DIGITS);
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    format!("/assets/{stem}.{digest}.{extension}")
}

/// Returns the asset at a path without the base path, such as `/assets/style.0123456789ab.css`.
pub fn asset(path: &str) -> Option<Asset> {
    let place = PATHS.iter().position(|known| known == path)?;
    Some(EMBEDDED[place].asset)
}

/// Returns the path of an asset by its file name. Templates put the base path before it.
pub fn url(name: &str) -> &'static str {
    let place = EMBEDDED.iter().position(|embedded| embedded.name == name);
    &PATHS[place.expect("templates name embedded files only; a test renders every page")]
}

/// Returns the paths of all assets.
pub fn paths() -> impl Iterator<Item = &'static str> {
    PATHS.iter().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_url_leads_to_its_asset() {
        for Embedded { name, asset: expected } in &EMBEDDED {
            assert_eq!(asset(url(name)), Some(*expected), "{name}");
        }
        assert_eq!(paths().count(), EMBEDDED.len());
    }

    #[test]
    fn a_path_contains_the_digest_of_the_content() {
        let path = url("style.css");
        let digest = path.strip_prefix("/assets/style.").and_then(|rest| rest.strip_suffix(".css")).unwrap();
        assert_eq!(digest.len(), DIGITS);
        assert!(digest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }

    #[test]
    fn an_unknown_path_leads_nowhere() {
        for path in ["", "/assets/style.css", "/assets/../Cargo.toml", "/assets/style.000000000000.css"] {
            assert_eq!(asset(path), None, "{path}");
        }
    }
}
