//! What people hear of: figures, findings, and the conversations with channels.

use expiry_core::ids::OrderId;
use expiry_core::signal::Signal;
use expiry_core::time::Timestamp;
use expiry_runtime::logs::chain;
use expiry_runtime::metrics::Metric;
use expiry_store::Finding;
use serde::Serialize;

use crate::Context;

/// One call of a channel, as the case file keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Heard {
    /// The attempt it was about.
    pub attempt: u8,
    /// Which call.
    pub call: &'static str,
    /// When it was sent.
    pub sent_at: String,
    /// What was answered, in our words.
    pub answer: String,
}

/// The calls of one round of asking.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Conversation {
    /// In the order in which they were sent, attempt by attempt.
    pub calls: Vec<Heard>,
}

impl Conversation {
    /// As it is stored.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Context {
    /// Counts a signal, and keeps it as a finding when a person must look at it.
    pub async fn raise(&self, order: &OrderId, signal: &Signal, now: Timestamp) {
        if let Some(metric) = metric(signal) {
            self.metrics.count(metric, 1, &[]);
        }
        if !signal.is_finding() {
            tracing::info!(order_id = %order, %signal, "signal");
            return;
        }
        tracing::warn!(order_id = %order, %signal, "a person must look at this order");
        let finding =
            Finding { at: now, order: order.clone(), name: signal.name().to_owned(), detail: signal.to_string() };
        if let Err(error) = self.store.find(&finding).await {
            tracing::error!(order_id = %order, %signal, error = %chain(&error), "the finding was not kept");
        }
    }
}

fn metric(signal: &Signal) -> Option<Metric> {
    Some(match signal {
        Signal::LatePayment(_) => Metric::LatePayment,
        Signal::AmountMismatch(_) => Metric::AmountMismatch,
        Signal::RefundedElsewhere(_) => Metric::ForeignRefund,
        Signal::SecondTransaction(_) => Metric::SecondTransaction,
        Signal::TransactionTaken(_) => Metric::TransactionTaken,
        Signal::NeedsAttention => Metric::ClosingNeedsAttention,
        Signal::ReservationAnomaly(_) => Metric::ReservationAnomaly,
        Signal::RefundFailed(_) => Metric::RefundFailed,
        Signal::RefundSucceeded(_) => Metric::RefundSucceeded,
        Signal::SurplusPayment(_) | Signal::Overpaid(_) => return None,
    })
}
