//! A request as a person would write it down, and the answer to it.
//!
//! ```text
//! POST /orders/0123456789abcdefghjkmnpq/cancel?x=1
//! content-type: application/json
//! claim role: operator
//!
//! {"reason": "…"}
//! ```

use aws_lambda_events::encodings::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use expiry_runtime::http::{Request, Response};
use expiry_runtime::problem::Code;
use serde_json::{Map, Value, json};

/// A request in parts.
#[derive(Clone, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    query: &'a str,
    headers: Vec<(&'a str, &'a str)>,
    pub(crate) body: &'a [u8],
}

impl<'a> Text<'a> {
    /// Reads a request; `None` when its head is none.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Text<'a>> {
        let end = bytes.windows(2).position(|two| two == b"\n\n");
        let (head, body) = end.map_or((bytes, &b""[..]), |end| (&bytes[..end], &bytes[end + 2..]));
        let mut lines = std::str::from_utf8(head).ok()?.lines();
        let (method, target) = lines.next()?.split_once(' ')?;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let headers = lines.filter_map(|line| line.split_once(": ")).collect();
        Some(Text { method, path, query, headers, body })
    }

    /// The value of a header: the last, where it is there twice.
    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.iter().rfind(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    /// The value of a claim of the token; the last, too.
    pub(crate) fn claim(&self, name: &str) -> Option<&'a str> {
        self.headers.iter().rfind(|(known, _)| known.strip_prefix("claim ") == Some(name)).map(|(_, value)| *value)
    }

    /// Whether there is a token at all.
    pub(crate) fn has_token(&self) -> bool {
        self.headers.iter().any(|(name, _)| name.starts_with("claim "))
    }

    /// As the gateway hands it over, its body as text where it is text, or in base64. `None` when the gateway would not pass it on.
    pub(crate) fn request(&self, base64: bool) -> Option<Request> {
        let (body, base64) = match std::str::from_utf8(self.body) {
            Ok(text) if !base64 => (text.to_owned(), false),
            Ok(_) | Err(_) => (STANDARD.encode(self.body), true),
        };
        let segments: Vec<&str> = self.path.trim_start_matches('/').split('/').collect();
        let parameters = match segments.as_slice() {
            ["orders", id, ..] => json!({"id": id}),
            ["webhooks", channel] => json!({"channel": channel}),
            _ => json!({}),
        };
        let is_claim = |(name, _): &(&str, &str)| name.starts_with("claim ");
        let (claims, headers): (Vec<_>, Vec<_>) = self.headers.iter().copied().partition(is_claim);
        let claims = claims.into_iter().map(|(name, value)| (name.trim_start_matches("claim ").into(), value.into()));
        let claims: Map<String, Value> = claims.collect();
        let headers = headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value.into()));
        let headers: Map<String, Value> = headers.collect();
        let query = self.query.split('&').filter_map(|pair| pair.split_once('='));
        let query: Map<String, Value> = query.map(|(name, value)| (name.to_owned(), value.into())).collect();
        let mut context = json!({"stage": "$default", "http": {"method": self.method, "path": self.path}});
        if !claims.is_empty() {
            context["authorizer"] = json!({"jwt": {"claims": claims, "scopes": null}});
        }
        serde_json::from_value(json!({
            "version": "2.0",
            "rawPath": self.path,
            "rawQueryString": self.query,
            "headers": headers,
            "queryStringParameters": query,
            "pathParameters": parameters,
            "requestContext": context,
            "body": body,
            "isBase64Encoded": base64,
        }))
        .ok()
    }
}

/// The status and the document of an answer of ours, which nobody stores, and which is no fault of ours.
pub(crate) fn read(answer: &Response) -> (i64, Value) {
    let Some(Body::Text(text)) = &answer.body else { panic!("an answer has a body: {answer:?}") };
    let document: Value = serde_json::from_str(text).expect("an answer is JSON");
    assert_eq!(answer.headers["cache-control"], "no-store");
    if answer.headers["content-type"] == "application/problem+json" {
        let named =
            Code::ALL.into_iter().find(|code| document["code"] == code.as_str()).expect("a code of the contract");
        assert_eq!(answer.status_code, i64::from(named.status()), "{document}");
        assert_ne!(named, Code::Internal, "{document}");
    } else {
        assert_eq!(answer.headers["content-type"], "application/json");
    }
    (answer.status_code, document)
}
