//! What stands in the due index, page by page: orders that wait for something, refunds that are not done, findings.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use expiry_core::ids::{OrderId, RefundNo};
use expiry_core::order::{Order, OrderStatus};
use expiry_core::pending::Unit;
use expiry_core::time::Timestamp;
use expiry_runtime::backlog::terminal_since;
use expiry_runtime::document::OrderDocument;
use expiry_runtime::http::{Request, Response, json_response, query_parameter};
use expiry_runtime::logs::chain;
use expiry_runtime::problem::{Code, Problem};
use expiry_store::{DuePosition, Finding, Loaded, ReadError};
use serde_json::{Value, json};

use crate::AdminApi;

/// Orders of one page unless `limit` says otherwise.
const PAGE: u16 = 50;
/// Most orders of one page.
const LONGEST_PAGE: u16 = 100;
/// The end of time, as far as the index goes.
const FOR_EVER: i64 = 253_402_300_799_999;

/// One page of the due index, with the orders read.
struct Page {
    orders: Vec<Loaded>,
    next: Option<String>,
}

impl AdminApi {
    /// `GET /admin/orders?status=&overdue=&limit=&cursor=`.
    pub(crate) async fn orders(&self, request: &Request) -> Result<Response, Problem> {
        let wanted = query_parameter(request, "status").map(status).transpose()?;
        let overdue = query_parameter(request, "overdue").map(flag).transpose()?.unwrap_or(false);
        let now = self.context.clock.now();
        let until = if overdue { now } else { end_of_time() };
        let page = self.page(request, until).await?;
        let fits = |order: &&Loaded| wanted.is_none_or(|wanted| order.order.status == wanted);
        let orders: Vec<OrderDocument> =
            page.orders.iter().filter(fits).map(|order| OrderDocument::new(&order.order, now)).collect();
        Ok(json_response(200, &json!({"orders": orders, "next": page.next})))
    }

    /// `GET /admin/refunds?limit=&cursor=`: refunds that are not done, each with its age.
    pub(crate) async fn refunds(&self, request: &Request) -> Result<Response, Problem> {
        let page = self.page(request, end_of_time()).await?;
        let now = self.context.clock.now();
        let refunds: Vec<Value> = page.orders.iter().flat_map(|order| open_refunds(&order.order, now)).collect();
        Ok(json_response(200, &json!({"refunds": refunds, "next": page.next})))
    }

    /// `GET /admin/findings?day=YYYY-MM-DD`: what a person must look at, found on that day (UTC), today when none is named.
    pub(crate) async fn findings(&self, request: &Request) -> Result<Response, Problem> {
        let today = self.context.clock.now().to_string();
        let day = query_parameter(request, "day").unwrap_or(&today[..10]);
        let is_day = day.len() == 10 && Timestamp::parse_rfc3339(&format!("{day}T00:00:00Z")).is_some();
        if !is_day {
            return Err(Problem::invalid("day", "is not a day of the form YYYY-MM-DD"));
        }
        let findings = self.context.store.findings(day).await.map_err(unread)?;
        let findings: Vec<Value> = findings.iter().map(finding).collect();
        Ok(json_response(200, &json!({"day": day, "findings": findings})))
    }

    async fn page(&self, request: &Request, until: Timestamp) -> Result<Page, Problem> {
        let most = query_parameter(request, "limit").map(limit).transpose()?.unwrap_or(PAGE);
        let after = query_parameter(request, "cursor").map(position).transpose()?;
        let store = &self.context.store;
        let page = store.due_orders(until, after.as_ref(), most).await.map_err(unread)?;
        let ids: Vec<OrderId> = page.hits.iter().map(|hit| hit.order.clone()).collect();
        let (mut orders, unreadable) = store.load_many(&ids).await.map_err(|error| unread(error.into()))?;
        for (key, error) in unreadable {
            tracing::error!(key, error = %chain(&error), "a stored order cannot be read");
        }
        orders.sort_by_key(|order| ids.iter().position(|id| *id == order.order.id));
        let next = page.hits.last().filter(|_| page.more).map(cursor);
        Ok(Page { orders, next })
    }
}

/// Every refund of `order` that is not done.
fn open_refunds(order: &Order, now: Timestamp) -> Vec<Value> {
    let open = |unit: &Unit| match unit {
        Unit::Refund(no) => Some(*no),
        Unit::Settle(_) | Unit::Cap | Unit::Ask(_) | Unit::Anomaly(..) | Unit::Foreign(_) => None,
    };
    let refunds = order.pending.iter().filter_map(open).filter_map(|no| {
        let attempt = order.attempt(no)?;
        Some((no, attempt, attempt.refund.as_ref()?))
    });
    refunds
        .map(|(no, attempt, refund)| {
            json!({
                "refund_no": RefundNo::new(order.out_trade_no(no), refund.k).to_string(),
                "order_id": order.id.as_str(),
                "channel": attempt.channel.as_str(),
                "amount": refund.money.amount.minor(),
                "currency": refund.money.currency.code(),
                "status": refund.status.name(),
                "tries": refund.tries,
                "next_try_at": refund.turn.next_check_at.map(|at| at.to_string()),
                "last_error": refund.last_error.as_ref().map(ToString::to_string),
                "age_seconds": terminal_since(order).map(|since| now.since(since).as_secs()),
            })
        })
        .collect()
}

fn finding(finding: &Finding) -> Value {
    json!({
        "at": finding.at.to_string(),
        "order_id": finding.order.as_str(),
        "name": finding.name,
        "detail": finding.detail,
    })
}

pub(crate) fn end_of_time() -> Timestamp {
    Timestamp::from_millis(FOR_EVER).unwrap_or(Timestamp::EPOCH)
}

fn status(name: &str) -> Result<OrderStatus, Problem> {
    OrderStatus::parse(name).ok_or_else(|| Problem::invalid("status", "is not a status of an order"))
}

fn flag(text: &str) -> Result<bool, Problem> {
    match text {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(Problem::invalid("overdue", "is neither true nor false")),
    }
}

fn limit(text: &str) -> Result<u16, Problem> {
    let within = text.parse().ok().filter(|limit| (1..=LONGEST_PAGE).contains(limit));
    within.ok_or_else(|| Problem::invalid("limit", format!("must be from 1 to {LONGEST_PAGE}")))
}

fn cursor(position: &DuePosition) -> String {
    URL_SAFE_NO_PAD.encode(format!("{}.{}", position.due_at.as_millis(), position.order))
}

fn position(cursor: &str) -> Result<DuePosition, Problem> {
    let read = || {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
        let (due_at, order) = text.split_once('.')?;
        let due_at = Timestamp::from_millis(due_at.parse().ok()?)?;
        Some(DuePosition { due_at, order: OrderId::parse(order).ok()? })
    };
    read().ok_or_else(|| Problem::invalid("cursor", "is not one that a page gave"))
}

pub(crate) fn unread(error: ReadError) -> Problem {
    tracing::error!(error = %chain(&error), "the list cannot be read");
    Problem::new(Code::TryAgain)
}
