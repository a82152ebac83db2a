//! No bytes make a parser of the channel `sim` panic, and none that it did not sign are believed.

use crate::scene::*;
use expiry_channels::sim::signature::SIGNATURE_HEADER;
use expiry_channels::{Headers, PaymentChannel, RawNotification};
use expiry_core::fact::{CloseOutcome, PaymentFact, PlaceOutcome, RefundFact};
use proptest::collection::vec;
use proptest::prelude::*;

/// Bytes that come near to what the channel sends: its words with anything in between.
fn nearly_a_body() -> impl Strategy<Value = Vec<u8>> {
    let words = prop_oneof![
        Just(r#"{"out_trade_no":""#.to_owned()),
        Just(number().to_string()),
        Just(r#"","merchant_id":"sim-merchant","transaction_id":"txn-1","currency":"EUR","amount":"#.to_owned()),
        Just(r#","state":"SUCCESS""#.to_owned()),
        Just(r#","result":"CLOSED","credential":{"a":1},"code":"PAYMENT_NOT_FOUND"}"#.to_owned()),
        any::<i128>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| number.to_string()),
        ".{0,8}",
    ];
    prop_oneof![vec(any::<u8>(), 0..256), vec(words, 0..8).prop_map(|words| words.concat().into_bytes())]
}

proptest! {
    #[test]
    fn every_parser_answers_whatever_the_channel_signed(status in 100_u16..600, body in nearly_a_body()) {
        let answer = answer(status, body);
        let _ = sim().parse_place(&place(), &answer, &ctx());
        let _ = sim().parse_payment(&attempt(), &answer, &ctx());
        let _ = sim().parse_close(&attempt(), &answer, &ctx());
        let _ = sim().parse_refund(&refund(), &answer, &ctx());
    }

    #[test]
    fn what_nobody_signed_says_nothing(status in 100_u16..600, body in nearly_a_body()) {
        let answer = unsigned(status, body);
        prop_assert!(matches!(sim().parse_place(&place(), &answer, &ctx()), PlaceOutcome::InDoubt(_)));
        prop_assert!(matches!(sim().parse_payment(&attempt(), &answer, &ctx()), PaymentFact::Unknown(_)));
        prop_assert!(matches!(sim().parse_close(&attempt(), &answer, &ctx()), CloseOutcome::Unknown(_)));
        prop_assert!(matches!(sim().parse_refund(&refund(), &answer, &ctx()), RefundFact::Unknown(_)));
    }

    #[test]
    fn every_callback_is_read_or_refused(header in "(t=[0-9]{0,14},)?(v1=[0-9a-fé]{0,66},?){0,3}.{0,8}", body in nearly_a_body()) {
        let headers: Headers = [(SIGNATURE_HEADER, header)].into_iter().collect();
        let raw = RawNotification { headers: &headers, body: &body };
        prop_assert!(sim().verify_notification(&raw, now()).is_err());
    }

    #[test]
    fn every_signed_callback_is_read_or_refused(body in nearly_a_body()) {
        let signed = expiry_channels::sim::signature::Signed::Callback { body: &body };
        let headers: Headers = [(SIGNATURE_HEADER, key().sign(&signed, now()))].into_iter().collect();
        let _ = sim().verify_notification(&RawNotification { headers: &headers, body: &body }, now());
    }
}
