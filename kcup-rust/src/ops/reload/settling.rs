//! When a poll believes what it saw; a part of reload.rs. Pure.

use std::time::Duration;

use crate::content::Digest;

/// How long what a poll saw must stay so before it is believed (K-102).
pub const SETTLING_TIME: Duration = Duration::from_secs(1);

/// What a read of the file gave: bytes, or a failure.
pub type Sight = Result<Digest, String>;

/// What to do about a sight.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing: these bytes are loaded.
    Unchanged,
    /// Look again after [`SETTLING_TIME`].
    Unsettled,
    /// Load it, or say what is wrong.
    Settled,
}

/// What was seen, and is not believed yet.
#[derive(Debug, Default)]
pub struct Settling(Option<Sight>);

impl Settling {
    pub fn judge(&mut self, now: Sight, loaded: &Digest) -> Verdict {
        let before = self.0.take();
        if now.as_ref() == Ok(loaded) {
            Verdict::Unchanged
        } else if before.as_ref() == Some(&now) {
            Verdict::Settled
        } else {
            self.0 = Some(now);
            Verdict::Unsettled
        }
    }

    pub fn is_pending(&self) -> bool {
        self.0.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{Settled, Unchanged, Unsettled};
    use super::*;

    #[test]
    fn a_poll_believes_what_it_saw_twice_in_a_row() {
        let [loaded, a, b] = [1, 2, 3].map(|byte| Ok([byte; 32]));
        let [missing, empty] = ["no such file", "it is empty"].map(|why| Err(why.to_string()));
        for (name, looks) in [
            ("nothing", &[(&loaded, Unchanged), (&loaded, Unchanged)][..]),
            ("other bytes", &[(&a, Unsettled), (&a, Settled), (&a, Unsettled)]),
            ("bytes that go on", &[(&a, Unsettled), (&b, Unsettled), (&a, Unsettled), (&a, Settled)]),
            ("bytes that were gone", &[(&a, Unsettled), (&loaded, Unchanged), (&a, Unsettled)]),
            ("a failure", &[(&missing, Unsettled), (&missing, Settled), (&missing, Unsettled)]),
            ("a failure that passes", &[(&missing, Unsettled), (&loaded, Unchanged)]),
            (
                "deleted, empty, new",
                &[(&missing, Unsettled), (&empty, Unsettled), (&b, Unsettled), (&b, Settled)],
            ),
        ] {
            let mut settling = Settling::default();
            for (number, (saw, want)) in looks.iter().enumerate() {
                let verdict = settling.judge((*saw).clone(), loaded.as_ref().unwrap());
                assert_eq!(verdict, *want, "{name}, look {number}");
                assert_eq!(settling.is_pending(), verdict == Unsettled);
            }
        }
    }
}
