//! Bodies of queue messages, and what a schedule sends: the same.

use aws_lambda_events::event::sqs::{SqsEvent, SqsMessage};
use expiry_runtime::batch::read_message;
use serde_json::Value;

use super::assert_tells_its_part;
use crate::shop::in_shop;

/// What is a message of ours is read back as it was written; what is none is wanted again by every function, until it is a dead letter.
pub(crate) fn message(bytes: &[u8]) {
    let Ok(body) = std::str::from_utf8(bytes) else { return };
    let mut message = SqsMessage::default();
    message.message_id = Some("1".to_owned());
    message.body = Some(body.to_owned());
    let read = read_message(&message);
    match &read {
        Ok(read) => {
            let mut again = SqsMessage::default();
            again.body = Some(serde_json::to_string(read).expect("JSON"));
            assert_eq!(read_message(&again).ok().as_ref(), Some(read));
        }
        Err(error) => assert_tells_its_part(error),
    }
    let event = || {
        let mut event = SqsEvent::default();
        event.records = vec![message.clone()];
        event
    };
    in_shop(|shop| {
        shop.aws.holds(an_order());
        let handled = [
            shop.wait(shop.close_order.handle(event())).is_ok(),
            shop.wait(shop.settle_resources.handle(event())).is_ok(),
            shop.wait(shop.refund_payment.handle(event())).is_ok(),
        ];
        if read.is_err() {
            assert_eq!(handled, [false; 3]);
        }
    });
}

/// A closed order with work of every kind, as it is stored.
fn an_order() -> Value {
    serde_json::from_slice(include_bytes!("../../corpus/stored_order/closed.json")).expect("JSON")
}
