//! An order as its shop sees it, and its cancellation: the same close as at the deadline, only earlier (DESIGN §5, §8).

use std::sync::Arc;

use expiry_adjudication::{Context, Ran};
use expiry_core::closing::CloseReason;
use expiry_core::decide::close::{CloseOutcome, Occasion};
use expiry_core::evidence::Actor;
use expiry_core::fact::Cause;
use expiry_core::ids::OrderId;
use expiry_core::order::OrderStatus;
use expiry_runtime::document::OrderDocument;
use expiry_runtime::http::{
    Caller, Request, Response, Role, checked_reason, json_body, json_response, method, path_parameter,
    problem_response, segments,
};
use expiry_runtime::problem::{Code, Problem};
use expiry_store::{Entry, EntryKind, Loaded};
use serde::Deserialize;
use serde_json::json;

/// The function.
#[derive(Debug)]
pub struct OrderApi {
    context: Arc<Context>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CancelRequest {
    reason: String,
}

impl OrderApi {
    /// The function.
    #[must_use]
    pub fn new(context: Arc<Context>) -> OrderApi {
        OrderApi { context }
    }

    /// `GET /orders/{id}` and `POST /orders/{id}/cancel`.
    pub async fn handle(&self, request: &Request) -> Response {
        let answered = match (method(request), segments(request).as_slice()) {
            ("GET", ["orders", _]) => self.document(request).await,
            ("POST", ["orders", _, "cancel"]) => self.cancel(request).await,
            (_, ["orders", _]) => Err(Problem::method_not_allowed("GET")),
            (_, ["orders", _, "cancel"]) => Err(Problem::method_not_allowed("POST")),
            _ => Err(Problem::new(Code::NotFound)),
        };
        answered.unwrap_or_else(|problem| problem_response(&problem))
    }

    async fn document(&self, request: &Request) -> Result<Response, Problem> {
        let order = self.order_of_caller(request, &Caller::of(request)?).await?;
        Ok(json_response(200, &OrderDocument::new(&order.order, self.context.clock.now())))
    }

    /// The order, if there is one and it is the caller's: to others it does not exist.
    async fn order_of_caller(&self, request: &Request, caller: &Caller) -> Result<Loaded, Problem> {
        let not_found = |_| Problem::new(Code::OrderNotFound);
        let id = OrderId::parse(path_parameter(request, "id")?).map_err(not_found)?;
        let order = self.context.read(&id).await.map_err(|error| error.problem(&id))?;
        if caller.may_act_for(&order.order.user) { Ok(order) } else { Err(Problem::new(Code::OrderNotFound)) }
    }

    /// 200 when the order is CLOSED, also before; 202 while it is CLOSING; 409 when it is PAID.
    async fn cancel(&self, request: &Request) -> Result<Response, Problem> {
        let caller = Caller::of(request)?;
        let CancelRequest { reason } = json_body(request)?;
        checked_reason(&reason)?;
        let order = self.order_of_caller(request, &caller).await?;
        let id = order.order.id.clone();
        let before = order.order.status;
        let (actor, close_reason) = actor(&caller);
        let who = match &actor {
            Actor::Named(name) => name.clone(),
            Actor::Customer | Actor::System => "customer".to_owned(),
        };
        let reason_given = Cause::new(&reason);
        let command = self.context.close_by(Occasion::Cancel { actor, close_reason, reason: reason_given });
        let ran = self.context.run_on(order, &command).await.map_err(|error| error.problem(&id))?;
        self.audit(&ran, before, &who, &reason).await;
        let document = OrderDocument::new(&ran.order.order, self.context.clock.now());
        match ran.outcome {
            CloseOutcome::Closed | CloseOutcome::Terminal(OrderStatus::Closed) => Ok(json_response(200, &document)),
            CloseOutcome::Undecided { .. } | CloseOutcome::Busy { .. } => Ok(json_response(202, &document)),
            CloseOutcome::Paid | CloseOutcome::Terminal(_) => Err(Problem::new(Code::OrderPaid)),
            CloseOutcome::Early { .. } | CloseOutcome::NotDue { .. } | CloseOutcome::Outdated => {
                Err(Problem::new(Code::TryAgain))
            }
        }
    }

    async fn audit(&self, ran: &Ran<CloseOutcome>, before: OrderStatus, who: &str, reason: &str) {
        let after = &ran.order.order;
        let body = json!({
            "action": "cancel",
            "who": who,
            "why": reason,
            "before": before.name(),
            "after": after.status.name(),
            "refused": (after.status == OrderStatus::Paid).then_some(Code::OrderPaid.as_str()),
        });
        let entry = Entry { at: ran.at, version: after.version, kind: EntryKind::Action, body: body.to_string() };
        self.context.record(&after.id, &entry).await;
    }
}

/// Who cancels: a person of the shop when the token says so, else the customer.
fn actor(caller: &Caller) -> (Actor, CloseReason) {
    match (&caller.name, caller.role) {
        (Some(name), Some(Role::Operator)) => (Actor::Named(name.to_string()), CloseReason::CancelledByOperator),
        (Some(_) | None, Some(_) | None) => (Actor::Customer, CloseReason::CancelledByUser),
    }
}
