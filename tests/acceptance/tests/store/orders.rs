//! What the core decides when something happens to an order: the one thing here that is taken from the system as it is.

use expiry_core::closing::CloseReason;
use expiry_core::decide::ask::Ask;
use expiry_core::decide::close::{Close, Occasion};
use expiry_core::decide::extend::Extend;
use expiry_core::decide::notified::Notified;
use expiry_core::decide::place_answered::PlaceAnswered;
use expiry_core::decide::refund::WorkRefund;
use expiry_core::decide::settle::Settle;
use expiry_core::decide::start_payment::StartPayment;
use expiry_core::decide::{Answer, Command, Commit, Decision, Knowledge, Question, Sequence, Then, decide};
use expiry_core::evidence::Actor;
use expiry_core::fact::{
    Asked, AttemptAnswers, Cause, CloseOutcome, Notification, PaymentFact, PlaceOutcome, Placed, RefundFact, Success,
};
use expiry_core::ids::{AttemptNo, ChannelId, MerchantId, NotifyId, TransactionId};
use expiry_core::initiator::Initiator;
use expiry_core::limits;
use expiry_core::money::Amount;
use expiry_core::order::Order;
use expiry_core::pending::Unit;
use expiry_core::row::CouponTerms;
use expiry_core::time::Timestamp;

use crate::scene::{euros, seconds, worker};
use crate::step::{Act, Channel};

/// How long a worker holds what it claimed.
const LEASE: u64 = 30;
/// How often the scan runs.
const SCAN_PERIOD: u64 = 3_600;

/// The first commit that `act` comes to on `order`, with what is `known` already; `None` when it comes to none.
pub(crate) fn commit(
    order: &Order,
    act: &Act,
    coupon: Option<&CouponTerms>,
    known: &mut Knowledge,
    now: Timestamp,
) -> Option<Commit<()>> {
    let newest = AttemptNo::at_index(order.attempts.len().saturating_sub(1))?;
    let mut world = World { order, coupon, known, now, channel: Channel::Silent };
    let (worker, lease, scan_period) = (worker(), seconds(LEASE), seconds(SCAN_PERIOD));
    let unit = |wanted: &dyn Fn(&Unit) -> bool| order.pending.iter().find(|unit| wanted(unit)).cloned();
    match act {
        Act::Pay => world.decide(&StartPayment {
            channel: channel(),
            merchant: merchant(),
            min_expiry: seconds(0),
            method: None,
            amount: None,
            initiator: Initiator::Customer,
            place_before: now.plus(seconds(10)),
        }),
        Act::Placed { refused: true } => {
            world.decide(&PlaceAnswered { attempt: newest, outcome: PlaceOutcome::Refused(Cause::new("no")) })
        }
        Act::Placed { refused: false } => {
            let placed = Placed { reference: None, expires_at: None, credential: () };
            world.decide(&PlaceAnswered { attempt: newest, outcome: PlaceOutcome::Credential(placed) })
        }
        Act::Told { shared } => {
            let notify_id = NotifyId::new("notification").expect("an id");
            let fact = PaymentFact::Succeeded(success(order, newest, *shared));
            let notification = Notification { notify_id, payment: order.out_trade_no(newest), fact };
            world.decide(&Notified { channel: channel(), notification })
        }
        Act::Close { cancel, channel } => {
            world.channel = *channel;
            let occasion = match (cancel, order.expire_at) {
                (false, Some(expire_at)) => Occasion::Wake { expire_at },
                (true, _) | (false, None) => Occasion::Cancel {
                    actor: Actor::Customer,
                    close_reason: CloseReason::CancelledByUser,
                    reason: Cause::new("changed my mind"),
                },
            };
            world.decide(&Close { occasion, worker, lease, scan_period })
        }
        Act::Ask(channel) => {
            world.channel = *channel;
            world.decide(&Ask { check_at: None, worker, lease, scan_period, at_once: true })
        }
        Act::Settle(kind) => world.decide(&Settle { unit: Unit::Settle(*kind) }),
        Act::Uncount => world.decide(&Settle { unit: Unit::Cap }),
        Act::Resettle => world.decide(&Settle { unit: unit(&|unit| matches!(unit, Unit::Anomaly(..)))? }),
        Act::Refund => {
            let Unit::Refund(attempt) = unit(&|unit| matches!(unit, Unit::Refund(_)))? else { return None };
            world.decide(&WorkRefund { attempt, check_at: None, worker, lease, scan_period })
        }
        Act::Extend(by) => {
            let from = order.expire_at?;
            let actor = Actor::Named("jane".to_owned());
            world.decide(&Extend { from, to: from.plus(seconds(*by)), actor, reason: Cause::new("a call") })
        }
    }
}

