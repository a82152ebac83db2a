//! Giving money back that no PAID order needs: one refund per transaction, verified first, followed until final (DESIGN §6, I9).

use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use expiry_adjudication::{Context, RunError};
use expiry_core::decide::refund::WorkRefund;
use expiry_core::ids::OrderId;
use expiry_core::message::{Message, Queue};
use expiry_core::pending::Unit;
use expiry_runtime::batch::{BatchFailed, InvalidMessage, read_message, sqs_batch};
use expiry_runtime::queues::{Queues, SendError};

/// How long a message waits that met contention: it is sent anew and never counts as a failed receive.
const CONTENTION_DELAY: Duration = Duration::from_secs(5);

/// The function.
#[derive(Debug)]
pub struct RefundPayment {
    context: Arc<Context>,
    queues: Queues,
}

/// Why a message is wanted again.
#[derive(Debug, thiserror::Error)]
pub enum RefundError {
    /// It is not a message of ours.
    #[error("the message is not for this queue")]
    Message(#[from] InvalidMessage),
    /// Not a refund.
    #[error("the message names no refund")]
    OtherWork,
    /// The refund was not worked on.
    #[error("the refund of order {order} was not worked on")]
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

impl RefundPayment {
    /// The function; it sends only to the queue it receives from.
    #[must_use]
    pub fn new(context: Arc<Context>, queues: Queues) -> RefundPayment {
        RefundPayment { context, queues }
    }

    /// Handles a batch of the queue `refund`.
    ///
    /// # Errors
    /// When every message of it failed.
    pub async fn handle(&self, event: SqsEvent) -> Result<SqsBatchResponse, BatchFailed> {
        sqs_batch(event, |message| self.one(message)).await
    }

    async fn one(&self, message: SqsMessage) -> Result<(), RefundError> {
        let message = read_message(&message)?;
        let Message::Unit { order_id, unit: Unit::Refund(attempt), check_at } = &message else {
            return Err(RefundError::OtherWork);
        };
        let command = WorkRefund {
            attempt: *attempt,
            check_at: *check_at,
            worker: self.context.worker(),
            lease: self.context.lease,
            scan_period: self.context.scan_period,
        };
        match self.context.run(order_id, &command).await {
            Ok(ran) => {
                tracing::info!(order_id = %order_id, %attempt, outcome = ?ran.outcome, "refund worked on");
                Ok(())
            }
            Err(error) if error.is_contention() => {
                Ok(self.queues.send_message(Queue::Refund, &message, CONTENTION_DELAY).await?)
            }
            Err(source) => Err(RefundError::Run { order: order_id.clone(), source }),
        }
    }
}
