//! Pods: the state of their containers, and if they do not run, the cause that a person would check
//! first.

use super::Verdict;
use super::status::Object;

pub(super) fn pod(object: Object<'_>) -> Verdict {
    match object.text("status.phase") {
        Some("Succeeded") => return Verdict::healthy("its containers have succeeded").for_good(),
        Some("Failed") => return Verdict::degraded(failure(object)).for_good(),
        _ => {}
    }
    if let Some(trouble) = containers(object).find_map(stuck) {
        return Verdict::degraded(trouble);
    }
    match object.text("status.phase") {
        Some("Running") => running(object),
        Some("Pending") => pending(object),
        None => Verdict::progressing("no node runs it yet"),
        Some(other) => Verdict::unknown(format!("its phase `{other}` does not show its health")),
    }
}

fn running(object: Object<'_>) -> Verdict {
    if matches!(object.text("spec.restartPolicy"), Some("Never" | "OnFailure")) {
        return Verdict::progressing("it runs, and is healthy when its containers have succeeded");
    }
    if object.holds("Ready").is_some() {
        return Verdict::healthy("it is ready");
    }
    match containers(object).find_map(crashed) {
        Some(trouble) => Verdict::degraded(trouble),
        None => Verdict::progressing("it runs, but is not ready"),
    }
}

/// A pod that fits on no node may fit when one is added. Only a deadline could end this state, and
/// it is not measured here.
fn pending(object: Object<'_>) -> Verdict {
    match object.denies("PodScheduled") {
        Some(scheduled) => Verdict::progressing(scheduled.told()),
        None => Verdict::progressing("its containers are being prepared"),
    }
}

fn containers(object: Object<'_>) -> impl Iterator<Item = Object<'_>> {
    object.items("status.initContainerStatuses").chain(object.items("status.containerStatuses"))
}

/// Returns the kubelet's reason if a container waits after an error: `CrashLoopBackOff`,
/// `ErrImagePull`, `CreateContainerConfigError`.
fn stuck(container: Object<'_>) -> Option<String> {
    let reason = container.text("state.waiting.reason")?;
    let is_error = reason.starts_with("Err")
        || reason.ends_with("Error")
        || reason.ends_with("BackOff")
        || reason == "InvalidImageName";
    let message = container.text("state.waiting.message").map(|message| format!(": {message}")).unwrap_or_default();
    is_error.then(|| format!("container `{}` waits: {reason}{message}", name(container)))
}

/// Describes a container that ended with an error before and is not ready again.
fn crashed(container: Object<'_>) -> Option<String> {
    let code = container.int("lastState.terminated.exitCode").filter(|code| *code != 0)?;
    (!container.is_set("ready"))
        .then(|| format!("container `{}` ended with exit code {code} and was restarted", name(container)))
}

fn failure(object: Object<'_>) -> String {
    if let Some(message) = object.text("status.message") {
        return message.to_owned();
    }
    let ended = containers(object).find_map(|container| {
        let code = container.int("state.terminated.exitCode").filter(|code| *code != 0)?;
        let why = container.text("state.terminated.message").or(container.text("state.terminated.reason"));
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        Some(format!("container `{}` ended with exit code {code}{why}", name(container)))
    });
    ended.or(object.text("status.reason").map(str::to_owned)).unwrap_or_else(|| "it has failed".to_owned())
}

fn name<'a>(container: Object<'a>) -> &'a str {
    container.text("name").unwrap_or("?")
}
