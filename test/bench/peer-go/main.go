// Command peer-go is the program that the webhook benchmark compares with: the admission server of controller-runtime
// with a defaulter for EndpointSlices, its logger (JSON, info) and its metrics, everything else at its defaults.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sync/errgroup"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const (
	bindAddress = "127.0.0.1"
	path        = "/webhooks/endpoint-slice-hints"
)

func main() {
	certDir := flag.String("cert-dir", "", "folder that holds tls.crt and tls.key")
	port := flag.Int("port", 0, "port of the webhook at "+bindAddress)
	metricsPort := flag.Int("metrics-port", 0, "port of the metrics at "+bindAddress+"; 0 picks a free one")
	flag.Parse()
	if err := run(*certDir, *port, *metricsPort); err != nil {
		fmt.Fprintln(os.Stderr, "peer-go:", err)
		os.Exit(1)
	}
}

func run(certDir string, port, metricsPort int) error {
	if certDir == "" || port == 0 {
		return fmt.Errorf("--cert-dir and --port are required")
	}
	log.SetLogger(zap.New())
	scheme := runtime.NewScheme()
	if err := discoveryv1.AddToScheme(scheme); err != nil {
		return err
	}

	metrics, err := metricsserver.NewServer(
		metricsserver.Options{BindAddress: fmt.Sprintf("%s:%d", bindAddress, metricsPort)}, nil, nil)
	if err != nil {
		return err
	}
	hooks := webhook.NewServer(webhook.Options{Host: bindAddress, Port: port, CertDir: certDir})
	hinter := &zoneHinter{log: log.Log.WithName("endpoint-slice-hints")}
	hooks.Register(path, admission.WithDefaulter(scheme, hinter).WithRecoverPanic(true))

	signals, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	group, ctx := errgroup.WithContext(signals)
	group.Go(func() error { return metrics.Start(ctx) })
	group.Go(func() error { return hooks.Start(ctx) })
	return group.Wait()
}
