//! Which addresses belong to everybody: a page may not be fetched from the own machine or the own network. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks of the fourth version that are not the world's: the first address, and how many bits name the network.
const CLOSED_V4: &[([u8; 4], u32)] = &[
    // This host.
    ([0, 0, 0, 0], 8),
    // Private networks.
    ([10, 0, 0, 0], 8),
    ([172, 16, 0, 0], 12),
    ([192, 168, 0, 0], 16),
    // Between a provider and its customers.
    ([100, 64, 0, 0], 10),
    // This machine.
    ([127, 0, 0, 0], 8),
    // One link, where clouds tell a machine its keys.
    ([169, 254, 0, 0], 16),
    // Protocols, documentation and measurements.
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    // Groups, and what is reserved.
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// Whether an address is one of the world.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let is_in = |(network, bits): &([u8; 4], u32)| {
        (address.to_bits() ^ Ipv4Addr::from(*network).to_bits()).leading_zeros() >= *bits
    };
    !CLOSED_V4.iter().any(is_in)
}

/// Only `2000::/3` is handed out to the world. Some of it, and what translates between the versions, stands for an address
/// of the fourth version, and is what that one is.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, .., y, z] = address.segments();
    let v4 = |high: u16, low: u16| is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    match (a, b) {
        (0x64, 0xff9b) => (c, d) == (0, 0) && v4(y, z),
        (0x2002, _) => v4(b, c),
        // Tunnels and documentation.
        (0x2001, 0 | 0xdb8) => false,
        (0x3fff, _) => false,
        (0x2000..0x4000, _) => true,
        (_, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_world_are_public() {
        for open in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.0.1",
            "172.32.0.1",
            "192.167.1.1",
            "198.17.0.1",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "64:ff9b::101:101",
            "2002:101:101::1",
            "::ffff:8.8.8.8",
        ] {
            assert!(is_public(open.parse().unwrap()), "{open}");
        }
        for closed in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "203.0.113.7",
            "224.0.0.1",
            "239.255.255.250",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::1",
            "2002:c0a8:101::1",
            "2001::1",
            "2001:db8::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(closed.parse().unwrap()), "{closed}");
        }
    }
}
