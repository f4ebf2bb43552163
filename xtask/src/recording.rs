//! `cargo xtask recording`: runs `setpoint demo` and draws its output as docs/demo.svg, line by
//! line with its timing.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use anyhow::Context as _;

use crate::process;
use crate::stopwatch::Stopwatch;

/// The columns of the drawn terminal; longer lines are cut.
const COLUMNS: usize = 128;
const LINE_HEIGHT: usize = 18;
const CHARACTER_WIDTH: f64 = 7.8;

pub(crate) fn run() -> anyhow::Result<bool> {
    let stopwatch = Stopwatch::start();
    let mut lines: Vec<(Duration, String)> = Vec::new();
    // The build of the tests: the story is the same, and the build exists already.
    let arguments = ["run", "--locked", "--quiet", "--package", "setpoint", "--", "--color", "always", "demo"];
    let played = process::watch(process::program("cargo", &arguments), |line| {
        lines.push((stopwatch.elapsed(), line.to_owned()));
    })?;
    if !played {
        return Ok(false);
    }
    let path = process::root().join("docs/demo.svg");
    fs::write(&path, drawn(&lines)).with_context(|| format!("cannot write {}", path.display()))?;
    println!("drawn: {}", path.display());
    Ok(true)
}

/// Draws the recording as an image that plays once and then stops.
fn drawn(lines: &[(Duration, String)]) -> String {
    let begun = lines.first().map_or(Duration::ZERO, |(at, _)| *at);
    let (width, height) = ((COLUMNS as f64 * CHARACTER_WIDTH) as usize + 32, (lines.len() + 2) * LINE_HEIGHT);
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" font-family=\"ui-monospace, \
         SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"13\">\n<title>setpoint demo</title>\n<style>text {{ white-space: pre; fill: \
         #d4d4d4; }} .l {{ opacity: 0; animation: come 0.1s forwards; }} @keyframes come {{ to {{ opacity: 1; }} }} .g {{ fill: #6bbf59; }} \
         .y {{ fill: #e0b050; }} .r {{ fill: #e06c75; }} .b {{ font-weight: bold; fill: #ffffff; }} .f {{ fill: #8a8f98; }}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16181d\"/>\n"
    );
    for (n, (at, line)) in lines.iter().enumerate() {
        let (y, delay) = ((n + 2) * LINE_HEIGHT - 6, (*at - begun).as_secs_f64());
        let spans = spans_of(line);
        writeln!(picture, "<text class=\"l\" xml:space=\"preserve\" x=\"16\" y=\"{y}\" style=\"animation-delay:{delay:.2}s\">{spans}</text>")
            .expect("a text takes all that is written");
    }
    picture.push_str("</svg>\n");
    picture
}

/// Formats a line with colours as spans of classes.
fn spans_of(line: &str) -> String {
    let mut spans = String::new();
    let mut columns = 0;
    for part in line.split('\u{1b}') {
        let (code, text) = part.strip_prefix('[').and_then(|rest| rest.split_once('m')).unwrap_or(("0", part));
        let text: String = text.chars().take(COLUMNS.saturating_sub(columns)).collect();
        columns += text.chars().count();
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        match code {
            _ if escaped.is_empty() => {}
            "1" => spans += &format!("<tspan class=\"b\">{escaped}</tspan>"),
            "2" => spans += &format!("<tspan class=\"f\">{escaped}</tspan>"),
            "31" => spans += &format!("<tspan class=\"r\">{escaped}</tspan>"),
            "32" => spans += &format!("<tspan class=\"g\">{escaped}</tspan>"),
            "33" => spans += &format!("<tspan class=\"y\">{escaped}</tspan>"),
            _ => spans += &escaped,
        }
    }
    spans
}
