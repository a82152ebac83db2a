//! Where the fallback scan stands: one row per shard, so that it goes on where it stopped (DESIGN §6).

use expiry_core::ids::OrderId;
use expiry_core::time::Timestamp;

use crate::codec::{Item, Reader, millis, names, number, text};
use crate::due::DuePosition;
use crate::error::{ReadError, Unavailable};
use crate::{Store, codec::DecodeError};

const SCAN_PK: &str = "S#scan";
const CURSOR_DUE_AT: &str = "cd";
const CURSOR_ORDER: &str = "co";
const LAP_STARTED_AT: &str = "ls";
const LAST_LAP_AT: &str = "ll";
const LAST_LAP_MILLIS: &str = "lm";
const LAST_FOUND: &str = "lf";

/// The scan's place in one shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanState {
    /// Behind which order it goes on; `None` is from the start.
    pub cursor: Option<DuePosition>,
    /// When the present lap began.
    pub lap_started_at: Option<Timestamp>,
    /// When the last lap ended: "last success" of this shard.
    pub last_lap_at: Option<Timestamp>,
    /// How long the last lap took, in milliseconds.
    pub last_lap_millis: u64,
    /// How many overdue orders the last run found.
    pub last_found: u64,
}

fn scan_key(shard: u8) -> Item {
    Item::from([(names::PK.to_owned(), text(SCAN_PK)), (names::SK.to_owned(), text(format_args!("{shard:02}")))])
}

impl Store {
    /// Where the scan stands in `shard`.
    ///
    /// # Errors
    /// When the database does not answer, or the row cannot be read.
    pub async fn scan_state(&self, shard: u8) -> Result<ScanState, ReadError> {
        let sent = self
            .client
            .get_item()
            .table_name(&self.tables.orders)
            .set_key(Some(scan_key(shard)))
            .consistent_read(true)
            .send()
            .await;
        let output = sent.map_err(|error| Unavailable::new("read the scan's place", error))?;
        Ok(output.item.as_ref().map(read).transpose()?.unwrap_or_default())
    }

    /// Stores where the scan stands in `shard`. Two scans at once may overwrite each other's place: both then send what is overdue,
    /// and a message twice changes nothing.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn save_scan_state(&self, shard: u8, state: &ScanState) -> Result<(), Unavailable> {
        let mut item = scan_key(shard);
        let mut put = |name: &str, value| item.insert(name.to_owned(), value);
        if let Some(cursor) = &state.cursor {
            put(CURSOR_DUE_AT, millis(cursor.due_at));
            put(CURSOR_ORDER, text(&cursor.order));
        }
        if let Some(at) = state.lap_started_at {
            put(LAP_STARTED_AT, millis(at));
        }
        if let Some(at) = state.last_lap_at {
            put(LAST_LAP_AT, millis(at));
        }
        put(LAST_LAP_MILLIS, number(state.last_lap_millis));
        put(LAST_FOUND, number(state.last_found));
        let sent = self.client.put_item().table_name(&self.tables.orders).set_item(Some(item)).send().await;
        sent.map(drop).map_err(|error| Unavailable::new("store the scan's place", error))
    }
}

fn read(item: &Item) -> Result<ScanState, DecodeError> {
    let reader = Reader::new(item);
    let order = reader.parsed(CURSOR_ORDER, "an order id", |id| OrderId::parse(id).ok())?;
    let due_at = reader.millis(CURSOR_DUE_AT)?;
    Ok(ScanState {
        cursor: due_at.zip(order).map(|(due_at, order)| DuePosition { due_at, order }),
        lap_started_at: reader.millis(LAP_STARTED_AT)?,
        last_lap_at: reader.millis(LAST_LAP_AT)?,
        last_lap_millis: reader.number(LAST_LAP_MILLIS)?.unwrap_or(0),
        last_found: reader.number(LAST_FOUND)?.unwrap_or(0),
    })
}
