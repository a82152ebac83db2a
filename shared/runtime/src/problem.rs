//! Refusals as RFC 9457 problem documents, each with a stable `code` (DESIGN §8).

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

/// Everything a request can be refused with. The code is what a caller branches on; it never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// A line asks for more than is available.
    InsufficientStock,
    /// The coupon is not this user's, or not available.
    CouponUnavailable,
    /// The user has fewer points.
    InsufficientPoints,
    /// The activity has no such quota left.
    QuotaExhausted,
    /// The user has as many unpaid orders as is allowed.
    TooManyOpenOrders,
    /// The request is not what the contract says; `errors` name the places.
    InvalidRequest,
    /// The `Idempotency-Key` was used with another body.
    IdempotencyMismatch,
    /// Nothing was done and nothing is held: the same request may succeed in a moment.
    TryAgain,
    /// There is no such order, or not for this caller.
    OrderNotFound,
    /// The order can no longer be paid: its time is over.
    OrderExpired,
    /// The order is being closed.
    OrderClosing,
    /// The order is closed.
    OrderClosed,
    /// The order is paid.
    OrderPaid,
    /// The result of an earlier attempt is not known yet.
    AttemptUndecided,
    /// The order has as many attempts as is allowed.
    TooManyAttempts,
    /// The channel refused the payment; nothing was started.
    ChannelRefused,
    /// The channel did not answer; the attempt stays in doubt, nothing is lost.
    ChannelUnavailable,
    /// There is nothing to check yet.
    NotDue,
    /// The stock asked for is less than what is reserved and sold.
    StockBelowCommitted,
    /// No token, or none that is valid.
    Unauthorized,
    /// The token does not allow this.
    Forbidden,
    /// There is no such route or resource.
    NotFound,
    /// The route has other methods.
    MethodNotAllowed,
    /// The body is larger than the route takes.
    PayloadTooLarge,
    /// The body is labelled as something other than JSON.
    UnsupportedMediaType,
    /// A fault of ours. The last one.
    Internal,
}

impl Code {
    /// Every code.
    pub const ALL: [Code; 26] = [
        Code::InsufficientStock,
        Code::CouponUnavailable,
        Code::InsufficientPoints,
        Code::QuotaExhausted,
        Code::TooManyOpenOrders,
        Code::InvalidRequest,
        Code::IdempotencyMismatch,
        Code::TryAgain,
        Code::OrderNotFound,
        Code::OrderExpired,
        Code::OrderClosing,
        Code::OrderClosed,
        Code::OrderPaid,
        Code::AttemptUndecided,
        Code::TooManyAttempts,
        Code::ChannelRefused,
        Code::ChannelUnavailable,
        Code::NotDue,
        Code::StockBelowCommitted,
        Code::Unauthorized,
        Code::Forbidden,
        Code::NotFound,
        Code::MethodNotAllowed,
        Code::PayloadTooLarge,
        Code::UnsupportedMediaType,
        Code::Internal,
    ];

    /// HTTP status, code and title of a refusal.
    const fn row(self) -> (u16, &'static str, &'static str) {
        match self {
            Code::InsufficientStock => (409, "insufficient_stock", "Not enough stock"),
            Code::CouponUnavailable => (409, "coupon_unavailable", "The coupon is not available"),
            Code::InsufficientPoints => (409, "insufficient_points", "Not enough points"),
            Code::QuotaExhausted => (409, "quota_exhausted", "The quota is exhausted"),
            Code::TooManyOpenOrders => (429, "too_many_open_orders", "Too many unpaid orders"),
            Code::InvalidRequest => (422, "invalid_request", "The request is not valid"),
            Code::IdempotencyMismatch => {
                (422, "idempotency_mismatch", "The Idempotency-Key was used with another body")
            }
            Code::TryAgain => (503, "try_again", "Try again"),
            Code::OrderNotFound => (404, "order_not_found", "There is no such order"),
            Code::OrderExpired => (409, "order_expired", "The time to pay is over"),
            Code::OrderClosing => (409, "order_closing", "The order is being closed"),
            Code::OrderClosed => (409, "order_closed", "The order is closed"),
            Code::OrderPaid => (409, "order_paid", "The order is paid"),
            Code::AttemptUndecided => (409, "attempt_undecided", "The result of an earlier payment is not known yet"),
            Code::TooManyAttempts => (409, "too_many_attempts", "The order has no payment attempts left"),
            Code::ChannelRefused => (422, "channel_refused", "The payment channel refused the payment"),
            Code::ChannelUnavailable => (502, "channel_unavailable", "The payment channel did not answer"),
            Code::NotDue => (409, "not_due", "There is nothing to check yet"),
            Code::StockBelowCommitted => (409, "stock_below_committed", "The stock is below what is reserved and sold"),
            Code::Unauthorized => (401, "unauthorized", "A valid token is needed"),
            Code::Forbidden => (403, "forbidden", "The token does not allow this"),
            Code::NotFound => (404, "not_found", "There is nothing here"),
            Code::MethodNotAllowed => (405, "method_not_allowed", "The method is not allowed here"),
            Code::PayloadTooLarge => (413, "payload_too_large", "The body is too large"),
            Code::UnsupportedMediaType => (415, "unsupported_media_type", "The body must be JSON"),
            Code::Internal => (500, "internal", "Something went wrong here"),
        }
    }

