//! The page of `setpoint get`.

use setpoint_api::answer::{AppDetail, ResourceLine, ShadowStanding, Unhealthy, VersionNote};
use setpoint_core::decide::Drift;
use setpoint_core::hold::{Hold, HoldReason, Suspension};
use setpoint_core::report::Withheld;

use super::difference::{MOST_LINES, difference};
use super::page::Page;
use super::paint::{Paint, Painted};
use super::table::Table;
use super::{Screen, time, words};
use crate::sides::TRIED_AGAIN;

pub(crate) fn app(detail: &AppDetail, screen: &Screen) -> String {
    let mut page = Page::new(screen);
    let summary = &detail.summary;
    page.field("app", Painted::new(summary.app.to_string(), Paint::Strong));
    page.field("state", words::condition(summary));
    page.field("health", words::health(summary.health));
    page.field("target", words::target(summary.target_name.as_ref(), &summary.target));
    standing(detail, &mut page);
    if !summary.requests.is_empty() {
        page.field("requests", words::tally(&summary.requests));
    }
    if let Some(note) = &summary.note {
        page.field("note", note.as_str());
    }
    resources(&detail.resources, &mut page);
    unhealthy(&detail.unhealthy, &mut page);
    not_done(&detail.report, &mut page);
    drifts(&detail.drifts, &mut page);
    remarks(&detail.remarks, &mut page);
    unsettled(detail, &mut page);
    shadow(detail, &mut page);
    page.into_text()
}

/// Writes the versions of the app, and all that holds it there.
fn standing(detail: &AppDetail, page: &mut Page<'_>) {
    let now = page.screen.now;
    match &detail.summary.accepted {
        Some(at) => page.field("accepted", format!("{}, {}", words::accepted(at), time::both(at.at, now))),
        None => page.field("accepted", "no version yet"),
    }
    for VersionNote { store, version, author, subject, at, .. } in &detail.versions {
        let version = words::short(version);
        page.field("version", format!("{store}@{version} “{subject}” by {author}, {}", time::both(*at, now)));
    }
    if let Some(good) = detail.last_good.as_ref().filter(|good| Some(*good) != detail.summary.accepted.as_ref()) {
        page.field("last good", format!("{}, {}", words::accepted(good), time::both(good.at, now)));
    }
    if let Some(held) = &detail.hold {
        page.field("held", Painted::new(hold(held, page.screen), Paint::Warn));
    }
    if let Some(suspended) = &detail.suspension {
        page.field("suspended", Painted::new(suspension(suspended, page.screen), Paint::Warn));
    }
    if let Some(set_back) = &detail.summary.set_back {
        page.field("set back", Painted::new(set_back.to_string(), Paint::Warn));
    }
    if let Some(refused) = &detail.refused {
        let text = format!("{}, {}: {}", refused.revision, time::both(refused.at, now), refused.problem);
        page.field("refused", Painted::new(text, Paint::Bad));
    }
}

/// Returns why an app is held, by whom, and since when.
pub(super) fn hold(hold: &Hold, screen: &Screen) -> String {
    let why = match &hold.why {
        HoldReason::Asked { reason } => reason.clone(),
        HoldReason::RolledBack { failed } => format!("#{failed} failed and was rolled back"),
        HoldReason::Rewritten { accepted, offered } if accepted == offered => {
            format!("history was rewritten, or a tag was moved; {accepted}, the accepted version, is offered again")
        }
        HoldReason::Rewritten { accepted, offered } => {
            format!("history was rewritten, or a tag was moved: {accepted} was accepted, {offered} is offered instead")
        }
    };
    let at = hold.bundle.map_or_else(String::new, |bundle| format!(", at bundle {}", bundle.short()));
    format!("{why}; by {}, {}{at}", hold.by, time::both(hold.at, screen.now))
}

/// Returns why an app is suspended, by whom, and until when.
pub(super) fn suspension(suspension: &Suspension, screen: &Screen) -> String {
    let Suspension { reason, by, at, until } = suspension;
    let (since, until) = (time::relative(*at, screen.now), time::end(*until, screen.now));
    format!("{reason}; by {by}, {since}, ends {until}")
}

fn resources(lines: &[ResourceLine], page: &mut Page<'_>) {
    if lines.is_empty() {
        return;
    }
    page.heading(&format!("Resources: {}", lines.len()));
    let mut table = Table::new(["KIND", "KEY", "OWNERSHIP"]).whole(&["KEY"]).spare(&["KIND"]);
    for ResourceLine { key, kind, declared, owned } in lines {
        let standing = match (declared, owned) {
            (true, true) => Painted::new("declared, owned", Paint::Plain),
            (true, false) => Painted::new("declared, not owned yet", Paint::Warn),
            (false, true) => Painted::new("no longer declared, still owned", Paint::Warn),
            (false, false) => Painted::new("neither declared nor owned", Paint::Faint),
        };
        table.row([kind.as_str().into(), key.to_string().into(), standing]);
    }
    page.table(2, &table);
}

