package main

import (
	"encoding/json"
	"io"
	"os"

	"github.com/gardener/gardener/pkg/component/gardener/resourcemanager"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// printHintsWebhook prints the EndpointSlice hints webhook as Gardener up to v1.141 registers it, for a server at a URL and for
// the namespaces that carry the label `hints: theirs`.
func printHintsWebhook(out io.Writer) error {
	bundle, err := os.ReadFile(*authority)
	if err != nil {
		return err
	}
	config := func(_ *corev1.Secret, path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{URL: ptr.To(*url + path), CABundle: bundle}
	}
	namespaces := &metav1.LabelSelector{MatchLabels: map[string]string{"hints": "theirs"}}
	return json.NewEncoder(out).Encode(resourcemanager.NewEndpointSliceHintsMutatingWebhook(namespaces, nil, config))
}
