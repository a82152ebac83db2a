//! When a result that is not known yet is asked for again (DESIGN §5.4).

use std::time::Duration;

use crate::limits;
use crate::time::Timestamp;

/// When to look again, and whether the rhythm has run out so that a person should look as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NextLook {
    pub(crate) at: Timestamp,
    pub(crate) needs_attention: bool,
}

/// The moment after the `tries`-th look (from 1): the earlier of the rhythm and the moment at which rule NF can become true, and
/// at least until that moment in the rhythm; afterwards once a scan period, with a needs-attention mark.
pub(crate) fn next_look(
    tries: u16,
    now: Timestamp,
    not_found_at: Option<Timestamp>,
    scan_period: Duration,
) -> NextLook {
    let step = limits::RETRY_RHYTHM.get(usize::from(tries).saturating_sub(1));
    let last_step = limits::RETRY_RHYTHM[limits::RETRY_RHYTHM.len() - 1];
    // A moment that passed while the answer was under way is looked at again soon.
    let not_found_at = not_found_at.map(|at| if at > now { at } else { now.plus(limits::RETRY_RHYTHM[0]) });
    match (step, not_found_at) {
        (None, None) => NextLook { at: now.plus(scan_period), needs_attention: true },
        (step, not_found_at) => {
            let by_rhythm = now.plus(*step.unwrap_or(&last_step));
            NextLook { at: not_found_at.map_or(by_rhythm, |at| at.min(by_rhythm)), needs_attention: false }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn seconds(span: u64) -> Timestamp {
        Timestamp::EPOCH.plus(Duration::from_secs(span))
    }

    #[test]
    fn the_rhythm_is_10_s_30_s_1_2_5_10_15_min_then_the_scan_period_with_attention() {
        let looks: Vec<NextLook> = (1..=8).map(|tries| next_look(tries, seconds(0), None, HOUR)).collect();
        let spans = [10, 30, 60, 120, 300, 600, 900, 3_600];
        assert_eq!(looks.iter().map(|look| look.at).collect::<Vec<_>>(), spans.map(seconds));
        assert_eq!(looks.iter().filter(|look| look.needs_attention).count(), 1);
        assert!(looks[7].needs_attention);
    }

    #[test]
    fn rule_nf_brings_a_look_forward_and_keeps_the_rhythm_going_until_its_moment() {
        assert_eq!(next_look(7, seconds(0), Some(seconds(60)), HOUR).at, seconds(60));
        let beyond = next_look(8, seconds(0), Some(seconds(5_000)), HOUR);
        assert_eq!(beyond, NextLook { at: seconds(900), needs_attention: false });
        let just_passed = next_look(8, seconds(5_000), Some(seconds(5_000)), HOUR);
        assert_eq!(just_passed, NextLook { at: seconds(5_010), needs_attention: false });
    }
}
