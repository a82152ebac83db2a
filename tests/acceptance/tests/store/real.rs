//! A step on the store, over the embedded DynamoDB.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use expiry_core::ids::{AttemptNo, OrderId};
use expiry_core::reservation::CounterKey;
use expiry_core::row::{CouponTerms, Refusal};
use expiry_core::time::Timestamp;
use expiry_store::{
    CommitError, Counter, CounterEditError, Coupon, CouponEdit, CreateError, DUE_INDEX, DuePosition, Loaded, ReadError,
    Store, Tables, create_tables,
};
use local::clock::MovableClock;
use local::cloud::fate::{CallFate, Failure, Service};
use local::cloud::{Cloud, CloudConfig};
use proptest_state_machine::StateMachineTest;
use tokio::runtime::Runtime;

use crate::reference::{Answer, Call, Reference};
use crate::scene::{Counted, beginning, counters, coupon, end, order_id};
use crate::step::{Mishap, Step};
use crate::tables::Written;

type Item = HashMap<String, AttributeValue>;

/// The store, and what was read from it.
pub(crate) struct Real {
    runtime: Runtime,
    cloud: Cloud,
    client: Client,
    store: Store,
    seen: BTreeMap<u8, Vec<Loaded>>,
}

impl StateMachineTest for Real {
    type SystemUnderTest = Real;
    type Reference = Reference;

    fn init_test(model: &Reference) -> Real {
        // Nothing here takes time, so waiting costs none: it passes as soon as everybody waits.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let cloud = Cloud::new(CloudConfig::in_memory(MovableClock::paused(beginning()), 0)).expect("a cloud");
        let client = Client::new(&cloud.sdk_config());
        let tables = Tables { orders: "orders".to_owned(), resources: "resources".to_owned() };
        let store = Store::new(client.clone(), tables.clone(), Arc::new(Counted::default()));
        let real = Real { runtime: runtime.expect("a runtime"), cloud, client, store, seen: BTreeMap::new() };
        real.runtime.block_on(async {
            create_tables(&real.client, &tables).await.expect("the tables");
            for (key, counter) in &model.tables.counters {
                real.store.edit_counter(key, |_| counter.on_hand()).await.expect("a counter");
            }
            if let Some(Coupon { user, terms }) = model.tables.coupon.clone() {
                let CouponTerms { valid_until, refundable, campaign_active, .. } = terms;
                let edit = CouponEdit { user, valid_until, refundable, campaign_active };
                real.store.edit_coupon(&coupon(), &edit).await.expect("a coupon");
            }
        });
        real
    }

    fn apply(mut real: Real, model: &Reference, step: Step) -> Real {
        real.cloud.clock().advance(model.now.since(local_now(&real)));
        real.suffer(mishap(&step));
        for call in &model.calls {
            real.runtime.block_on(real.answers(call));
            // What befell the first write befalls no other.
            real.cloud.clear_call_rules();
        }
        real.cloud.clear_call_rules();
        for (slot, orders) in &model.seen {
            let seen = real.seen.entry(*slot).or_default();
            if seen.len() < orders.len() {
                let found = real.runtime.block_on(real.store.load(&order_id(*slot))).expect("an answer");
                seen.push(found.expect("an order"));
            }
        }
        real
    }

    fn check_invariants(real: &Real, model: &Reference) {
        real.runtime.block_on(real.holds(model));
    }
}

fn local_now(real: &Real) -> Timestamp {
    expiry_core::time::Clock::now(real.cloud.clock())
}

fn mishap(step: &Step) -> Mishap {
    match step {
        Step::Create(_, mishap)
        | Step::Move { mishap, .. }
        | Step::EditCounter { mishap, .. }
        | Step::EditCoupon { mishap, .. } => *mishap,
        Step::DamageCounter(_) | Step::DamageCoupon | Step::Leaf { .. } | Step::Wait(_) => Mishap::Nothing,
    }
}

