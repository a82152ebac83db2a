//! The paths by which a test or a person tells the channel what to say: `/_sim/payments/{out_trade_no}`; and `/_sim/secret`, by which
//! its secret changes.

use expiry_channels::HttpResponse;
use expiry_channels::sim::signature::SigningKey;
use expiry_core::ids::{MerchantId, TransactionId};
use expiry_core::money::{Amount, Currency};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::SimChannel;
use super::payment::{OnClose, OnRefund, Payment, State};
use super::reply::Reply;

/// Most bytes of a number that can be set here; ours have at most 32.
const OUT_TRADE_NO_BYTES: usize = 64;
/// Longest delay of an answer, milliseconds.
const DELAY_MS: u64 = 3_600_000;

/// What `PUT` sets; what it does not name stays.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    state: Option<State>,
    merchant_id: Option<String>,
    amount: Option<u64>,
    currency: Option<String>,
    transaction_id: Option<String>,
    refunded_amount: Option<u64>,
    close: Option<OnClose>,
    refund: Option<OnRefund>,
    delay_ms: Option<u64>,
}

/// What `PUT /_sim/secret` takes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewSecret {
    secret: String,
}

impl Settings {
    fn read(body: &[u8]) -> Result<Settings, String> {
        let settings: Settings = object(body)?;
        let amounts = [("amount", settings.amount), ("refunded_amount", settings.refunded_amount)];
        for (field, amount) in amounts {
            if amount.is_some_and(|minor| Amount::new(minor).is_none()) {
                return Err(format!("{field} is too large"));
            }
        }
        if settings.currency.as_deref().is_some_and(|code| Currency::parse(code).is_none()) {
            return Err("currency is not a code of ISO 4217".to_owned());
        }
        if let Some(id) = &settings.merchant_id {
            MerchantId::new(id.as_str()).map_err(|error| format!("merchant_id {error}"))?;
        }
        if let Some(id) = &settings.transaction_id {
            TransactionId::new(id.as_str()).map_err(|error| format!("transaction_id {error}"))?;
        }
        if settings.delay_ms.is_some_and(|delay| delay > DELAY_MS) {
            return Err(format!("delay_ms must be at most {DELAY_MS}"));
        }
        Ok(settings)
    }

    fn apply(self, payment: &mut Payment) {
        let Settings { state, merchant_id, amount, currency, transaction_id, refunded_amount, close, refund, delay_ms } =
            self;
        payment.state = state.unwrap_or(payment.state);
        payment.amount = amount.or(payment.amount);
        payment.refunded_amount = refunded_amount.unwrap_or(payment.refunded_amount);
        payment.close = close.unwrap_or(payment.close);
        payment.refund = refund.unwrap_or(payment.refund);
        payment.delay_ms = delay_ms.unwrap_or(payment.delay_ms);
        if let Some(merchant_id) = merchant_id {
            payment.merchant_id = merchant_id;
        }
        if let Some(transaction_id) = transaction_id {
            payment.transaction_id = transaction_id;
        }
        if currency.is_some() {
            payment.currency = currency;
        }
    }
}

impl SimChannel {
    pub(super) async fn control(&self, method: &str, path: &str, body: &[u8]) -> HttpResponse {
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        match (method, parts.as_slice()) {
            ("GET", ["_sim", "payments", out_trade_no]) => match self.payments().get(*out_trade_no) {
                Some(payment) => Reply::control(200, &payment.view()),
                None => no_such_payment(),
            },
            ("PUT", ["_sim", "payments", out_trade_no]) => self.set(out_trade_no, body),
            ("POST", ["_sim", "payments", out_trade_no, "notify"]) => self.notify(out_trade_no, body).await,
            ("PUT", ["_sim", "secret"]) => self.change_secret(body),
            (_, ["_sim", "secret"]) => Reply::control_problem(405, "method_not_allowed", "PUT a secret"),
            (_, ["_sim", "payments", _] | ["_sim", "payments", _, "notify"]) => {
                Reply::control_problem(405, "method_not_allowed", "GET or PUT a payment, POST its notify")
            }
            (_, _) => Reply::control_problem(404, "not_found", "no such path"),
        }
    }

    fn change_secret(&self, body: &[u8]) -> HttpResponse {
        let invalid = |message: &str| Reply::control_problem(422, "invalid_request", message);
        match object::<NewSecret>(body) {
            Ok(new) => match SigningKey::new(&new.secret) {
                Some(key) => {
                    self.change_key(key);
                    Reply::control(200, &json!({}))
                }
                None => invalid("secret must not be empty"),
            },
            Err(error) => invalid(&error),
        }
    }

    /// Sets what is given, and creates the payment when it is not there yet. A refused request changes nothing.
    fn set(&self, out_trade_no: &str, body: &[u8]) -> HttpResponse {
        if !is_number(out_trade_no) {
            return Reply::control_problem(
                422,
                "invalid_request",
                "out_trade_no must be at most 64 of 0-9 A-Z a-z _ -",
            );
        }
        match Settings::read(body) {
            Ok(settings) => {
                let mut payments = self.payments();
                let payment = payments.entry(out_trade_no.to_owned()).or_insert_with(|| Payment::new(out_trade_no));
                settings.apply(payment);
                Reply::control(200, &payment.view())
            }
            Err(message) => Reply::control_problem(422, "invalid_request", &message),
        }
    }
}

/// Reads a JSON object: a struct would be read from an array, too.
pub(super) fn object<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err("must be a JSON object".to_owned());
    }
    serde_json::from_slice(body).map_err(|error| error.to_string())
}

fn is_number(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=OUT_TRADE_NO_BYTES).contains(&text.len()) && text.bytes().all(allowed)
}

pub(super) fn no_such_payment() -> HttpResponse {
    Reply::control_problem(404, "not_found", "no such payment")
}
