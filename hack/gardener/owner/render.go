package main

import (
	"io"
	"maps"
	"os"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/chartrenderer"
	"github.com/gardener/gardener/pkg/features"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/featuregate"
	"sigs.k8s.io/yaml"
)

// render does what gardenlet does with the chart of a ControllerInstallation: same renderer, same injected values
// (pkg/gardenlet/controller/controllerinstallation/controllerinstallation/reconciler.go).
func render(out io.Writer) error {
	archive, err := os.ReadFile(*chart)
	if err != nil {
		return err
	}
	of := &gardencorev1beta1.Seed{}
	if err := readYAML(*seed, of); err != nil {
		return err
	}
	given := map[string]any{}
	if err := readYAML(*values, &given); err != nil {
		return err
	}
	maps.Copy(given, injected(of))
	renderer := chartrenderer.NewWithServerVersion(&version.Info{GitVersion: "v" + *runtime})
	rendered, err := renderer.RenderArchive(archive, "topology-aware-routing", *namespace, given)
	if err != nil {
		return err
	}
	_, err = out.Write(rendered.Manifest())
	return err
}

func readYAML(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return yaml.Unmarshal(text, into)
}

func injected(of *gardencorev1beta1.Seed) map[string]any {
	gates := map[featuregate.Feature]bool{}
	for feature := range features.DefaultFeatureGate.GetAll() {
		gates[feature] = features.DefaultFeatureGate.Enabled(feature)
	}
	values := map[string]any{
		"name": of.Name, "clusterIdentity": "bed", "annotations": of.Annotations, "labels": of.Labels,
		"provider": of.Spec.Provider.Type, "region": of.Spec.Provider.Region, "volumeProvider": "", "volumeProviders": []gardencorev1beta1.SeedVolumeProvider(nil),
		"protected": v1beta1helper.TaintsHave(of.Spec.Taints, gardencorev1beta1.SeedTaintProtected),
		"visible":   of.Spec.Settings.Scheduling.Visible, "taints": of.Spec.Taints, "networks": of.Spec.Networks,
		"blockCIDRs": of.Spec.Networks.BlockCIDRs, "spec": of.Spec,
	}
	if of.Spec.Ingress != nil {
		values["ingressDomain"] = &of.Spec.Ingress.Domain
	}
	return map[string]any{
		"gardener": map[string]any{
			"version":   "v1.141.0",
			"garden":    map[string]any{"clusterIdentity": "bed", "genericKubeconfigSecretName": "generic-garden-kubeconfig-1"},
			"gardenlet": map[string]any{"featureGates": gates},
			"seed":      values,
		},
		// What gardenadm injects beside while it bootstraps a self-hosted control plane.
		"usablePorts": []int{10250, 10251, 10252, 10253, 10254},
	}
}