impl Real {
    /// From now on `mishap` befalls the next write.
    fn suffer(&self, mishap: Mishap) {
        let mut writes = 0;
        self.cloud.on_call(move |call| {
            let is_write = matches!(call.operation, "PutItem" | "UpdateItem" | "TransactWriteItems");
            if call.service != Service::DynamoDb || !is_write {
                return None;
            }
            writes += u32::from(call.attempt == 1);
            let conflict = || match call.body["TransactItems"].as_array() {
                Some(items) => Failure::transaction_conflict(items.len(), items.len() - 1),
                None => Failure::new(400, "TransactionConflictException"),
            };
            match mishap {
                Mishap::AnswerLost if (writes, call.attempt) == (1, 1) => Some(CallFate::LoseAnswer),
                Mishap::RequestLost if (writes, call.attempt) == (1, 1) => Some(CallFate::LoseRequest),
                Mishap::NeverAnswered => Some(CallFate::LoseAnswer),
                Mishap::NeverArrives => Some(CallFate::LoseRequest),
                Mishap::ConflictsForEver => Some(CallFate::Fail(conflict())),
                Mishap::Conflicts if writes <= 2 => Some(CallFate::Fail(conflict())),
                Mishap::Nothing | Mishap::AnswerLost | Mishap::RequestLost | Mishap::Conflicts => None,
            }
        });
    }

    /// The call answers what the model says.
    async fn answers(&self, call: &Call) {
        let store = &self.store;
        match call {
            Call::Create(creation, answer) => assert_eq!(created(store.create(creation).await), *answer),
            Call::Commit { slot, seen, commit, answer } => {
                assert_eq!(committed(store.commit(&self.seen[slot][*seen], commit).await), *answer);
            }
            Call::EditCounter { key, on_hand, answer } => {
                assert_eq!(edited(store.edit_counter(key, |_| *on_hand).await), *answer);
            }
            Call::EditCoupon(edit, answer) => {
                let told = match edited(store.edit_coupon(&coupon(), edit).await) {
                    Answer::Told(coupon) => Answer::Told(coupon.expect("terms are never below anything")),
                    Answer::Contended => Answer::Contended,
                    Answer::Unavailable => Answer::Unavailable,
                };
                assert_eq!(told, *answer);
            }
            Call::DamageCounter(key, to) => self.damage_counter(key, *to).await,
            Call::DamageCoupon => {
                let available = AttributeValue::S("AVAILABLE".to_owned());
                self.damage(format!("coupon#{}", coupon()), "SET st = :a REMOVE ho", [(":a", available)]).await;
            }
            Call::Leaf { after, most, hits } => {
                let page = store.due_orders(end(), after.as_ref(), *most).await.expect("an answer");
                assert_eq!(page.hits, *hits);
                assert!(page.more || hits.len() < usize::from(*most) || self.is_last(hits).await, "there is more");
            }
        }
    }

    async fn is_last(&self, hits: &[DuePosition]) -> bool {
        self.store.due_orders(end(), hits.last(), 1).await.expect("an answer").hits.is_empty()
    }

    async fn damage_counter(&self, key: &CounterKey, to: Counter) {
        let number = |units: u64| AttributeValue::N(units.to_string());
        let values = [(":av", number(to.available)), (":rs", number(to.reserved))];
        self.damage(counter_pk(key), "SET av = :av, rs = :rs", values).await;
    }

    async fn damage<const N: usize>(&self, pk: String, update: &str, values: [(&str, AttributeValue); N]) {
        let values = values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let sent = self
            .client
            .update_item()
            .table_name("resources")
            .key("pk", AttributeValue::S(pk))
            .update_expression(update)
            .set_expression_attribute_values(Some(values));
        sent.send().await.expect("the database takes it");
    }

    /// Everything that is stored is what the model says.
    async fn holds(&self, model: &Reference) {
        let tables = &model.tables;
        let ids: Vec<_> = tables.orders.keys().cloned().collect();
        let (loaded, unreadable) = self.store.load_many(&ids).await.expect("an answer");
        assert!(unreadable.is_empty());
        assert_eq!(
            loaded.into_iter().map(|loaded| (loaded.order.id.clone(), loaded.order)).collect::<BTreeMap<_, _>>(),
            tables.orders
        );
        assert_eq!(self.store.coupon(&coupon()).await.expect("an answer"), tables.coupon);
        assert_eq!(self.counters().await, tables.counters);
        self.holds_rows(model).await;
        assert_eq!(self.due().await, tables.due());
    }

    async fn scan(&self, table: &str, index: Option<&str>) -> Vec<Item> {
        let scan = self.client.scan().table_name(table).set_index_name(index.map(str::to_owned));
        scan.send().await.expect("an answer").items.unwrap_or_default()
    }

