//! Bodies: bytes within a bound, and strict JSON.

use std::borrow::Cow;
use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeOwned, Deserializer, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_path_to_error::{Path, Segment, Track};

use super::{Request, header};
use crate::problem::{Code, Problem};

/// Most bytes of a body on the order and admin routes.
pub const ORDER_BODY_BYTES: usize = 64 * 1024;
/// Most bytes of a channel's callback.
pub const WEBHOOK_BODY_BYTES: usize = 256 * 1024;

/// The bytes of the body as they were sent: signatures are made over them. Empty when there is none.
///
/// # Errors
/// `payload_too_large` above `most`; `invalid_request` when the gateway's base64 is none.
pub fn body_bytes(request: &Request, most: usize) -> Result<Cow<'_, [u8]>, Problem> {
    let text = request.body.as_deref().unwrap_or_default();
    let bytes = if request.is_base64_encoded {
        // Three bytes in four characters: refused before they are decoded.
        if text.len() / 4 * 3 > most.saturating_add(3) {
            return Err(too_large(most));
        }
        let decoded = STANDARD.decode(text).map_err(|_| Problem::invalid("#", "is not the base64 it is said to be"))?;
        Cow::Owned(decoded)
    } else {
        Cow::Borrowed(text.as_bytes())
    };
    if bytes.len() > most { Err(too_large(most)) } else { Ok(bytes) }
}

fn too_large(most: usize) -> Problem {
    Problem::with_detail(Code::PayloadTooLarge, format!("at most {most} bytes are taken"))
}

/// The JSON object in the body of an order or admin route.
///
/// # Errors
/// As [`body_bytes`] and [`parse_json`]; `unsupported_media_type` when the body is labelled as something else than JSON.
pub fn json_body<T: DeserializeOwned>(request: &Request) -> Result<T, Problem> {
    let labelled = header(request, "content-type")?;
    if !labelled.is_none_or(is_json_or_no_label) {
        return Err(Problem::new(Code::UnsupportedMediaType));
    }
    parse_json(&body_bytes(request, ORDER_BODY_BYTES)?)
}

/// Whether `content_type` says JSON, or is what a client labels a body with that nobody labelled (curl and urllib; fetch).
fn is_json_or_no_label(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(essence.as_str(), "" | "application/json" | "application/x-www-form-urlencoded" | "text/plain")
        || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// Reads `bytes` as one JSON object.
///
/// A type that derives `Deserialize` with `deny_unknown_fields` makes it strict: unknown and doubled fields are refused, as is an
/// array in the place of the object. For objects within it say so with [`Object`].
///
/// # Errors
/// `invalid_request` with the place: not UTF-8, empty, not JSON, nested too deep (serde_json's 128), a field that is unknown,
/// doubled, missing or of a wrong type, or something after the object.
pub fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|_| Problem::invalid("#", "must be UTF-8 text"))?;
    if text.trim().is_empty() {
        return Err(Problem::invalid("#", "must be a JSON object, and is empty"));
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let mut track = Track::new();
    let value = T::deserialize(ObjectOnly(serde_path_to_error::Deserializer::new(&mut json, &mut track)));
    let value = value.map_err(|error| Problem::invalid(pointer(&track.path()), error.to_string()))?;
    json.end().map_err(|error| Problem::invalid("#", error.to_string()))?;
    Ok(value)
}

/// `#/lines/0/quantity`: RFC 6901 within a fragment, as RFC 9457 shows places.
fn pointer(path: &Path) -> String {
    let mut pointer = "#".to_owned();
    for segment in path {
        match segment {
            Segment::Seq { index } => {
                // Writing to a String cannot fail.
                let _ = write!(pointer, "/{index}");
            }
            Segment::Map { key } | Segment::Enum { variant: key } => {
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
            }
            Segment::Unknown => {}
        }
    }
    pointer
}

/// A `T` that is written as a JSON object. Derived types take an array of their fields as well, which no contract of ours says.
///
/// ```
/// use expiry_runtime::http::{Object, parse_json};
/// #[derive(serde::Deserialize)]
/// struct Line { sku: String }
/// #[derive(serde::Deserialize)]
/// struct Order { lines: Vec<Object<Line>> }
/// let order: Order = parse_json(br#"{"lines": [{"sku": "A"}]}"#).unwrap();
/// assert_eq!(order.lines[0].0.sku, "A");
/// assert!(parse_json::<Order>(br#"{"lines": [["A"]]}"#).is_err());
/// ```
#[derive(serde::Serialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(transparent)]
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(ObjectOnly(deserializer)).map(Object)
    }
}

/// Whatever is asked for, only an object is read.
struct ObjectOnly<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for ObjectOnly<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
pub(super) mod fixture {
    use super::Request;

