//! What an operator may have done: looked at again, settled again, more time, a refund tried again. Each is a command like any other,
//! decided by the same rules; each leaves who, when, why, before and after.

use std::time::Duration;

use expiry_adjudication::RunError;
use expiry_core::decide::close::{CloseOutcome, Occasion};
use expiry_core::decide::extend::{Extend, ExtendOutcome};
use expiry_core::decide::retry_refund::{RetryOutcome, RetryRefund};
use expiry_core::decide::settle::Settle;
use expiry_core::evidence::Actor;
use expiry_core::fact::Cause;
use expiry_core::ids::{OperatorId, OrderId, RefundNo};
use expiry_core::limits;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::pending::Unit;
use expiry_core::time::Timestamp;
use expiry_runtime::document::OrderDocument;
use expiry_runtime::http::{Request, Response, checked_reason, json_body, json_response};
use expiry_runtime::problem::{Code, Problem};
use expiry_store::{Entry, EntryKind, Loaded};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{AdminApi, order_id};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ActionRequest {
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExtendRequest {
    seconds: u64,
    reason: String,
}

/// An action as the case file keeps it.
struct Action<'a> {
    name: &'static str,
    who: &'a OperatorId,
    why: &'a str,
    before: Value,
    after: Value,
    refused: Option<Code>,
}

impl AdminApi {
    /// Has the order looked at now: the same close as at its deadline, which alone decides.
    pub(crate) async fn check(&self, id: &str, request: &Request, who: &OperatorId) -> Result<Response, Problem> {
        let id = order_id(id)?;
        let ActionRequest { reason } = json_body(request)?;
        checked_reason(&reason)?;
        let context = &self.context;
        let order = context.read(&id).await.map_err(|error| error.problem(&id))?;
        let before = order.order.status;
        let command = context.close_by(Occasion::Check { actor: actor(who), reason: Cause::new(&reason) });
        let mut ran = context.run_on(order, &command).await.map_err(|error| error.problem(&id))?;
        if matches!(ran.outcome, CloseOutcome::Terminal(_) | CloseOutcome::NotDue { due: None }) {
            let ask = context.ask_again(None, true);
            ran.order = context.run_on(ran.order, &ask).await.map_err(|error| error.problem(&id))?.order;
        }
        let refused = match ran.outcome {
            CloseOutcome::Terminal(OrderStatus::Paid) => Some(Code::OrderPaid),
            CloseOutcome::NotDue { .. } | CloseOutcome::Early { .. } | CloseOutcome::Outdated => Some(Code::NotDue),
            CloseOutcome::Closed
            | CloseOutcome::Paid
            | CloseOutcome::Undecided { .. }
            | CloseOutcome::Busy { .. }
            | CloseOutcome::Terminal(_) => None,
        };
        let after = json!(ran.order.order.status.name());
        let action = Action { name: "check", who, why: &reason, before: json!(before.name()), after, refused };
        self.answered(&ran.order, ran.at, action).await
    }

    /// Tries everything again that is to be settled, what was set aside included.
    pub(crate) async fn resettle(&self, id: &str, request: &Request, who: &OperatorId) -> Result<Response, Problem> {
        let id = order_id(id)?;
        let ActionRequest { reason } = json_body(request)?;
        checked_reason(&reason)?;
        let mut order = self.context.read(&id).await.map_err(|error| error.problem(&id))?;
        let before = pending(&order.order);
        let units: Vec<Unit> = order.order.pending.iter().filter(|unit| is_settled_here(unit)).cloned().collect();
        for unit in units {
            let ran = self.context.run_on(order, &Settle { unit }).await;
            order = ran.map_err(|error| error.problem(&id))?.order;
        }
        let refused = (!order.order.status.is_terminal()).then_some(Code::NotDue);
        let after = pending(&order.order);
        let action = Action { name: "resettle", who, why: &reason, before, after, refused };
        let at = self.context.clock.now();
        self.answered(&order, at, action).await
    }

