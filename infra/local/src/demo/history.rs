//! Every change of every order, read from the stream of the orders table from its oldest record on.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::types::{AttributeValue as Streamed, ShardIteratorType};
use expiry_core::order::Order;
use expiry_runtime::logs::chain;
use expiry_store::{decode, names};

use super::shop::{Shop, Surprise, surprised};
use crate::settings::ORDERS_TABLE;

/// One write of one order.
#[derive(Debug)]
pub(super) struct Change {
    /// The order before; `None` when the write created it.
    pub(super) before: Option<Order>,
    /// The order after.
    pub(super) after: Order,
}

/// Every change so far, oldest first.
pub(super) async fn read(shop: &Shop) -> Result<Vec<Change>, Surprise> {
    let failed = |error: &dyn std::error::Error| Surprise(chain(error));
    let streams = Client::new(&shop.system.cloud.sdk_config());
    let listed = streams.list_streams().table_name(ORDERS_TABLE).send().await.map_err(|error| failed(&error))?;
    let arn = listed.streams().first().and_then(|stream| stream.stream_arn());
    let arn = arn.ok_or_else(|| Surprise("there is no stream".to_owned()))?;
    let described = streams.describe_stream().stream_arn(arn).send().await.map_err(|error| failed(&error))?;
    let shards = described.stream_description().map(|stream| stream.shards()).unwrap_or_default();
    let mut changes = Vec::new();
    for shard in shards {
        let request = streams.get_shard_iterator().stream_arn(arn).set_shard_id(shard.shard_id().map(str::to_owned));
        let request = request.shard_iterator_type(ShardIteratorType::TrimHorizon);
        let started = request.send().await.map_err(|error| failed(&error))?;
        let mut iterator = started.shard_iterator().map(str::to_owned);
        while let Some(at) = iterator {
            let page = streams.get_records().shard_iterator(at).send().await.map_err(|error| failed(&error))?;
            for change in page.records().iter().filter_map(|record| record.dynamodb()) {
                let Some(after) = order(change.new_image())? else {
                    continue;
                };
                changes.push(Change { before: order(change.old_image())?, after });
            }
            // The open shard never ends: an empty page is its end for now.
            iterator = page.next_shard_iterator().filter(|_| !page.records().is_empty()).map(str::to_owned);
        }
    }
    Ok(changes)
}

/// The order of an image; `None` when the row is none.
fn order(image: Option<&HashMap<String, Streamed>>) -> Result<Option<Order>, Surprise> {
    let Some(image) = image else {
        return Ok(None);
    };
    if !matches!(image.get(names::SK), Some(Streamed::S(sk)) if sk == "O") {
        return Ok(None);
    }
    decode(&converted(image)?).map(Some).map_err(surprised)
}

fn converted(image: &HashMap<String, Streamed>) -> Result<HashMap<String, AttributeValue>, Surprise> {
    image.iter().map(|(name, value)| Ok((name.clone(), attribute(value)?))).collect()
}

/// The same value in the types of the other SDK client.
#[expect(clippy::wildcard_enum_match_arm, reason = "the SDK's enum is non-exhaustive")]
fn attribute(value: &Streamed) -> Result<AttributeValue, Surprise> {
    Ok(match value {
        Streamed::S(text) => AttributeValue::S(text.clone()),
        Streamed::N(number) => AttributeValue::N(number.clone()),
        Streamed::Bool(value) => AttributeValue::Bool(*value),
        Streamed::Null(value) => AttributeValue::Null(*value),
        Streamed::B(bytes) => AttributeValue::B(bytes.clone()),
        Streamed::Ss(texts) => AttributeValue::Ss(texts.clone()),
        Streamed::Ns(numbers) => AttributeValue::Ns(numbers.clone()),
        Streamed::Bs(blobs) => AttributeValue::Bs(blobs.clone()),
        Streamed::L(values) => AttributeValue::L(values.iter().map(attribute).collect::<Result<_, _>>()?),
        Streamed::M(map) => AttributeValue::M(converted(map)?),
        _ => return Err(Surprise(format!("an attribute of a kind that is not known: {value:?}"))),
    })
}
