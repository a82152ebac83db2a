//! One decision, one conditional write (DESIGN §6).
//!
//! A retried conditional write lies: the answer is lost after the commit, the SDK sends it again and reports that the condition
//! failed although our write won. So every write carries a token and asks for the item it failed on; "failed, but the token is
//! ours" is success. Where others have written since, the caller decides again on the order as it is, and a command finds its own
//! effect there.

use aws_sdk_dynamodb::error::{BuildError, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    CancellationReason, Put, ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update,
};
use expiry_core::decide::Commit;
use expiry_core::decide::create::Creation;
use expiry_core::order::Order;
use expiry_core::reservation::CounterKey;
use expiry_core::row::{Refusal, Row};

use crate::codec::{self, Item, names};
use crate::contention::Contention;
use crate::error::{CommitError, CreateError, Unavailable, is_conflict};
use crate::expression::Change;
use crate::operation::Operation;
use crate::rows::transact_item;
use crate::{Loaded, Store};

const WRITE: &str = "write the order";

/// What came of a transaction.
enum Transacted {
    Applied,
    Cancelled(Vec<CancellationReason>),
}

/// Whether the order row let the write through.
enum OrderRow {
    /// It did not object.
    Fine,
    /// It failed, and carries our token: the write was applied before.
    Ours(Item),
    /// It failed, and this is what stands there.
    Changed(Option<Item>),
}

impl Store {
    /// Writes `commit`, decided on `before`.
    ///
    /// # Errors
    /// See [`CommitError`]: each variant says what to do next.
    pub async fn commit<O>(&self, before: &Loaded, commit: &Commit<O>) -> Result<Loaded, CommitError> {
        let operation = Operation::new(self.ids.as_ref());
        let item = codec::overlay(&before.item, codec::encode(&commit.order, operation.token()));
        debug_assert_eq!(codec::decode(&item).as_ref(), Ok(&commit.order), "what is written must be read back alike");
        let change = Change::new(before, &item, commit);
        let written = if commit.rows.is_empty() {
            self.update(&change, &operation).await?
        } else {
            self.transact(&change, commit, &operation).await?
        };
        match written {
            OrderRow::Fine => Ok(Loaded { order: commit.order.clone(), item }),
            OrderRow::Ours(item) => Ok(Loaded { order: codec::decode(&item)?, item }),
            OrderRow::Changed(None) => Err(CommitError::Lost(None)),
            OrderRow::Changed(Some(item)) => {
                let order = codec::decode(&item)?;
                Err(CommitError::Lost(Some(Box::new(Loaded { order, item }))))
            }
        }
    }

    /// Only the order changes: one conditional write.
    async fn update(&self, change: &Change, operation: &Operation) -> Result<OrderRow, CommitError> {
        let mut contention = Contention::new();
        loop {
            let sent = self
                .client
                .update_item()
                .table_name(&self.tables.orders)
                .set_key(Some(change.key()))
                .update_expression(change.update())
                .condition_expression(change.condition())
                .set_expression_attribute_names(Some(change.names()))
                .set_expression_attribute_values(Some(change.values()))
                .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
                .await;
            match sent {
                Ok(output) => {
                    self.meter.add(output.consumed_capacity());
                    return Ok(OrderRow::Fine);
                }
                Err(error) if is_conflict(&error) => {
                    if !contention.wait().await {
                        return Err(CommitError::Contended);
                    }
                }
                Err(error) => {
                    use aws_sdk_dynamodb::operation::update_item::UpdateItemError::ConditionalCheckFailedException;
                    return match error.as_service_error() {
                        Some(ConditionalCheckFailedException(failed)) => Ok(operation.judge(failed.item.clone())),
                        Some(_) | None => Err(Unavailable::new(WRITE, error).into()),
                    };
                }
            }
        }
    }

    /// Rows change with the order: one transaction, the order first.
    async fn transact<O>(
        &self,
        change: &Change,
        commit: &Commit<O>,
        operation: &Operation,
    ) -> Result<OrderRow, CommitError> {
        let items = self.with_rows(self.order_update(change), &commit.order, &commit.rows);
        let items = items.map_err(|error| Unavailable::new(WRITE, error))?;
        let mut contention = Contention::new();
        loop {
            let reasons = match self.send_transaction(items.clone(), operation).await? {
                Transacted::Applied => return Ok(OrderRow::Fine),
                Transacted::Cancelled(reasons) => reasons,
            };
            match operation.judge_first(&reasons) {
                OrderRow::Fine => {}
                row @ (OrderRow::Ours(_) | OrderRow::Changed(_)) => return Ok(row),
            }
            if let Some(refusal) = refusal(&commit.rows, &reasons[1.min(reasons.len())..]) {
                return Err(CommitError::Refused(refusal));
            }
            if !contention.wait().await {
                return Err(CommitError::Contended);
            }
        }
    }

