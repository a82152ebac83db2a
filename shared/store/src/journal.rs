//! The case file beside the order: conversations with channels, refused callbacks, actions of people (`E#` rows), and findings that a
//! person must look at (`F#` rows). Plain puts: evidence never stands in the way of a decision (DESIGN §6).

use std::time::Duration;

use expiry_core::ids::OrderId;
use expiry_core::time::Timestamp;

use crate::Store;
use crate::codec::{DecodeError, Item, Reader, names, number, order_pk, text};
use crate::error::{ReadError, Unavailable};

/// How long an entry is kept.
const ENTRY_KEPT: Duration = Duration::from_secs(400 * 86_400);
/// Most entries of one page of a timeline.
const PAGE: i32 = 200;

const KIND: &str = "k";
const BODY: &str = "b";

/// What an entry tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// Calls to channels and their answers.
    Conversation,
    /// A callback that was refused.
    RefusedCallback,
    /// Something a person did.
    Action,
}

impl EntryKind {
    /// Its name where it is stored and shown.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            EntryKind::Conversation => "conversation",
            EntryKind::RefusedCallback => "refused_callback",
            EntryKind::Action => "action",
        }
    }

    fn parse(name: &str) -> Option<EntryKind> {
        [EntryKind::Conversation, EntryKind::RefusedCallback, EntryKind::Action]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// One entry of an order's case file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it happened.
    pub at: Timestamp,
    /// The order's version then.
    pub version: u64,
    /// What it tells of.
    pub kind: EntryKind,
    /// The rest, as JSON.
    pub body: String,
}

/// One page of an order's case file, oldest first.
#[derive(Clone, Debug)]
pub struct TimelinePage {
    /// The entries.
    pub entries: Vec<Entry>,
    /// Where the next page begins.
    pub next: Option<String>,
}

/// Something that a person must look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// When it was found.
    pub at: Timestamp,
    /// On which order.
    pub order: OrderId,
    /// Its stable name.
    pub name: String,
    /// In words.
    pub detail: String,
}

impl Store {
    /// Adds `entry` to the case file of `order`.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn record(&self, order: &OrderId, entry: &Entry) -> Result<(), Unavailable> {
        let unique = OrderId::from_bits(self.ids.unique());
        // Entries of one moment and version are told apart by a few random characters.
        let sk = format!("E#{}#{}#{}", entry.at, entry.version, &unique.as_str()[..6]);
        let item = Item::from([
            (names::PK.to_owned(), text(order_pk(order))),
            (names::SK.to_owned(), text(sk)),
            (KIND.to_owned(), text(entry.kind.name())),
            (BODY.to_owned(), text(&entry.body)),
            (names::TTL.to_owned(), number(entry.at.plus(ENTRY_KEPT).as_seconds())),
        ]);
        let sent = self.client.put_item().table_name(&self.tables.orders).set_item(Some(item)).send().await;
        sent.map(drop).map_err(|error| Unavailable::new("record evidence", error))
    }

    /// One page of the case file of `order`, from behind `after`.
    ///
    /// # Errors
    /// When the database does not answer, or an entry cannot be read.
    pub async fn timeline(&self, order: &OrderId, after: Option<&str>) -> Result<TimelinePage, ReadError> {
        let pk = order_pk(order);
        let start = after.map(|sk| Item::from([(names::PK.to_owned(), text(&pk)), (names::SK.to_owned(), text(sk))]));
        let sent = self
            .client
            .query()
            .table_name(&self.tables.orders)
            .key_condition_expression("#pk = :pk AND begins_with(#sk, :entry)")
            .expression_attribute_names("#pk", names::PK)
            .expression_attribute_names("#sk", names::SK)
            .expression_attribute_values(":pk", text(&pk))
            .expression_attribute_values(":entry", text("E#"))
            .consistent_read(true)
            .set_exclusive_start_key(start)
            .limit(PAGE)
            .send()
            .await;
        let output = sent.map_err(|error| Unavailable::new("read the case file", error))?;
        let next = output.last_evaluated_key.as_ref().and_then(|key| key.get(names::SK)?.as_s().ok()).cloned();
        let entries: Result<Vec<Entry>, DecodeError> = output.items.unwrap_or_default().iter().map(entry).collect();
        Ok(TimelinePage { entries: entries?, next })
    }

    /// Keeps `finding` until a person has looked at it.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn find(&self, finding: &Finding) -> Result<(), Unavailable> {
        let at = finding.at.to_string();
        let day = at.get(..10).unwrap_or_default();
        let item = Item::from([
            (names::PK.to_owned(), text(format!("F#{day}"))),
            // The same finding twice at one moment is one finding.
            (names::SK.to_owned(), text(format!("{at}#{}#{}", finding.order, finding.name))),
            (BODY.to_owned(), text(&finding.detail)),
        ]);
        let sent = self.client.put_item().table_name(&self.tables.orders).set_item(Some(item)).send().await;
        sent.map(drop).map_err(|error| Unavailable::new("keep a finding", error))
    }

    /// The findings of one day (UTC, `YYYY-MM-DD`), oldest first, at most one page.
    ///
    /// # Errors
    /// When the database does not answer, or a finding cannot be read.
    pub async fn findings(&self, day: &str) -> Result<Vec<Finding>, ReadError> {
        let pk = text(format!("F#{day}"));
        let sent = self
            .client
            .query()
            .table_name(&self.tables.orders)
            .key_condition_expression("#pk = :pk")
            .expression_attribute_names("#pk", names::PK)
            .expression_attribute_values(":pk", pk)
            .limit(PAGE)
            .send()
            .await;
        let output = sent.map_err(|error| Unavailable::new("read findings", error))?;
        let findings: Result<Vec<Finding>, DecodeError> =
            output.items.unwrap_or_default().iter().map(read_finding).collect();
        Ok(findings?)
    }
}

fn entry(item: &Item) -> Result<Entry, DecodeError> {
    let reader = Reader::new(item);
    let position = reader.parsed(names::SK, "an entry's key", |sk| {
        let mut parts = sk.strip_prefix("E#")?.split('#');
        Some((Timestamp::parse_rfc3339(parts.next()?)?, parts.next()?.parse().ok()?))
    })?;
    let (at, version) = reader.required(names::SK, position)?;
    Ok(Entry {
        at,
        version,
        kind: reader.required(KIND, reader.code(KIND, EntryKind::parse)?)?,
        body: reader.required(BODY, reader.text(BODY)?)?.to_owned(),
    })
}

fn read_finding(item: &Item) -> Result<Finding, DecodeError> {
    let reader = Reader::new(item);
    let parts = reader.parsed(names::SK, "a finding's key", |sk| {
        let mut parts = sk.split('#');
        let at = Timestamp::parse_rfc3339(parts.next()?)?;
        Some((at, OrderId::parse(parts.next()?).ok()?, parts.next()?.to_owned()))
    })?;
    let (at, order, name) = reader.required(names::SK, parts)?;
    Ok(Finding { at, order, name, detail: reader.required(BODY, reader.text(BODY)?)?.to_owned() })
}
