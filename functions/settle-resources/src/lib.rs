//! Confirming or releasing what a terminal order holds: the message names only order and unit, the order's status says which
//! (DESIGN §6).

use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use expiry_adjudication::{Context, RunError};
use expiry_core::decide::settle::{Settle, SettleOutcome};
use expiry_core::ids::OrderId;
use expiry_core::message::{Message, Queue};
use expiry_core::pending::Unit;
use expiry_runtime::batch::{BatchFailed, InvalidMessage, read_message, sqs_batch};
use expiry_runtime::metrics::{Dimension, Metric};
use expiry_runtime::queues::{Queues, SendError};

/// How long a message waits that met contention: it is sent anew and never counts as a failed receive.
const CONTENTION_DELAY: Duration = Duration::from_secs(2);

/// The function.
#[derive(Debug)]
pub struct SettleResources {
    context: Arc<Context>,
    queues: Queues,
}

/// Why a message is wanted again.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    /// It is not a message of ours.
    #[error("the message is not for these queues")]
    Message(#[from] InvalidMessage),
    /// Not a unit that is settled.
    #[error("the message names no unit that is settled here")]
    OtherWork,
    /// The order is not terminal: nothing of it may be settled (I3, I4).
    #[error("the order {0} is not terminal")]
    NotTerminal(OrderId),
    /// The order was not moved.
    #[error("the order {order} was not settled")]
    Run {
        /// Which order.
        order: OrderId,
        /// Why.
        #[source]
        source: RunError,
    },
    /// The message that stands in for this one was not sent.
    #[error("the message that follows was not sent")]
    Send(#[from] SendError),
}

impl SettleResources {
    /// The function; it sends only to the queues it receives from.
    #[must_use]
    pub fn new(context: Arc<Context>, queues: Queues) -> SettleResources {
        SettleResources { context, queues }
    }

    /// Handles a batch of one of its queues.
    ///
    /// # Errors
    /// When every message of it failed.
    pub async fn handle(&self, event: SqsEvent) -> Result<SqsBatchResponse, BatchFailed> {
        sqs_batch(event, |message| self.one(message)).await
    }

    async fn one(&self, message: SqsMessage) -> Result<(), SettleError> {
        let message = read_message(&message)?;
        let Message::Unit { order_id, unit, .. } = &message else {
            return Err(SettleError::OtherWork);
        };
        let queue = match unit {
            Unit::Settle(_) | Unit::Cap => Queue::of(unit).ok_or(SettleError::OtherWork)?,
            Unit::Refund(_) | Unit::Ask(_) | Unit::Anomaly(..) | Unit::Foreign(_) => {
                return Err(SettleError::OtherWork);
            }
        };
        match self.context.run(order_id, &Settle { unit: unit.clone() }).await {
            Ok(ran) => match ran.outcome {
                SettleOutcome::Settled | SettleOutcome::NothingToDo | SettleOutcome::StillAside => Ok(()),
                SettleOutcome::NotTerminal => Err(SettleError::NotTerminal(order_id.clone())),
            },
            Err(error) if error.is_contention() => {
                Ok(self.queues.send_message(queue, &message, CONTENTION_DELAY).await?)
            }
            Err(source) => {
                self.context.metrics.count(Metric::SettleFailed, 1, &[(Dimension::Resource, &unit.to_string())]);
                Err(SettleError::Run { order: order_id.clone(), source })
            }
        }
    }
}
