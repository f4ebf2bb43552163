//! Structural checks: rules of the workspace that the compiler does not enforce, each with a
//! message that contains the remedy.
//!
//! A check is a function from its input to complaints. The tests give these functions violations,
//! so a check that never complains is known to be able to.

mod deny;
mod dependencies;
mod families;
mod files;
mod integration_tests;
mod language;
mod licences;
mod links;
mod spdx;
mod tree;

use crate::stopwatch::Stopwatch;
use crate::suite::Suite;

/// Complaints of a check; none means that it passed.
type Complaints = Vec<String>;

struct Check {
    name: &'static str,
    run: fn() -> anyhow::Result<Complaints>,
}

const CHECKS: &[Check] = &[
    Check { name: "every_licence_is_allowed", run: licences::every_licence_is_allowed },
    Check { name: "no_crate_is_built_in_two_versions", run: licences::no_crate_is_built_in_two_versions },
    Check { name: "core_stays_small", run: dependencies::core_stays_small },
    Check { name: "core_depends_only_on_its_five", run: dependencies::core_depends_only_on_its_five },
    Check { name: "the_product_has_no_mutants", run: dependencies::the_product_has_no_mutants },
    Check { name: "the_verifier_shares_no_code", run: dependencies::the_verifier_shares_no_code },
    Check { name: "light_crates_stay_light", run: dependencies::light_crates_stay_light },
    Check { name: "arrows_point_one_way", run: dependencies::arrows_point_one_way },
    Check { name: "engine_and_core_name_no_family", run: families::engine_and_core_name_no_family },
    Check { name: "every_file_says_what_it_is_for", run: files::every_file_says_what_it_is_for },
    Check { name: "no_file_is_named_after_nothing", run: files::no_file_is_named_after_nothing },
    Check { name: "no_integration_test_is_forgotten", run: integration_tests::no_integration_test_is_forgotten },
    Check { name: "all_links_work", run: links::all_links_work },
    Check { name: "the_summary_links_all_pages", run: links::the_summary_links_all_pages },
    Check { name: "the_language_is_plain", run: language::the_language_is_plain },
];

/// Runs the checks whose name contains the filter.
pub(crate) fn run(filter: Option<&str>) -> Suite {
    let clock = Stopwatch::start();
    let mut suite = Suite::new("structure");
    for check in CHECKS {
        if filter.is_some_and(|filter| !check.name.contains(filter)) {
            continue;
        }
        // A check that cannot read its input has not passed.
        let complaints = (check.run)().unwrap_or_else(|error| vec![format!("could not check: {error:#}")]);
        if complaints.is_empty() {
            println!("structure {} ... ok", check.name);
            suite.passed += 1;
        } else {
            println!("structure {} ... FAILED", check.name);
            for complaint in &complaints {
                println!("    {complaint}");
            }
            suite.failed += 1;
        }
    }
    suite.took = clock.elapsed();
    suite
}
