//! `cargo run -- demo`: a shop with seconds-long windows plays what happens to unpaid orders, prints it as one page and checks the
//! invariants of DESIGN §2 on everything it saw (DESIGN §9).
//!
//! ```text
//! scenes ──HTTP──▶ the local system ──▶ orders, counters, channel, stream
//!    │ what was expected                        │ what really is
//!    └────────────────▶ page ◀── verdicts ◀─────┘
//! ```
//!
//! Nothing here decides anything about an order: the scenes speak to the shop by its HTTP surface, and what the page says is read
//! back from the database, the channel and the stream.

mod cells;
mod evidence;
mod history;
mod page;
mod scene;
mod scenes;
mod shop;
mod verdicts;

use std::io::{self, Write};
use std::time::{Duration, Instant};

use self::evidence::Evidence;
use self::page::Page;
use self::shop::{Shop, Surprise};
use crate::{SettingsError, StartError};

/// How far the clock is moved at the end, so that every delayed message has been delivered and found nothing left to do.
const LAST_MESSAGES: Duration = Duration::from_secs(60);

/// Why the demo was not played to its end.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The demo's own settings.
    #[error("the demo's settings are refused")]
    Settings(#[from] SettingsError),
    /// The local system.
    #[error("the local system does not start")]
    Start(#[from] StartError),
    /// What happened could not be read back.
    #[error("what happened could not be read back: {0}")]
    Unread(String),
    /// The page.
    #[error("the page cannot be written")]
    Output(#[from] io::Error),
}

impl From<Surprise> for DemoError {
    fn from(surprise: Surprise) -> DemoError {
        DemoError::Unread(surprise.0)
    }
}

/// Plays every scene, writes the page to `out` as it goes, and answers whether every scene ended as expected and every invariant
/// holds. `colour` is for terminals.
///
/// # Errors
/// See [`DemoError`].
pub async fn run(out: &mut impl Write, colour: bool) -> Result<bool, DemoError> {
    let began = Instant::now();
    let shop = Shop::open().await?;
    let mut page = Page::new(out, colour);
    page.title()?;
    let mut as_expected = true;
    for scene in scenes::ALL {
        let row = scene.play(&shop).await;
        as_expected &= row.surprises.is_empty();
        page.row(&row)?;
    }
    shop.advance(LAST_MESSAGES).await?;
    let evidence = Evidence::gather(&shop).await?;
    let verdicts = verdicts::all(&evidence);
    page.verdicts(&verdicts)?;
    let hold = verdicts.iter().all(|verdict| verdict.breaches.is_empty());
    page.summary(&evidence, as_expected, hold, began.elapsed(), shop.system.clock.added())?;
    Ok(as_expected && hold)
}
