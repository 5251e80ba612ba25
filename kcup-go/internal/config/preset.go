package config

import "slices"

// Preset is what the content is known to be.
type Preset string

// MTASTS is an MTA-STS policy (RFC 8461).
const MTASTS Preset = "mta-sts"

// decided are the options that a preset decides, in the order of the table (K-91).
var decided = [...]string{"path", "content-type", "compression"}

// applyPreset puts in what the preset says of other options, none of which may have been given (K-90).
func (cfg *Config) applyPreset(given settings) error {
	if cfg.Preset == "" {
		return nil
	}
	for _, name := range decided {
		if s := given[name]; s.source != "" && s.values != nil {
			return usagef("%s: %q cannot be given with --preset %s", s.source, s.values[0], cfg.Preset)
		}
	}
	// RFC 8461 section 3.2: the well-known path, the media type.
	cfg.Path = "/.well-known/mta-sts.txt"
	cfg.ContentType = "text/plain; charset=utf-8"
	cfg.Compression = false
	if !slices.ContainsFunc(cfg.Fields, func(f Field) bool { return f.Name == "cache-control" }) {
		cfg.Fields = slices.Insert(cfg.Fields, 0, Field{"cache-control", "max-age=60"})
	}
	return nil
}
