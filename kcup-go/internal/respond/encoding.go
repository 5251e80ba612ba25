package respond

import (
	"bytes"

	"gitlab.com/kcup/kcup/kcup-go/internal/content"
)

// unnamed is the weight of a coding that is not named.
const unnamed = -1

// negotiate chooses the coding by K-46. Weights are in thousandths.
func negotiate(lines [][]byte, c *content.Content) content.Coding {
	if len(lines) == 0 || c.Variants[content.Gzip].Body == nil && c.Variants[content.Brotli].Body == nil {
		return content.Identity
	}
	weights := [content.Codings]int{unnamed, unnamed, unnamed}
	others := unnamed
	for _, line := range lines {
		for len(line) > 0 {
			var member []byte
			member, line, _ = bytes.Cut(line, []byte{','})
			read(Trim(member), &weights, &others)
		}
	}
	best, most := content.Identity, 0
	for coding, weight := range weights {
		if weight == unnamed {
			weight = others
		}
		if c.Variants[coding].Body != nil && weight > most {
			best, most = content.Coding(coding), weight
		}
	}
	return best
}

// read reads one member of the list; the last well-formed one for a coding counts.
func read(member []byte, weights *[content.Codings]int, others *int) {
	name, parameter, ok := bytes.Cut(member, []byte{';'})
	weight := 1000
	if ok {
		if weight, ok = parseWeight(Trim(parameter)); !ok {
			return
		}
	}
	switch name = Trim(name); {
	case EqualFold(name, "br"):
		weights[content.Brotli] = weight
	case EqualFold(name, "gzip"), EqualFold(name, "x-gzip"):
		weights[content.Gzip] = weight
	case EqualFold(name, "identity"):
		weights[content.Identity] = weight
	case EqualFold(name, "*"):
		*others = weight
	}
}

// parseWeight reads `q=` and a qvalue of RFC 9110 section 12.4.2.
func parseWeight(b []byte) (thousandths int, valid bool) {
	if len(b) < len("q=0") || len(b) > len("q=0.000") || !EqualFold(b[:2], "q=") || b[2] != '0' && b[2] != '1' {
		return 0, false
	}
	thousandths = int(b[2]-'0') * 1000
	if len(b) > 3 && b[3] != '.' {
		return 0, false
	}
	place := 100
	for i := 4; i < len(b); i++ {
		if !isDigit(b[i]) {
			return 0, false
		}
		thousandths += int(b[i]-'0') * place
		place /= 10
	}
	return thousandths, thousandths <= 1000
}