    /// The HTTP status.
    #[must_use]
    pub const fn status(self) -> u16 {
        self.row().0
    }

    /// The stable code.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.row().1
    }

    /// The same sentence for every occurrence, for people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        self.row().2
    }
}

impl fmt::Display for Code {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// One thing that is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldError {
    /// Where: `#` and a JSON pointer into the body (`#/lines/0/quantity`), or the name of a header or parameter.
    pub pointer: Cow<'static, str>,
    /// What is wrong there.
    pub detail: String,
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which.
    pub code: Code,
    /// What this occurrence is about, for people; never a secret or an inner error.
    pub detail: Option<String>,
    /// The places in the request, for `invalid_request`.
    pub errors: Vec<FieldError>,
    /// The methods the route has, for `method_not_allowed`.
    pub allow: Option<&'static str>,
}

/// Most bytes of a detail: what a request contains must not come back at length.
const DETAIL_BYTES: usize = 300;

impl Problem {
    /// A refusal by `code` alone.
    #[must_use]
    pub const fn new(code: Code) -> Problem {
        Problem { code, detail: None, errors: Vec::new(), allow: None }
    }

    /// A refusal that says what it is about.
    #[must_use]
    pub fn with_detail(code: Code, detail: impl Into<String>) -> Problem {
        Problem { detail: Some(bounded(detail.into())), ..Problem::new(code) }
    }

    /// `invalid_request` because of one place.
    #[must_use]
    pub fn invalid(pointer: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Problem {
        Problem::new(Code::InvalidRequest).and_error(pointer, detail)
    }

    /// `method_not_allowed`, naming the methods there are, for example `GET, PUT`.
    #[must_use]
    pub fn method_not_allowed(allow: &'static str) -> Problem {
        Problem { allow: Some(allow), ..Problem::new(Code::MethodNotAllowed) }
    }

    /// The same refusal with one more place.
    #[must_use]
    pub fn and_error(mut self, pointer: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Problem {
        self.errors.push(FieldError { pointer: pointer.into(), detail: bounded(detail.into()) });
        self
    }

    /// The HTTP status.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.code.status()
    }

    /// The document as the body of an answer.
    #[must_use]
    pub fn document(&self) -> serde_json::Value {
        let mut document = serde_json::json!({
            "type": format!("urn:problem-type:order-expiry:{}", self.code),
            "title": self.code.title(),
            "status": self.code.status(),
            "code": self.code.as_str(),
        });
        if let Some(detail) = &self.detail {
            document["detail"] = detail.as_str().into();
        }
        if !self.errors.is_empty() {
            let error = |error: &FieldError| serde_json::json!({"pointer": error.pointer, "detail": error.detail});
            document["errors"] = self.errors.iter().map(error).collect();
        }
        document
    }

    /// The headers a refusal of this kind needs besides its content type.
    pub(crate) fn headers(&self) -> Vec<(&'static str, &'static str)> {
        match self.code.status() {
            503 => vec![("retry-after", "1")],
            401 => vec![("www-authenticate", "Bearer")],
            405 => self.allow.iter().map(|allow| ("allow", *allow)).collect(),
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.code)?;
        if let Some(detail) = &self.detail {
            write!(out, ": {detail}")?;
        }
        for error in &self.errors {
            write!(out, "; {}: {}", error.pointer, error.detail)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

fn bounded(mut text: String) -> String {
    if text.len() > DETAIL_BYTES {
        text.truncate(text.floor_char_boundary(DETAIL_BYTES));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_problem_document_has_type_title_status_code_and_the_places() {
        let problem = Problem::invalid("#/lines/0/quantity", "must be at least 1").and_error("#/currency", "unknown");
        let expected = json!({
            "type": "urn:problem-type:order-expiry:invalid_request",
            "title": "The request is not valid",
            "status": 422,
            "code": "invalid_request",
            "errors": [
                {"pointer": "#/lines/0/quantity", "detail": "must be at least 1"},
                {"pointer": "#/currency", "detail": "unknown"},
            ],
        });
        assert_eq!(problem.document(), expected);
        assert_eq!(Problem::with_detail(Code::OrderPaid, "by sim").document()["detail"], "by sim");
    }

    #[test]
    fn the_list_of_codes_holds_each_in_its_place_up_to_the_last() {
        assert!(Code::ALL.iter().enumerate().all(|(place, code)| *code as usize == place));
        assert_eq!(Code::ALL.last(), Some(&Code::Internal));
    }

    #[test]
    fn only_what_can_be_tried_again_says_when() {
        assert_eq!(Problem::new(Code::TryAgain).headers(), [("retry-after", "1")]);
        assert_eq!(Problem::method_not_allowed("GET").headers(), [("allow", "GET")]);
        assert_eq!(Problem::new(Code::Unauthorized).headers(), [("www-authenticate", "Bearer")]);
        assert_eq!(Problem::new(Code::OrderPaid).headers(), []);
    }

    #[test]
    fn what_a_request_contains_does_not_come_back_at_length() {
        let detail = Problem::with_detail(Code::InvalidRequest, "é".repeat(10_000)).detail;
        assert!(detail.is_some_and(|detail| detail.len() <= DETAIL_BYTES + 3));
    }
}
