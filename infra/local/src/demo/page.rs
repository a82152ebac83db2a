//! The page: a table of scenes, the invariants with their marks, one line that sums it up.

use std::io::{self, Write};
use std::time::Duration;

use super::cells::{seconds, yuan};
use super::evidence::Evidence;
use super::scene::Row;
use super::verdicts::Verdict;

/// The columns: heading and width in characters.
const COLUMNS: [(&str, usize); 7] = [
    ("scene", 15),
    ("what happens", 43),
    ("order", 8),
    ("money", 13),
    ("goods left", 16),
    ("how it was decided", 24),
    ("took", 7),
];
/// Between two columns.
const GAP: &str = "  ";
/// Width of what an invariant says.
const SAYS: usize = 74;

/// How a piece of text looks on a terminal.
#[derive(Clone, Copy, Debug)]
enum Look {
    Plain,
    Bold,
    Dim,
    Good,
    Bad,
}

impl Look {
    const fn code(self) -> &'static str {
        match self {
            Look::Plain => "0",
            Look::Bold => "1",
            Look::Dim => "2",
            Look::Good => "32",
            Look::Bad => "1;31",
        }
    }
}

/// The page as it is written.
#[derive(Debug)]
pub(super) struct Page<'a, W> {
    out: &'a mut W,
    colour: bool,
}

impl<'a, W: Write> Page<'a, W> {
    /// An empty page; escape codes only with `colour`.
    pub(super) fn new(out: &'a mut W, colour: bool) -> Page<'a, W> {
        Page { out, colour }
    }

    fn look(&self, look: Look, text: &str) -> String {
        match (self.colour, look) {
            (false, _) | (true, Look::Plain) => text.to_owned(),
            (true, look) => format!("\u{1b}[{}m{text}\u{1b}[0m", look.code()),
        }
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", text.trim_end())
    }

    fn mark(&self, good: bool) -> String {
        if good { self.look(Look::Good, "✓") } else { self.look(Look::Bad, "✗") }
    }

    /// What this is, and the heading of the table.
    pub(super) fn title(&mut self) -> io::Result<()> {
        let title = self.look(Look::Bold, "order-expiry — a day in a shop whose customers do not always pay");
        self.line(&title)?;
        self.line("Real handlers and the real AWS SDK on an embedded cloud. What stands below is read back from the database, the stream and the")?;
        self.line("payment channel. T is an order's deadline; “took” is real time, and + how far the shop's one clock was moved so as not to wait.")?;
        self.line("")?;
        let headings = COLUMNS.map(|(heading, width)| pad(heading, width)).join(GAP);
        let headings = self.look(Look::Bold, headings.trim_end());
        self.line(&format!("  {headings}"))?;
        self.rule()
    }

    fn rule(&mut self) -> io::Result<()> {
        let width: usize = COLUMNS.iter().map(|(_, width)| GAP.len() + width).sum();
        let rule = self.look(Look::Dim, &"─".repeat(width));
        self.line(&rule)
    }

    /// One scene.
    pub(super) fn row(&mut self, row: &Row) -> io::Result<()> {
        let decided = [row.decided.as_str(), row.lag.as_str()].join("\n");
        let mut took = seconds(row.took);
        if !row.moved.is_zero() {
            took.push_str(&format!("\n+{} s", row.moved.as_secs()));
        }
        let cells = [row.name, row.story, &row.status, &row.money, &row.goods, decided.trim_end(), &took];
        let wrapped: Vec<Vec<String>> = cells.iter().zip(COLUMNS).map(|(text, (_, width))| wrap(text, width)).collect();
        for number in 0..wrapped.iter().map(Vec::len).max().unwrap_or(0) {
            let mut line = if number == 0 { self.mark(row.surprises.is_empty()) } else { " ".to_owned() };
            line.push(' ');
            for (column, ((_, width), cell)) in COLUMNS.iter().zip(&wrapped).enumerate() {
                let text = pad(cell.get(number).map_or("", String::as_str), *width);
                let look = if column == 0 || column == 2 { Look::Bold } else { Look::Plain };
                line.push_str(&self.look(look, &text));
                line.push_str(GAP);
            }
            self.line(&line)?;
        }
        for surprise in &row.surprises {
            let surprise = self.look(Look::Bad, surprise);
            self.line(&format!("  ✗ {surprise}"))?;
        }
        // Seen while the next scene is played.
        self.out.flush()
    }

    /// The invariants.
    pub(super) fn verdicts(&mut self, verdicts: &[Verdict]) -> io::Result<()> {
        self.rule()?;
        let heading = self.look(Look::Bold, "What must hold, whatever happens");
        self.line(&heading)?;
        for Verdict { id, says, seen, breaches } in verdicts {
            let mark = self.mark(breaches.is_empty());
            let seen = self.look(Look::Dim, seen);
            self.line(&format!("{mark} {id:<4} {} {seen}", pad(says, SAYS)))?;
            for breach in breaches {
                let breach = self.look(Look::Bad, breach);
                self.line(&format!("       ✗ {breach}"))?;
            }
        }
        self.line("")
    }

    /// The last line.
    pub(super) fn summary(
        &mut self,
        evidence: &Evidence,
        as_expected: bool,
        hold: bool,
        took: Duration,
        moved: Duration,
    ) -> io::Result<()> {
        let receipts = evidence.orders.iter().flat_map(|order| &order.attempts).filter_map(|attempt| {
            let receipt = attempt.receipt.as_ref()?;
            Some((receipt.paid.amount.minor(), attempt.refund.as_ref().map_or(0, |refund| refund.money.amount.minor())))
        });
        let (received, refunded) =
            receipts.fold((0, 0), |(received, refunded), (paid, back)| (received + paid, refunded + back));
        let outcome = match (as_expected, hold) {
            (true, true) => self.look(Look::Good, "Every scene ended as it must, and every invariant holds."),
            (false, true) => self.look(Look::Bad, "A scene did not end as it must."),
            (true, false) => self.look(Look::Bad, "An invariant is broken."),
            (false, false) => self.look(Look::Bad, "A scene did not end as it must, and an invariant is broken."),
        };
        self.line(&format!(
            "{outcome} {} orders in {} writes, {} buyers turned away;",
            evidence.orders.len(),
            evidence.changes.len(),
            evidence.turned_away
        ))?;
        self.line(&format!(
            "{} received, {} of it given back; {} min on the shop's clock, {} on yours.",
            yuan(received),
            yuan(refunded),
            (moved + took).as_secs() / 60,
            seconds(took)
        ))
    }
}

/// `text` filled up with blanks to `width` characters.
fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(missing))
}

/// `text` in lines of at most `width` characters, broken between words; a longer word stands alone.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_between_words_and_where_it_says_so() {
        assert_eq!(wrap("one two three\nfour", 7), ["one two", "three", "four"]);
        assert_eq!(wrap("a-word-that-is-longer x", 5), ["a-word-that-is-longer", "x"]);
        assert_eq!(wrap("", 5), Vec::<String>::new());
    }

    #[test]
    fn cells_are_as_wide_as_they_look() {
        assert_eq!(pad("¥10", 5), "¥10  ");
        assert_eq!(pad("longer", 3), "longer");
    }
}