    async fn counters(&self) -> BTreeMap<CounterKey, Counter> {
        let rows = self.scan("resources", None).await;
        let read = |key: CounterKey| {
            let row = rows.iter().find(|row| text(row, "pk") == counter_pk(&key))?;
            let [available, reserved, sold] = ["av", "rs", "so"].map(|name| number(row, name));
            Some((key, Counter { available, reserved, sold }))
        };
        counters().into_iter().filter_map(read).collect()
    }

    /// The rows beside orders that nothing reads but their own conditions.
    async fn holds_rows(&self, model: &Reference) {
        let mut transactions = BTreeMap::new();
        let mut open_orders = BTreeMap::new();
        let mut orders = 0;
        for item in &self.scan("orders", None).await {
            let key = text(item, "pk");
            match key.split_at(2) {
                ("T#", transaction) => {
                    let attempt = AttemptNo::new(number(item, "a")).expect("an attempt");
                    transactions.insert(transaction.to_owned(), (text(item, "o"), attempt));
                }
                ("U#", user) => drop(open_orders.insert(user.to_owned(), number(item, "n"))),
                ("O#", _) => orders += 1,
                (kind, _) => panic!("a row {kind}"),
            }
        }
        let tables = &model.tables;
        assert_eq!(orders, tables.orders.len());
        let owners = tables.transactions.iter().map(|(key, (order, no))| (key.clone(), (order.to_string(), *no)));
        assert_eq!(transactions, owners.collect());
        let counts = tables.open_orders.iter().map(|(user, open)| (user.to_string(), u64::from(*open)));
        assert_eq!(open_orders, counts.collect());
    }

    /// The due index, all of it.
    async fn due(&self) -> Vec<DuePosition> {
        let position = |item: &Item| DuePosition {
            due_at: Timestamp::from_millis(number(item, "da").cast_signed()).expect("a time"),
            order: OrderId::parse(&text(item, "pk")[2..]).expect("an order"),
        };
        let mut due: Vec<DuePosition> = self.scan("orders", Some(DUE_INDEX)).await.iter().map(position).collect();
        due.sort();
        due
    }
}

fn counter_pk(key: &CounterKey) -> String {
    format!("{}#{key}", key.kind().name())
}

fn text(item: &Item, name: &str) -> String {
    item[name].as_s().expect("text").clone()
}

fn number(item: &Item, name: &str) -> u64 {
    item[name].as_n().expect("a number").parse().expect("a whole number")
}

fn created(result: Result<Loaded, CreateError>) -> Answer<Written> {
    match result {
        Ok(loaded) => Answer::Told(Written::Stored(loaded.order)),
        Err(CreateError::Insufficient(keys)) => Answer::Told(Written::Refused(Refusal::Counters(keys))),
        Err(CreateError::Coupon) => Answer::Told(Written::Refused(Refusal::Coupon)),
        Err(CreateError::TooManyOpen) => Answer::Told(Written::Refused(Refusal::OpenOrders)),
        Err(CreateError::Contended) => Answer::Contended,
        Err(CreateError::Unavailable(_)) => Answer::Unavailable,
        Err(CreateError::Unreadable(error)) => panic!("{error}"),
    }
}

fn committed(result: Result<Loaded, CommitError>) -> Answer<Written> {
    match result {
        Ok(loaded) => Answer::Told(Written::Stored(loaded.order)),
        Err(CommitError::Lost(latest)) => Answer::Told(Written::Lost(latest.expect("the order is there").order)),
        Err(CommitError::Refused(refusal)) => Answer::Told(Written::Refused(refusal)),
        Err(CommitError::Contended) => Answer::Contended,
        Err(CommitError::Unavailable(_)) => Answer::Unavailable,
        Err(CommitError::Unreadable(error)) => panic!("{error}"),
    }
}

fn edited<T>(result: Result<T, CounterEditError>) -> Answer<Result<T, Counter>> {
    match result {
        Ok(edited) => Answer::Told(Ok(edited)),
        Err(CounterEditError::BelowCommitted(counter)) => Answer::Told(Err(counter)),
        Err(CounterEditError::Contended) => Answer::Contended,
        Err(CounterEditError::Read(ReadError::Unavailable(_))) => Answer::Unavailable,
        Err(CounterEditError::Read(ReadError::Unreadable(error))) => panic!("{error}"),
    }
}
