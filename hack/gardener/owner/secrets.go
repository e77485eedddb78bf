package main

import (
	"context"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	operatorv1alpha1 "github.com/gardener/gardener/pkg/apis/operator/v1alpha1"
	"github.com/gardener/gardener/pkg/utils/gardener/tokenrequest"
	secretsutils "github.com/gardener/gardener/pkg/utils/secrets"
	secretsmanager "github.com/gardener/gardener/pkg/utils/secrets/manager"
	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Authorities that the components sign with; gardenlet and gardener-operator make them in the first step of their flows.
var authorities = []string{
	v1beta1constants.SecretNameCACluster,
	v1beta1constants.SecretNameCAETCD,
	v1beta1constants.SecretNameCAETCDPeer,
	v1beta1constants.SecretNameCASeed,
	operatorv1alpha1.SecretNameCAGardener,
	operatorv1alpha1.SecretNameCARuntime,
}

// newSecrets is Gardener's secrets manager for a namespace; what it has made once, later calls find in the cluster.
func newSecrets(ctx context.Context, s step) (secretsmanager.Interface, error) {
	manager, err := secretsmanager.New(ctx, logr.Discard(), clock.RealClock{}, s.client, "owner", secretsmanager.WithNamespaces(s.namespace))
	if err != nil {
		return nil, err
	}
	for _, name := range authorities {
		config := &secretsutils.CertificateSecretConfig{Name: name, CommonName: name, CertType: secretsutils.CACert}
		if _, err := manager.Generate(ctx, config, secretsmanager.Persist(), secretsmanager.Rotate(secretsmanager.KeepOld), secretsmanager.Namespace(s.namespace)); err != nil {
			return nil, err
		}
	}
	_, err = tokenrequest.GenerateGenericTokenKubeconfig(ctx, manager, s.namespace, "https://kube-apiserver")
	return manager, err
}
