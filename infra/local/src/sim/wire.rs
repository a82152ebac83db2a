//! The paths of the channel itself, as the shop calls them (`expiry_channels::sim::wire` has the messages).

use expiry_channels::sim::MERCHANT;
use expiry_channels::sim::signature::{SIGNATURE_HEADER, Signed};
use expiry_channels::sim::wire::{CloseBody, PlaceBody, RefundBody, code};
use expiry_channels::{Headers, HttpMethod, HttpResponse};
use serde::de::DeserializeOwned;
use std::time::Duration;

use super::SimChannel;
use super::payment::{Call, Payment};
use super::reply::Reply;

/// A call, read and not yet done.
enum Request {
    Place(PlaceBody),
    Query,
    Close,
    Refund(RefundBody),
    QueryRefund(String),
}

impl Request {
    fn name(&self) -> &'static str {
        match self {
            Request::Place(_) => "place",
            Request::Query => "query",
            Request::Close => "close",
            Request::Refund(_) => "refund",
            Request::QueryRefund(_) => "query_refund",
        }
    }

    fn refund_no(&self) -> Option<String> {
        match self {
            Request::Refund(body) => Some(body.refund_no.clone()),
            Request::QueryRefund(refund_no) => Some(refund_no.clone()),
            Request::Place(_) | Request::Query | Request::Close => None,
        }
    }

    fn apply(self, payment: &mut Payment) -> Reply {
        match self {
            Request::Place(terms) => payment.place(terms),
            Request::Query => payment.query(),
            Request::Close => payment.close(),
            Request::Refund(asked) => payment.request_refund(asked),
            Request::QueryRefund(refund_no) => payment.query_refund(&refund_no),
        }
    }
}

impl SimChannel {
    /// Does what the request asks the moment it arrives, and answers after the payment's delay.
    pub(super) async fn wire(&self, method: &str, path: &str, headers: &Headers, body: &[u8]) -> HttpResponse {
        let (reply, delay) = match self.admit(method, path, headers, body) {
            Ok((out_trade_no, request)) => self.apply(&out_trade_no, request),
            Err(refusal) => (refusal, Duration::ZERO),
        };
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        // Signed when it leaves: a clock that was moved meanwhile must not make it stale.
        let signed = Signed::Answer { status: reply.status(), body: reply.body() };
        let signature = self.keys().current.sign(&signed, self.0.clock.now());
        reply.into_response(Some((SIGNATURE_HEADER, signature)))
    }

    fn apply(&self, out_trade_no: &str, request: Request) -> (Reply, Duration) {
        let at = self.0.clock.now().to_string();
        let (call, refund_no) = (request.name(), request.refund_no());
        let mut payments = self.payments();
        if matches!(request, Request::Place(_)) {
            payments.entry(out_trade_no.to_owned()).or_insert_with(|| Payment::new(out_trade_no));
        }
        let Some(payment) = payments.get_mut(out_trade_no) else {
            return (Reply::payment_not_found(), Duration::ZERO);
        };
        let reply = request.apply(payment);
        payment.record(Call { at, call, refund_no, answer: reply.word.clone() });
        (reply, payment.delay())
    }

    /// Checks signature, form and merchant, in this order. What fails is not a call of any payment.
    fn admit(&self, method: &str, path: &str, headers: &Headers, body: &[u8]) -> Result<(String, Request), Reply> {
        let invalid = |message: &str| Reply::refused(400, code::INVALID_REQUEST, message);
        let verb = match method {
            "GET" => HttpMethod::Get,
            "POST" => HttpMethod::Post,
            _ => return Err(Reply::refused(405, code::INVALID_REQUEST, "no such method")),
        };
        let signed = Signed::Request { method: verb, path, body };
        if let Err(error) = self.keys().verify(headers.get(SIGNATURE_HEADER), &signed, self.0.clock.now()) {
            return Err(Reply::refused(401, code::BAD_SIGNATURE, &error.to_string()));
        }
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let rest = path.strip_prefix("/sim/payments").ok_or_else(|| invalid("no such path"))?;
        let parts: Vec<&str> = rest.split('/').skip(1).collect();
        let (out_trade_no, merchant, request) = match (verb, parts.as_slice()) {
            (HttpMethod::Post, []) => {
                let place: PlaceBody = read(body)?;
                (place.out_trade_no.clone(), place.merchant_id.clone(), Request::Place(place))
            }
            (HttpMethod::Get, [payment]) => ((*payment).to_owned(), merchant_in(query), Request::Query),
            (HttpMethod::Post, [payment, "close"]) => {
                ((*payment).to_owned(), read::<CloseBody>(body)?.merchant_id, Request::Close)
            }
            (HttpMethod::Post, [payment, "refunds"]) => {
                let refund: RefundBody = read(body)?;
                ((*payment).to_owned(), refund.merchant_id.clone(), Request::Refund(refund))
            }
            (HttpMethod::Get, [payment, "refunds", refund_no]) => {
                ((*payment).to_owned(), merchant_in(query), Request::QueryRefund((*refund_no).to_owned()))
            }
            (HttpMethod::Get | HttpMethod::Post, _) => return Err(invalid("no such path")),
        };
        if merchant != MERCHANT {
            return Err(Reply::refused(403, code::UNKNOWN_MERCHANT, "no such merchant"));
        }
        Ok((out_trade_no, request))
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Reply> {
    serde_json::from_slice(body).map_err(|error| Reply::refused(400, code::INVALID_REQUEST, &error.to_string()))
}

fn merchant_in(query: &str) -> String {
    query.split('&').find_map(|pair| pair.strip_prefix("merchant_id=")).unwrap_or_default().to_owned()
}
