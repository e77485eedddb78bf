package main

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// zoneHinter hints every endpoint that has a zone for exactly that zone, and leaves the others alone.
// It looks at nothing else, neither at labels nor at conditions, as the handler it stands for did.
type zoneHinter struct {
	log logr.Logger
}

// Default implements admission.Defaulter.
func (h *zoneHinter) Default(ctx context.Context, slice *discoveryv1.EndpointSlice) error {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return fmt.Errorf("no admission request in the context: %w", err)
	}
	// Objects that are being created by generateName have no name yet: the request knows what there is.
	key := client.ObjectKey{Namespace: request.Namespace, Name: request.Name}
	h.log.Info("Setting hints of endpoints to their own zone", "endpointSlice", key)

	for i := range slice.Endpoints {
		endpoint := &slice.Endpoints[i]
		if endpoint.Zone == nil || *endpoint.Zone == "" {
			continue
		}
		endpoint.Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: *endpoint.Zone}}}
	}
	return nil
}
