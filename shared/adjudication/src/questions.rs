//! Asking: channels about attempts and refunds, the database about coupons. Attempts are asked about side by side, each call with its
//! own deadline (DESIGN §5.3).

use expiry_channels::{AttemptRef, ChannelClient, Channels, RefundRequest};
use expiry_core::attempt::Attempt;
use expiry_core::decide::answers::fact_name;
use expiry_core::decide::{Answer, Question, Sequence};
use expiry_core::fact::{Asked, AttemptAnswers, Cause, CloseOutcome, PaymentFact, RefundFact};
use expiry_core::guard;
use expiry_core::ids::{AttemptNo, RefundNo};
use expiry_core::money::Money;
use expiry_core::order::Order;
use expiry_core::time::Timestamp;
use expiry_runtime::logs::chain;
use expiry_runtime::metrics::{Dimension, Metric};
use expiry_store::ReadError;
use futures_util::future::join_all;

use crate::{Context, Conversation, Heard};

/// What the channel needs to know of an attempt to be asked about it.
#[must_use]
pub fn attempt_ref(order: &Order, no: AttemptNo, attempt: &Attempt) -> AttemptRef {
    AttemptRef {
        out_trade_no: order.out_trade_no(no),
        reference: attempt.reference.clone(),
        amount: Money { amount: attempt.amount, currency: order.currency },
    }
}

impl Context {
    /// Puts `question`, and tells what was said when it was said to a channel.
    pub(crate) async fn put_question(
        &self,
        order: &Order,
        question: Question,
    ) -> Result<(Answer, Option<Conversation>), ReadError> {
        match question {
            Question::Payments(attempts) => {
                let channels = self.channels_or_none(order).await;
                let hearings = attempts.into_iter().map(|(no, sequence)| self.hear(&channels, order, no, sequence));
                let (answers, calls): (Vec<_>, Vec<_>) = join_all(hearings).await.into_iter().unzip();
                let conversation = Conversation { calls: calls.into_iter().flatten().collect() };
                Ok((Answer::Payments(answers), Some(conversation)))
            }
            Question::RefundStatus(no) => Ok(self.hear_of_refund(order, no, false).await),
            Question::SubmitRefund(no) => Ok(self.hear_of_refund(order, no, true).await),
            Question::Coupon(id) => Ok((Answer::Coupon(self.store.coupon_terms(&id).await?), None)),
        }
    }

    /// The channels; none while a secret of theirs cannot be read. Whoever is not asked has said nothing, and an order waits for it.
    async fn channels_or_none(&self, order: &Order) -> Channels {
        self.channels().await.unwrap_or_else(|error| {
            tracing::error!(order_id = %order.id, error = %chain(&error), "no channel can be asked");
            Channels::default()
        })
    }

    async fn hear(
        &self,
        channels: &Channels,
        order: &Order,
        no: AttemptNo,
        sequence: Sequence,
    ) -> (AttemptAnswers, Vec<Heard>) {
        let mut calls = Vec::new();
        let nobody = |cause| AttemptAnswers {
            attempt: no,
            asked: Asked::Query,
            fact: PaymentFact::Unknown(Cause::new(cause)),
            sent_at: self.clock.now(),
        };
        let Some(attempt) = order.attempt(no) else {
            return (nobody("the order has no such attempt"), calls);
        };
        let Some(client) = channels.get(&attempt.channel) else {
            return (nobody("its channel cannot be talked to"), calls);
        };
        let about = attempt_ref(order, no, attempt);
        let first = client.query(&about, self.channel_call).await;
        calls.push(heard(no, "query", first.sent_at, payment_text(&first.answer)));
        self.count_unknown(client, &first.answer);
        let is_paid = matches!(first.answer, PaymentFact::Succeeded(_));
        if is_paid || sequence == Sequence::Query {
            let answers =
                AttemptAnswers { attempt: no, asked: Asked::Query, fact: first.answer, sent_at: first.sent_at };
            return (answers, calls);
        }
        let close = client.close(&about, self.channel_call).await;
        calls.push(heard(no, "close", close.sent_at, close_text(&close.answer)));
        if !guard::SECOND_QUERY.stands() {
            let asked = Asked::Closed(close.answer);
            let fact = PaymentFact::NotPaidClosed;
            return (AttemptAnswers { attempt: no, asked, fact, sent_at: close.sent_at }, calls);
        }
        let last = client.query(&about, self.channel_call).await;
        calls.push(heard(no, "query", last.sent_at, payment_text(&last.answer)));
        self.count_unknown(client, &last.answer);
        let asked = Asked::Closed(close.answer);
        (AttemptAnswers { attempt: no, asked, fact: last.answer, sent_at: last.sent_at }, calls)
    }

