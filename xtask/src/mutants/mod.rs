//! `cargo xtask mutants`: changes single expressions of the code with cargo-mutants, and expects
//! that a test fails for each. A survivor that `docs/surviving-mutants.txt` does not explain is a
//! missing test, and fails the chore.
//!
//! All mutants would take days. A sample with a fixed seed takes hours, and is the same on every
//! machine. Never part of CI.

mod known;
mod sample;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::process;
use known::Known;
use sample::{Mutant, SEED};

/// The number of mutants of all crates together.
const SAMPLE: usize = 300;

/// The mutated crates, each with the crates whose tests run again on the survivors of its own: the
/// simulator runs whole worlds.
const CRATES: [(&str, &[&str]); 5] = [
    ("store-git", &[]),
    ("ledger", &["setpoint-ledger-sql", "setpoint-ledger-verify", "setpoint-sim"]),
    ("target-host", &[]),
    ("core", &["setpoint-engine", "setpoint-sim"]),
    ("engine", &["setpoint-sim"]),
];

/// Code that is wrong on purpose, and the suite that every ledger is tested with.
const EXCLUDED_FILES: [&str; 2] = ["crates/core/src/mutant.rs", "crates/ledger/src/conformance/**"];

/// The implementations that format values.
const EXCLUDED: &str = r"impl (fmt::)?(Debug|Display) for ";

/// The minimum timeout in seconds of each run of tests, since a mutant may make a test hang. It
/// applies however fast the tests are without the mutant: on a busy machine a shorter time could
/// end without a hang.
const LEAST_TIMEOUT: &str = "300";

/// The timeout in seconds of the second run, where no run without mutants is measured.
const SECOND_TIMEOUT: &str = "900";

/// Tests the sample, or the part of it that is in some crates.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<bool> {
    let asked = Asked::read(arguments)?;
    let known = Known::read()?;
    let (all, sample) = mutants()?;
    println!("mutants: {} of {all}, seed {SEED}", sample.len());
    let mut is_good = true;
    for (krate, second) in CRATES.iter().filter(|(krate, _)| asked.includes(krate)) {
        let chosen: Vec<&Mutant> = sample.iter().filter(|mutant| mutant.krate() == Some(krate)).collect();
        println!("\n{krate}: {} mutants", chosen.len());
        if asked.only_lists {
            chosen.iter().for_each(|mutant| println!("{}", mutant.name));
            continue;
        }
        let survivors = survivors(krate, second, &chosen, asked.goes_on)?;
        is_good &= report(&survivors, &chosen, &known);
    }
    Ok(is_good)
}

/// The arguments.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked<'a> {
    only_lists: bool,
    /// Leaves out the mutants that an earlier run has caught.
    goes_on: bool,
    /// The selected crates; all, if empty.
    crates: Vec<&'a str>,
}

