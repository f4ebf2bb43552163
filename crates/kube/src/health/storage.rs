//! Volumes and claims on them.

use super::Verdict;
use super::status::Object;

pub(super) fn claim(object: Object<'_>) -> Verdict {
    let trouble = ["ControllerResizeError", "NodeResizeError", "ModifyVolumeError"];
    if let Some(failed) = trouble.iter().find_map(|name| object.holds(name)) {
        return Verdict::degraded(failed.told());
    }
    let under_way = ["Resizing", "FileSystemResizePending", "ModifyingVolume"];
    match object.text("status.phase") {
        Some("Lost") => Verdict::degraded("the volume it was bound to is gone").for_good(),
        Some("Bound") => match under_way.iter().find_map(|name| object.holds(name)) {
            Some(resizing) => Verdict::progressing(resizing.told()),
            None => Verdict::healthy("it is bound to a volume"),
        },
        Some("Pending") | None => Verdict::progressing(
            "it is not bound yet (a class that waits for its first consumer binds it when a pod uses it)",
        ),
        Some(other) => Verdict::unknown(format!("its phase `{other}` does not show its health")),
    }
}

pub(super) fn volume(object: Object<'_>) -> Verdict {
    match object.text("status.phase") {
        Some("Available") => Verdict::healthy("it can be claimed"),
        Some("Bound") => Verdict::healthy("it is bound to a claim"),
        Some("Pending") | None => Verdict::progressing("it is not available yet"),
        Some("Released") if object.text("spec.persistentVolumeReclaimPolicy") == Some("Retain") => {
            Verdict::degraded("its claim is gone, and it cannot be claimed until `spec.claimRef` is removed").for_good()
        }
        Some("Released") => Verdict::progressing("its claim is gone, and it is being reclaimed"),
        Some("Failed") => Verdict::degraded(format!(
            "it could not be reclaimed: {}",
            object.text("status.message").unwrap_or("no message")
        )),
        Some(other) => Verdict::unknown(format!("its phase `{other}` does not show its health")),
    }
}
