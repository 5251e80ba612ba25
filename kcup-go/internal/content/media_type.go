package content

import (
	"path"
	"strings"
	"unicode/utf8"
)

// mediaTypes is conformance/vectors/media_types.toml; a test compares them.
var mediaTypes = map[string]string{
	"txt":         "text/plain",
	"text":        "text/plain",
	"log":         "text/plain",
	"html":        "text/html",
	"htm":         "text/html",
	"xhtml":       "application/xhtml+xml",
	"css":         "text/css",
	"csv":         "text/csv",
	"ics":         "text/calendar",
	"vcf":         "text/vcard",
	"md":          "text/markdown",
	"js":          "text/javascript",
	"mjs":         "text/javascript",
	"json":        "application/json",
	"map":         "application/json",
	"jsonld":      "application/ld+json",
	"geojson":     "application/geo+json",
	"webmanifest": "application/manifest+json",
	"xml":         "application/xml",
	"rss":         "application/rss+xml",
	"atom":        "application/atom+xml",
	"svg":         "image/svg+xml",
	"yaml":        "application/yaml",
	"yml":         "application/yaml",
	"wasm":        "application/wasm",
	"pdf":         "application/pdf",
	"zip":         "application/zip",
	"gz":          "application/gzip",
	"png":         "image/png",
	"jpg":         "image/jpeg",
	"jpeg":        "image/jpeg",
	"gif":         "image/gif",
	"webp":        "image/webp",
	"avif":        "image/avif",
	"ico":         "image/vnd.microsoft.icon",
	"mp3":         "audio/mpeg",
	"mp4":         "video/mp4",
	"webm":        "video/webm",
	"woff":        "font/woff",
	"woff2":       "font/woff2",
	"ttf":         "font/ttf",
}

// mediaType chooses by K-43: the given one, or by name, or by content. textual is K-45.
func mediaType(name, asked string, b []byte) (kind string, textual bool) {
	if asked != "" {
		return asked, isTextual(asked)
	}
	valid := utf8.Valid(b)
	kind, known := mediaTypes[strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))]
	switch {
	case !known && valid:
		kind = "text/plain"
	case !known:
		kind = "application/octet-stream"
	}
	textual = isTextual(kind)
	if textual && valid {
		kind += "; charset=utf-8"
	}
	return kind, textual
}

// isTextual checks the list of K-45; parameters and letter case do not matter.
func isTextual(kind string) bool {
	kind, _, _ = strings.Cut(kind, ";")
	kind = strings.ToLower(strings.TrimRight(kind, " "))
	switch kind {
	case "application/json", "application/javascript", "application/xml", "application/manifest+json", "image/svg+xml":
		return true
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
}
