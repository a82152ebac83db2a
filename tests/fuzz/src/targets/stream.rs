//! Records of the orders table's stream: one that cannot be read holds up nobody else's.

use aws_lambda_events::event::dynamodb::Event;

use crate::shop::in_shop;

/// A batch of records, as Lambda is given it.
pub(crate) fn records(bytes: &[u8]) {
    let Ok(event) = serde_json::from_slice::<Event>(bytes) else { return };
    in_shop(|shop| {
        let answer = shop.wait(shop.outbox_fanout.handle(event)).expect("nothing failed to be sent");
        assert!(answer.batch_item_failures.is_empty(), "nothing is offered again but what could not be sent");
    });
}
