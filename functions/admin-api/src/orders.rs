//! One order's case file, and having it looked at.

use expiry_core::decide::ask::Ask;
use expiry_core::decide::close::{Close, CloseOutcome, Occasion};
use expiry_core::evidence::Actor;
use expiry_core::fact::Cause;
use expiry_core::ids::{OperatorId, OrderId};
use expiry_core::order::{Order, OrderStatus};
use expiry_runtime::document::OrderDocument;
use expiry_runtime::http::{Request, Response, json_body, json_response};
use expiry_runtime::logs::chain;
use expiry_runtime::problem::{Code, Problem};
use expiry_store::{Entry, EntryKind};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{AdminApi, checked_reason};

/// Most pages of a case file that are read at once.
const TIMELINE_PAGES: usize = 5;

#[derive(Debug, Serialize)]
struct CaseFile {
    #[serde(flatten)]
    order: OrderDocument,
    timeline: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ActionRequest {
    reason: String,
}

impl AdminApi {
    /// The document and everything that happened, oldest first.
    pub(crate) async fn case_file(&self, id: &str) -> Result<Response, Problem> {
        let id = order_id(id)?;
        let order = self.context.read(&id).await.map_err(|error| error.problem(&id))?;
        let mut timeline: Vec<(String, Value)> = changes(&order.order);
        let mut after = None;
        for _ in 0..TIMELINE_PAGES {
            let page = self.context.store.timeline(&id, after.as_deref()).await.map_err(|error| {
                tracing::error!(order_id = %id, error = %chain(&error), "the case file cannot be read");
                Problem::new(Code::TryAgain)
            })?;
            timeline.extend(page.entries.iter().map(entry));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        timeline.sort_by(|(at, _), (other, _)| at.cmp(other));
        let timeline = timeline.into_iter().map(|(_, entry)| entry).collect();
        let order = OrderDocument::new(&order.order, self.context.clock.now());
        Ok(json_response(200, &CaseFile { order, timeline }))
    }

    /// Has the order looked at now: the same close as at its deadline, which alone decides.
    pub(crate) async fn check(&self, id: &str, request: &Request, who: &OperatorId) -> Result<Response, Problem> {
        let id = order_id(id)?;
        let ActionRequest { reason } = json_body(request)?;
        checked_reason(&reason)?;
        let context = &self.context;
        let order = context.read(&id).await.map_err(|error| error.problem(&id))?;
        let before = order.order.status;
        let actor = Actor::Named(who.to_string());
        let command = Close {
            occasion: Occasion::Check { actor, reason: Cause::new(&reason) },
            worker: context.worker(),
            lease: context.lease,
            scan_period: context.scan_period,
        };
        let mut ran = context.run_on(order, &command).await.map_err(|error| error.problem(&id))?;
        if matches!(ran.outcome, CloseOutcome::Terminal(_) | CloseOutcome::NotDue { due: None }) {
            let ask = Ask {
                check_at: None,
                worker: context.worker(),
                lease: context.lease,
                scan_period: context.scan_period,
                at_once: true,
            };
            let asked = context.run_on(ran.order, &ask).await.map_err(|error| error.problem(&id))?;
            ran.order = asked.order;
        }
        let refusal = match ran.outcome {
            CloseOutcome::Terminal(OrderStatus::Paid) => Some(Code::OrderPaid),
            CloseOutcome::NotDue { .. } | CloseOutcome::Early { .. } | CloseOutcome::Outdated => Some(Code::NotDue),
            CloseOutcome::Closed
            | CloseOutcome::Paid
            | CloseOutcome::Undecided { .. }
            | CloseOutcome::Busy { .. }
            | CloseOutcome::Terminal(_) => None,
        };
        let after = &ran.order.order;
        let body = json!({
            "action": "check",
            "who": who.as_str(),
            "why": reason,
            "before": before.name(),
            "after": after.status.name(),
            "refused": refusal.map(Code::as_str),
        });
        let entry = Entry { at: ran.at, version: after.version, kind: EntryKind::Action, body: body.to_string() };
        context.record(&id, &entry).await;
        match refusal {
            Some(code) => Err(Problem::new(code)),
            None => Ok(json_response(200, &OrderDocument::new(after, context.clock.now()))),
        }
    }
}

fn order_id(text: &str) -> Result<OrderId, Problem> {
    OrderId::parse(text).map_err(|_| Problem::new(Code::OrderNotFound))
}

/// The status changes that stand on the order itself, its creation first.
fn changes(order: &Order) -> Vec<(String, Value)> {
    let created = (
        order.created_at.to_string(),
        json!({"at": order.created_at.to_string(), "version": 1, "kind": "created", "source": order.source.as_ref().map(ToString::to_string)}),
    );
    let changes = order.evidence.iter().map(|evidence| {
        let actor = match &evidence.actor {
            Actor::System => "system",
            Actor::Customer => "customer",
            Actor::Named(name) => name,
        };
        let change = json!({
            "at": evidence.at.to_string(),
            "version": evidence.version,
            "kind": "status",
            "to": evidence.to.name(),
            "trigger": evidence.trigger,
            "actor": actor,
            "fact": evidence.fact,
        });
        (evidence.at.to_string(), change)
    });
    std::iter::once(created).chain(changes).collect()
}

fn entry(entry: &Entry) -> (String, Value) {
    let body: Value = serde_json::from_str(&entry.body).unwrap_or_else(|_| Value::String(entry.body.clone()));
    let at = entry.at.to_string();
    (at.clone(), json!({"at": at, "version": entry.version, "kind": entry.kind.name(), "detail": body}))
}
