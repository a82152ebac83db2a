//! From committed orders to what follows: the one place that arms and disarms schedules and sends what a commit added (DESIGN §5, §6).

mod image;

use std::sync::Arc;

use aws_lambda_events::event::dynamodb::{Event, EventRecord};
use aws_lambda_events::event::streams::DynamoDbEventResponse;
use expiry_core::closing::CloseReason;
use expiry_core::invariants;
use expiry_core::message::{Message, Queue};
use expiry_core::order::{Order, OrderStatus};
use expiry_core::outbox::{Effect, effects, stand_in};
use expiry_core::time::{Clock, Timestamp};
use expiry_runtime::batch::{BatchFailed, stream_batch};
use expiry_runtime::document::expire_to_closed;
use expiry_runtime::logs::chain;
use expiry_runtime::metrics::{Dimension, Metric, Metrics};
use expiry_runtime::queues::{Queues, SendError};
use expiry_runtime::schedules::WakeSchedules;

/// The function.
#[derive(Debug)]
pub struct OutboxFanout {
    clock: Arc<dyn Clock>,
    metrics: Metrics,
    queues: Queues,
    schedules: WakeSchedules,
}

impl OutboxFanout {
    /// The function; it sends to every queue.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, metrics: Metrics, queues: Queues, schedules: WakeSchedules) -> OutboxFanout {
        OutboxFanout { clock, metrics, queues, schedules }
    }

    /// Handles a batch of the stream, in order; it stops at the first message that could not be sent.
    ///
    /// # Errors
    /// When not even the first record could be handled.
    pub async fn handle(&self, event: Event) -> Result<DynamoDbEventResponse, BatchFailed> {
        stream_batch(event, |record| self.one(record)).await
    }

    async fn one(&self, record: EventRecord) -> Result<(), SendError> {
        let Some(after) = self.read(&record, image::new(&record)) else {
            return Ok(());
        };
        let before = self.read(&record, image::old(&record));
        self.check(before.as_ref(), &after);
        let now = self.clock.now();
        let mut not_armed = Ok(());
        for effect in effects(before.as_ref(), &after, now) {
            match effect {
                Effect::Arm { at, wake } => not_armed = self.arm(&after, at, &wake, now).await,
                Effect::Disarm => self.disarm(&after).await,
                Effect::Send { queue, message, delay } => self.queues.send_message(queue, &message, delay).await?,
            }
        }
        not_armed?;
        // Last, so that a record that is offered again counts once.
        if before.as_ref().is_none_or(|before| before.status != after.status) {
            self.count_transition(&after);
        }
        Ok(())
    }

    /// An image that cannot be read holds up nobody else's: it is counted, and the scan comes by its order again.
    fn read(&self, record: &EventRecord, image: Option<image::Image>) -> Option<Order> {
        match image?.order()? {
            Ok(order) => Some(order),
            Err(error) => {
                self.metrics.count(Metric::InvariantBreach, 1, &[(Dimension::Invariant, "unreadable")]);
                tracing::error!(event_id = %record.event_id, error = %chain(&error), "a stored order cannot be read");
                None
            }
        }
    }

    /// Counts what a commit did to the order's status: here, where every commit is seen, also one whose answer was lost.
    fn count_transition(&self, order: &Order) {
        match order.status {
            OrderStatus::Closed => {
                let reason = order.close_reason.map_or("", CloseReason::name);
                self.metrics.count(Metric::OrderClosed, 1, &[(Dimension::CloseReason, reason)]);
                if let Some(span) = expire_to_closed(order) {
                    self.metrics.milliseconds(Metric::ExpireToClosed, span, &[]);
                }
            }
            OrderStatus::Paid => {
                // Told by `callback`; every other trigger found it by asking: callbacks that stay away show here (case b49).
                let trigger = order.evidence.last().map_or("", |evidence| evidence.trigger.as_str());
                self.metrics.count(Metric::OrderPaid, 1, &[(Dimension::Trigger, trigger)]);
            }
            OrderStatus::PendingPayment | OrderStatus::Paying | OrderStatus::Closing => {}
        }
    }

    /// The invariants of one order, on every image (DESIGN §2).
    fn check(&self, before: Option<&Order>, after: &Order) {
        let mut breaches = invariants::breaches(after);
        breaches.extend(before.into_iter().flat_map(|before| invariants::transition_breaches(before, after)));
        for breach in breaches {
            self.metrics.count(Metric::InvariantBreach, 1, &[(Dimension::Invariant, breach.invariant)]);
            tracing::error!(order_id = %after.id, version = after.version, %breach, "an invariant is broken");
        }
    }

    /// A schedule that stays fires once and finds nothing to do: it never holds up other effects.
    async fn disarm(&self, order: &Order) {
        if let Err(error) = self.schedules.disarm(&order.id).await {
            tracing::warn!(order_id = %order.id, error = %chain(&error), "the schedule was not removed");
        }
    }

    /// A schedule that cannot be created is replaced by a delayed message, and never holds up its order's other effects (DESIGN §5).
    /// Where not even that is taken the record is offered again: a reminder waits for the queue, the order does not wait for the scan.
    async fn arm(&self, order: &Order, at: Timestamp, wake: &Message, now: Timestamp) -> Result<(), SendError> {
        let input = serde_json::to_string(wake).unwrap_or_default();
        let Err(error) = self.schedules.arm(&order.id, at, &input).await else {
            return Ok(());
        };
        self.metrics.count(Metric::ScheduleNotCreated, 1, &[]);
        tracing::warn!(order_id = %order.id, error = %chain(&error), "no schedule: delayed messages stand in for it");
        match stand_in(wake, now) {
            Some((stand_in, delay)) => self.queues.send_message(Queue::Close, &stand_in, delay).await,
            None => Ok(()),
        }
    }
}