impl<'a> Asked<'a> {
    fn read(arguments: &[&'a str]) -> anyhow::Result<Self> {
        let mut asked = Self::default();
        for argument in arguments {
            match *argument {
                "--list" => asked.only_lists = true,
                "--continue" => asked.goes_on = true,
                krate if CRATES.iter().any(|(known, _)| *known == krate) => asked.crates.push(krate),
                other => bail!(
                    "`mutants` has no crate or option `{other}`; it has {}, --list and --continue",
                    CRATES.map(|(krate, _)| krate).join(", ")
                ),
            }
        }
        Ok(asked)
    }

    fn includes(&self, krate: &str) -> bool {
        self.crates.is_empty() || self.crates.contains(&krate)
    }
}

/// Returns the number of all mutants, and the sample of them.
fn mutants() -> anyhow::Result<(usize, Vec<Mutant>)> {
    let mut list = cargo_mutants(&["--list", "--exclude-re", EXCLUDED]);
    for file in EXCLUDED_FILES {
        list.args(["--exclude", file]);
    }
    for (krate, _) in CRATES {
        list.args(["--package", &package(krate)]);
    }
    let text = process::output_of(list).context("cargo-mutants is missing; `cargo install cargo-mutants --locked`")?;
    let mut all: Vec<Mutant> = text.lines().map(Mutant::read).collect::<anyhow::Result<_>>()?;
    all.retain(|mutant| !mutant.is_switched_off(&code_at(mutant)));
    Ok((all.len(), sample::draw(all, SAMPLE)))
}

/// Returns the source from the position of a mutant to the end of its line.
fn code_at(mutant: &Mutant) -> String {
    let text = fs::read_to_string(process::root().join(&mutant.file)).unwrap_or_default();
    let line = text.lines().nth(mutant.line.saturating_sub(1)).unwrap_or_default();
    line.chars().skip(mutant.column.saturating_sub(1)).collect()
}

/// Returns the names of the mutants of a crate that fail no test.
fn survivors(krate: &str, second: &[&str], chosen: &[&Mutant], goes_on: bool) -> anyhow::Result<Vec<String>> {
    let names: Vec<&str> = chosen.iter().map(|mutant| &*mutant.name).collect();
    let mut own = vec!["--minimum-test-timeout", LEAST_TIMEOUT];
    own.extend(goes_on.then_some("--iterate"));
    let missed = missed(krate, krate, &names, &own)?;
    if missed.is_empty() || second.is_empty() {
        return Ok(missed);
    }
    println!("\n{krate}: second run on {} survivors by {}", missed.len(), second.join(", "));
    let names: Vec<&str> = missed.iter().map(String::as_str).collect();
    let tests = second.join(",");
    let by_others = ["--baseline", "skip", "--timeout", SECOND_TIMEOUT, "--test-package", &tests];
    self::missed(krate, &format!("{krate}-second"), &names, &by_others)
}

/// Tests mutants of a crate in a copy of the tree, and returns the names of those that fail no
/// test.
fn missed(krate: &str, output: &str, names: &[&str], options: &[&str]) -> anyhow::Result<Vec<String>> {
    let output = process::root().join("target/mutants").join(output);
    fs::create_dir_all(&output).with_context(|| format!("cannot create {}", output.display()))?;
    let mut test = cargo_mutants(&["--jobs", "1", "--no-shuffle", "--package", &package(krate)]);
    test.args(options).arg("--output").arg(&output);
    for name in names {
        test.args(["--re", &format!("^{}$", escaped(name))]);
    }
    match process::code(test)? {
        // All caught, some missed, or some timed out: each of these is a result.
        Some(0 | 2 | 3) => {
            for name in read_names(&output.join("mutants.out/timeout.txt"))? {
                println!("no end    {name}\n          the tests ran out of time, which counts as caught");
            }
            let mut missed = read_names(&output.join("mutants.out/missed.txt"))?;
            // cargo-mutants 27 tests all missing fields of structs, whatever the selection.
            missed.retain(|name| names.contains(&name.as_str()));
            Ok(missed)
        }
        Some(4) => bail!("the tests of {krate} fail without a mutant; see {}", output.display()),
        _ => bail!("cargo-mutants failed; see {}", output.display()),
    }
}

fn read_names(file: &Path) -> anyhow::Result<Vec<String>> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(text.lines().filter(|line| !line.is_empty()).map(ToOwned::to_owned).collect())
}

/// Prints the survivors; returns whether all of them are known.
fn report(survivors: &[String], chosen: &[&Mutant], known: &Known) -> bool {
    let mut is_good = true;
    for name in survivors {
        let mutant = chosen.iter().find(|mutant| mutant.name == *name);
        match mutant.and_then(|mutant| known.reason(mutant)) {
            Some(reason) => println!("known     {name}\n          {reason}"),
            None => {
                println!("SURVIVES  {name}");
                is_good = false;
            }
        }
    }
    if !is_good {
        println!("write a test that fails with it, or explain in {} why it is harmless", known::FILE);
    }
    is_good
}

fn package(krate: &str) -> String {
    format!("setpoint-{krate}")
}

fn cargo_mutants(arguments: &[&str]) -> Command {
    process::program("cargo", &[&["mutants", "--no-config", "--colors", "never"], arguments].concat())
}

/// Returns a regular expression for a text.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_of_all_crates_unless_some_are_named() {
        assert_eq!(Asked::read(&[]).expect("nothing"), Asked::default());
        let asked = Asked::read(&["core", "--continue"]).expect("one crate");
        assert!(asked.includes("core") && !asked.includes("engine") && asked.goes_on && !asked.only_lists);
        let error = Asked::read(&["yaml"]).expect_err("not among them").to_string();
        assert!(error.contains("`yaml`") && error.contains("target-host"), "{error}");
    }

    #[test]
    fn a_name_is_matched_as_it_is_written() {
        let name = "a.rs:1:2: replace f -> Result<(), E> with Ok(\"x\")";
        assert_eq!(escaped(name), r#"a\.rs:1:2: replace f \-> Result<\(\), E> with Ok\("x"\)"#);
    }
}
