//! Words: identifiers, numbers of ours, times, codes. What is accepted is written back letter by letter.

use std::fmt::Display;

use expiry_core::fact::Cause;
use expiry_core::ids::{
    ActivityId, Batch, ChannelId, ChannelReference, CouponId, MerchantId, Method, NotifyId, OperatorId, OrderId,
    OutTradeNo, RefundNo, RuleId, Sku, Source, TransactionId, UserId, Warehouse, WorkerId,
};
use expiry_core::initiator::AgentText;
use expiry_core::limits;
use expiry_core::message::Queue;
use expiry_core::money::Currency;
use expiry_core::order::OrderStatus;
use expiry_core::pending::Unit;
use expiry_core::time::Timestamp;
use expiry_runtime::http::checked_reason;

/// One word, read as each of them.
pub(crate) fn identifiers(bytes: &[u8]) {
    let Ok(word) = std::str::from_utf8(bytes) else { return };
    shops_own(word);
    let order = OrderId::parse(word);
    same(word, order.as_ref().ok());
    assert!(order.is_err() || word.len() == limits::ORDER_ID_BYTES);
    let payment = OutTradeNo::parse(word);
    same(word, payment.as_ref().ok());
    let goes_to_any_channel =
        word.len() <= 32 && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    assert!(payment.is_err() || goes_to_any_channel);
    same(word, RefundNo::parse(word).ok().as_ref());
    same(word, Currency::parse(word).as_ref());
    same(word, Queue::parse(word).as_ref());
    same(word, OrderStatus::parse(word).map(OrderStatus::name).as_ref());
    same(word, Some(&Unit::parse(word)));
    if let Some(at) = Timestamp::parse_rfc3339(word) {
        assert_eq!(Timestamp::parse_rfc3339(&at.to_string()), Some(at));
    }
    let cause = Cause::new(word);
    assert!(cause.as_str().len() <= limits::LAST_ERROR_BYTES && !cause.as_str().contains(char::is_control));
    assert_eq!(Cause::new(cause.as_str()), cause);
    if checked_reason(word).is_ok() {
        assert!(word.len() <= limits::REASON_BYTES && !word.contains(char::is_control) && !word.trim().is_empty());
    }
}

/// The identifiers that shops and channels choose: none can break a key, a log line or a bound.
fn shops_own(word: &str) {
    let is_plain = |most: usize| {
        (1..=most).contains(&word.len()) && !word.contains(['/', '#', ' ']) && !word.contains(char::is_control)
    };
    macro_rules! each {
        ($($id:ident $most:ident)*) => {$({
            let id = $id::new(word).ok();
            assert!(id.is_none() || is_plain(limits::$most), concat!(stringify!($id), ": {:?}"), word);
            same(word, id.as_ref());
            if let Some(id) = id {
                let json = serde_json::to_string(&id).expect("JSON");
                assert_eq!(serde_json::from_str::<$id>(&json).ok(), Some(id));
            }
        })*};
    }
    each! {
        UserId USER_ID_BYTES Sku SKU_BYTES Warehouse WAREHOUSE_BYTES Batch BATCH_BYTES CouponId COUPON_ID_BYTES
        ActivityId ACTIVITY_ID_BYTES RuleId RULE_ID_BYTES Source SOURCE_BYTES ChannelId CHANNEL_ID_BYTES
        Method METHOD_BYTES MerchantId MERCHANT_ID_BYTES TransactionId TRANSACTION_ID_BYTES NotifyId NOTIFY_ID_BYTES
        ChannelReference CHANNEL_REFERENCE_BYTES WorkerId WORKER_ID_BYTES OperatorId OPERATOR_ID_BYTES
    }
    if let Ok(text) = AgentText::try_from(word.to_owned()) {
        assert_eq!(text.as_str(), word);
        assert!((1..=limits::INITIATOR_REFERENCE_BYTES).contains(&word.len()));
    }
}

fn same(word: &str, read: Option<&impl Display>) {
    assert!(read.is_none_or(|read| read.to_string() == word), "{word:?} became {}", read.expect("read"));
}
