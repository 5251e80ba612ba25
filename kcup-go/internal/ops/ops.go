// Package ops owns what is around the server: diagnostics, signals, reloads, the service manager, the
// sandbox, and the admin listener with its numbers.
// It must not be needed for serving.
// Its sibling is kcup-rust/src/ops/mod.rs.
package ops

import (
	"github.com/sirupsen/logrus"

	"gitlab.com/kcup/kcup/kcup-go/internal/accesslog"
	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/server"
)

// Around is what main still has to do with of what is around a server.
type Around struct {
	Manager *Notifier
	Reload  *Reload
}

// Surround opens all that is needed around s, and then gives up what serving does not need: from there on nothing else
// can be opened.
func Surround(s *server.Server, cfg *config.Config, version string, access *accesslog.Log, log *logrus.Logger) (*Around, error) {
	admin, err := NewAdmin(cfg)
	if err != nil {
		return nil, err
	}
	manager := NewNotifier()
	if err := Seal(cfg, log); err != nil {
		return nil, err
	}
	reload := NewReload(cfg, s, manager, log)
	admin.Serve(version, s, &reload.Reloads, access, log)
	return &Around{manager, reload}, nil
}
