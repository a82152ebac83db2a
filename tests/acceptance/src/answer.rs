//! What came back.

use serde_json::Value;

/// An HTTP answer with its JSON body.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The content type.
    pub content_type: String,
    /// The body; null when it is empty or no JSON.
    pub body: Value,
}

impl Answer {
    /// The answer, which must have `status`.
    ///
    /// # Panics
    /// When it has another.
    #[must_use]
    #[track_caller]
    pub fn expect(self, status: u16) -> Answer {
        assert_eq!(self.status, status, "{:#}", self.body);
        self
    }

    /// The answer, which must be a problem document of `status` and `code`.
    ///
    /// # Panics
    /// When it is anything else.
    #[track_caller]
    pub fn expect_problem(self, status: u16, code: &str) -> Answer {
        assert_eq!((self.status, self.text("code")), (status, code), "{:#}", self.body);
        assert_eq!(self.content_type, "application/problem+json");
        assert_eq!(self.body["status"], status);
        self
    }

    /// A text of the body.
    #[must_use]
    pub fn text(&self, field: &str) -> &str {
        self.body[field].as_str().unwrap_or_default()
    }
}
