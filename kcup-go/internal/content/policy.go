package content

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/mtasts"
)

// enoughPolicy is the number of bytes that are read of a policy: one more than it may have.
const enoughPolicy = mtasts.MaxSize + 1

// publish builds the content of an MTA-STS policy, with warnings for the person who publishes it.
func publish(source Source, cfg *config.Config) (*Content, error) {
	defer source.Release()
	findings, err := publishable(source.Bytes, cfg)
	if err != nil {
		return nil, err
	}
	digest := source.Digest()
	served := Source{Bytes: mtasts.Served(source.Bytes), Name: source.Name, Modified: source.Modified, OneShot: source.OneShot}
	c := Build(served, cfg, time.Now())
	c.SourceDigest = digest
	c.Warnings = append(c.Warnings, findings.Lines(fileName(cfg))...)
	return c, nil
}

// advice returns what to do elsewhere once a policy is served.
func advice(policy []byte) string {
	return fmt.Sprintf("mta-sts: publish %s as the TXT record of _mta-sts.DOMAIN", mtasts.Record(policy))
}

// publishable returns the findings of a policy that may be published. For another one the error has a line for each
// finding, after its first line (K-92).
func publishable(policy []byte, cfg *config.Config) (*mtasts.Findings, error) {
	findings := mtasts.Lint(policy)
	if !findings.HasError {
		return findings, nil
	}
	refused := "cannot publish the policy from " + origin(cfg)
	return nil, errors.New(strings.Join(append([]string{refused}, findings.Lines(fileName(cfg))...), "\n"))
}

// Answer returns the text to print for cfg.Question, and the exit status.
func Answer(cfg *config.Config) (text string, status int, err error) {
	source, err := read(cfg, func(int64) bool { return true })
	if err != nil {
		return "", 0, err
	}
	defer source.Release()
	if cfg.Question.Verb == "lint" {
		text, status = lint(source.Bytes, fileName(cfg), cfg.Question.Format)
		return text, status, nil
	}
	if _, err := publishable(source.Bytes, cfg); err != nil {
		return "", 0, err
	}
	text = mtasts.Record(source.Bytes)
	if cfg.Question.Domain != "" {
		text = mtasts.ZoneLine(cfg.Question.Domain, text)
	}
	return text + "\n", 0, nil
}

func lint(policy []byte, file, format string) (text string, status int) {
	findings := mtasts.Lint(policy)
	if findings.HasError {
		status = 1
	}
	if format == "json" {
		return findings.JSON(file) + "\n", status
	}
	for _, line := range findings.Lines(file) {
		text += line + "\n"
	}
	return text, status
}
