package content

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/sirupsen/logrus"

	"kcup/config"
	"kcup/mtasts"
)

// publish makes the bytes to serve of an MTA-STS policy, and logs what is to be known of them. An error has a line for
// each finding (K-92).
func publish(policy []byte, cfg *config.Config, log *logrus.Logger) ([]byte, error) {
	findings, err := sound(policy, cfg)
	if err != nil {
		return nil, err
	}
	for _, finding := range findings {
		log.Warnf("mta-sts: %v", finding)
	}
	log.Infof("mta-sts: publish %s as the TXT record of _mta-sts.DOMAIN", mtasts.Record(policy))
	return mtasts.Served(policy), nil
}

// Answer is what to print for cfg.Question, and the exit status.
func Answer(cfg *config.Config) (text string, status int, err error) {
	source, err := read(cfg)
	if err != nil {
		return "", 0, err
	}
	defer runtime.KeepAlive(source.Shared)
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
	if mtasts.HasError(findings) {
		status = 1
	}
	if format == "json" {
		return mtasts.JSON(findings) + "\n", status
	}
	var lines strings.Builder
	for _, finding := range findings {
		fmt.Fprintln(&lines, finding)
	}
	return lines.String(), status
}

// sound returns the findings of a policy that may be published.
func sound(policy []byte, cfg *config.Config) ([]mtasts.Finding, error) {
	findings := mtasts.Lint(policy)
	if !mtasts.HasError(findings) {
		return findings, nil
	}
	var all []error
	for _, finding := range findings {
		all = append(all, fmt.Errorf("cannot publish the policy from %s: %v", origin(cfg), finding))
	}
	return nil, errors.Join(all...)
}
