//! What holds of money and rules whatever comes, in whatever order and however often.

mod scene;

use expiry_core::decide::close::CloseOutcome;
use expiry_core::expiry_rule::{ExpiryRules, RuleDefinition};
use expiry_core::ids::RuleId;
use expiry_core::limits;
use expiry_core::order::{Order, OrderStatus};
use expiry_core::time::Timestamp;
use proptest::prelude::*;
use scene::*;

/// What of the money that came for an order is not owed back.
fn kept(order: &Order) -> u64 {
    let of_attempt = |attempt: &expiry_core::attempt::Attempt| {
        let paid = attempt.receipt.as_ref().map_or(0, |receipt| receipt.paid.amount.minor());
        paid - attempt.refund.as_ref().map_or(0, |refund| refund.money.amount.minor())
    };
    order.attempts.iter().map(of_attempt).sum()
}

proptest! {
    #[test]
    fn successes_in_any_order_and_any_number_leave_exactly_the_payable_amount_or_nothing(
        legs in prop::collection::vec(1..=PAYABLE, 1..8),
        told in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        closed_after in 0..20_usize,
    ) {
        let scene = legs.iter().fold(order(), |scene, leg| scene.attempt(attempt().amount(*leg)));
        let mut order = scene.build();
        for (step, which) in told.iter().enumerate() {
            if step == closed_after && !order.status.is_terminal() {
                let run = run(&order, &scan(), &world(), later());
                prop_assert_eq!(run.outcome, CloseOutcome::Closed);
                order = run.order;
            }
            let number = which.index(legs.len()) as u64 + 1;
            order = run(&order, &callback_of(&order, number, success(&order, number)), &world(), in_time()).order;
            prop_assert!(order.paid_amount() <= order.payable);
            let expected = match order.status {
                OrderStatus::Paid => PAYABLE,
                OrderStatus::Closed => 0,
                OrderStatus::PendingPayment | OrderStatus::Paying | OrderStatus::Closing => order.counted().minor(),
            };
            prop_assert_eq!(kept(&order), expected, "{:?}", order.status);
        }
    }

    #[test]
    fn a_window_is_what_its_rule_says_or_the_rule_is_refused(seconds in any::<i64>(), now in 0..200_000_000_000_i64) {
        let id = RuleId::new("default").expect("an id");
        let definition = RuleDefinition { id: id.clone(), version: 1, seconds: Some(seconds), never: None };
        let within = u64::try_from(seconds).is_ok_and(|seconds| (1..=limits::WINDOW_SECONDS).contains(&seconds));
        let rules = ExpiryRules::new(vec![definition]);
        prop_assert_eq!(rules.is_ok(), within);
        let now = Timestamp::from_millis(now).expect("a time");
        if let Ok(rules) = rules {
            let deadline = rules.deadline(&id, now).and_then(|(_, expire_at)| expire_at).expect("a deadline");
            prop_assert_eq!(i128::from(deadline.as_millis() - now.as_millis()), i128::from(seconds) * 1_000);
        }
    }
}
