//! Answers.

use ::http::{HeaderMap, HeaderName, HeaderValue};
use aws_lambda_events::encodings::Body;
use serde::Serialize;

use super::Response;
use crate::logs::chain;
use crate::problem::{Code, Problem};

/// An answer with a body of any type; every answer is `cache-control: no-store`, because every one is about money or state.
#[must_use]
pub fn response(status: u16, content_type: &'static str, body: impl Into<String>) -> Response {
    let mut headers = HeaderMap::new();
    headers.insert(::http::header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(::http::header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let mut response = Response::default();
    response.status_code = i64::from(status);
    response.headers = headers;
    response.body = Some(Body::Text(body.into()));
    response
}

/// An answer in JSON.
#[must_use]
pub fn json_response(status: u16, body: &impl Serialize) -> Response {
    match serde_json::to_string(body) {
        Ok(text) => response(status, "application/json", text),
        Err(error) => {
            tracing::error!(error = %chain(&error), "an answer cannot be written as JSON");
            problem_response(&Problem::new(Code::Internal))
        }
    }
}

/// A refusal as `application/problem+json`, with the headers its status asks for.
#[must_use]
pub fn problem_response(problem: &Problem) -> Response {
    let mut response = response(problem.status(), "application/problem+json", problem.document().to_string());
    for (name, value) in problem.headers() {
        response.headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn wire(response: &Response) -> Value {
        serde_json::to_value(response).expect("JSON")
    }

    #[test]
    fn an_answer_is_json_that_nobody_stores() {
        let answer = wire(&json_response(201, &json!({"order_id": "x"})));
        assert_eq!(answer["statusCode"], 201);
        assert_eq!(answer["headers"], json!({"content-type": "application/json", "cache-control": "no-store"}));
        assert_eq!(answer["body"], r#"{"order_id":"x"}"#);
        assert_eq!(answer["isBase64Encoded"], false);
    }

    #[test]
    fn a_refusal_is_a_problem_document_and_says_when_to_try_again() {
        let answer = wire(&problem_response(&Problem::new(Code::TryAgain)));
        assert_eq!(answer["statusCode"], 503);
        assert_eq!(answer["headers"]["content-type"], "application/problem+json");
        assert_eq!(answer["headers"]["cache-control"], "no-store");
        assert_eq!(answer["headers"]["retry-after"], "1");
        let body: Value = serde_json::from_str(answer["body"].as_str().expect("text")).expect("JSON");
        assert_eq!(body["code"], "try_again");
    }
}
