package content

import (
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/mtasts"
)

// enough is how many bytes of a policy are read: one more than it may have.
const enough = mtasts.MaxSize + 1

// publish makes the bytes to serve of an MTA-STS policy, and logs what is to be known of them. An error has a line for
// each finding (K-92).
func publish(policy []byte, cfg *config.Config, log *logrus.Logger) ([]byte, error) {
	findings, err := sound(policy, cfg)
	if err != nil {
		return nil, err
	}
	for _, line := range findings.Lines() {
		log.Warnf("mta-sts: %s", line)
	}
	log.Infof("mta-sts: publish %s as the TXT record of _mta-sts.DOMAIN", mtasts.Record(policy))
	return mtasts.Served(policy), nil
}

// Answer is what to print for cfg.Question, and the exit status.
func Answer(cfg *config.Config) (text string, status int, err error) {
	source, err := read(cfg, enough, func(int64) bool { return true })
	if err != nil {
		return "", 0, err
	}
	defer source.Release()
	if cfg.Question.Verb == "lint" {
		text, status = lint(source.Bytes, cfg.Question.Format)
		return text, status, nil
	}
	if _, err := sound(source.Bytes, cfg); err != nil {
		return "", 0, err
	}
	text = mtasts.Record(source.Bytes)
	if cfg.Question.Domain != "" {
		text = mtasts.ZoneLine(cfg.Question.Domain, text)
	}
	return text + "\n", 0, nil
}

func lint(policy []byte, format string) (text string, status int) {
	findings := mtasts.Lint(policy)
	if findings.HasError {
		status = 1
	}
	if format == "json" {
		return findings.JSON() + "\n", status
	}
	for _, line := range findings.Lines() {
		text += line + "\n"
	}
	return text, status
}

// sound returns the findings of a policy that may be published.
func sound(policy []byte, cfg *config.Config) (*mtasts.Findings, error) {
	findings := mtasts.Lint(policy)
	if !findings.HasError {
		return findings, nil
	}
	var all []error
	for _, line := range findings.Lines() {
		all = append(all, fmt.Errorf("cannot publish the policy from %s: %s", origin(cfg), line))
	}
	return nil, errors.Join(all...)
}
