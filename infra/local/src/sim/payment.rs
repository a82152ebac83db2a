//! One payment at the simulated channel: what it is, what it is told to do, and what every call does to it. Pure.

use std::collections::VecDeque;
use std::time::Duration;

use expiry_channels::sim::MERCHANT;
use expiry_channels::sim::wire::{
    CallbackBody, ClosedBody, PaymentBody, PlaceBody, PlacedBody, RefundBody, RefundedBody, code,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::reply::Reply;

/// Most calls that are remembered of one payment; the newest stay.
pub(super) const CALLS: usize = 200;

/// What the channel says about a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum State {
    /// Payable, idle.
    #[serde(rename = "NOTPAY")]
    NotPay,
    /// The payer is in the cashier.
    #[serde(rename = "USERPAYING")]
    UserPaying,
    /// Paid.
    Success,
    /// No later success is possible.
    Closed,
    /// Ended without money.
    Failed,
    /// The channel answers 404, as one does that creates a payment only when the payer acts: a place answers nevertheless.
    NotFound,
    /// The channel answers 500 to every call and does nothing.
    Error,
}

impl State {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            State::NotPay => "NOTPAY",
            State::UserPaying => "USERPAYING",
            State::Success => "SUCCESS",
            State::Closed => "CLOSED",
            State::Failed => "FAILED",
            State::NotFound => "NOT_FOUND",
            State::Error => "ERROR",
        }
    }
}

/// What a close answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OnClose {
    /// It closes.
    Ok,
    /// It closes, and says that it was closed before.
    AlreadyClosed,
    /// It says that it is paid, and changes nothing.
    AlreadyPaid,
    /// 500, and changes nothing.
    Error,
}

/// What a refund request or query answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OnRefund {
    /// The money goes back.
    Ok,
    /// Accepted, not done.
    Pending,
    /// The number dies without money.
    Failed,
    /// 500, and changes nothing.
    Error,
}

/// How far a refund is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum RefundStatus {
    Succeeded,
    Pending,
    Failed,
}

impl RefundStatus {
    const fn as_str(self) -> &'static str {
        match self {
            RefundStatus::Succeeded => "SUCCEEDED",
            RefundStatus::Pending => "PENDING",
            RefundStatus::Failed => "FAILED",
        }
    }
}

/// One refund: one per number.
#[derive(Clone, Debug, Serialize)]
struct Refund {
    refund_no: String,
    amount: u64,
    status: RefundStatus,
}

impl Refund {
    /// A pending one goes on as it is told to now; the other statuses are final.
    fn go_on(&mut self, told: OnRefund) {
        if self.status == RefundStatus::Pending {
            self.status = match told {
                OnRefund::Ok => RefundStatus::Succeeded,
                OnRefund::Failed => RefundStatus::Failed,
                OnRefund::Pending | OnRefund::Error => RefundStatus::Pending,
            };
        }
    }

    fn reply(&self) -> Reply {
        let (refund_no, status) = (self.refund_no.clone(), self.status.as_str());
        Reply::ok(status, &RefundedBody { refund_no, amount: self.amount, status: status.to_owned() })
    }
}

/// A call that arrived.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Call {
    /// When it arrived, RFC 3339.
    pub(super) at: String,
    /// `place`, `query`, `close`, `refund` or `query_refund`.
    pub(super) call: &'static str,
    /// The refund it was about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refund_no: Option<String>,
    /// What was answered, in a word.
    pub(super) answer: String,
}

/// A payment at the channel.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Payment {
    out_trade_no: String,
    pub(super) state: State,
    pub(super) merchant_id: String,
    pub(super) amount: Option<u64>,
    pub(super) currency: Option<String>,
    pub(super) transaction_id: String,
    /// Given back otherwise than by our refunds, for example by hand in the channel's console.
    pub(super) refunded_amount: u64,
    pub(super) close: OnClose,
    pub(super) refund: OnRefund,
    pub(super) delay_ms: u64,
    calls: VecDeque<Call>,
    refunds: Vec<Refund>,
    /// The terms of the first place: a second one must be the identical request (DESIGN §4.1).
    #[serde(skip)]
    placed: Option<PlaceBody>,
}

impl Payment {
    pub(super) fn new(out_trade_no: &str) -> Payment {
        Payment {
            out_trade_no: out_trade_no.to_owned(),
            state: State::NotPay,
            merchant_id: MERCHANT.to_owned(),
            amount: None,
            currency: None,
            transaction_id: format!("txn-{out_trade_no}"),
            refunded_amount: 0,
            close: OnClose::Ok,
            refund: OnRefund::Ok,
            delay_ms: 0,
            calls: VecDeque::new(),
            refunds: Vec::new(),
            placed: None,
        }
    }

    pub(super) fn delay(&self) -> Duration {
        Duration::from_millis(self.delay_ms)
    }

    pub(super) fn record(&mut self, call: Call) {
        if self.calls.len() == CALLS {
            self.calls.pop_front();
        }
        self.calls.push_back(call);
    }

