//! Orders from a page: a confirmation that shows the plan, then the order itself.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde::Deserialize;
use setpoint_api::question::{OrderKind, OrderRequest};
use setpoint_api::{Problem, ProblemKind};
use setpoint_core::name::AppId;
use setpoint_core::time::Span;

use super::forms::{Form, is_ours};
use super::identity::SignIn;
use super::pages::{app_of, permitted, plan};
use super::visit::Visit;
use super::{Shared, SharedState, redirect};
use crate::pages::Section;
use crate::pages::address;
use crate::pages::app::{Order, OrderView, order_page};

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new().route("/apps/{scope}/{app}/order", get(confirmation)).route("/apps/{scope}/{app}/orders", post(order))
}

async fn confirmation(State(shared): SharedState, visit: Visit, Path(path): Path<(String, String)>) -> Response {
    let order = visit.parameter("order").and_then(|name| Order::of_name(&name));
    let unknown = || Problem::new(ProblemKind::Missing, "there is no such order");
    let page = async {
        let (app, order) = (app_of(&path)?, order.ok_or_else(unknown)?);
        confirm(&shared, &visit, &app, (order, String::new(), None)).await
    };
    match page.await {
        Ok(page) => Html(page).into_response(),
        Err(problem) => visit.problem(&shared, &problem),
    }
}

/// Renders the confirmation of an order, with the reason and the problem of a former attempt.
async fn confirm(
    shared: &Shared,
    visit: &Visit,
    app: &AppId,
    (order, reason, problem): (Order, String, Option<String>),
) -> Result<String, Problem> {
    let detail = shared.agent.app(&visit.caller, app.clone()).await?;
    if !permitted(&visit.caller, &detail.summary).contains(&order) {
        let message = format!("you have no permission to {} {app}: ask an administrator for it", order.name());
        return Err(Problem::new(ProblemKind::Forbidden, message));
    }
    let plan = plan(shared, &visit.caller, app).await;
    let chrome = visit.chrome(shared, &app.to_string(), Section::Apps);
    Ok(order_page(&chrome, &OrderView { detail, order, plan, problem, reason }))
}

#[derive(Deserialize)]
struct OrderForm {
    csrf: String,
    order: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    length: String,
    #[serde(default)]
    accept: String,
    #[serde(default)]
    allow_prune: String,
}

impl OrderForm {
    fn kind(&self, order: Order) -> Result<OrderKind, &'static str> {
        Ok(match order {
            Order::Sync => {
                let allow_prune = match self.allow_prune.trim() {
                    "" => 0,
                    number => number.parse().map_err(|_| "the number of permitted deletes is not a number")?,
                };
                OrderKind::Sync { allow_prune }
            }
            Order::Suspend => OrderKind::Suspend { length: length(&self.length).ok_or("choose a length")? },
            Order::Resume => OrderKind::Resume,
            Order::Hold => OrderKind::Hold,
            Order::Release => OrderKind::Release {
                accept: Some(self.accept.trim()).filter(|accept| !accept.is_empty()).map(ToOwned::to_owned),
            },
        })
    }
}

/// Parses a length of one unit, such as `30m` or `4h`.
fn length(text: &str) -> Option<Span> {
    let text = text.trim();
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u64 = number.parse().ok()?;
    let unit = match unit {
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(unit).map(Span::millis)
}

async fn order(
    State(shared): SharedState,
    visit: Visit,
    Extension(sign_in): Extension<SignIn>,
    Path(path): Path<(String, String)>,
    Form(form): Form<OrderForm>,
) -> Response {
    let checked = is_ours(&sign_in, &form.csrf).and_then(|()| {
        let unknown = || Problem::new(ProblemKind::Question, "there is no such order");
        Ok((app_of(&path)?, Order::of_name(&form.order).ok_or_else(unknown)?))
    });
    let (app, order) = match checked {
        Ok(checked) => checked,
        Err(problem) => return visit.problem(&shared, &problem),
    };
    let given = give(&shared, &visit, (&app, order), &form).await;
    match given {
        Ok(()) => redirect(&format!("{}{}", shared.base(), address::app(&app))),
        Err(problem) if matches!(problem.kind, ProblemKind::Question | ProblemKind::Conflict) => {
            let text = problem.message.clone();
            match confirm(&shared, &visit, &app, (order, form.reason, Some(text))).await {
                Ok(page) => (problem.kind.status(), Html(page)).into_response(),
                Err(problem) => visit.problem(&shared, &problem),
            }
        }
        Err(problem) => visit.problem(&shared, &problem),
    }
}

async fn give(shared: &Shared, visit: &Visit, (app, order): (&AppId, Order), form: &OrderForm) -> Result<(), Problem> {
    let invalid = |problem: &str| Problem::new(ProblemKind::Question, problem);
    if form.reason.trim().is_empty() {
        return Err(invalid("give a reason: it is recorded with the order"));
    }
    let kind = form.kind(order).map_err(invalid)?;
    let request = OrderRequest { app: app.clone(), reason: form.reason.trim().to_owned(), order: kind };
    let ordered = shared.agent.order(&visit.caller, request).await?;
    let mut notice = format!("The order “{}” is recorded.", order.name());
    for note in ordered.notes {
        notice.push_str(&format!(" {note}."));
    }
    shared.notices.put(&visit.session.id, notice);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_has_a_number_and_a_unit() {
        assert_eq!(length("30m"), Some(Span::minutes(30)));
        assert_eq!(length(" 3d "), Some(Span::hours(72)));
        for wrong in ["", "m", "30", "-1h", "1w", "99999999999999999999h", "18446744073709551615d", "é"] {
            assert_eq!(length(wrong), None, "{wrong}");
        }
    }
}
