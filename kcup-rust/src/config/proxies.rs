//! The proxies that the access log believes (K-128). Pure.

use std::net::IpAddr;

use super::check::{Checked, whole};

#[derive(Debug, Clone, Default)]
pub struct Proxies {
    /// Each with the length of its prefix.
    networks: Vec<(IpAddr, u32)>,
    /// Whether every peer of a unix socket is one.
    pub unix: bool,
}

impl Proxies {
    pub fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|&(network, bits)| match (network, address) {
            (IpAddr::V4(one), IpAddr::V4(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros() >= bits,
            (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros() >= bits,
            _ => false,
        })
    }
}

pub fn proxies(text: &str) -> Checked<Proxies> {
    let mut proxies = Proxies::default();
    for member in text.split(',').map(|member| member.trim_matches(' ')) {
        match network(member) {
            Some(network) => proxies.networks.push(network),
            None if member == "unix" => proxies.unix = true,
            None => return Err("is not a comma-separated list of ADDR, ADDR/BITS or unix".into()),
        }
    }
    Ok(proxies)
}

fn network(text: &str) -> Option<(IpAddr, u32)> {
    let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Ok(most), |bits| whole(bits, 0..=most)).ok()?;
    // An IPv4-mapped address would look like a network of IPv6.
    (address == address.to_canonical()).then_some((address, bits as u32))
}
