//! The Go toolchain, which builds the Kubernetes tools and the kustomize peer of the tests; nothing
//! of the product needs it.

use crate::process;

/// The version that Kubernetes 1.36 is written for.
const NEEDED: (u32, u32) = (1, 26);

/// Returns the output of `go version`, or the reason why Go cannot build the tools, with the
/// remedy.
pub(crate) fn found() -> Result<String, String> {
    let remedy = format!(
        "install Go {}.{} or newer (Debian's golang is older), or set KUBEBUILDER_ASSETS to a directory with kube-apiserver, etcd and kubectl",
        NEEDED.0, NEEDED.1
    );
    let Ok(text) = process::output_of(process::program("go", &["version"])) else {
        return Err(format!("Go is missing; {remedy}"));
    };
    let text = text.trim();
    match release(text) {
        Some(release) if release >= NEEDED => Ok(text.to_owned()),
        _ => Err(format!("`{text}` is too old; {remedy}")),
    }
}

/// Reads `go version go1.26.8 linux/amd64`.
fn release(text: &str) -> Option<(u32, u32)> {
    let (major, rest) = text.strip_prefix("go version go")?.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_read_with_and_without_a_patch_level() {
        assert_eq!(release("go version go1.26.8 linux/amd64"), Some((1, 26)));
        assert_eq!(release("go version go1.27rc1 linux/arm64"), Some((1, 27)));
        assert!(release("go version go1.9 linux/amd64") < Some(NEEDED));
    }

    #[test]
    fn what_is_no_release_is_not_taken_for_a_new_one() {
        assert_eq!(release("go version devel +abc linux/amd64"), None);
        assert_eq!(release(""), None);
    }
}
