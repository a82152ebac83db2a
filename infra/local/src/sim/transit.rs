//! The way between the shop and the channel: what becomes of a call on it.

use std::fmt;
use std::time::Duration;

use expiry_channels::{HttpRequest, HttpResponse, TransportError};

use super::{SimChannel, lock, path_of};

/// What becomes of one call of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transit {
    /// It arrives and is answered.
    Arrives,
    /// It arrives that much later in real (tokio) time, also when its caller has given up by then.
    ArrivesLate(Duration),
    /// It never arrives; its caller waits for its whole deadline.
    Lost,
    /// It arrives, and its answer does not; its caller waits for its whole deadline.
    AnswerLost,
}

/// Decides about each call by its method, its path and its body.
type Decide = dyn FnMut(&str, &str, &[u8]) -> Transit + Send;

/// The rule in force.
pub(super) struct TransitRule(Box<Decide>);

impl fmt::Debug for TransitRule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("TransitRule")
    }
}

impl SimChannel {
    /// Lets `rule` decide what becomes of each call from now on, in place of a former one. It must not call the channel.
    pub fn on_call(&self, rule: impl FnMut(&str, &str, &[u8]) -> Transit + Send + 'static) {
        *lock(&self.0.transit) = Some(TransitRule(Box::new(rule)));
    }

    pub(super) async fn carry(&self, request: HttpRequest, deadline: Duration) -> Result<HttpResponse, TransportError> {
        let transit = match &mut *lock(&self.0.transit) {
            Some(TransitRule(rule)) => rule(request.method.as_str(), path_of(&request.url), &request.body),
            None => Transit::Arrives,
        };
        let given_up = || Err(TransportError::Timeout(deadline));
        match transit {
            Transit::Arrives => {}
            Transit::ArrivesLate(span) if span >= deadline => {
                let channel = self.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(span).await;
                    channel.arrive(&request).await;
                });
                tokio::time::sleep(deadline).await;
                return given_up();
            }
            Transit::ArrivesLate(span) => tokio::time::sleep(span).await,
            Transit::Lost => {
                tokio::time::sleep(deadline).await;
                return given_up();
            }
            Transit::AnswerLost => {
                let _ = tokio::time::timeout(deadline, self.arrive(&request)).await;
                tokio::time::sleep(deadline).await;
                return given_up();
            }
        }
        match tokio::time::timeout(deadline, self.arrive(&request)).await {
            Ok(answer) => Ok(answer),
            Err(_) => given_up(),
        }
    }

    async fn arrive(&self, request: &HttpRequest) -> HttpResponse {
        self.wire(request.method.as_str(), path_of(&request.url), &request.headers, &request.body).await
    }
}
