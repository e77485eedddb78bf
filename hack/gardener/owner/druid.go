package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"github.com/andybalholm/brotli"
	gardenletconfigv1alpha1 "github.com/gardener/gardener/pkg/apis/config/gardenlet/v1alpha1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
	"github.com/gardener/gardener/pkg/component/shared"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"bytes"
	"io"
)

// writeDruid has gardenlet's bootstrapper make the ManagedResource of etcd-druid, and writes what is in it: objects.yaml, for
// where no resource manager runs, and the certificate of its webhooks.
func writeDruid(ctx context.Context, s step, folder string) error {
	secrets, err := newSecrets(ctx, s)
	if err != nil {
		return err
	}
	config := &gardenletconfigv1alpha1.ETCDConfig{}
	gardenletconfigv1alpha1.SetDefaults_ETCDConfig(config)
	gardenletconfigv1alpha1.SetDefaults_ETCDController(config.ETCDController)
	gardenletconfigv1alpha1.SetDefaults_BackupCompactionController(config.BackupCompactionController)
	deployer, err := shared.NewEtcdDruid(s.client, s.namespace, s.runtime, nil, config, secrets, v1beta1constants.SecretNameCASeed, v1beta1constants.PriorityClassNameSeedSystem800, false)
	if err != nil {
		return err
	}
	if err := deployer.Deploy(ctx); err != nil {
		return err
	}
	objects, err := objectsOf(ctx, s, "etcd-druid")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "objects.yaml"), objects, 0o600); err != nil {
		return err
	}
	return writeServing(ctx, s, folder)
}

// objectsOf unpacks the Secrets of a ManagedResource.
func objectsOf(ctx context.Context, s step, name string) ([]byte, error) {
	resource := &resourcesv1alpha1.ManagedResource{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, resource); err != nil {
		return nil, err
	}
	var all bytes.Buffer
	for _, ref := range resource.Spec.SecretRefs {
		secret := &corev1.Secret{}
		if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: ref.Name}, secret); err != nil {
			return nil, err
		}
		keys := make([]string, 0, len(secret.Data))
		for key := range secret.Data {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		for _, key := range keys {
			var in io.Reader = bytes.NewReader(secret.Data[key])
			if filepath.Ext(key) == resourcesv1alpha1.BrotliCompressionSuffix {
				in = brotli.NewReader(in)
			}
			all.WriteString("---\n")
			if _, err := io.Copy(&all, in); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	return all.Bytes(), nil
}

func writeServing(ctx context.Context, s step, folder string) error {
	secrets := &corev1.SecretList{}
	if err := s.client.List(ctx, secrets, client.InNamespace(s.namespace), client.MatchingLabels{"name": "etcd-druid-webhook"}); err != nil {
		return err
	}
	if len(secrets.Items) != 1 {
		return fmt.Errorf("%d certificates of etcd-druid's webhook", len(secrets.Items))
	}
	for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if err := os.WriteFile(filepath.Join(folder, key), secrets.Items[0].Data[key], 0o600); err != nil {
			return err
		}
	}
	return nil
}
