package main

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/Masterminds/semver/v3"
	gardenerutils "github.com/gardener/gardener/pkg/utils/gardener"
	corev1 "k8s.io/api/core/v1"
)

// answerRouting is Gardener's own routing helper as a filter.
func answerRouting(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<20), 1<<24)
	buffered := bufio.NewWriter(out)
	encoder := json.NewEncoder(buffered)
	for lines.Scan() {
		var ask struct {
			Service corev1.Service `json:"service"`
			Enabled bool           `json:"enabled"`
			Version string         `json:"version"`
		}
		if err := json.Unmarshal(lines.Bytes(), &ask); err != nil {
			return err
		}
		version, err := semver.NewVersion(ask.Version)
		if err != nil {
			return err
		}
		gardenerutils.ReconcileTopologyAwareRoutingSettings(&ask.Service, ask.Enabled, version)
		if err := encoder.Encode(ask.Service); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return buffered.Flush()
}
