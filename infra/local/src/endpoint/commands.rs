//! `/_local/*` over an endpoint: everything but clock, faults and the schedules, which its own API lists.

use std::collections::BTreeMap;

use aws_sdk_sqs::types::QueueAttributeName;
use bytes::Bytes;
use expiry_runtime::http::{Response, json_response};
use expiry_runtime::logs::chain;
use expiry_runtime::problem::{Code, Problem};
use http::Method;

use super::Endpoint;
use crate::AnyError;
use crate::cloud::QueueCounts;
use crate::commands;
use crate::functions::Functions;
use crate::server::Host;
use crate::sim::SimChannel;

impl Host for Endpoint {
    fn functions(&self) -> &Functions {
        &self.functions
    }

    fn sim(&self) -> &SimChannel {
        &self.sim
    }

    async fn command(&self, method: &Method, command: &str, body: &Bytes) -> Result<Response, Problem> {
        match (method.as_str(), command) {
            ("POST", "scan") => commands::scan(&self.functions).await,
            ("POST", "deliver") => commands::deliver(body, &self.sdk, |queue| self.urls[&queue].clone()).await,
            ("GET", "queues") => match self.queue_counts().await {
                Ok(counts) => Ok(json_response(200, &counts)),
                Err(error) => {
                    tracing::warn!(error = %chain(error.as_ref()), "the queues were not counted");
                    Err(Problem::new(Code::TryAgain))
                }
            },
            ("GET", "metrics") => Ok(json_response(200, &self.figures.all())),
            ("PUT", "clock" | "faults") => {
                let detail = "An endpoint has no clock that can be moved, and no faults to inject.";
                Err(Problem::with_detail(Code::NotFound, detail))
            }
            _ => Err(Problem::new(Code::NotFound)),
        }
    }
}

impl Endpoint {
    /// What every queue holds, as far as its service knows.
    async fn queue_counts(&self) -> Result<BTreeMap<String, QueueCounts>, AnyError> {
        let sqs = aws_sdk_sqs::Client::new(&self.sdk);
        let mut counts = BTreeMap::new();
        for (queue, url) in &self.urls {
            for (name, url) in [(queue.to_string(), url.clone()), (format!("{queue}-dlq"), format!("{url}-dlq"))] {
                let asked = sqs.get_queue_attributes().queue_url(url).attribute_names(QueueAttributeName::All);
                let shown = asked.send().await?.attributes.unwrap_or_default();
                let count = |name: QueueAttributeName| shown.get(&name).and_then(|text| text.parse().ok()).unwrap_or(0);
                let counted = QueueCounts {
                    visible: count(QueueAttributeName::ApproximateNumberOfMessages),
                    delayed: count(QueueAttributeName::ApproximateNumberOfMessagesDelayed),
                    in_flight: count(QueueAttributeName::ApproximateNumberOfMessagesNotVisible),
                };
                counts.insert(name, counted);
            }
        }
        Ok(counts)
    }
}