/// Writes the unhealthy objects, with the reasons.
pub(super) fn unhealthy(objects: &[Unhealthy], page: &mut Page<'_>) {
    if objects.is_empty() {
        return;
    }
    page.heading(&format!("Not healthy: {}", objects.len()));
    let mut table = Table::new(["KEY", "HEALTH", "WHY"]).whole(&["KEY"]);
    for Unhealthy { key, health, reason } in objects {
        table.row([key.to_string().into(), words::health(*health), reason.as_str().into()]);
    }
    page.table(2, &table);
}

fn not_done(report: &[Withheld], page: &mut Page<'_>) {
    if report.is_empty() {
        return;
    }
    page.heading(&format!("Not done: {}", report.len()));
    let mut table = Table::new(["KEY", "CAUSE", "WHY"]).whole(&["KEY"]);
    for Withheld { key, cause, why } in report {
        table.row([key.to_string().into(), cause.to_string().into(), words::reason(why, page.screen.now).into()]);
    }
    page.table(2, &table);
}

/// Writes the differences, and who made them.
pub(super) fn drifts(drifts: &[Drift], page: &mut Page<'_>) {
    if drifts.is_empty() {
        return;
    }
    page.heading(&format!("Drift: {}", drifts.len()));
    for Drift { key, cause, differences, writer, .. } in drifts {
        page.line(2, Painted::new(format!("{key}: {cause}, {}", words::writer(writer)), Paint::Warn));
        for each in differences {
            difference(each, 4, Some(MOST_LINES), page);
        }
    }
}

/// Writes undeclared fields that are left alone, and whose they are.
pub(super) fn remarks(remarks: &[Drift], page: &mut Page<'_>) {
    if remarks.is_empty() {
        return;
    }
    page.heading(&format!("Left alone: {}", remarks.len()));
    for Drift { key, cause, writer, beside, .. } in remarks {
        page.line(2, format!("{key}: {cause}, {}", words::whose(*cause, writer)));
        beside.iter().for_each(|path| page.line(4, &**path));
    }
}

/// Writes the changes whose outcome a person has to determine, with the command that records it.
pub(super) fn unsettled(detail: &AppDetail, page: &mut Page<'_>) {
    if detail.unsettled.is_empty() {
        return;
    }
    page.heading(&format!("Changes of unknown outcome: {}", detail.unsettled.len()));
    for intent in &detail.unsettled {
        page.line(2, Painted::new(intent.to_string(), Paint::Bad));
        let app = &detail.summary.app;
        page.line(4, format!("inspect the object, then: setpoint settle {app} {intent} --done|--not-done --reason …"));
    }
}

/// Writes how the output of another renderer compares with ours.
pub(super) fn shadow(detail: &AppDetail, page: &mut Page<'_>) {
    let Some(shadow) = &detail.shadow else { return };
    let ShadowStanding { renderer, versions, compared, passed_over, refused_by_both, different, trouble } = shadow;
    let end = if shadow.is_over() { ", ended" } else { "" };
    page.heading(&format!("Shadow: {compared} of {versions} versions compared{end}"));
    page.field("  renderer", renderer.as_str());
    let (verdict, paint) = match (different.len(), shadow.is_over()) {
        (0, true) => (format!("{compared} versions rendered alike: safe to leave"), Paint::Good),
        (0, false) if *compared == 0 => ("no version is compared yet".to_owned(), Paint::Plain),
        (0, false) => ("no differences so far".to_owned(), Paint::Plain),
        (some, _) => (format!("{some} of {compared} rendered differently; Setpoint uses its own output"), Paint::Warn),
    };
    page.field("  verdict", Painted::new(verdict, paint));
    if *passed_over > 0 {
        page.field("  skipped", format!("{passed_over}, because newer versions arrived"));
    }
    if *refused_by_both > 0 {
        page.field("  refused", format!("{refused_by_both} by both programs; not counted"));
    }
    if let Some(trouble) = trouble {
        page.field("  problem", Painted::new(format!("{trouble}; {TRIED_AGAIN}"), Paint::Bad));
    }
    for version in different {
        page.line(2, format!("{}, {}", version.revision, time::both(version.at, page.screen.now)));
        version.differences.iter().for_each(|line| page.line(4, line.as_str()));
    }
}
