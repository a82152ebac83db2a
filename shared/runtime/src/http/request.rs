//! Method, path, query and headers of a request.

use super::Request;
use crate::problem::Problem;

/// The method, in capitals.
#[must_use]
pub fn method(request: &Request) -> &str {
    request.request_context.http.method.as_str()
}

/// The parts of the path between its slashes: `["orders", "<id>", "cancel"]`. A handler matches on them.
///
/// The gateway hands the path over percent-decoded already; decoding once more would change an identifier with a `%` in it. A
/// stage that is not `$default` stands before the path and is taken off.
#[must_use]
pub fn segments(request: &Request) -> Vec<&str> {
    let path = request.raw_path.as_deref().unwrap_or_default();
    let path = path.strip_prefix('/').unwrap_or(path);
    let mut segments: Vec<&str> = if path.is_empty() { Vec::new() } else { path.split('/').collect() };
    let stage = request.request_context.stage.as_deref();
    if stage.is_some() && stage == segments.first().copied() {
        segments.remove(0);
    }
    segments
}

/// What stands in the path for `{name}` of the route; decoded, like the path itself.
///
/// # Errors
/// `not_found` when the route has no such parameter.
pub fn path_parameter<'a>(request: &'a Request, name: &str) -> Result<&'a str, Problem> {
    match request.path_parameters.get(name) {
        Some(value) if !value.is_empty() => Ok(value),
        Some(_) | None => Err(Problem::new(crate::problem::Code::NotFound)),
    }
}

/// The query parameter `name`, decoded; the first one when it is there more than once.
#[must_use]
pub fn query_parameter<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    request.query_string_parameters.first(name)
}

/// The header `name`, in whatever case it was sent.
///
/// # Errors
/// `invalid_request` when it is there and not text: it must never be taken for absent.
pub fn header<'a>(request: &'a Request, name: &'static str) -> Result<Option<&'a str>, Problem> {
    let Some(value) = request.headers.get(name) else {
        return Ok(None);
    };
    match std::str::from_utf8(value.as_bytes()) {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(Problem::invalid(name, "must be UTF-8 text")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::http::body::fixture::request;

    #[test]
    fn the_path_is_split_as_the_gateway_decoded_it_and_without_its_stage() {
        for (stage, path, expected) in [
            ("$default", "/orders/abc/cancel", vec!["orders", "abc", "cancel"]),
            ("prod", "/prod/orders", vec!["orders"]),
            ("$default", "/admin/coupons/50%/x y", vec!["admin", "coupons", "50%", "x y"]),
            ("$default", "/orders/", vec!["orders", ""]),
            ("$default", "/", vec![]),
        ] {
            let request =
                request(json!({"rawPath": path, "requestContext": {"stage": stage, "http": {"method": "GET"}}}));
            assert_eq!(segments(&request), expected);
        }
    }

    #[test]
    fn headers_are_found_in_any_case_and_parameters_by_name() {
        let request = request(json!({
            "headers": {"Idempotency-KEY": "k-1", "sim-signature": "t=1"},
            "pathParameters": {"id": "abc"},
            "queryStringParameters": {"status": "CLOSING"},
            "requestContext": {"http": {"method": "POST"}},
        }));
        assert_eq!(header(&request, "idempotency-key"), Ok(Some("k-1")));
        assert_eq!(header(&request, "Sim-Signature"), Ok(Some("t=1")));
        assert_eq!(header(&request, "x-other"), Ok(None));
        assert_eq!(path_parameter(&request, "id"), Ok("abc"));
        assert!(path_parameter(&request, "sku").is_err());
        assert_eq!(query_parameter(&request, "status"), Some("CLOSING"));
        assert_eq!(query_parameter(&request, "overdue"), None);
        assert_eq!(method(&request), "POST");
    }
}
