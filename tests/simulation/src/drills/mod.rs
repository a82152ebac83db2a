//! Drills: a shop in ordinary motion, one large outage, and how long until nothing is left to do (CASES.md).
//!
//! Each drill is one declaration in [`DRILLS`]; its figures are those of one run on simulated time, the same on every machine.

pub mod capacity;
mod floor;
mod outage;

use std::fmt;
use std::process::ExitCode;
use std::time::Duration;

use self::floor::Floor;
pub use self::floor::Lateness;
pub use self::outage::Outage;

/// How long a customer has to pay in a drill.
const WINDOW: Duration = Duration::from_secs(1_800);
/// How long after an outage is waited at most until nothing is left to do.
const PATIENCE: Duration = Duration::from_secs(4 * 3_600);

/// One drill.
#[derive(Clone, Copy, Debug)]
pub struct Drill {
    /// Its name.
    pub name: &'static str,
    /// Whether each order has a payment that nobody completes: then the channel must be asked.
    pub with_payment: bool,
    /// What is out.
    pub outage: Outage,
    /// When it begins, counted from the first order.
    pub begins: Duration,
    /// How long it lasts.
    pub lasts: Duration,
    /// Within which time after the outage, and after the deadlines, everything must be done.
    pub recovers_within: Duration,
    /// Whether any order may have waited for the hourly scan.
    pub may_need_scan: bool,
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Every drill of CASES.md.
pub const DRILLS: [Drill; 8] = [
    Drill {
        name: "queues and Scheduler refuse everything while orders are created",
        with_payment: false,
        outage: Outage::Sends,
        begins: seconds(0),
        lasts: seconds(600),
        recovers_within: seconds(30),
        may_need_scan: false,
    },
    Drill {
        name: "database unreachable for ten minutes while orders expire",
        with_payment: true,
        outage: Outage::Database,
        begins: seconds(1_780),
        lasts: seconds(600),
        recovers_within: seconds(3_700),
        may_need_scan: true,
    },
    Drill {
        name: "database loses the answer of every write for ten minutes while orders expire",
        with_payment: true,
        outage: Outage::WriteAnswers,
        begins: seconds(1_780),
        lasts: seconds(600),
        recovers_within: seconds(3_700),
        may_need_scan: true,
    },
    Drill {
        name: "channel silent for an hour",
        with_payment: true,
        outage: Outage::Channel,
        begins: seconds(1_780),
        lasts: seconds(3_600),
        // The rhythm has run out by then: one scan period, and the scan that finds it.
        recovers_within: seconds(7_300),
        may_need_scan: true,
    },
    Drill {
        name: "stock service down for ten minutes while orders close",
        with_payment: false,
        outage: Outage::Stock,
        begins: seconds(1_780),
        lasts: seconds(600),
        recovers_within: seconds(3_700),
        may_need_scan: true,
    },
    Drill {
        name: "stream stopped past its retention (25 h)",
        with_payment: true,
        outage: Outage::Stream,
        begins: seconds(120),
        lasts: seconds(25 * 3_600),
        recovers_within: seconds(30),
        may_need_scan: true,
    },
    Drill {
        name: "scan stopped for six hours, every wake-up lost",
        with_payment: false,
        outage: Outage::ScanAndWakes,
        begins: seconds(0),
        lasts: seconds(6 * 3_600),
        recovers_within: seconds(3_700),
        may_need_scan: true,
    },
    Drill {
        name: "every worker killed twice a second for five minutes while orders expire",
        with_payment: true,
        outage: Outage::Workers,
        begins: seconds(1_780),
        lasts: seconds(300),
        recovers_within: seconds(3_700),
        may_need_scan: true,
    },
];

/// What a drill came to.
#[derive(Debug)]
pub struct Report {
    /// Orders created.
    pub orders: usize,
    /// From `expire_at` to `closed_at`.
    pub lateness: Lateness,
    /// From the end of the outage, or from the last deadline if that is later, until nothing was left to do.
    pub recovered_in: Duration,
    /// Most messages that waited in all queues together.
    pub backlog: u64,
    /// Orders that no wake-up closed.
    pub found_by_scan: u64,
    /// Messages that ended in a dead-letter queue.
    pub dead_letters: u64,
    /// What is wrong; empty when the drill is passed.
    pub breaches: Vec<String>,
}

impl Drill {
    /// Plays the drill with so many orders.
    #[must_use]
    pub fn play(&self, orders: usize) -> Report {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(self.played(orders))
    }

    async fn played(&self, orders: usize) -> Report {
        let floor = Floor::open(orders).await;
        let outage = async {
            tokio::time::sleep(self.begins).await;
            self.outage.befalls(&floor, self.lasts).await;
        };
        let trade = async {
            floor.orders(orders, self.with_payment).await;
            tokio::time::sleep(WINDOW).await;
        };
        let recovered_in = floor
            .watches_queues(async {
                tokio::join!(outage, trade);
                floor.waits_for_rest(PATIENCE).await
            })
            .await;
        let mut breaches = floor.breaches(orders, self.with_payment);
        let (found_by_scan, dead_letters) = (floor.found_by_scan(), floor.dead_letters());
        match recovered_in {
            None => {
                breaches.push(format!("after {} s {} orders have work left", PATIENCE.as_secs(), floor.unfinished()))
            }
            Some(took) if took > self.recovers_within => {
                breaches.push(format!("it took {} s, more than {} s", took.as_secs(), self.recovers_within.as_secs()));
            }
            Some(_) => {}
        }
        if found_by_scan > 0 && !self.may_need_scan {
            breaches.push(format!("{found_by_scan} orders waited for the scan"));
        }
        let (orders, lateness) = (floor.created(), floor.lateness());
        breaches.extend(floor.is_well_again().await);
        Report {
            orders,
            lateness,
            recovered_in: recovered_in.unwrap_or(PATIENCE),
            backlog: floor.backlog(),
            found_by_scan,
            dead_letters,
            breaches,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { orders, lateness, recovered_in, backlog, found_by_scan, dead_letters, .. } = self;
        let recovered = recovered_in.as_secs();
        write!(out, "{orders} | {lateness} | {recovered} s | {backlog} | {found_by_scan} | {dead_letters}")
    }
}

/// Plays every drill with so many orders and prints their figures as a table.
#[must_use]
pub fn main(orders: usize) -> ExitCode {
    println!(
        "| drill | orders | expire→closed p50 / p99 / most | done after the outage | backlog | found by the scan | dead letters |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut code = ExitCode::SUCCESS;
    for drill in DRILLS {
        let report = drill.play(orders);
        println!("| {} | {report} |", drill.name);
        for breach in &report.breaches {
            println!("BREACH {breach}");
            code = ExitCode::FAILURE;
        }
    }
    code
}
