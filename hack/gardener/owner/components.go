package main

import (
	"context"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	operatorv1alpha1 "github.com/gardener/gardener/pkg/apis/operator/v1alpha1"
	"github.com/gardener/gardener/pkg/component"
	"github.com/gardener/gardener/pkg/component/apiserver"
	"github.com/gardener/gardener/pkg/component/autoscaling/vpa"
	"github.com/gardener/gardener/pkg/component/etcd/etcd"
	"github.com/gardener/gardener/pkg/component/gardener/admissioncontroller"
	gardenerapiserver "github.com/gardener/gardener/pkg/component/gardener/apiserver"
	"github.com/gardener/gardener/pkg/component/gardener/dashboard/terminal"
	"github.com/gardener/gardener/pkg/component/gardener/resourcemanager"
	"github.com/gardener/gardener/pkg/component/kubernetes/apiserverexposure"
	"github.com/gardener/gardener/pkg/component/shared"
	"github.com/go-logr/logr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Images are never pulled here.
const image = "registry.example.com/gardener/image:1"

// components are the rows of the catalogue by the Service's name, each built with the values that its flow gives it:
// gardenlet's pkg/gardenlet/operation/botanist, gardener-operator's pkg/operator/controller/garden/garden/components.go.
var components = map[string]func(context.Context, step) (component.Deployer, error){
	"etcd-main-client":                  etcdOf("", v1beta1constants.ETCDRoleMain, etcd.ClassImportant, v1beta1constants.PriorityClassNameShootControlPlane500),
	"etcd-events-client":                etcdOf("", v1beta1constants.ETCDRoleEvents, etcd.ClassNormal, v1beta1constants.PriorityClassNameShootControlPlane500),
	"kube-apiserver":                    kubeAPIServer(""),
	"gardener-resource-manager":         resourceManager,
	"vpa-webhook":                       verticalPodAutoscaler,
	"virtual-garden-etcd-main-client":   etcdOf(operatorv1alpha1.VirtualGardenNamePrefix, v1beta1constants.ETCDRoleMain, etcd.ClassImportant, v1beta1constants.PriorityClassNameGardenSystem500),
	"virtual-garden-etcd-events-client": etcdOf(operatorv1alpha1.VirtualGardenNamePrefix, v1beta1constants.ETCDRoleEvents, etcd.ClassNormal, v1beta1constants.PriorityClassNameGardenSystem500),
	"virtual-garden-kube-apiserver":     kubeAPIServer(operatorv1alpha1.VirtualGardenNamePrefix),
	"gardener-apiserver":                gardenerAPIServer,
	"gardener-admission-controller":     admissionController,
	"terminal-controller-manager":       terminalControllerManager,
}

func etcdOf(prefix, role string, class etcd.Class, priority string) func(context.Context, step) (component.Deployer, error) {
	return func(ctx context.Context, s step) (component.Deployer, error) {
		secrets, err := newSecrets(ctx, s)
		if err != nil {
			return nil, err
		}
		return etcd.New(logr.Discard(), s.client, s.namespace, secrets, etcd.Values{
			NamePrefix:                  prefix,
			Role:                        role,
			Class:                       class,
			Replicas:                    ptr.To[int32](3),
			StorageCapacity:             "10Gi",
			DefragmentationSchedule:     ptr.To("0 1 */3 * *"),
			RuntimeKubernetesVersion:    s.runtime,
			MaintenanceTimeWindow:       gardencorev1beta1.MaintenanceTimeWindow{Begin: "010000+0000", End: "020000+0000"},
			EvictionRequirement:         ptr.To(v1beta1constants.EvictionRequirementInMaintenanceWindowOnly),
			PriorityClassName:           priority,
			HighAvailabilityEnabled:     true,
			TopologyAwareRoutingEnabled: s.enabled,
		}), nil
	}
}

func kubeAPIServer(prefix string) func(context.Context, step) (component.Deployer, error) {
	return func(_ context.Context, s step) (component.Deployer, error) {
		ingress := func() client.ObjectKey {
			return client.ObjectKey{Name: v1beta1constants.DefaultSNIIngressServiceName, Namespace: "istio-ingress"}
		}
		values := &apiserverexposure.ServiceValues{NamePrefix: prefix, TopologyAwareRoutingEnabled: s.enabled, RuntimeKubernetesVersion: s.runtime}
		return apiserverexposure.NewService(logr.Discard(), s.client, s.namespace, values, ingress, nil, nil, nil), nil
	}
}

func resourceManager(ctx context.Context, s step) (component.Deployer, error) {
	secrets, err := newSecrets(ctx, s)
	if err != nil {
		return nil, err
	}
	return shared.NewTargetGardenerResourceManager(s.client, s.namespace, secrets, resourcemanager.Values{
		ClusterIdentity:                      ptr.To("bed"),
		HighAvailabilityConfigWebhookEnabled: true,
		KubernetesServiceHost:                ptr.To("api.example.com"),
		LogLevel:                             "info",
		LogFormat:                            "json",
		NodeAgentAuthorizerEnabled:           true,
		PriorityClassName:                    v1beta1constants.PriorityClassNameShootControlPlane400,
		Replicas:                             ptr.To[int32](2),
		RuntimeKubernetesVersion:             s.runtime,
		SecretNameServerCA:                   v1beta1constants.SecretNameCACluster,
		TopologyAwareRoutingEnabled:          s.enabled,
	})
}

func verticalPodAutoscaler(ctx context.Context, s step) (component.Deployer, error) {
	secrets, err := newSecrets(ctx, s)
	if err != nil {
		return nil, err
	}
	return vpa.New(s.client, s.namespace, secrets, vpa.Values{
		ClusterType:              component.ClusterTypeShoot,
		SecretNameServerCA:       v1beta1constants.SecretNameCACluster,
		RuntimeKubernetesVersion: s.runtime,
		AdmissionController: vpa.ValuesAdmissionController{
			Image: image, PriorityClassName: v1beta1constants.PriorityClassNameShootControlPlane200, Replicas: ptr.To[int32](1), TopologyAwareRoutingEnabled: s.enabled,
		},
		Recommender: vpa.ValuesRecommender{Image: image, PriorityClassName: v1beta1constants.PriorityClassNameShootControlPlane200, Replicas: ptr.To[int32](1)},
		Updater:     vpa.ValuesUpdater{Image: image, PriorityClassName: v1beta1constants.PriorityClassNameShootControlPlane200, Replicas: ptr.To[int32](1)},
	}), nil
}

// gardenerAPIServer takes part of the etcd's client certificate, as in gardener-operator's flow, which has made it by then.
func gardenerAPIServer(ctx context.Context, s step) (component.Deployer, error) {
	secrets, err := newSecrets(ctx, s)
	if err != nil {
		return nil, err
	}
	if _, err := etcd.GenerateClientCertificate(ctx, secrets); err != nil {
		return nil, err
	}
	deployer := gardenerapiserver.New(s.client, s.namespace, secrets, gardenerapiserver.Values{
		Values:                      apiserver.Values{RuntimeVersion: s.runtime},
		Autoscaling:                 gardenerapiserver.AutoscalingConfig{Replicas: ptr.To[int32](2)},
		ClusterIdentity:             "bed",
		Image:                       image,
		LogLevel:                    "info",
		LogFormat:                   "json",
		TopologyAwareRoutingEnabled: s.enabled,
		WorkloadIdentityTokenIssuer: "https://issuer.example.com",
		TargetVersion:               s.runtime,
	})
	deployer.SetETCDEncryptionConfig(apiserver.ETCDEncryptionConfig{EncryptWithCurrentKey: true})
	return deployer, nil
}

func admissionController(ctx context.Context, s step) (component.Deployer, error) {
	secrets, err := newSecrets(ctx, s)
	if err != nil {
		return nil, err
	}
	return admissioncontroller.New(s.client, s.namespace, secrets, admissioncontroller.Values{
		Image: image, LogLevel: "info", RuntimeVersion: s.runtime, TopologyAwareRoutingEnabled: s.enabled,
	}), nil
}

func terminalControllerManager(ctx context.Context, s step) (component.Deployer, error) {
	secrets, err := newSecrets(ctx, s)
	if err != nil {
		return nil, err
	}
	return terminal.New(s.client, s.namespace, secrets, terminal.Values{Image: image, RuntimeVersion: s.runtime, TopologyAwareRoutingEnabled: s.enabled}), nil
}
