//! Answers as they go back to the SDK.

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use expiry_core::time::Timestamp;
use serde_json::{Map, Value, json};

use super::fate::Failure;

/// One HTTP answer, without its `Date` header: the connector adds that to every answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Answer {
    /// A success with a JSON body.
    pub(crate) fn ok(body: &Value) -> Answer {
        Answer::json(200, body.to_string())
    }

    /// Any status with JSON text.
    pub(crate) fn json(status: u16, body: String) -> Answer {
        Answer { status, headers: Vec::new(), body }
    }
}

/// An error a service states, in the shape all their protocols read: `__type` and `message` in the body, the code in a header.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{code}: {message}")]
pub(crate) struct ApiError {
    status: u16,
    code: &'static str,
    message: String,
    /// SQS answers its old query-protocol code as well, and the SDK goes by that.
    query_code: Option<&'static str>,
}

impl ApiError {
    pub(crate) fn new(status: u16, code: &'static str, message: impl Into<String>) -> ApiError {
        ApiError { status, code, message: message.into(), query_code: None }
    }

    pub(crate) fn with_query_code(self, query_code: &'static str) -> ApiError {
        ApiError { query_code: Some(query_code), ..self }
    }

    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn into_answer(self) -> Answer {
        let body = json!({"__type": self.code, "message": self.message, "Message": self.message});
        let mut headers = vec![("x-amzn-errortype", self.code.to_owned())];
        if let Some(query_code) = self.query_code {
            headers.push(("x-amzn-query-error", format!("{query_code};Sender")));
        }
        Answer { status: self.status, headers, body: body.to_string() }
    }
}

/// The answer of an injected failure.
pub(crate) fn failure_answer(failure: &Failure) -> Answer {
    let mut body = Map::new();
    body.insert("__type".to_owned(), json!(failure.code));
    body.insert("message".to_owned(), json!("injected"));
    body.insert("Message".to_owned(), json!("injected"));
    if let Value::Object(members) = &failure.members {
        body.extend(members.clone());
    }
    Answer {
        status: failure.status,
        headers: vec![("x-amzn-errortype", failure.code.clone())],
        body: Value::Object(body).to_string(),
    }
}

/// `at` as an HTTP date (IMF-fixdate): whole seconds, rounded down.
pub(crate) fn http_date(at: Timestamp) -> String {
    // Every `Timestamp` is within the four-digit years an HTTP date can write.
    DateTime::from_secs(at.as_seconds()).fmt(Format::HttpDate).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_header_is_whole_seconds_of_imf_fixdate() {
        let at = Timestamp::parse_rfc3339("1994-11-06T08:49:37.999Z").expect("a time");
        assert_eq!(http_date(at), "Sun, 06 Nov 1994 08:49:37 GMT");
    }
}
