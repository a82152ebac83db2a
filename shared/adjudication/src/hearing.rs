//! What people hear of: figures, findings, and the conversations with channels.

use expiry_core::ids::OrderId;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::signal::Signal;
use expiry_core::time::Timestamp;
use expiry_runtime::document::expire_to_closed;
use expiry_runtime::logs::chain;
use expiry_runtime::metrics::{Dimension, Metric};
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
    /// Counts what a commit did to the order's status.
    pub(crate) fn count_transition(&self, before: &Order, after: &Order) {
        if before.status == after.status {
            return;
        }
        tracing::info!(
            order_id = %after.id,
            from = before.status.name(),
            to = after.status.name(),
            version = after.version,
            "the order moved"
        );
        match after.status {
            OrderStatus::Closed => {
                let reason = after.close_reason.map_or("", expiry_core::closing::CloseReason::name);
                self.metrics.count(Metric::OrderClosed, 1, &[(Dimension::CloseReason, reason)]);
                if let Some(span) = expire_to_closed(after) {
                    self.metrics.milliseconds(Metric::ExpireToClosed, span, &[]);
                }
            }
            OrderStatus::Paid => {
                // Told by `callback`; every other trigger found it by asking: callbacks that stay away show here (case b49).
                let trigger = after.evidence.last().map_or("", |evidence| evidence.trigger.as_str());
                self.metrics.count(Metric::OrderPaid, 1, &[(Dimension::Trigger, trigger)]);
            }
            OrderStatus::PendingPayment | OrderStatus::Paying | OrderStatus::Closing => {}
        }
    }

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
