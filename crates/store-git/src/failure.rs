//! Converts errors of gix to the classes of a store.

use setpoint_store::StoreError;

/// Joins the causes of an error in one line. gix never gets a credential, so the line holds none.
pub(crate) fn causes(error: &gix::Error) -> String {
    let mut texts: Vec<String> = Vec::new();
    for cause in error.iter_errors() {
        let text: String = cause.to_string().chars().take(300).flat_map(char::escape_default).collect();
        if !texts.iter().any(|known| known.contains(&text)) {
            texts.push(text);
        }
    }
    texts.join(": ")
}

/// Builds the error for objects on our own disk.
pub(crate) fn on_disk(what: &str, error: &gix::Error) -> StoreError {
    if error.classify().is_resource_exhausted() {
        return too_large(error);
    }
    StoreError::damaged(format!("{what}: {}", causes(error)))
}

/// Builds the error of a fetch that no transport explains: the server's data is inconsistent, or
/// our disk failed.
pub(crate) fn of_fetch(error: &gix::Error) -> StoreError {
    if error.classify().is_resource_exhausted() {
        return too_large(error);
    }
    if error.classify().is_corrupted() && causes(error).contains("collision") {
        return StoreError::refused(
            format!("the pack holds an object made to collide with another: {}", causes(error)),
            "find out who pushed it; this is an attack, not an accident",
        );
    }
    if error.classify().can_retry_lenient() {
        return StoreError::unreachable(causes(error));
    }
    StoreError::damaged(causes(error))
}

fn too_large(error: &gix::Error) -> StoreError {
    StoreError::refused(
        format!("an object is larger than the limit: {}", causes(error)),
        "remove it from the history, or raise the store's limit",
    )
}
