//! One order's whole story: "where is my money?" in one answer.

use expiry_core::evidence::Actor;
use expiry_core::order::Order;
use expiry_runtime::document::OrderDocument;
use expiry_runtime::http::{Response, json_response};
use expiry_runtime::logs::chain;
use expiry_runtime::problem::{Code, Problem};
use expiry_store::Entry;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{AdminApi, order_id};

/// Most pages of a case file that are read at once.
const TIMELINE_PAGES: usize = 5;

#[derive(Debug, Serialize)]
struct CaseFile {
    #[serde(flatten)]
    order: OrderDocument,
    timeline: Vec<Value>,
}

impl AdminApi {
    /// The document and everything that happened, oldest first.
    pub(crate) async fn case_file(&self, id: &str) -> Result<Response, Problem> {
        let id = order_id(id)?;
        let order = self.context.read(&id).await.map_err(|error| error.problem(&id))?;
        let mut timeline: Vec<(String, u64, Value)> = changes(&order.order);
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
        timeline.sort_by(|(at, version, _), (other, other_version, _)| (at, version).cmp(&(other, other_version)));
        let timeline = timeline.into_iter().map(|(_, _, entry)| entry).collect();
        let order = OrderDocument::new(&order.order, self.context.clock.now());
        Ok(json_response(200, &CaseFile { order, timeline }))
    }
}

/// The status changes that stand on the order itself, its creation first.
fn changes(order: &Order) -> Vec<(String, u64, Value)> {
    let created_at = order.created_at.to_string();
    let source = order.source.as_ref().map(ToString::to_string);
    let created = json!({"at": created_at, "version": 1, "kind": "created", "source": source});
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
        (evidence.at.to_string(), evidence.version, change)
    });
    std::iter::once((created_at.clone(), 1, created)).chain(changes).collect()
}

fn entry(entry: &Entry) -> (String, u64, Value) {
    let body: Value = serde_json::from_str(&entry.body).unwrap_or_else(|_| Value::String(entry.body.clone()));
    let at = entry.at.to_string();
    let shown = json!({"at": at, "version": entry.version, "kind": entry.kind.name(), "detail": body});
    (at, entry.version, shown)
}
