//! `cargo xtask docs`: builds the book of `docs/` with mdBook, as HTML in `target/book`.
//! `cargo xtask openapi`: writes the OpenAPI document of the API.

use anyhow::ensure;

use crate::kubernetes;
use crate::process;

/// A version that builds with the Rust of the workspace.
const VERSION: &str = "0.5.4";
const OUTPUT: &str = "target/book";

pub(crate) fn run() -> anyhow::Result<bool> {
    let mdbook = mdbook()?;
    let output = process::root().join(OUTPUT);
    let built =
        process::succeeds(process::program(&mdbook, &["build", "docs", "--dest-dir", &output.to_string_lossy()]))?;
    if built {
        println!("docs: {}", output.join("index.html").display());
    }
    Ok(built)
}

/// Writes `docs/openapi.json` with the example of setpoint-api that generates it.
pub(crate) fn openapi() -> anyhow::Result<bool> {
    let example = ["run", "--quiet", "--package", "setpoint-api", "--example", "openapi", "--features", "openapi"];
    process::succeeds(process::program("cargo", &example))
}

/// Returns the program: that on the PATH, else that in the cache, where it is installed once.
fn mdbook() -> anyhow::Result<String> {
    if process::output_of(process::program("mdbook", &["--version"])).is_ok() {
        return Ok("mdbook".to_owned());
    }
    let root = kubernetes::cache()?.join(format!("mdbook-{VERSION}"));
    let program = root.join("bin").join("mdbook");
    if !program.exists() {
        println!("docs: installing mdbook {VERSION} into {}", root.display());
        let root = root.to_string_lossy();
        let version = ["install", "mdbook", "--version", VERSION, "--locked"];
        // Without the features that serve the book and rebuild it after each change.
        let features = ["--no-default-features", "--features", "search", "--root", &*root];
        let install = process::program("cargo", &[&version[..], &features[..]].concat());
        ensure!(
            process::succeeds(install)?,
            "cannot install mdbook {VERSION}; see above, or put an mdbook on the PATH"
        );
    }
    Ok(program.to_string_lossy().into_owned())
}
