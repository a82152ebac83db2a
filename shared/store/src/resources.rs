//! Counters and coupons as people see and edit them. An edit adds the difference under the value that was read, so it never undoes
//! what orders did meanwhile, and it never touches a status or a holder (DESIGN §6).

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use expiry_core::ids::{CouponId, OrderId, UserId};
use expiry_core::limits;
use expiry_core::reservation::{CounterKey, CouponStatus};
use expiry_core::row::CouponTerms;
use expiry_core::time::Timestamp;

use crate::Store;
use crate::codec::{DecodeError, Item, Reader, boolean, bytes, millis, names, number, text};
use crate::contention::Contention;
use crate::error::{ReadError, Unavailable, is_conflict};
use crate::operation::Operation;
use crate::rows::{counter_pk, coupon_pk, name};

/// A counter: `on_hand = available + reserved + sold` (I5), so `on_hand` is not stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    /// Free to be ordered.
    pub available: u64,
    /// Held by orders that are not settled.
    pub reserved: u64,
    /// Gone with paid orders.
    pub sold: u64,
}

impl Counter {
    /// All there is, with what is sold.
    #[must_use]
    pub const fn on_hand(self) -> u64 {
        self.available + self.reserved + self.sold
    }
}

/// A coupon's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coupon {
    /// Whose it is.
    pub user: UserId,
    /// The rest of it.
    pub terms: CouponTerms,
}

/// What a person may set of a coupon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CouponEdit {
    /// Whose it is.
    pub user: UserId,
    /// Until when it is valid.
    pub valid_until: Timestamp,
    /// Whether it comes back from an order that was not paid.
    pub refundable: bool,
    /// Whether its campaign runs.
    pub campaign_active: bool,
}

/// Why a counter was not edited. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum CounterEditError {
    /// Less than orders hold and have bought.
    #[error("that is less than is reserved and sold")]
    BelowCommitted(Counter),
    /// Others wrote to the row for as long as this could wait.
    #[error("the row stayed contended")]
    Contended,
    /// The row could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl From<Unavailable> for CounterEditError {
    fn from(unavailable: Unavailable) -> CounterEditError {
        CounterEditError::Read(ReadError::Unavailable(unavailable))
    }
}

impl Store {
    /// The counter `key`; `None` when nobody ever set it up.
    ///
    /// # Errors
    /// When the database does not answer, or the row cannot be read.
    pub async fn counter(&self, key: &CounterKey) -> Result<Option<Counter>, ReadError> {
        let item = self.resource(&counter_pk(key)).await?;
        Ok(item.as_ref().map(read_counter).transpose()?)
    }

    /// Makes `on_hand` of the counter `key`, with what is reserved and sold, what `wanted` computes from it.
    ///
    /// # Errors
    /// See [`CounterEditError`].
    pub async fn edit_counter(
        &self,
        key: &CounterKey,
        wanted: impl Fn(Counter) -> u64,
    ) -> Result<Counter, CounterEditError> {
        let operation = Operation::new(self.ids.as_ref());
        let mut contention = Contention::new();
        loop {
            let item = self.resource(&counter_pk(key)).await?;
            let read = item.as_ref().map(read_counter).transpose().map_err(ReadError::Unreadable)?;
            let before = read.unwrap_or_default();
            // The edit whose answer was lost: applied, whatever orders did since.
            if item.as_ref().and_then(|item| item.get(name::EDIT)).is_some_and(|value| operation.is(value)) {
                return Ok(before);
            }
            let available = wanted(before).checked_sub(before.reserved + before.sold);
            let available = available.ok_or(CounterEditError::BelowCommitted(before))?;
            let after = Counter { available, ..before };
            let update = self
                .resource_update(&counter_pk(key))
                .update_expression("SET #av = :after, #rs = :rs, #so = :so, #op = :op")
                .expression_attribute_names("#av", name::AVAILABLE)
                .expression_attribute_names("#rs", name::RESERVED)
                .expression_attribute_names("#so", name::SOLD)
                .expression_attribute_names("#op", name::EDIT)
                .expression_attribute_values(":after", number(after.available))
                .expression_attribute_values(":rs", number(before.reserved))
                .expression_attribute_values(":so", number(before.sold))
                .expression_attribute_values(":op", bytes(operation.token()));
            // Under the value that was read: nothing an order did in between is lost.
            let update = match read {
                None => update.condition_expression("attribute_not_exists(#av)"),
                Some(_) => update
                    .condition_expression("#av = :before AND #rs = :rs AND #so = :so")
                    .expression_attribute_values(":before", number(before.available)),
            };
            if self.applied(update).await? {
                return Ok(after);
            }
            if !contention.wait().await {
                return Err(CounterEditError::Contended);
            }
        }
    }