/// What is asked, and who answers.
struct World<'a> {
    order: &'a Order,
    coupon: Option<&'a CouponTerms>,
    known: &'a mut Knowledge,
    now: Timestamp,
    channel: Channel,
}

impl World<'_> {
    fn decide<C: Command>(&mut self, command: &C) -> Option<Commit<()>> {
        for _ in 0..limits::DECISION_ROUNDS {
            match decide(self.order, command, self.known, self.now) {
                Decision::Done(_) => return None,
                Decision::Ask(question) => {
                    let answer = self.answer(question);
                    self.known.learn(self.order, answer);
                }
                Decision::Commit(commit) => {
                    let Commit { on_version, on_status, after_deadline, order, rows, signals, then: _ } = *commit;
                    let then = Then::Continue;
                    return Some(Commit { on_version, on_status, after_deadline, order, rows, signals, then });
                }
            }
        }
        panic!("no decision after {} questions", limits::DECISION_ROUNDS)
    }

    fn answer(&self, question: Question) -> Answer {
        match question {
            Question::Payments(attempts) => {
                Answer::Payments(attempts.into_iter().map(|(no, sequence)| self.says(no, sequence)).collect())
            }
            Question::RefundStatus(no) => Answer::Refund(no, RefundFact::NotFound),
            Question::SubmitRefund(no) => Answer::Refund(no, RefundFact::Refunded),
            Question::Coupon(_) => Answer::Coupon(self.coupon.cloned()),
        }
    }

    fn says(&self, attempt: AttemptNo, sequence: Sequence) -> AttemptAnswers {
        let succeeded = self.order.attempt(attempt).is_some_and(|attempt| attempt.receipt.is_some());
        let fact = match self.channel {
            // A refund is verified before it is sent: the channel holds the money it told of.
            _ if succeeded => PaymentFact::Succeeded(self.held(attempt)),
            Channel::Closed => PaymentFact::NotPaidClosed,
            Channel::Paid => PaymentFact::Succeeded(success(self.order, attempt, false)),
            Channel::Silent => PaymentFact::Unknown(Cause::new("timeout")),
        };
        let asked = match sequence {
            Sequence::Query => Asked::Query,
            Sequence::QueryCloseQuery => Asked::Closed(CloseOutcome::Accepted),
        };
        AttemptAnswers { attempt, asked, fact, sent_at: self.now }
    }

    fn held(&self, no: AttemptNo) -> Success {
        let receipt = self.order.attempt(no).and_then(|attempt| attempt.receipt.clone());
        let transaction = receipt.map(|receipt| receipt.transaction);
        let success = success(self.order, no, false);
        Success { transaction: transaction.unwrap_or(success.transaction), ..success }
    }
}

/// The channel's word that attempt `no` is paid.
fn success(order: &Order, no: AttemptNo, shared: bool) -> Success {
    let number = order.out_trade_no(no).to_string();
    let transaction = if shared { "txn-shared".to_owned() } else { format!("txn-{number}") };
    let amount = order.attempt(no).map_or(Amount::ZERO, |attempt| attempt.amount);
    Success {
        merchant: merchant(),
        out_trade_no: number,
        paid: euros(amount.minor()),
        transaction: TransactionId::new(transaction).expect("a transaction"),
        refunded: Amount::ZERO,
    }
}

pub(crate) fn channel() -> ChannelId {
    ChannelId::new("sim").expect("a channel")
}

fn merchant() -> MerchantId {
    MerchantId::new("sim-merchant").expect("a merchant")
}