    fn count_unknown(&self, client: &ChannelClient, fact: &PaymentFact) {
        if let PaymentFact::Unknown(cause) = fact {
            let metric = if cause.as_str() == "timeout" { Metric::ChannelTimeout } else { Metric::ChannelUnknown };
            self.metrics.count(metric, 1, &[(Dimension::Channel, client.channel().id().as_str())]);
        }
    }

    async fn hear_of_refund(&self, order: &Order, no: AttemptNo, submit: bool) -> (Answer, Option<Conversation>) {
        let nobody = |cause| (Answer::Refund(no, RefundFact::Unknown(Cause::new(cause))), None);
        let Some(attempt) = order.attempt(no) else {
            return nobody("the order has no such attempt");
        };
        let (Some(receipt), Some(refund)) = (&attempt.receipt, &attempt.refund) else {
            return nobody("nothing is to be refunded");
        };
        let channels = self.channels_or_none(order).await;
        let Some(client) = channels.get(&attempt.channel) else {
            return nobody("its channel cannot be talked to");
        };
        let request = RefundRequest {
            refund_no: RefundNo::new(order.out_trade_no(no), refund.k),
            transaction: receipt.transaction.clone(),
            refund: refund.money,
            paid: receipt.paid,
        };
        let (call, answered) = if submit {
            ("refund", client.refund(&request, self.channel_call).await)
        } else {
            ("query_refund", client.query_refund(&request, self.channel_call).await)
        };
        let calls = vec![heard(no, call, answered.sent_at, refund_text(&answered.answer))];
        (Answer::Refund(no, answered.answer), Some(Conversation { calls }))
    }
}

fn heard(no: AttemptNo, call: &'static str, sent_at: Timestamp, answer: String) -> Heard {
    Heard { attempt: no.get(), call, sent_at: sent_at.to_string(), answer }
}

fn payment_text(fact: &PaymentFact) -> String {
    match fact {
        PaymentFact::Succeeded(success) => {
            format!("SUCCEEDED {} {} refunded {}", success.transaction, success.paid, success.refunded)
        }
        PaymentFact::Unknown(cause) => format!("UNKNOWN {cause}"),
        PaymentFact::NotPaidClosed
        | PaymentFact::Failed
        | PaymentFact::Open
        | PaymentFact::Processing
        | PaymentFact::NotFound => fact_name(fact).to_owned(),
    }
}

fn close_text(outcome: &CloseOutcome) -> String {
    match outcome {
        CloseOutcome::Accepted => "ACCEPTED".to_owned(),
        CloseOutcome::AlreadyClosed => "ALREADY_CLOSED".to_owned(),
        CloseOutcome::AlreadyPaid => "ALREADY_PAID".to_owned(),
        CloseOutcome::InProgress => "IN_PROGRESS".to_owned(),
        CloseOutcome::NotFound => "NOT_FOUND".to_owned(),
        CloseOutcome::TooEarly { not_before } => format!("TOO_EARLY until {not_before}"),
        CloseOutcome::Unknown(cause) => format!("UNKNOWN {cause}"),
    }
}

fn refund_text(fact: &RefundFact) -> String {
    match fact {
        RefundFact::Refunded => "REFUNDED".to_owned(),
        RefundFact::Pending => "PENDING".to_owned(),
        RefundFact::NotFound => "NOT_FOUND".to_owned(),
        RefundFact::Closed(cause) => format!("CLOSED {cause}"),
        RefundFact::NeedsManual(cause) => format!("NEEDS_MANUAL {cause}"),
        RefundFact::Rejected(cause) => format!("REJECTED {cause}"),
        RefundFact::Unknown(cause) => format!("UNKNOWN {cause}"),
    }
}
