// Command owner writes what gardenlet and gardener-operator write, through the packages of Gardener that they use, and is
// Gardener's word on routing and rendering besides. One call is one step of their flows.
//
//	owner deploy COMPONENT --kubeconfig F --namespace N --runtime 1.36.3 [--enabled] [--wait 1m]   (see components)
//	owner druid --kubeconfig F --folder D --runtime 1.36.3     how Gardener runs etcd-druid: configuration, certificate, objects
//	owner routing                                              a line {service, enabled, version} in, the Service out
//	owner hints --url U --authority F                          the EndpointSlice hints webhook as Gardener registers it
//	owner render --chart A --seed F --values F --version V     a chart as gardenlet renders it for a ControllerInstallation
//	owner pull --ref R --chart A                               a chart as gardenlet and gardener-operator pull it, into a file
//	owner images                                               an image vector in, its images out
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/gardener/gardener/pkg/client/kubernetes"
	"github.com/gardener/gardener/pkg/component"
	"github.com/gardener/gardener/pkg/component/autoscaling/vpa"
	"github.com/gardener/gardener/pkg/component/etcd/etcd"
	"github.com/gardener/gardener/pkg/component/gardener/resourcemanager"
	"github.com/gardener/gardener/pkg/component/kubernetes/apiserverexposure"
	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// step is what a call is about.
type step struct {
	client    client.Client
	namespace string
	runtime   *semver.Version
	enabled   bool
}

var (
	kubeconfig = flag.String("kubeconfig", "", "who writes")
	namespace  = flag.String("namespace", "garden", "where the control plane is")
	runtime    = flag.String("runtime", "", "what the owner takes the version of the runtime cluster to be")
	enabled    = flag.Bool("enabled", false, "whether it routes by zone")
	wait       = flag.Duration("wait", 0, "how long the component's own Wait may take; 0 does not wait")
	folder     = flag.String("folder", "", "where files go")
	chart      = flag.String("chart", "", "packed chart")
	seed       = flag.String("seed", "", "Seed as JSON or YAML")
	url        = flag.String("url", "", "where the resource manager listens")
	ref        = flag.String("ref", "", "chart in a registry")
	authority  = flag.String("authority", "", "PEM file of who signed its certificate")
	values     = flag.String("values", "", "values of the ControllerDeployment as JSON or YAML")
)

func main() {
	log.SetLogger(logr.Discard())
	if len(os.Args) < 2 {
		fail(fmt.Errorf("usage: owner deploy COMPONENT|druid|routing|hints|render|pull|images [flags]"))
	}
	command, flags := os.Args[1], os.Args[2:]
	what := ""
	if command == "deploy" && len(flags) > 0 {
		what, flags = flags[0], flags[1:]
	}
	if err := flag.CommandLine.Parse(flags); err != nil {
		fail(err)
	}
	switch command {
	case "deploy":
		fail(deploy(context.Background(), what))
	case "druid":
		fail(writeDruid(context.Background(), newStep(), *folder))
	case "routing":
		fail(answerRouting(os.Stdin, os.Stdout))
	case "hints":
		fail(printHintsWebhook(os.Stdout))
	case "render":
		fail(render(os.Stdout))
	case "pull":
		fail(pull(context.Background()))
	case "images":
		fail(printImages(os.Stdin, os.Stdout))
	default:
		fail(fmt.Errorf("no command %q", command))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "owner:", err)
		os.Exit(1)
	}
}

func newStep() step {
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	fail(err)
	// As many requests as the flow needs at once; gardenlet has 100 and 130.
	config.QPS, config.Burst = 100, 130
	// gardenlet's SeedScheme has all that gardener-operator's runtime client writes here.
	c, err := client.New(config, client.Options{Scheme: kubernetes.SeedScheme})
	fail(err)
	version, err := semver.NewVersion(*runtime)
	fail(err)
	return step{client: c, namespace: *namespace, runtime: version, enabled: *enabled}
}

// How often their Waits look is shortened; what they wait for is theirs.
func hurry(timeout time.Duration) {
	const interval = 200 * time.Millisecond
	etcd.DefaultInterval, etcd.DefaultTimeout, etcd.DefaultSevereThreshold = interval, timeout, timeout
	apiserverexposure.DefaultInterval, apiserverexposure.DefaultTimeout = interval, timeout
	resourcemanager.IntervalWaitForDeployment, resourcemanager.TimeoutWaitForDeployment = interval, timeout
	vpa.TimeoutWaitForManagedResource = timeout
}

// deploy runs one component's Deploy and, where asked, its Wait, and prints how long each took in milliseconds.
func deploy(ctx context.Context, what string) error {
	create, ok := components[what]
	if !ok {
		return fmt.Errorf("no component %q", what)
	}
	hurry(*wait)
	s := newStep()
	deployer, err := create(ctx, s)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := deployer.Deploy(ctx); err != nil {
		return fmt.Errorf("deploy %s: %w", what, err)
	}
	deployed := time.Now()
	if waiter, ok := deployer.(component.Waiter); ok && *wait > 0 {
		if err := waiter.Wait(ctx); err != nil {
			return fmt.Errorf("wait %s: %w", what, err)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]int64{
		"deployMs": deployed.Sub(began).Milliseconds(),
		"waitMs":   time.Since(deployed).Milliseconds(),
	})
}
