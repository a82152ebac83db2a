//! An answer of the simulated channel, with the word under which a call is remembered.

use expiry_channels::sim::wire::{ProblemBody, code};
use expiry_channels::{Headers, HttpResponse};
use serde::Serialize;
use serde_json::Value;

/// An answer before it is signed.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    /// What the call answered, in a word.
    pub(super) word: String,
    status: u16,
    body: Vec<u8>,
}

impl Reply {
    fn new(word: &str, status: u16, body: &impl Serialize) -> Reply {
        // Our own messages always serialise; an empty body would be an answer nobody believes.
        Reply { word: word.to_owned(), status, body: serde_json::to_vec(body).unwrap_or_default() }
    }

    pub(super) fn ok(word: &str, body: &impl Serialize) -> Reply {
        Reply::new(word, 200, body)
    }

    pub(super) fn problem(word: &str, status: u16, code: &str, message: &str) -> Reply {
        Reply::new(word, status, &ProblemBody { code: code.to_owned(), message: message.to_owned() })
    }

    pub(super) fn refused(status: u16, code: &str, message: &str) -> Reply {
        Reply::problem("refused", status, code, message)
    }

    pub(super) fn payment_not_found() -> Reply {
        Reply::problem("404", 404, code::PAYMENT_NOT_FOUND, "no such payment")
    }

    pub(super) fn system_error() -> Reply {
        Reply::problem("500", 500, code::SYSTEM_ERROR, "the channel failed")
    }

    pub(super) fn status(&self) -> u16 {
        self.status
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }

    /// As an HTTP message, with `more` besides the content type.
    pub(super) fn into_response(self, more: Option<(&str, String)>) -> HttpResponse {
        let content_type = ("Content-Type", "application/json".to_owned());
        let headers: Headers = std::iter::once(content_type).chain(more).collect();
        HttpResponse { status: self.status, headers, body: self.body.into() }
    }

    /// A JSON answer of the control paths, which are not signed.
    pub(super) fn control(status: u16, body: &Value) -> HttpResponse {
        Reply::new("", status, body).into_response(None)
    }

    /// A refusal on the control paths.
    pub(super) fn control_problem(status: u16, code: &str, message: &str) -> HttpResponse {
        Reply::problem("", status, code, message).into_response(None)
    }
}