    /// A place creates what was not there, and answers the same credential ever after.
    pub(super) fn place(&mut self, terms: PlaceBody) -> Reply {
        match self.state {
            State::Error => return Reply::system_error(),
            State::Closed => return Reply::refused(409, code::PAYMENT_CLOSED, "the payment is closed"),
            State::NotPay | State::UserPaying | State::Success | State::Failed | State::NotFound => {}
        }
        let first = self.placed.get_or_insert_with(|| terms.clone());
        if *first != terms {
            return Reply::refused(409, code::PAYMENT_DIFFERS, "the number was used with other terms");
        }
        self.amount.get_or_insert(terms.amount);
        self.currency.get_or_insert(terms.currency);
        let mut credential = Map::new();
        credential.insert("pay_url".into(), json!(format!("sim://pay/{}", self.out_trade_no)));
        let out_trade_no = self.out_trade_no.clone();
        Reply::ok("credential", &PlacedBody { out_trade_no, credential, expires_at: Some(terms.expires_at) })
    }

    pub(super) fn query(&self) -> Reply {
        match self.state {
            State::NotFound => Reply::payment_not_found(),
            State::Error => Reply::system_error(),
            State::NotPay | State::UserPaying | State::Success | State::Closed | State::Failed => {
                let ours = self.refunded_by(|status| status == RefundStatus::Succeeded);
                let body = PaymentBody {
                    merchant_id: self.merchant_id.clone(),
                    out_trade_no: self.out_trade_no.clone(),
                    state: self.state.as_str().to_owned(),
                    transaction_id: Some(self.transaction_id.clone()),
                    amount: self.amount,
                    currency: self.currency.clone(),
                    refunded_amount: Some(self.refunded_amount.saturating_add(ours)),
                };
                Reply::ok(self.state.as_str(), &body)
            }
        }
    }

    pub(super) fn close(&mut self) -> Reply {
        match (self.state, self.close) {
            (State::NotFound, _) => Reply::payment_not_found(),
            (State::Error, _) | (_, OnClose::Error) => Reply::system_error(),
            (State::Success, _) | (_, OnClose::AlreadyPaid) => self.close_reply("ALREADY_PAID"),
            (State::Closed, _) => self.close_reply("ALREADY_CLOSED"),
            (State::NotPay | State::UserPaying | State::Failed, told) => {
                self.state = State::Closed;
                self.close_reply(if told == OnClose::AlreadyClosed { "ALREADY_CLOSED" } else { "CLOSED" })
            }
        }
    }

    fn close_reply(&self, result: &str) -> Reply {
        let body = ClosedBody { out_trade_no: self.out_trade_no.clone(), result: result.to_owned() };
        Reply::ok(&result.to_ascii_lowercase(), &body)
    }

    pub(super) fn request_refund(&mut self, asked: RefundBody) -> Reply {
        if self.state == State::Error || self.refund == OnRefund::Error {
            return Reply::system_error();
        }
        let other_transaction = asked.transaction_id != self.transaction_id;
        if let Some(known) = self.refunds.iter_mut().find(|known| known.refund_no == asked.refund_no) {
            if known.amount != asked.amount || other_transaction {
                return Reply::refused(409, code::REFUND_DIFFERS, "the refund number was used for another refund");
            }
            known.go_on(self.refund);
            return known.reply();
        }
        if self.state == State::NotFound {
            return Reply::payment_not_found();
        }
        if self.state != State::Success {
            return Reply::refused(409, code::NOT_PAID, "the payment is not paid");
        }
        if other_transaction {
            return Reply::refused(409, code::REFUND_DIFFERS, "the payment has another transaction");
        }
        if asked.amount == 0 || self.currency.as_ref() != Some(&asked.currency) {
            return Reply::refused(400, code::INVALID_REQUEST, "not an amount of this payment");
        }
        let given_back = self.refunded_amount.saturating_add(self.refunded_by(|status| status != RefundStatus::Failed));
        if given_back.saturating_add(asked.amount) > self.amount.unwrap_or(0) {
            return Reply::refused(409, code::REFUND_EXCEEDS, "more than is left of the payment");
        }
        let mut refund = Refund { refund_no: asked.refund_no, amount: asked.amount, status: RefundStatus::Pending };
        refund.go_on(self.refund);
        let reply = refund.reply();
        self.refunds.push(refund);
        reply
    }

    pub(super) fn query_refund(&mut self, refund_no: &str) -> Reply {
        if self.state == State::Error || self.refund == OnRefund::Error {
            return Reply::system_error();
        }
        match self.refunds.iter_mut().find(|known| known.refund_no == refund_no) {
            Some(known) => {
                known.go_on(self.refund);
                known.reply()
            }
            None => Reply::problem("404", 404, code::REFUND_NOT_FOUND, "no such refund"),
        }
    }

    fn refunded_by(&self, counts: impl Fn(RefundStatus) -> bool) -> u64 {
        self.refunds.iter().filter(|refund| counts(refund.status)).map(|refund| refund.amount).sum()
    }

    /// The callback that states this payment as it is.
    pub(super) fn callback(&self, notify_id: String) -> CallbackBody {
        CallbackBody {
            notify_id,
            merchant_id: self.merchant_id.clone(),
            out_trade_no: self.out_trade_no.clone(),
            transaction_id: Some(self.transaction_id.clone()),
            amount: self.amount,
            currency: self.currency.clone(),
            state: self.state.as_str().to_owned(),
        }
    }

    /// As `GET /_sim/payments/{out_trade_no}` shows it.
    pub(super) fn view(&self) -> Value {
        json!(self)
    }
}
