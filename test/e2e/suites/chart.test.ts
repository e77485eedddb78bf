// SPDX-License-Identifier: Apache-2.0
// The chart, rendered by the real helm in every combination and read as the commands and the API server read it.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { parse } from 'yaml';
import { parseFlags as parseWebhookFlags } from '../../../cmd/endpointslice-webhook/options.ts';
import {
  configurationOf as flowConfigurationOf,
  parseFlags as parseFlowFlags,
} from '../../../cmd/flow-controller/options.ts';
import { configurationOf, parseFlags as parseReconcilerFlags } from '../../../cmd/settings-reconciler/options.ts';
import type { MutatingWebhookConfiguration } from '../../../pkg/apis/admission.ts';
import { ENDPOINTSLICE_WEBHOOK_CONFIGURATION } from '../../../pkg/apis/config/endpointslice-webhook.ts';
import { loadConfiguration } from '../../../pkg/apis/config/load.ts';
import { LABEL_CONSIDER, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { parseKubernetesVersion } from '../../../pkg/routing/version.ts';
import { secretNames } from '../../../pkg/webhook/certificates/secrets.ts';
import { buildAdmissionPolicies, CARRIER_NAME } from '../../../pkg/hints/policy/index.ts';
import { excludedNamespacesOf } from '../../../pkg/hints/served-namespaces.ts';
import { buildRegistration } from '../../../pkg/webhook/registration.ts';
import { policyOptions } from '../../fixtures/policies.ts';
import { CA_PEM, CERTIFICATE, FLOW, INJECTED, NAMESPACE, RECONCILER, WEBHOOK, cases, documents } from '../chart.ts';
import { globalName, isRuntime, isSeed, openHelm } from '../chart.ts';
import type { Case, Component, Helm, Rendered, Rendering, Where } from '../chart.ts';

describe('chart', () => {
  let helm: Helm;
  let renderings: Rendering[];

  const render = async (item: Case): Promise<Rendering> => ({
    ...item,
    objects: documents(await helm.template(item.values, { kubernetes: item.kubernetes })),
  });

  const find = ({ objects, name: where }: Rendering, kind: string, name: string): Rendered => {
    const found = objects.find((object) => object.kind === kind && object.metadata?.name === name);
    if (found === undefined) throw new Error(`${where}: no ${kind} ${name}`);
    return found;
  };
  const ofKind = ({ objects }: Rendering, kind: string): Rendered[] => objects.filter((object) => object.kind === kind);
  const configOf = (rendering: Rendering, component: Component): string =>
    find(rendering, 'ConfigMap', component).data?.['config.yaml'] ?? '';

  /** Runs a check on every rendering that has the component; a check that ran on none shows nothing. */
  const each = (check: (rendering: Rendering) => void, component?: Component): void => {
    const chosen = renderings.filter(({ components }) => component === undefined || components.includes(component));
    expect(chosen).not.to.be.empty;
    chosen.forEach(check);
  };

  before('render every combination', async () => {
    helm = await openHelm();
    renderings = [];
    for (let start = 0; start < cases.length; start += 4) {
      renderings.push(...(await Promise.all(cases.slice(start, start + 4).map(render))));
    }
  });
  after(() => helm?.close());

  for (const [where, values] of Object.entries(INJECTED)) {
    it(`passes helm lint with the values of ${where}`, async () => {
      const output = await helm.lint(values);
      expect(output)
        .to.contain('0 chart(s) failed')
        .and.not.to.match(/WARNING|ERROR/);
    });
  }

  it('renders objects that are complete, distinct, and in the namespace of the release', () => {
    const clusterWide = new Set(['ClusterRole', 'ClusterRoleBinding', 'MutatingWebhookConfiguration']);
    each((rendering) => {
      const names = rendering.objects.map(({ kind, metadata }) => `${kind}/${metadata?.name}`);
      expect(new Set(names).size, rendering.name).to.equal(names.length);
      for (const { apiVersion, kind = '', metadata } of rendering.objects) {
        expect(apiVersion, `${rendering.name}: ${kind}`).to.be.a('string').and.not.empty;
        const wide = clusterWide.has(kind);
        expect(metadata?.namespace, `${rendering.name}: ${kind}`).to.equal(wide ? undefined : NAMESPACE);
        if (wide) expect(metadata?.name?.split(':')[0], rendering.name).to.equal(globalName(rendering));
      }
    });
  });

  it('renders nothing of a component that is off', () => {
    each((rendering) => {
      const deployed = ofKind(rendering, 'Deployment').map(({ metadata }) => metadata?.name ?? '');
      expect(deployed.sort(), rendering.name).to.deep.equal([...rendering.components].sort());
      for (const { kind, metadata } of rendering.objects) {
        const component = metadata?.labels?.['app.kubernetes.io/component'];
        expect(rendering.components, `${rendering.name}: ${kind}`).to.include(component);
      }
    });
  });

  it('configures the settings-reconciler for where it runs', () => {
    each((rendering) => {
      const flags = parseReconcilerFlags(['--config', 'config.yaml']);
      if (flags.kind !== 'run') throw new Error(flags.text);
      // What gardenlet puts into the containers beside.
      const environment = isSeed(rendering) ? { GARDEN_KUBECONFIG: '/garden/kubeconfig', SEED_NAME: 'eu-1' } : {};
      const { modes, leaderElection } = configurationOf(flags.flags, configOf(rendering, RECONCILER), environment);
      const wanted = [...(isRuntime(rendering) ? ['garden'] : []), ...(isSeed(rendering) ? ['seed'] : [])];
      expect(Object.keys(modes), rendering.name).to.deep.equal(wanted.length > 0 ? wanted : ['cluster']);
      expect(modes.garden?.gardener, rendering.name).to.deep.equal(isRuntime(rendering) ? {} : undefined);
      if (isSeed(rendering)) {
        expect(modes.seed, rendering.name).to.deep.equal({
          seedName: 'eu-1',
          gardenKubeconfig: '/garden/kubeconfig',
          extensionServices: true,
          seed: {
            spec: { provider: { zones: ['a', 'b', 'c'] }, settings: { topologyAwareRouting: { enabled: true } } },
          },
          gardener: { version: 'v1.140.0', featureGates: { IstioTLSTermination: false } },
        });
      }
      expect(leaderElection.namespace, rendering.name).to.equal(NAMESPACE);
      const leases = find(rendering, 'Role', RECONCILER).rules?.flatMap(({ resourceNames = [] }) => resourceNames);
      expect(leases, rendering.name).to.deep.equal([leaderElection.name, 'flow-controller', CARRIER_NAME]);
    }, RECONCILER);
  });

  it('configures the endpointslice-webhook to be reached through its Service', () => {
    each((rendering) => {
      const config = loadConfiguration(
        ENDPOINTSLICE_WEBHOOK_CONFIGURATION,
        configOf(rendering, WEBHOOK),
        'config.yaml',
      );
      const { registration, server, health, metrics } = config;
      const service = find(rendering, 'Service', WEBHOOK);
      const [https] = service.spec?.ports ?? [];
      expect(registration.address.service, rendering.name).to.deep.equal({
        namespace: service.metadata?.namespace,
        name: service.metadata?.name,
        port: https?.port,
      });
      const ports = find(rendering, 'Deployment', WEBHOOK).spec?.template?.spec.containers[0]?.ports;
      expect(Object.fromEntries(ports?.map(({ name, containerPort }) => [name, containerPort]) ?? [])).to.deep.equal({
        https: server.port,
        metrics: metrics.port,
        health: health.port,
      });
      expect(https?.targetPort, rendering.name).to.equal(server.port);
      expect(registration.name, rendering.name).to.equal(globalName(rendering));
      expect(registration.mode, rendering.name).to.equal(rendering.registration === 'self' ? 'self' : 'external');
    }, WEBHOOK);
  });

  it('configures the flow-controller with the Lease that admission and the settings-reconciler go by', () => {
    each((rendering) => {
      const flags = parseFlowFlags(['--config', 'config.yaml']);
      if (flags.kind !== 'run') throw new Error(flags.text);
      const config = flowConfigurationOf(flags.flags, configOf(rendering, FLOW));
      const { leaderElection, metricSources, namespaceSelector, nodeGroups, status } = config;
      expect(leaderElection, rendering.name).to.include({ enabled: true, namespace: NAMESPACE, name: FLOW });
      expect(metricSources, rendering.name).to.have.lengthOf(1);
      expect(metricSources[0], rendering.name).to.include({ name: 'metrics.k8s.io', type: 'ResourceMetrics' });
      expect({ namespaceSelector, enabled: nodeGroups.enabled, create: status.create }).to.deep.equal({
        namespaceSelector: {},
        enabled: false,
        create: true,
      });
      const ports = find(rendering, 'Deployment', FLOW).spec?.template?.spec.containers[0]?.ports;
      expect(Object.fromEntries(ports?.map(({ name, containerPort }) => [name, containerPort]) ?? [])).to.deep.equal({
        metrics: config.metrics.port,
        health: config.health.port,
      });
    }, FLOW);
  });

  it('does not let the webhook ask itself: its Service carries no label that selects slices', () => {
    each((rendering) => {
      const { metadata, spec } = find(rendering, 'Service', WEBHOOK);
      expect(metadata?.labels, rendering.name).not.to.have.any.keys(LABEL_CONSIDER, LABEL_STRATEGY);
      const { template } = find(rendering, 'Deployment', WEBHOOK).spec ?? {};
      expect(template?.metadata.labels, rendering.name).to.include(spec?.selector);
    }, WEBHOOK);
  });

  describe('permissions', () => {
    /** `group/resource[names]: verbs`, sorted. */
    const permissionsOf = (rendering: Rendering, component: Component): string[] =>
      [...ofKind(rendering, 'ClusterRole'), ...ofKind(rendering, 'Role')]
        .filter(({ metadata }) => metadata?.labels?.['app.kubernetes.io/component'] === component)
        .flatMap(({ kind, rules = [] }) =>
          rules.map(({ apiGroups, resources, resourceNames = [], verbs }) => {
            const names = resourceNames.length === 0 ? '' : `[${[...resourceNames].sort().join()}]`;
            return `${kind} ${apiGroups.join()}/${resources.join()}${names}: ${verbs.join()}`;
          }),
        )
        .sort();

    const policies = 'admissionregistration.k8s.io/mutatingadmissionpolicies,mutatingadmissionpolicybindings';
    const policyNames = (rendering: Rendering): string => {
      const name = globalName(rendering);
      return buildAdmissionPolicies(policyOptions(NAMESPACE, { name }))
        .policies.map(({ metadata }) => metadata.name)
        .sort()
        .join();
    };
    /** A registration by the chart cannot follow the settings-reconciler: then it installs nothing. */
    const policyPermissions = (rendering: Rendering): string[] =>
      rendering.registration === 'chart' && rendering.components.includes(WEBHOOK)
        ? [`ClusterRole ${policies}[${policyNames(rendering)}]: delete`]
        : [
            `ClusterRole ${policies}: create`,
            `ClusterRole ${policies}[${policyNames(rendering)}]: get,update,delete`,
            'Role /configmaps: create',
          ];

    it('of the settings-reconciler are what its modes and the carrier of admission ask for', () => {
      each((rendering) => {
        const gardener = isSeed(rendering) || isRuntime(rendering);
        const wanted = [
          'ClusterRole /services: get,list,watch,patch',
          'ClusterRole /namespaces: list,watch,patch',
          'ClusterRole /nodes: list,watch',
          'ClusterRole /events: create,patch',
          'ClusterRole discovery.k8s.io/endpointslices: list,watch,patch',
          'Role coordination.k8s.io/leases: create',
          'Role coordination.k8s.io/leases[settings-reconciler-leader-election]: get,update',
          `ClusterRole ${policies}: list,watch`,
          'Role coordination.k8s.io/leases[flow-controller]: list,watch',
          `Role /configmaps[${CARRIER_NAME}]: get,list,watch,update,delete`,
          ...policyPermissions(rendering),
          ...(gardener ? ['ClusterRole druid.gardener.cloud/etcds: get,list,watch,patch'] : []),
          ...(gardener
            ? ['ClusterRole apiextensions.k8s.io/customresourcedefinitions[etcds.druid.gardener.cloud]: list,watch']
            : []),
          ...(isSeed(rendering) ? ['ClusterRole extensions.gardener.cloud/clusters: list,watch'] : []),
          ...(isRuntime(rendering) ? ['ClusterRole operator.gardener.cloud/gardens: list,watch'] : []),
        ];
        expect(permissionsOf(rendering, RECONCILER), rendering.name).to.deep.equal(wanted.sort());
      }, RECONCILER);
    });

    it('of the endpointslice-webhook are what registration, certificates and the planner ask for', () => {
      const { authority, server } = secretNames(WEBHOOK);
      each((rendering) => {
        const configurations = 'ClusterRole admissionregistration.k8s.io/mutatingwebhookconfigurations';
        const wanted = [
          'Role coordination.k8s.io/leases[flow-controller]: list,watch',
          `Role /configmaps[${CARRIER_NAME}]: list,watch`,
          ...(rendering.registration === 'self'
            ? [
                `${configurations}: create`,
                `${configurations}[${globalName(rendering)}]: get,list,watch,update,delete`,
                'Role /secrets: create',
                `Role /secrets[${[authority, server].sort().join()}]: get,update`,
              ]
            : []),
        ];
        expect(permissionsOf(rendering, WEBHOOK), rendering.name).to.deep.equal(wanted.sort());
      }, WEBHOOK);
    });

    const flowPermissions = [
      'ClusterRole /services: get,list,watch,patch',
      'ClusterRole discovery.k8s.io/endpointslices: get,list,watch,patch',
      'ClusterRole /pods,nodes,namespaces: list,watch',
      'ClusterRole /events: create,patch',
      'ClusterRole topology.extensions.gardener.cloud/flowpolicies: list,watch,create,delete',
      'ClusterRole topology.extensions.gardener.cloud/flowpolicies/status: patch',
      'Role coordination.k8s.io/leases: create',
      'Role coordination.k8s.io/leases[flow-controller]: get,update,delete',
    ];
    const readMetrics = 'ClusterRole metrics.k8s.io/pods: list';

    it('of the flow-controller are what the loop reads and writes', () => {
      each((rendering) => {
        const wanted = [...flowPermissions, readMetrics].sort();
        expect(permissionsOf(rendering, FLOW), rendering.name).to.deep.equal(wanted);
      }, FLOW);
    });

    it("of the flow-controller follow its sources of load, and grow with KubeEdge's NodeGroups", async () => {
      const metricSources = [{ name: 'p', type: 'Prometheus', url: 'https://prometheus.example.com' }];
      const values = { flowController: { enabled: true, metricSources, nodeGroups: true } };
      const rendering = await render({ ...cases[0]!, name: 'NodeGroups', values });
      const wanted = [
        ...flowPermissions,
        'ClusterRole apps.kubeedge.io/nodegroups: list,watch',
        'ClusterRole /nodes: patch',
        'ClusterRole apps/daemonsets: list,watch',
        'ClusterRole /persistentvolumes: list',
      ];
      expect(permissionsOf(rendering, FLOW)).to.deep.equal(wanted.sort());
    });

    it('name no wildcard and are bound to the ServiceAccount of their component', () => {
      each((rendering) => {
        for (const { rules = [] } of rendering.objects) {
          for (const rule of rules) expect(Object.values(rule).flat(), rendering.name).not.to.include('*');
        }
        const bindings = [...ofKind(rendering, 'RoleBinding'), ...ofKind(rendering, 'ClusterRoleBinding')];
        const roles = [...ofKind(rendering, 'Role'), ...ofKind(rendering, 'ClusterRole')];
        expect(bindings.map(({ roleRef }) => `${roleRef?.kind}/${roleRef?.name}`).sort(), rendering.name).to.deep.equal(
          roles.map(({ kind, metadata }) => `${kind}/${metadata?.name}`).sort(),
        );
        for (const { subjects, metadata } of bindings) {
          const name = metadata?.labels?.['app.kubernetes.io/component'] ?? '';
          expect(subjects, rendering.name).to.deep.equal([{ kind: 'ServiceAccount', name, namespace: NAMESPACE }]);
          expect(find(rendering, 'ServiceAccount', name).automountServiceAccountToken).to.equal(false);
        }
      });
    });
  });

  it('runs Pods that have what they mount and nothing that they do not need', () => {
    each((rendering) => {
      for (const deployment of ofKind(rendering, 'Deployment')) {
        const component = deployment.metadata?.name as Component;
        const at = `${rendering.name}: ${component}`;
        const { template, selector } = deployment.spec ?? {};
        const { spec: pod, metadata } = template!;
        const [container, ...others] = pod.containers;
        expect(others, at).to.be.empty;
        expect(metadata.labels, at).to.include(selector?.['matchLabels']);
        expect(metadata.annotations?.['checksum/config'], at).to.match(/^[0-9a-f]{64}$/);
        expect(pod.serviceAccountName, at).to.equal(component);
        expect(pod.automountServiceAccountToken, at).to.equal(true);
        expect(pod.securityContext, at).to.deep.include({
          runAsNonRoot: true,
          seccompProfile: { type: 'RuntimeDefault' },
        });
        expect(container?.securityContext, at).to.deep.equal({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(container?.image, at).to.equal('gardener-extension-topology-aware-routing:0.1.0');
        expect(container?.resources.requests, at).to.have.all.keys('cpu', 'memory');
        expect(container?.resources.limits, at).to.have.all.keys('memory');
        const ports = container?.ports.map(({ name }) => name);
        expect(ports, at).to.include(container?.livenessProbe.httpGet.port);
        expect(ports, at).to.include(container?.readinessProbe.httpGet.port);

        const [command, ...flags] = container?.args ?? [];
        expect(command, at).to.equal(component);
        const parsers = { [RECONCILER]: parseReconcilerFlags, [WEBHOOK]: parseWebhookFlags, [FLOW]: parseFlowFlags };
        const parsed = parsers[component](flags);
        if (parsed.kind !== 'run') throw new Error(`${at}: ${parsed.text}`);
        const mounts = Object.fromEntries(
          container?.volumeMounts.map(({ name, mountPath }) => [name, mountPath]) ?? [],
        );
        expect(Object.keys(mounts).sort(), at).to.deep.equal(pod.volumes.map(({ name }) => name).sort());
        expect(
          container?.volumeMounts.every(({ readOnly }) => readOnly),
          at,
        ).to.equal(true);
        expect(parsed.flags.config, at).to.equal(`${mounts['config']}/config.yaml`);
        for (const { configMap, secret } of pod.volumes) {
          if (configMap !== undefined) find(rendering, 'ConfigMap', configMap.name);
          else expect(secret?.secretName, at).to.equal(CERTIFICATE.certificateSecretName);
        }
        if (component === WEBHOOK) {
          const text = configOf(rendering, WEBHOOK);
          const { certificates } = loadConfiguration(ENDPOINTSLICE_WEBHOOK_CONFIGURATION, text, 'config.yaml');
          expect(certificates.directory, at).to.equal(mounts['certificates']);
        }
      }
    });
  });

  it('gives Pods the class and spread of where they run, and the reconciler of a seed the way to the virtual garden', () => {
    const classes: Record<Where, string | undefined> = {
      seed: 'gardener-system-900',
      runtime: 'gardener-garden-system-200',
      'seed and runtime': 'gardener-garden-system-200',
      plain: undefined,
    };
    const toGarden = 'networking.resources.gardener.cloud/to-garden-virtual-garden-kube-apiserver-tcp-443';
    each((rendering) => {
      for (const { metadata, spec } of ofKind(rendering, 'Deployment')) {
        const { spec: pod, metadata: template } = spec!.template!;
        expect(pod.priorityClassName, rendering.name).to.equal(classes[rendering.where]);
        const spread = rendering.where === 'plain' ? 2 : 0;
        expect(pod.topologySpreadConstraints ?? [], rendering.name).to.have.lengthOf(spread);
        const wanted = isSeed(rendering) && metadata?.name === RECONCILER;
        expect(toGarden in template.labels, `${rendering.name}: ${metadata?.name}`).to.equal(wanted);
      }
    });
  });

  it('protects two replicas by a budget, with the eviction policy from 1.26 on', () => {
    each((rendering) => {
      const old = /^1\.2[45]\./.test(rendering.kubernetes);
      for (const component of rendering.components) {
        const { spec } = find(rendering, 'PodDisruptionBudget', component);
        expect(spec?.unhealthyPodEvictionPolicy, rendering.name).to.equal(old ? undefined : 'AlwaysAllow');
        expect(spec?.selector, rendering.name).to.deep.equal(find(rendering, 'Deployment', component).spec?.selector);
      }
    });
  });

  it('registers, where the chart does, exactly what the webhook would register by itself', () => {
    each((rendering) => {
      const found = ofKind(rendering, 'MutatingWebhookConfiguration');
      if (rendering.registration === 'self') {
        expect(found, rendering.name).to.be.empty;
        return;
      }
      const { includedNamespaces: included, excludedNamespaces: excluded, failurePolicy, timeoutSeconds } = CERTIFICATE;
      const wanted: MutatingWebhookConfiguration = buildRegistration({
        name: globalName(rendering),
        version: parseKubernetesVersion(rendering.kubernetes),
        address: { kind: 'service', namespace: NAMESPACE, name: WEBHOOK, port: 443 },
        caBundle: CA_PEM,
        excludedNamespaces: excludedNamespacesOf(NAMESPACE, { included, excluded }),
        failurePolicy: failurePolicy as 'Fail',
        timeoutSeconds,
        settingsReconcilerUser: `system:serviceaccount:${NAMESPACE}:${RECONCILER}`,
        strategyAnnotation: true,
        keepSettings: true,
        carrier: 'webhook',
      });
      expect(found, rendering.name).to.deep.equal([wanted]);
    }, WEBHOOK);
  });

  describe('carriers of admission', () => {
    const admissionOf = async (values: object, component: Component): Promise<string> => {
      const objects = documents(await helm.template(values));
      const found = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata?.name === component);
      return (parse(found?.data?.['config.yaml'] ?? '') as { admission: string }).admission;
    };
    const byChart = { endpointsliceWebhook: CERTIFICATE };
    const carriers = [
      { name: 'the default', values: {}, reconciler: 'auto', webhook: 'auto' },
      { name: 'webhook', values: { admission: 'webhook' }, reconciler: 'webhook', webhook: 'auto' },
      { name: 'policy', values: { admission: 'policy' }, reconciler: 'policy', webhook: 'auto' },
      { name: 'the default, registered by the chart', values: byChart, reconciler: 'webhook', webhook: 'auto' },
      {
        name: 'policy, registered by the chart',
        values: { ...byChart, admission: 'policy' },
        reconciler: 'policy',
        webhook: 'auto',
      },
      {
        name: 'policy without a reconciler',
        values: { admission: 'policy', settingsReconciler: { enabled: false } },
        reconciler: undefined,
        webhook: 'policy',
      },
    ];
    for (const { name, values, reconciler, webhook } of carriers) {
      it(`${name}: the reconciler decides, the webhook follows`, async () => {
        if (reconciler !== undefined) expect(await admissionOf(values, RECONCILER)).to.equal(reconciler);
        expect(await admissionOf(values, WEBHOOK)).to.equal(webhook);
      });
    }

    it('leaves out of its registration what policies carry, where they are served', async () => {
      const namesOn = async (kubernetes: string): Promise<string[]> => {
        const objects = documents(await helm.template({ ...byChart, admission: 'policy' }, { kubernetes }));
        const found = objects.find(({ kind }) => kind === 'MutatingWebhookConfiguration');
        return ((found as MutatingWebhookConfiguration).webhooks ?? []).map(({ name }) => name.split('.')[0] ?? '');
      };
      expect(await namesOn('1.36.0')).to.deep.equal(['strategy-annotation']);
      expect(await namesOn('1.35.0')).to.have.lengthOf(4);
    });

    it('names the excluded namespaces of the webhook for the policies too', async () => {
      const objects = documents(await helm.template(byChart));
      const configOfReconciler = objects.find(
        ({ kind, metadata }) => kind === 'ConfigMap' && metadata?.name === RECONCILER,
      );
      const { policies: configured } = parse(configOfReconciler?.data?.['config.yaml'] ?? '') as { policies: object };
      const { includedNamespaces, excludedNamespaces } = CERTIFICATE;
      const name = 'gardener-extension-topology-aware-routing';
      expect(configured).to.deep.equal({ name, includedNamespaces, excludedNamespaces });
    });
  });

  describe('values', () => {
    const reconcilerModes = async (values: object): Promise<object> => {
      const objects = documents(await helm.template(values));
      const text = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata?.name === RECONCILER)?.data;
      return (parse(text?.['config.yaml'] ?? '') as { modes: object }).modes;
    };
    const spec = (provider: object, settings: object): object => ({
      gardener: { seed: { spec: { provider, settings } } },
    });
    const seedOf = (zones: string[], enabled: boolean): object => ({
      seed: { gardener: {}, seed: { spec: { provider: { zones }, settings: { topologyAwareRouting: { enabled } } } } },
    });
    const modes = [
      { name: 'a Seed without zones and settings', values: spec({}, {}), wanted: seedOf([], false) },
      {
        name: 'a Seed with nulls',
        values: { gardener: { seed: { name: null, spec: null } } },
        wanted: { seed: { gardener: {} } },
      },
      {
        name: 'a Seed with the setting off',
        values: spec({ zones: ['a'] }, { topologyAwareRouting: { enabled: false } }),
        wanted: seedOf(['a'], false),
      },
      {
        name: 'a runtime that is a boolean',
        values: { gardener: { runtimeCluster: { enabled: true } } },
        wanted: { garden: { gardener: {} } },
      },
      {
        name: 'a runtime that is off',
        values: { gardener: { runtimeCluster: { enabled: 'false' } } },
        wanted: { cluster: {} },
      },
      { name: 'a self-hosted shoot', values: { gardener: { selfHostedShootCluster: true } }, wanted: { cluster: {} } },
      { name: 'nothing at all', values: { gardener: null }, wanted: { cluster: {} } },
      {
        name: 'modes switched by hand',
        values: { modes: { seed: true, garden: true, cluster: true } },
        wanted: { seed: { gardener: {} }, garden: { gardener: {} }, cluster: {} },
      },
      {
        name: 'a word about L7',
        values: { modes: { garden: true }, settingsReconciler: { layerSevenDefault: false } },
        wanted: { garden: { gardener: { layerSevenDefault: false } } },
      },
    ];
    for (const { name, values, wanted } of modes) {
      it(`understand ${name}`, async () => expect(await reconcilerModes(values)).to.deep.equal(wanted));
    }

    const refused = [
      { values: { settingsReconciler: { keep: 'sometimes' } }, message: 'keep' },
      { values: { endpointsliceWebhook: { registration: 'chart' } }, message: 'caBundle' },
      { values: { gardner: {} }, message: 'gardner' },
      { values: { admission: 'both' }, message: 'admission' },
      { values: { flowController: { metricSources: [] } }, message: 'metricSources' },
      { values: { flowController: { metricSources: [{ name: 'x', type: 'Statsd' }] } }, message: 'type' },
      { values: { modes: { cluster: false } }, message: 'modes: none of seed, garden and cluster runs' },
    ];
    for (const { values, message } of refused) {
      it(`refuse ${JSON.stringify(values)}`, async () => {
        const error = await helm.template(values).then(
          () => undefined,
          (thrown: Error) => thrown,
        );
        expect(error?.message).to.contain(message);
      });
    }

    it('give the flow-controller its selector, sources, files and labels', async () => {
      const flowController = {
        enabled: true,
        namespaceSelector: { matchLabels: { team: 'a' } },
        excludedNamespaces: ['quiet'],
        metricSources: [
          {
            name: 'prometheus',
            type: 'Prometheus',
            url: 'https://prometheus.example.com',
            bearerTokenFile: '/etc/topology-aware-routing-sources/token',
          },
        ],
        sourcesSecretName: 'prometheus-token',
        podLabels: { 'networking.gardener.cloud/to-prometheus': 'allowed' },
        createPolicies: false,
      };
      const objects = documents(await helm.template({ flowController }));
      const named = (kind: string): Rendered | undefined =>
        objects.find((object) => object.kind === kind && object.metadata?.name === FLOW);
      const flags = parseFlowFlags(['--config', 'config.yaml']);
      if (flags.kind !== 'run') throw new Error(flags.text);
      const config = flowConfigurationOf(flags.flags, named('ConfigMap')?.data?.['config.yaml'] ?? '');
      const { namespaceSelector, excludedNamespaces, metricSources, status } = config;
      expect({ namespaceSelector, excludedNamespaces, create: status.create }).to.deep.equal({
        namespaceSelector: { matchLabels: { team: 'a' } },
        excludedNamespaces: ['quiet'],
        create: false,
      });
      expect(metricSources[0]).to.include(flowController.metricSources[0]);
      const { metadata, spec: pod } = named('Deployment')!.spec!.template!;
      expect(metadata.labels).to.include(flowController.podLabels);
      expect(pod.volumes.find(({ name }) => name === 'sources')?.secret?.secretName).to.equal('prometheus-token');
      const mount = pod.containers[0]?.volumeMounts.find(({ name }) => name === 'sources');
      expect(mount).to.deep.include({ mountPath: '/etc/topology-aware-routing-sources', readOnly: true });
    });

    it('refuse a cluster that is too old', async () => {
      const error = await helm.template({}, { kubernetes: '1.23.17' }).then(
        () => undefined,
        (thrown: Error) => thrown,
      );
      expect(error?.message).to.contain('1.23.17');
    });

    it('take a digest before a tag', async () => {
      const digest = `sha256:${'a'.repeat(64)}`;
      const text = await helm.template({ image: { repository: 'r.example.com/x', tag: '1', digest } });
      expect(text.match(/image: .*/g)).to.deep.equal(Array(2).fill(`image: r.example.com/x@${digest}`));
    });
  });
});