    /// Gives an open order more time; the deadline moves in one commit with its place in the due index, and the stream re-arms it.
    pub(crate) async fn extend(&self, id: &str, request: &Request, who: &OperatorId) -> Result<Response, Problem> {
        let id = order_id(id)?;
        let ExtendRequest { seconds, reason } = json_body(request)?;
        checked_reason(&reason)?;
        if !(1..=limits::WINDOW_SECONDS).contains(&seconds) {
            let detail = format!("must be from 1 to {}", limits::WINDOW_SECONDS);
            return Err(Problem::invalid("#/seconds", detail));
        }
        let order = self.context.read(&id).await.map_err(|error| error.problem(&id))?;
        let before = deadline(&order.order);
        // An order without a deadline has none to move.
        let from = order.order.expire_at.unwrap_or(Timestamp::EPOCH);
        let to = from.plus(Duration::from_secs(seconds));
        let command = Extend { from, to, actor: actor(who), reason: Cause::new(&reason) };
        let ran = self.context.run_on(order, &command).await.map_err(|error| error.problem(&id))?;
        let refused = match ran.outcome {
            ExtendOutcome::Extended => None,
            ExtendOutcome::NotOpen(OrderStatus::Paid) => Some(Code::OrderPaid),
            ExtendOutcome::NotOpen(OrderStatus::Closed) => Some(Code::OrderClosed),
            ExtendOutcome::NotOpen(_) => Some(Code::OrderClosing),
            ExtendOutcome::Passed => Some(Code::OrderExpired),
            ExtendOutcome::OutOfBounds => Some(Code::InvalidRequest),
            ExtendOutcome::Changed => Some(Code::TryAgain),
        };
        let after = deadline(&ran.order.order);
        let action = Action { name: "extend", who, why: &reason, before, after, refused };
        let answered = self.answered(&ran.order, ran.at, action).await;
        if ran.outcome != ExtendOutcome::OutOfBounds {
            return answered;
        }
        let detail = format!("must end within {} s of the order's creation", limits::WINDOW_SECONDS);
        answered.map_err(|problem| problem.and_error("#/seconds", detail))
    }

    /// Has a failed refund tried again.
    pub(crate) async fn retry_refund(
        &self,
        number: &str,
        request: &Request,
        who: &OperatorId,
    ) -> Result<Response, Problem> {
        let not_found = || Problem::with_detail(Code::NotFound, "There is no such refund.");
        let number = RefundNo::parse(number).map_err(|_| not_found())?;
        let ActionRequest { reason } = json_body(request)?;
        checked_reason(&reason)?;
        let (id, attempt) = (number.payment().order().clone(), number.payment().attempt());
        let order = self
            .context
            .read(&id)
            .await
            .map_err(|error| if matches!(error, RunError::NotFound) { not_found() } else { error.problem(&id) })?;
        let status = |order: &Order| {
            let refund = order.attempt(attempt).and_then(|attempt| attempt.refund.as_ref());
            json!(refund.map(|refund| refund.status.name()))
        };
        let before = status(&order.order);
        let command = RetryRefund { attempt, k: number.k(), actor: actor(who), reason: Cause::new(&reason) };
        let ran = self.context.run_on(order, &command).await.map_err(|error| error.problem(&id))?;
        let refused = match ran.outcome {
            RetryOutcome::Retried => None,
            RetryOutcome::NotFound => return Err(not_found()),
            RetryOutcome::NotFailed(_) => Some(Code::NotDue),
        };
        let after = status(&ran.order.order);
        let action = Action { name: "retry_refund", who, why: &reason, before, after, refused };
        self.answered(&ran.order, ran.at, action).await
    }

    /// Keeps the action, and answers with the order as it is now, or with why not.
    async fn answered(&self, order: &Loaded, at: Timestamp, action: Action<'_>) -> Result<Response, Problem> {
        let body = json!({
            "action": action.name,
            "who": action.who.as_str(),
            "why": action.why,
            "before": action.before,
            "after": action.after,
            "refused": action.refused.map(Code::as_str),
        });
        self.keep(&order.order.id, order.order.version, at, &body).await;
        match action.refused {
            Some(code) => Err(Problem::new(code)),
            None => Ok(json_response(200, &OrderDocument::new(&order.order, self.context.clock.now()))),
        }
    }

    async fn keep(&self, id: &OrderId, version: u64, at: Timestamp, body: &Value) {
        let entry = Entry { at, version, kind: EntryKind::Action, body: body.to_string() };
        self.context.record(id, &entry).await;
    }
}

fn actor(who: &OperatorId) -> Actor {
    Actor::Named(who.to_string())
}

fn pending(order: &Order) -> Value {
    json!(order.pending.iter().map(ToString::to_string).collect::<Vec<_>>())
}

fn deadline(order: &Order) -> Value {
    json!(order.expire_at.map(|at| at.to_string()))
}

fn is_settled_here(unit: &Unit) -> bool {
    match unit {
        Unit::Settle(_) | Unit::Cap | Unit::Anomaly(..) => true,
        Unit::Refund(_) | Unit::Ask(_) | Unit::Foreign(_) => false,
    }
}
