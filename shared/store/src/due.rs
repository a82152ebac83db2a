//! Reading the due index: eventually consistent, so a hit is a hint and the item decides (DESIGN §6).

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use expiry_core::ids::OrderId;
use expiry_core::limits;
use expiry_core::time::Timestamp;
use futures_util::future::try_join_all;

use crate::codec::{DecodeError, Item, Reader, millis, names, number, order_pk, text};
use crate::error::{ReadError, Unavailable};
use crate::{DUE_INDEX, Store};

/// A place in one shard of the due index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DuePosition {
    /// When the order there was due.
    pub due_at: Timestamp,
    /// Which order.
    pub order: OrderId,
}

/// An order that stands in the due index.
pub type DueHit = DuePosition;

/// One page of one shard.
#[derive(Clone, Debug)]
pub struct DuePage {
    /// What stands there, earliest first.
    pub hits: Vec<DueHit>,
    /// Whether there may be more behind the last one.
    pub more: bool,
}

impl Store {
    /// Up to `most` orders of `shard` that are due until `until`, behind `after`.
    ///
    /// # Errors
    /// When the database does not answer, or a key is not an order's.
    pub async fn due_page(
        &self,
        shard: u8,
        until: Timestamp,
        after: Option<&DuePosition>,
        most: u16,
    ) -> Result<DuePage, ReadError> {
        self.due_between(shard, Timestamp::EPOCH, until, after, most).await
    }

    /// Up to `most` orders of all shards that are due until `until`, behind `after`, earliest first: what a person leafs through.
    ///
    /// # Errors
    /// When the database does not answer, or a key is not an order's.
    pub async fn due_orders(
        &self,
        until: Timestamp,
        after: Option<&DuePosition>,
        most: u16,
    ) -> Result<DuePage, ReadError> {
        let from = after.map_or(Timestamp::EPOCH, |position| position.due_at);
        let shards = (0..limits::DUE_SHARDS).map(|shard| self.due_behind(shard, from, until, after, most));
        let pages: Vec<DuePage> = try_join_all(shards).await?;
        let mut more = pages.iter().any(|page| page.more);
        let mut hits: Vec<DueHit> = pages.into_iter().flat_map(|page| page.hits).collect();
        hits.sort();
        more |= hits.len() > usize::from(most);
        hits.truncate(usize::from(most));
        Ok(DuePage { hits, more })
    }

    /// One shard's part of [`due_orders`](Store::due_orders). Orders of one moment stand in no order of ours in the index, so the
    /// moment of `after` is read whole and what comes before it is left out here.
    async fn due_behind(
        &self,
        shard: u8,
        from: Timestamp,
        until: Timestamp,
        after: Option<&DuePosition>,
        most: u16,
    ) -> Result<DuePage, ReadError> {
        let mut kept = DuePage { hits: Vec::new(), more: true };
        let mut last: Option<DueHit> = None;
        while kept.more && kept.hits.len() < usize::from(most) {
            let page = self.due_between(shard, from, until, last.as_ref(), most).await?;
            kept.more = page.more;
            last = page.hits.last().cloned();
            kept.hits.extend(page.hits.into_iter().filter(|hit| after.is_none_or(|after| hit > after)));
        }
        Ok(kept)
    }

    async fn due_between(
        &self,
        shard: u8,
        from: Timestamp,
        until: Timestamp,
        after: Option<&DuePosition>,
        most: u16,
    ) -> Result<DuePage, ReadError> {
        let sent = self
            .client
            .query()
            .table_name(&self.tables.orders)
            .index_name(DUE_INDEX)
            .key_condition_expression("#ds = :shard AND #da BETWEEN :from AND :until")
            .expression_attribute_names("#ds", names::DUE_SHARD)
            .expression_attribute_names("#da", names::DUE_AT)
            .expression_attribute_values(":shard", number(shard))
            .expression_attribute_values(":from", millis(from))
            .expression_attribute_values(":until", millis(until))
            .set_exclusive_start_key(after.map(|position| index_key(shard, position)))
            .limit(i32::from(most))
            .send()
            .await;
        let output = sent.map_err(|error| Unavailable::new("read the due index", error))?;
        let more = output.last_evaluated_key.is_some();
        let hits: Result<Vec<DueHit>, DecodeError> = output.items.unwrap_or_default().iter().map(hit).collect();
        Ok(DuePage { hits: hits?, more })
    }
}

fn index_key(shard: u8, position: &DuePosition) -> HashMap<String, AttributeValue> {
    HashMap::from([
        (names::DUE_SHARD.to_owned(), number(shard)),
        (names::DUE_AT.to_owned(), millis(position.due_at)),
        (names::PK.to_owned(), text(order_pk(&position.order))),
        (names::SK.to_owned(), text("O")),
    ])
}

fn hit(item: &Item) -> Result<DueHit, DecodeError> {
    let reader = Reader::new(item);
    let order = reader.parsed(names::PK, "an order's key", |pk| OrderId::parse(pk.strip_prefix("O#")?).ok())?;
    Ok(DuePosition {
        due_at: reader.required(names::DUE_AT, reader.millis(names::DUE_AT)?)?,
        order: reader.required(names::PK, order)?,
    })
}
