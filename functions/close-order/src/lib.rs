//! Closing orders by message: wake-ups, checks of undecided runs, what the scan found, attempts to ask about (DESIGN §5).

use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use expiry_adjudication::{Context, Ran, RunError};
use expiry_core::decide::close::{CloseOutcome, Occasion};
use expiry_core::ids::OrderId;
use expiry_core::limits;
use expiry_core::message::{Message, Queue};
use expiry_core::outbox::{stand_in, whole_seconds};
use expiry_core::pending::Unit;
use expiry_core::time::Timestamp;
use expiry_runtime::batch::{BatchFailed, InvalidMessage, read_message, sqs_batch};
use expiry_runtime::logs::chain;
use expiry_runtime::metrics::Metric;
use expiry_runtime::queues::{Queues, SendError};
use expiry_runtime::schedules::WakeSchedules;

/// How long after the moment it was armed for a wake-up counts as late.
const LATE: Duration = Duration::from_secs(60);
/// How long a message waits that met contention: it is sent anew and never counts as a failed receive.
const CONTENTION_DELAY: Duration = Duration::from_secs(5);

/// The function.
#[derive(Debug)]
pub struct CloseOrder {
    context: Arc<Context>,
    queues: Queues,
    schedules: WakeSchedules,
}

/// Why a message is wanted again.
#[derive(Debug, thiserror::Error)]
pub enum CloseError {
    /// It is not a message of ours, or not one for this queue.
    #[error("the message is not for this queue")]
    Message(#[from] InvalidMessage),
    /// Another queue's work.
    #[error("{0} is not worked on here")]
    OtherUnit(Unit),
    /// The order was not moved.
    #[error("the order {order} was not moved")]
    Run {
        /// Which order.
        order: OrderId,
        /// Why.
        #[source]
        source: RunError,
    },
    /// A message that has to follow this one was not sent.
    #[error("the message that follows was not sent")]
    Send(#[from] SendError),
}

impl CloseOrder {
    /// The function; it sends to the queue `close` alone.
    #[must_use]
    pub fn new(context: Arc<Context>, queues: Queues, schedules: WakeSchedules) -> CloseOrder {
        CloseOrder { context, queues, schedules }
    }

    /// Handles a batch of the queue `close`.
    ///
    /// # Errors
    /// When every message of it failed.
    pub async fn handle(&self, event: SqsEvent) -> Result<SqsBatchResponse, BatchFailed> {
        sqs_batch(event, |message| self.one(message)).await
    }

    async fn one(&self, message: SqsMessage) -> Result<(), CloseError> {
        let message = read_message(&message)?;
        match self.carry_out(&message).await {
            Err(CloseError::Run { source, .. }) if source.is_contention() => {
                Ok(self.queues.send_message(Queue::Close, &message, CONTENTION_DELAY).await?)
            }
            done => done,
        }
    }

    async fn carry_out(&self, message: &Message) -> Result<(), CloseError> {
        let order = message.order_id();
        match message {
            Message::Wake { expire_at, hop, .. } => {
                if *hop > 0 && self.arm_again(message, *expire_at).await? {
                    return Ok(());
                }
                let ran = self.close(order, Occasion::Wake { expire_at: *expire_at }).await?;
                self.after_wake(message, *expire_at, ran).await
            }
            Message::Check { check_at, again, .. } => {
                let ran = self.close(order, Occasion::Retry { check_at: *check_at }).await?;
                if let (CloseOutcome::Early { wait }, false) = (&ran.outcome, again) {
                    let later = Message::Check { order_id: order.clone(), check_at: *check_at, again: true };
                    let delay = whole_seconds(*wait) + limits::CHECK_DELAY_MARGIN;
                    return Ok(self.queues.send_message(Queue::Close, &later, delay).await?);
                }
                self.ask_what_is_left(order, ran).await
            }
            Message::Overdue { .. } => {
                self.context.metrics.count(Metric::FoundByScan, 1, &[]);
                let ran = self.close(order, Occasion::Scan).await?;
                self.ask_what_is_left(order, ran).await
            }
            Message::Unit { unit: Unit::Ask(_), check_at, .. } => self.ask(order, *check_at).await,
            Message::Unit { unit, .. } => Err(CloseError::OtherUnit(unit.clone())),
        }
    }

    async fn close(&self, order: &OrderId, occasion: Occasion) -> Result<Ran<CloseOutcome>, CloseError> {
        let command = self.context.close_by(occasion);
        self.context.run(order, &command).await.map_err(|source| CloseError::Run { order: order.clone(), source })
    }

    /// A stand-in tries the schedule again before anything else; `true` when there is one now, or another stand-in is on its way.
    async fn arm_again(&self, wake: &Message, expire_at: Timestamp) -> Result<bool, CloseError> {
        let now = self.context.clock.now();
        let due = expire_at.plus(limits::EXPIRY_SETTLE_TIME);
        if due.since(now) <= limits::SCHEDULE_HORIZON {
            return Ok(false);
        }
        let order_id = wake.order_id();
        let by_schedule = Message::Wake { order_id: order_id.clone(), expire_at, hop: 0 };
        let input = serde_json::to_string(&by_schedule).unwrap_or_default();
        match self.schedules.arm(order_id, expire_at.minus(limits::SCHEDULE_AHEAD), &input).await {
            Ok(()) => Ok(true),
            Err(error) => {
                self.context.metrics.count(Metric::ScheduleNotCreated, 1, &[]);
                tracing::warn!(order_id = %order_id, error = %chain(&error), "still no schedule");
                if let Some((next, delay)) = stand_in(wake, now) {
                    self.queues.send_message(Queue::Close, &next, delay).await?;
                }
                Ok(true)
            }
        }
    }

    /// Only a wake-up re-queues itself, with the exact time that is left, so that an imprecise schedule wakes precisely.
    async fn after_wake(&self, wake: &Message, expire_at: Timestamp, ran: Ran<CloseOutcome>) -> Result<(), CloseError> {
        let metrics = &self.context.metrics;
        match &ran.outcome {
            CloseOutcome::Early { wait } => {
                metrics.count(Metric::WakeEarly, 1, &[]);
                let delay = whole_seconds(*wait).min(limits::QUEUE_DELAY);
                return Ok(self.queues.send_message(Queue::Close, wake, delay).await?);
            }
            CloseOutcome::Closed | CloseOutcome::Paid | CloseOutcome::Undecided { .. } => {
                if ran.at.since(expire_at) > LATE {
                    metrics.count(Metric::WakeLate, 1, &[]);
                }
            }
            CloseOutcome::Terminal(_) | CloseOutcome::Busy { .. } => metrics.count(Metric::WakeDuplicate, 1, &[]),
            CloseOutcome::Outdated | CloseOutcome::NotDue { .. } => metrics.count(Metric::WakeDropped, 1, &[]),
        }
        self.ask_what_is_left(wake.order_id(), ran).await
    }

    /// A terminal order may have attempts left to ask about, and one that never expires may have credentials that have (DESIGN §5).
    async fn ask_what_is_left(&self, order: &OrderId, ran: Ran<CloseOutcome>) -> Result<(), CloseError> {
        match ran.outcome {
            CloseOutcome::Terminal(_) | CloseOutcome::NotDue { due: None } => self.ask(order, None).await,
            CloseOutcome::Closed
            | CloseOutcome::Paid
            | CloseOutcome::Undecided { .. }
            | CloseOutcome::Busy { .. }
            | CloseOutcome::Early { .. }
            | CloseOutcome::NotDue { due: Some(_) }
            | CloseOutcome::Outdated => Ok(()),
        }
    }

    async fn ask(&self, order: &OrderId, check_at: Option<Timestamp>) -> Result<(), CloseError> {
        let command = self.context.ask_again(check_at, false);
        let ran = self.context.run(order, &command).await;
        ran.map(drop).map_err(|source| CloseError::Run { order: order.clone(), source })
    }
}
