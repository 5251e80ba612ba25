// Taking a changed certificate into service (K-156).

package ops

import (
	"math"
	"time"

	"github.com/sirupsen/logrus"

	"gitlab.com/kcup/kcup/kcup-go/internal/server"
)

// TellCertificate logs what was loaded, if anything was, and whether its end is near (K-153).
func TellCertificate(c *server.Certificate, log *logrus.Logger) {
	if c != nil {
		Tell(log.Info, c.News())
		Tell(log.Warn, c.Warning(time.Now()))
	}
}

// pollPair looks at both files, and says when to look again.
func (r *Reload) pollPair() time.Duration {
	t := r.server.TLS()
	if t == nil {
		return math.MaxInt64
	}
	c, err := r.readPair()
	seen := sight{}
	if err != nil {
		seen.failure = err.Error()
	} else {
		seen.digest = c.Digest
	}
	step := r.pair.judge(seen, sight{digest: t.Certificate().Digest})
	if step == settled {
		r.count(r.usePair(c, err))
	}
	return r.pair.pause(r.cfg, step)
}

// readPair returns nothing without TLS.
func (r *Reload) readPair() (*server.Certificate, error) {
	if r.server.TLS() == nil {
		return nil, nil
	}
	return server.LoadCertificate(r.cfg)
}

// usePair lets handshakes use what was read if that is another pair, and says whether it is a good one.
func (r *Reload) usePair(c *server.Certificate, err error) (isGood bool) {
	if err != nil {
		r.pair.fail(err, "certificate", r.log)
		return false
	}
	r.pair.failure = ""
	if t := r.server.TLS(); t != nil && c.Digest != t.Certificate().Digest {
		t.Replace(c)
		TellCertificate(c, r.log)
	}
	return true
}
