//! The machine of a bench and its load: figures without them cannot be compared.

use std::fs;
use std::thread;

/// Returns one line: processor, cores, and their load over the last minute.
pub fn describe() -> String {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let model = read("/proc/cpuinfo", |text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        line.split_once(':').map(|(_, model)| model.trim().to_owned())
    });
    let load = read("/proc/loadavg", |text| text.split(' ').next().map(str::to_owned));
    format!("{model}, {cores} cores, load {load}")
}

/// Reads a file of Linux; on other systems the line says that it is missing.
fn read(path: &str, part: impl FnOnce(&str) -> Option<String>) -> String {
    let text = fs::read_to_string(path).ok();
    text.as_deref().and_then(part).unwrap_or_else(|| format!("(no {path})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_said_and_not_left_out() {
        assert_eq!(read("/nonexistent", |_| None), "(no /nonexistent)");
    }
}