    /// A request of the gateway's format 2.0 with the given fields.
    pub(in crate::http) fn request(fields: serde_json::Value) -> Request {
        serde_json::from_value(fields).expect("a request")
    }

    /// A POST of `body` under `content_type`.
    pub(in crate::http) fn post(body: &str, base64: bool, content_type: &str) -> Request {
        request(serde_json::json!({
            "version": "2.0", "routeKey": "POST /orders", "rawPath": "/orders", "rawQueryString": "",
            "headers": {"content-type": content_type},
            "requestContext": {"stage": "$default", "http": {"method": "POST", "path": "/orders", "protocol": "HTTP/1.1"}},
            "body": body, "isBase64Encoded": base64,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::fixture::post;
    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Order {
        user_id: String,
        #[serde(default)]
        lines: Vec<Object<Line>>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Line {
        quantity: u64,
    }

    fn refused(body: &[u8]) -> (String, String) {
        let problem = parse_json::<Order>(body).expect_err("a refusal");
        assert_eq!(problem.code, Code::InvalidRequest);
        (problem.errors[0].pointer.clone().into_owned(), problem.errors[0].detail.clone())
    }

    #[test]
    fn what_is_not_the_contracts_json_is_refused_with_its_place() {
        for (body, pointer, detail) in [
            (&b""[..], "#", "empty"),
            (b" \n", "#", "empty"),
            (b"\xff{}", "#", "UTF-8"),
            (b"{", "#", "EOF"),
            (b"[]", "#", "expected struct Order"),
            (br#"["u", []]"#, "#", "expected struct Order"),
            (b"null", "#", "expected struct Order"),
            (br#"{"user_id":"u"} {}"#, "#", "trailing"),
            (br#"{"user_id":"u","user_id":"v"}"#, "#", "duplicate field `user_id`"),
            (br#"{"user_id":"u","extra":1}"#, "#/extra", "unknown field `extra`"),
            (br#"{"lines":[]}"#, "#", "missing field `user_id`"),
            (br#"{"user_id":7}"#, "#/user_id", "expected a string"),
            (br#"{"user_id":"u","lines":[{"quantity":1},{"quantity":-1}]}"#, "#/lines/1/quantity", "-1"),
            (br#"{"user_id":"u","lines":[{"quantity":1.0}]}"#, "#/lines/0/quantity", "floating point"),
            (br#"{"user_id":"u","lines":[[1]]}"#, "#/lines/0", "expected struct Line"),
            (br#"{"user_id":"u","lines":[{"quantity":18446744073709551616}]}"#, "#/lines/0/quantity", "expected u64"),
        ] {
            let (at, why) = refused(body);
            assert!(at == pointer && why.contains(detail), "{}: {at} {why}", String::from_utf8_lossy(body));
        }
        let deep = format!(r#"{{"user_id":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(refused(deep.as_bytes()).0, "#/user_id");
    }

    #[test]
    fn a_body_arrives_as_text_or_as_base64() {
        let json = r#"{"user_id":"ü"}"#;
        let expected = Order { user_id: "ü".to_owned(), lines: vec![] };
        assert_eq!(json_body(&post(json, false, "application/json; charset=utf-8")), Ok(expected));
        let request = post(&STANDARD.encode(json), true, "application/json");
        assert_eq!(body_bytes(&request, 100).as_deref(), Ok(json.as_bytes()));
        assert_eq!(body_bytes(&post("%%%", true, ""), 100).map_err(|problem| problem.code), Err(Code::InvalidRequest));
    }

    #[test]
    fn a_body_above_its_bound_is_refused_in_either_form() {
        let code = |request: &Request| body_bytes(request, 9).map_err(|problem| problem.code).map(|bytes| bytes.len());
        assert_eq!(code(&post("123456789", false, "")), Ok(9));
        assert_eq!(code(&post("1234567890", false, "")), Err(Code::PayloadTooLarge));
        for (length, outcome) in [(9, Ok(9)), (10, Err(Code::PayloadTooLarge)), (1_000, Err(Code::PayloadTooLarge))] {
            assert_eq!(code(&post(&STANDARD.encode("x".repeat(length)), true, "")), outcome);
        }
    }

    #[test]
    fn only_a_body_labelled_as_something_else_is_refused_for_its_label() {
        for (label, taken) in [
            ("application/json", true),
            ("Application/JSON;charset=utf-8", true),
            ("application/merge-patch+json", true),
            ("application/x-www-form-urlencoded", true),
            ("text/plain;charset=UTF-8", true),
            ("application/xml", false),
            ("multipart/form-data; boundary=x", false),
        ] {
            let read = json_body::<Order>(&post(r#"{"user_id":"u"}"#, false, label)).map_err(|problem| problem.code);
            assert_eq!(read.is_ok(), taken, "{label}: {read:?}");
        }
    }
}