    fn order_update(&self, change: &Change) -> Result<TransactWriteItem, BuildError> {
        let update = Update::builder()
            .table_name(&self.tables.orders)
            .set_key(Some(change.key()))
            .update_expression(change.update())
            .condition_expression(change.condition())
            .set_expression_attribute_names(Some(change.names()))
            .set_expression_attribute_values(Some(change.values()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .build()?;
        Ok(TransactWriteItem::builder().update(update).build())
    }

    fn with_rows(
        &self,
        first: Result<TransactWriteItem, BuildError>,
        order: &Order,
        rows: &[Row],
    ) -> Result<Vec<TransactWriteItem>, BuildError> {
        let rows = rows.iter().map(|row| transact_item(&self.tables, order, row));
        std::iter::once(first).chain(rows).collect()
    }

    async fn send_transaction(
        &self,
        items: Vec<TransactWriteItem>,
        operation: &Operation,
    ) -> Result<Transacted, Unavailable> {
        let sent = self
            .client
            .transact_write_items()
            .set_transact_items(Some(items))
            .client_request_token(operation.request_token())
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await;
        match sent {
            Ok(output) => {
                output.consumed_capacity().iter().for_each(|capacity| self.meter.add(Some(capacity)));
                Ok(Transacted::Applied)
            }
            Err(error) => match cancelled(&error) {
                Some(reasons) => Ok(Transacted::Cancelled(reasons)),
                None => Err(Unavailable::new(WRITE, error)),
            },
        }
    }

    /// Creates an order with everything it reserves, in one transaction. An order of the same id that exists already is answered
    /// instead; whether it is the same request is for the caller to compare.
    ///
    /// # Errors
    /// See [`CreateError`]. In a failed create the order row's own reason outranks the others.
    pub async fn create(&self, creation: &Creation) -> Result<Loaded, CreateError> {
        let operation = Operation::new(self.ids.as_ref());
        let item = codec::encode(&creation.order, operation.token());
        debug_assert_eq!(codec::decode(&item).as_ref(), Ok(&creation.order), "what is written must be read back alike");
        // absent → PENDING_PAYMENT | PAID
        let put = Put::builder()
            .table_name(&self.tables.orders)
            .set_item(Some(item.clone()))
            .condition_expression("attribute_not_exists(#pk)")
            .expression_attribute_names("#pk", names::PK)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .build()
            .map(|put| TransactWriteItem::builder().put(put).build());
        let items = self.with_rows(put, &creation.order, &creation.rows);
        let items = items.map_err(|error| Unavailable::new(WRITE, error))?;
        let mut contention = Contention::new();
        loop {
            let reasons = match self.send_transaction(items.clone(), &operation).await? {
                Transacted::Applied => {
                    return Ok(Loaded { order: creation.order.clone(), item });
                }
                Transacted::Cancelled(reasons) => reasons,
            };
            match operation.judge_first(&reasons) {
                OrderRow::Ours(item) | OrderRow::Changed(Some(item)) => {
                    return Ok(Loaded { order: codec::decode(&item)?, item });
                }
                OrderRow::Changed(None) | OrderRow::Fine => {}
            }
            match refusal(&creation.rows, &reasons[1.min(reasons.len())..]) {
                Some(Refusal::Counters(keys)) => return Err(CreateError::Insufficient(keys)),
                Some(Refusal::Coupon) => return Err(CreateError::Coupon),
                Some(Refusal::OpenOrders) => return Err(CreateError::TooManyOpen),
                Some(Refusal::TransactionTaken(_)) | None => {}
            }
            if !contention.wait().await {
                return Err(CreateError::Contended);
            }
        }
    }
}

impl Operation {
    /// "Failed, but the token is ours" is success.
    fn judge(&self, found: Option<Item>) -> OrderRow {
        match found {
            Some(item) if item.get(names::OPERATION).is_some_and(|value| self.is(value)) => OrderRow::Ours(item),
            found => OrderRow::Changed(found),
        }
    }

    fn judge_first(&self, reasons: &[CancellationReason]) -> OrderRow {
        match reasons.first() {
            Some(reason) if failed(reason) => self.judge(reason.item.clone()),
            Some(_) | None => OrderRow::Fine,
        }
    }
}

/// The reasons for which a transaction was cancelled; a transaction still in progress is contention like any other.
fn cancelled(error: &SdkError<TransactWriteItemsError>) -> Option<Vec<CancellationReason>> {
    let error = error.as_service_error()?;
    if let TransactWriteItemsError::TransactionCanceledException(cancelled) = error {
        return Some(cancelled.cancellation_reasons().to_vec());
    }
    error.is_transaction_in_progress_exception().then(Vec::new)
}

/// Told from contention: only a failed condition is a decision.
fn failed(reason: &CancellationReason) -> bool {
    reason.code() == Some("ConditionalCheckFailed")
}

/// What the rows beside the order object to: the reservations first, all of them, then whatever else.
fn refusal(rows: &[Row], reasons: &[CancellationReason]) -> Option<Refusal> {
    let mut counters: Vec<CounterKey> = Vec::new();
    let mut other = None;
    for (row, _) in rows.iter().zip(reasons).filter(|(_, reason)| failed(reason)) {
        match row {
            Row::Counter { key, .. } => counters.push(key.clone()),
            Row::Transaction { attempt, .. } => other = Some(Refusal::TransactionTaken(*attempt)),
            Row::Coupon { .. } => other = other.or(Some(Refusal::Coupon)),
            Row::OpenOrders { .. } => other = other.or(Some(Refusal::OpenOrders)),
        }
    }
    if counters.is_empty() { other } else { Some(Refusal::Counters(counters)) }
}
