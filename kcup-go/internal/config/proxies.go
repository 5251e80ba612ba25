package config

import (
	"net/netip"
	"strconv"
	"strings"
)

// Proxies are the proxies that the access log believes (K-128).
type Proxies struct {
	networks []netip.Prefix
	unix     bool // whether every peer of a unix socket is one
}

// Contain reports whether an address is that of one of them. An invalid address is a unix socket's.
func (p *Proxies) Contain(address netip.Addr) bool {
	if !address.IsValid() {
		return p.unix
	}
	for _, network := range p.networks {
		if network.Contains(address.Unmap()) {
			return true
		}
	}
	return false
}

func checkProxies(value string) string {
	_, wrong := parseProxies(value)
	return wrong
}

func parseProxies(text string) (p Proxies, wrong string) {
	for member := range strings.SplitSeq(text, ",") {
		member = strings.Trim(member, " ")
		network := parseNetwork(member)
		switch {
		case network.IsValid():
			p.networks = append(p.networks, network)
		case member == "unix":
			p.unix = true
		default:
			return Proxies{}, "is not a comma-separated list of ADDR, ADDR/BITS or unix"
		}
	}
	return p, ""
}

// parseNetwork returns an invalid prefix for anything that is not an address or a network.
func parseNetwork(text string) (network netip.Prefix) {
	text, bits, found := strings.Cut(text, "/")
	address, err := netip.ParseAddr(text)
	if !found {
		bits = strconv.Itoa(address.BitLen())
	}
	// An IPv4-mapped address would look like a network of IPv6.
	if err != nil || address.Zone() != "" || address.Is4In6() || whole(0, int64(address.BitLen()))(bits) != "" {
		return network
	}
	return netip.PrefixFrom(address, int(number(bits)))
}
