use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;
use crate::conformance;

#[test]
fn a_claim_grows_with_what_is_written_up_to_what_the_kernel_takes() {
    let (mut account, mut claim) = (Account::new(1 << 20), Claim::default());
    account.wrote(&mut claim, 100);
    assert_eq!(claim.bytes, 2048 + 150);
    for _ in 0..100 {
        account.wrote(&mut claim, 10_000);
    }
    assert_eq!((claim.bytes, account.claimed), (LEAST_BUFFER + OVERSHOOT, 102_400));
    account.blocked(&mut claim);
    assert_eq!(claim.bytes, 102_400 + 16_384);
    claim.buffer = MOST_BUFFER;
    account.set(&mut claim, MOST_BUFFER);
    claim.buffer = LEAST_BUFFER;
    account.wrote(&mut claim, 1);
    assert_eq!(claim.bytes, MOST_BUFFER, "a smaller buffer takes nothing back");
}

#[test]
fn the_edges_of_a_share() {
    let mut account = Account::new(8 << 20);
    for (claimed, over, tight, slack) in [
        (6 << 20, false, false, true),
        ((6 << 20) + 1, false, false, false),
        (7 << 20, false, false, false),
        ((7 << 20) + 1, false, true, false),
        (8 << 20, false, true, false),
        ((8 << 20) + 1, true, true, false),
    ] {
        account.claimed = claimed;
        let edges = (account.is_over(), account.is_tight(), account.has_slack());
        assert_eq!(edges, (over, tight, slack), "{claimed}");
    }
}

/// K-87a: a sixteenth of what is left, and never more than 512 KiB, nor less than 32; a 400th where nothing shows that the
/// peer reads.
#[test]
fn an_allowance_shrinks_with_what_is_left() {
    const LEFT: [(u64, u32); 5] =
        [(1 << 30, 512), (8 << 20, 512), ((8 << 20) - 1, 256), (1 << 20, 64), (0, 32)];
    for (left, want) in LEFT {
        for (taken, times) in [(256 << 10, 1), ((256 << 10) - 1, 25)] {
            let mut account = Account::new((1 << 40) + 60);
            account.held = 60;
            account.claimed = (1 << 40) - left * times + 5;
            let claim = Claim { bytes: 5, seen: Seen { taken, ..Seen::default() }, ..Claim::default() };
            assert_eq!(account.allowance(&claim), want << 10, "{left}, {taken} taken");
        }
    }
}

#[test]
fn a_small_buffer_takes_two_pieces() {
    for (buffer, want) in [(32 << 10, 16 << 10), (64 << 10, 32 << 10), (128 << 10, usize::MAX)] {
        assert_eq!(Claim { buffer, ..Claim::default() }.piece(), want);
    }
}

#[test]
fn one_response_has_room_whatever_is_held() {
    let mut account = Account::new(1 << 20);
    account.held = 2 << 20;
    assert_eq!(account.share(), 2 * (102_400 + 16_384));
    let mut claim = Claim::default();
    assert_eq!(account.allowance(&claim), LEAST_BUFFER);
    account.wrote(&mut claim, 1 << 20);
    assert!(!account.is_over() && account.has_slack());
}

#[derive(Deserialize)]
struct Case {
    name: String,
    share: u64,
    steps: Vec<String>,
    want: String,
}

#[test]
fn order_of_resets() {
    for Case { name, share, steps, want } in conformance::cases("resets") {
        let (mut account, mut now) = (Account::new(share), 0);
        let mut claims = BTreeMap::<&str, Claim>::new();
        for step in &steps {
            let words: Vec<&str> = step.split(' ').collect();
            let number = || words.last().unwrap().parse::<u32>().unwrap();
            if words[0] == "ticks" {
                now += number();
                account.moves.at(now);
                continue;
            }
            let claim = claims.entry(words[0]).or_default();
            match words[1] {
                "sends" => account.wrote(claim, number() as usize),
                "owes" => account.moves.saw(&mut claim.seen, number()),
                _ => account.set(claim, 0),
            }
        }
        let held = claims.into_iter().filter(|(_, claim)| claim.bytes > 0);
        let mut owing: Vec<_> = held.map(|(name, claim)| (claim, name)).collect();
        account.order(&mut owing);
        let names: Vec<&str> = owing.into_iter().map(|(_, name)| name).collect();
        assert_eq!(names.join(" "), want, "{name}");
    }
}
