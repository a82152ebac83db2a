//! HTTP as a channel sees it: whole messages, no connection.

use std::fmt;

use bytes::Bytes;

/// The methods that channels are called with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpMethod {
    /// Reads.
    Get,
    /// Changes.
    Post,
}

impl HttpMethod {
    /// The method as it stands on the wire, in capitals.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            HttpMethod::Get => "GET",
            HttpMethod::Post => "POST",
        }
    }
}

/// Header fields in the order they came. Names are compared without regard to case.
///
/// `Debug` shows the names only: values carry signatures and tokens.
///
/// ```
/// use expiry_channels::Headers;
/// let headers: Headers = [("Content-Type", "application/json")].into_iter().collect();
/// assert_eq!(headers.get("content-type"), Some("application/json"));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// The first value of the field `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Every field, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(fields: I) -> Headers {
        Headers(fields.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

/// A request to a channel, complete: sending it adds nothing but `Host` and `Content-Length`.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method.
    pub method: HttpMethod,
    /// The absolute URL, `http://` or `https://`.
    pub url: String,
    /// Every header field the channel wants.
    pub headers: Headers,
    /// The body, byte for byte as signed.
    pub body: Bytes,
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {} ({} bytes)", self.method.as_str(), self.url, self.body.len())
    }
}

/// A channel's answer.
///
/// `Debug` never shows the body: the answer to a place request holds a payment credential (I10).
#[derive(Clone, PartialEq, Eq)]
pub struct HttpResponse {
    /// The HTTP status.
    pub status: u16,
    /// Every header field.
    pub headers: Headers,
    /// The body, byte for byte as received.
    pub body: Bytes,
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "HTTP {} ({} bytes)", self.status, self.body.len())
    }
}

/// What we answer to a channel's notification, in the channel's own form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpReply {
    /// The HTTP status.
    pub status: u16,
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
}
