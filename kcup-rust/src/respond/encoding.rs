//! The encoding that `accept-encoding` selects (K-46, RFC 9110 section 12.5.3). Pure.

/// An encoding of the content, in the order of preference among equals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    Br,
    Gzip,
    Identity,
}

/// Chooses among identity and the variants that exist. `lines` are the values of all field lines.
pub fn choose<'r>(lines: impl Iterator<Item = &'r [u8]>, br: bool, gzip: bool) -> Coding {
    let mut weights = Weights::default();
    for line in lines {
        for member in line.split(|&byte| byte == b',') {
            weights.add(super::trim(member));
        }
    }
    let mut best = (Coding::Identity, 0);
    for (coding, exists, weight) in [
        (Coding::Br, br, weights.br),
        (Coding::Gzip, gzip, weights.gzip),
        (Coding::Identity, true, weights.identity),
    ] {
        let weight = weight.or(weights.others).unwrap_or(0);
        if exists && weight > best.1 {
            best = (coding, weight);
        }
    }
    best.0
}

/// Weights in thousandths; `None` for a coding that is not named.
#[derive(Default)]
struct Weights {
    br: Option<u16>,
    gzip: Option<u16>,
    identity: Option<u16>,
    others: Option<u16>,
}

impl Weights {
    /// Takes a member of the list in. One that is not well formed is ignored.
    fn add(&mut self, member: &[u8]) {
        let (name, weight) = match member.iter().position(|&byte| byte == b';') {
            Some(at) => (super::trim(&member[..at]), weight(super::trim(&member[at + 1..]))),
            None => (member, Some(1000)),
        };
        let named = match name {
            b"*" => &mut self.others,
            _ if name.eq_ignore_ascii_case(b"br") => &mut self.br,
            _ if name.eq_ignore_ascii_case(b"gzip") => &mut self.gzip,
            _ if name.eq_ignore_ascii_case(b"x-gzip") => &mut self.gzip,
            _ if name.eq_ignore_ascii_case(b"identity") => &mut self.identity,
            _ => return,
        };
        *named = weight.or(*named);
    }
}

/// `q=` and a qvalue (RFC 9110 section 12.4.2).
fn weight(text: &[u8]) -> Option<u16> {
    let [b'q' | b'Q', b'=', whole @ (b'0' | b'1'), rest @ ..] = text else {
        return None;
    };
    let decimals = match rest {
        [] => rest,
        [b'.', decimals @ ..] if decimals.len() <= 3 => decimals,
        _ => return None,
    };
    let mut weight = u16::from(whole - b'0');
    for place in 0..3 {
        let digit = decimals.get(place).unwrap_or(&b'0');
        weight = weight * 10 + u16::from(digit.is_ascii_digit().then(|| digit - b'0')?);
    }
    (weight <= 1000).then_some(weight)
}
