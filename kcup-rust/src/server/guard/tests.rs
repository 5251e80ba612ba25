use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::conformance::{self, Parts};

#[derive(Deserialize)]
struct Vector {
    name: String,
    head: Parts,
    status: Option<u16>,
    #[serde(default)]
    partial: bool,
    length: Option<usize>,
    body: Option<bool>,
    keep_alive: Option<bool>,
}

impl Vector {
    fn bytes(&self) -> Vec<u8> {
        self.head.bytes()
    }

    fn matches(&self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Partial => self.partial,
            Verdict::Refused(status) => self.status == Some(status.as_u16()),
            Verdict::Complete(facts) => {
                (Some(facts.length), Some(facts.body), Some(facts.keep_alive))
                    == (self.length, self.body, self.keep_alive)
            }
        }
    }
}

fn vectors() -> Vec<Vector> {
    conformance::cases("guard")
}

/// The vectors that the guard lets through.
pub fn accepted_heads() -> Vec<(String, Vec<u8>, Facts)> {
    let accepted = |vector: Vector| match whole(&vector.bytes()) {
        Verdict::Complete(facts) => Some((vector.name.clone(), vector.bytes(), facts)),
        _ => None,
    };
    vectors().into_iter().filter_map(accepted).collect()
}

fn whole(head: &[u8]) -> Verdict {
    Guard::default().scan(head)
}

/// The verdict when the bytes come in pieces that end where `ends` says.
fn in_pieces(head: &[u8], ends: impl IntoIterator<Item = usize>) -> Verdict {
    let mut guard = Guard::default();
    for end in ends {
        match guard.scan(&head[..end]) {
            Verdict::Partial => (),
            verdict => return verdict,
        }
    }
    guard.scan(head)
}

#[test]
fn every_vector_gets_its_verdict_whole_and_byte_by_byte() {
    for vector in vectors() {
        let head = vector.bytes();
        assert!(vector.matches(whole(&head)), "{}: {:?}", vector.name, whole(&head));
        let split = in_pieces(&head, 0..=head.len());
        assert!(vector.matches(split), "{}, split: {split:?}", vector.name);
    }
}

#[test]
fn a_head_has_begun_with_its_first_byte_and_not_with_a_forgiven_crlf() {
    for (bytes, fresh) in [("", true), ("\r", true), ("\r\n", true), ("G", false), ("\r\nG", false)] {
        let mut guard = Guard::default();
        guard.scan(bytes.as_bytes());
        assert_eq!(guard.is_fresh(), fresh, "{bytes:?}");
    }
}

/// Heads that are mostly right, and random bytes.
fn heads() -> impl Strategy<Value = Vec<u8>> {
    let vectors: Vec<Vec<u8>> = vectors().iter().map(Vector::bytes).collect();
    let mutated = (prop::sample::select(vectors), any::<prop::sample::Index>(), any::<u8>());
    prop_oneof![
        mutated.prop_map(|(mut head, place, byte)| {
            if !head.is_empty() {
                let place = place.index(head.len());
                head[place] = byte;
            }
            head
        }),
        prop::collection::vec(any::<u8>(), 0..64),
    ]
}

proptest! {
    #[test]
    fn the_verdict_does_not_depend_on_how_the_bytes_are_split(
        head in heads(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(head.len() + 1)).collect();
        ends.sort_unstable();
        prop_assert_eq!(in_pieces(&head, ends), whole(&head));
    }

    #[test]
    fn what_follows_a_complete_head_changes_nothing(head in heads(), more in any::<Vec<u8>>()) {
        if let verdict @ Verdict::Complete(facts) = whole(&head) {
            let mut longer = head[..facts.length].to_vec();
            longer.extend(more);
            prop_assert_eq!(whole(&longer), verdict);
        }
    }
}