    /// The coupon `id`; `None` when there is none.
    ///
    /// # Errors
    /// When the database does not answer, or the row cannot be read.
    pub async fn coupon(&self, id: &CouponId) -> Result<Option<Coupon>, ReadError> {
        let item = self.resource(&coupon_pk(id)).await?;
        Ok(item.as_ref().map(read_coupon).transpose()?)
    }

    /// Sets the terms of the coupon `id`, which is AVAILABLE when it is new; its status and holder are left alone.
    ///
    /// # Errors
    /// When the database does not answer, the row stays contended, or it cannot be read.
    pub async fn edit_coupon(&self, id: &CouponId, edit: &CouponEdit) -> Result<Coupon, CounterEditError> {
        let mut contention = Contention::new();
        loop {
            let update = self
                .resource_update(&coupon_pk(id))
                .update_expression("SET #us = :us, #vu = :vu, #rf = :rf, #ac = :ac, #st = if_not_exists(#st, :new)")
                .expression_attribute_names("#us", name::COUPON_USER)
                .expression_attribute_names("#vu", name::VALID_UNTIL)
                .expression_attribute_names("#rf", name::REFUNDABLE)
                .expression_attribute_names("#ac", name::CAMPAIGN_ACTIVE)
                .expression_attribute_names("#st", name::COUPON_STATUS)
                .expression_attribute_values(":us", text(&edit.user))
                .expression_attribute_values(":vu", millis(edit.valid_until))
                .expression_attribute_values(":rf", boolean(edit.refundable))
                .expression_attribute_values(":ac", boolean(edit.campaign_active))
                .expression_attribute_values(":new", text(CouponStatus::Available.name()));
            if self.applied(update).await? {
                let coupon = self.coupon(id).await?;
                return coupon.ok_or_else(|| Unavailable::new("read a resource", "it is gone").into());
            }
            if !contention.wait().await {
                return Err(CounterEditError::Contended);
            }
        }
    }

    fn resource_update(&self, pk: &str) -> UpdateItemFluentBuilder {
        self.client.update_item().table_name(&self.tables.resources).key(names::PK, text(pk))
    }

    /// Whether the update was applied; `false` when its condition failed or it met a transaction.
    async fn applied(&self, update: UpdateItemFluentBuilder) -> Result<bool, Unavailable> {
        match update.send().await {
            Ok(_) => Ok(true),
            Err(error) if is_conflict(&error) || is_condition(&error) => Ok(false),
            Err(error) => Err(Unavailable::new("edit a resource", error)),
        }
    }
}

fn is_condition<R>(error: &SdkError<aws_sdk_dynamodb::operation::update_item::UpdateItemError, R>) -> bool {
    error.as_service_error().is_some_and(|error| error.is_conditional_check_failed_exception())
}

fn read_counter(item: &Item) -> Result<Counter, DecodeError> {
    let reader = Reader::new(item);
    let read = |attribute| match reader.number(attribute)? {
        Some(units) if units <= limits::COUNTER => Ok(units),
        Some(_) => Err(reader.unexpected(attribute, "a count within its bound")),
        None => Ok(0),
    };
    Ok(Counter { available: read(name::AVAILABLE)?, reserved: read(name::RESERVED)?, sold: read(name::SOLD)? })
}

pub(crate) fn coupon_terms(item: &Item) -> Result<CouponTerms, DecodeError> {
    let reader = Reader::new(item);
    let status = reader.code(name::COUPON_STATUS, CouponStatus::parse)?;
    Ok(CouponTerms {
        valid_until: reader.required(name::VALID_UNTIL, reader.millis(name::VALID_UNTIL)?)?,
        refundable: reader.boolean(name::REFUNDABLE)?,
        campaign_active: reader.boolean(name::CAMPAIGN_ACTIVE)?,
        status: reader.required(name::COUPON_STATUS, status)?,
        holder: reader.parsed(name::HOLDER, "an order id", |id| OrderId::parse(id).ok())?,
    })
}

fn read_coupon(item: &Item) -> Result<Coupon, DecodeError> {
    let reader = Reader::new(item);
    let user = reader.parsed(name::COUPON_USER, "a user", |id| UserId::new(id).ok())?;
    Ok(Coupon { user: reader.required(name::COUPON_USER, user)?, terms: coupon_terms(item)? })
}
