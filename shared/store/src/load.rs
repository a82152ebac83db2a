//! Reading orders. Reads that decide are consistent; a stale read may only skip (DESIGN §6).

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use expiry_core::ids::OrderId;
use expiry_core::row::CouponTerms;

use crate::codec::{self, DecodeError, Item, names, order_pk, text};
use crate::error::{ReadError, Unavailable};
use crate::rows::coupon_pk;
use crate::{Loaded, Store};

/// Most orders of one batch read (DynamoDB).
const BATCH: usize = 100;
/// Most rounds of a batch read that comes back incomplete.
const BATCH_ROUNDS: usize = 10;

fn order_key(id: &OrderId) -> Item {
    HashMap::from([(names::PK.to_owned(), text(order_pk(id))), (names::SK.to_owned(), text("O"))])
}

impl Store {
    /// Reads a row that is not there, so that connection and credentials are there before the first event: while a function starts,
    /// Lambda gives it a whole processor. Costs half a read unit.
    ///
    /// # Errors
    /// When the database does not answer. The first event will tell.
    pub async fn warm(&self) -> Result<(), Unavailable> {
        let nobody = HashMap::from([(names::PK.to_owned(), text("warm")), (names::SK.to_owned(), text("O"))]);
        let read = self.client.get_item().table_name(&self.tables.orders).set_key(Some(nobody)).send().await;
        read.map(drop).map_err(|error| Unavailable::new("warm up", error))
    }

    /// The order `id` as it is now; `None` when there is none.
    ///
    /// # Errors
    /// When the database does not answer, or the item cannot be read.
    pub async fn load(&self, id: &OrderId) -> Result<Option<Loaded>, ReadError> {
        let sent = self
            .client
            .get_item()
            .table_name(&self.tables.orders)
            .set_key(Some(order_key(id)))
            .consistent_read(true)
            .send()
            .await;
        let output = sent.map_err(|error| Unavailable::new("read the order", error))?;
        match output.item {
            None => Ok(None),
            Some(item) => Ok(Some(Loaded { order: codec::decode(&item)?, item })),
        }
    }

    /// The orders of `ids` as they are now, in no order; those that cannot be read are answered apart, so that one of them never
    /// hides the others.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn load_many(&self, ids: &[OrderId]) -> Result<(Vec<Loaded>, Vec<(String, DecodeError)>), Unavailable> {
        const ACTION: &str = "read orders";
        let mut loaded = Vec::new();
        let mut unreadable = Vec::new();
        for chunk in ids.chunks(BATCH) {
            let keys = KeysAndAttributes::builder()
                .set_keys(Some(chunk.iter().map(order_key).collect()))
                .consistent_read(true)
                .build()
                .map_err(|error| Unavailable::new(ACTION, error))?;
            let mut wanted = HashMap::from([(self.tables.orders.clone(), keys)]);
            for _ in 0..BATCH_ROUNDS {
                let sent = self.client.batch_get_item().set_request_items(Some(wanted)).send().await;
                let output = sent.map_err(|error| Unavailable::new(ACTION, error))?;
                for item in output.responses.unwrap_or_default().into_values().flatten() {
                    match codec::decode(&item) {
                        Ok(order) => loaded.push(Loaded { order, item }),
                        Err(error) => unreadable.push((key_text(&item), error)),
                    }
                }
                wanted = output.unprocessed_keys.unwrap_or_default();
                if wanted.is_empty() {
                    break;
                }
            }
            if !wanted.is_empty() {
                return Err(Unavailable::new(ACTION, "it left keys unprocessed"));
            }
        }
        Ok((loaded, unreadable))
    }

    /// What the coupon's row says; `None` when there is no such coupon.
    ///
    /// # Errors
    /// When the database does not answer, or the row cannot be read.
    pub async fn coupon_terms(&self, id: &expiry_core::ids::CouponId) -> Result<Option<CouponTerms>, ReadError> {
        let item = self.resource(&coupon_pk(id)).await?;
        Ok(item.as_ref().map(crate::resources::coupon_terms).transpose()?)
    }

    /// One row of the resources table.
    pub(crate) async fn resource(&self, pk: &str) -> Result<Option<Item>, Unavailable> {
        let sent = self
            .client
            .get_item()
            .table_name(&self.tables.resources)
            .key(names::PK, text(pk))
            .consistent_read(true)
            .send()
            .await;
        Ok(sent.map_err(|error| Unavailable::new("read a resource", error))?.item)
    }
}

fn key_text(item: &Item) -> String {
    match item.get(names::PK) {
        Some(AttributeValue::S(pk)) => pk.clone(),
        Some(_) | None => String::new(),
    }
}
