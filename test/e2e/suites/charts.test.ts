// The chart, rendered by the real helm in every combination: read as the commands read it, accepted by a real API server, and applied in each place.
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { parse } from 'yaml';
import {
  configurationOf as flowConfigurationOf,
  parseFlags as parseFlowFlags,
} from '../../../cmd/flow-controller/options.ts';
import { parseFlags as parseWebhookFlags } from '../../../cmd/endpointslice-webhook/options.ts';
import { configurationOf, parseFlags as parseReconcilerFlags } from '../../../cmd/settings-reconciler/options.ts';
import type { MutatingWebhookConfiguration } from '../../../pkg/apis/admission.ts';
import { ENDPOINTSLICE_WEBHOOK_CONFIGURATION } from '../../../pkg/apis/config/endpointslice-webhook.ts';
import { loadConfiguration } from '../../../pkg/apis/config/load.ts';
import { EXTENSION_TYPE, HEARTBEAT_LEASE, LABEL_CONSIDER, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { parseKubernetesVersion } from '../../../pkg/routing/version.ts';
import { excludedNamespacesOf } from '../../../pkg/hints/readiness.ts';
import { buildRegistration } from '../../../pkg/webhook/registration.ts';
import { platformCrds } from '../../fixtures/platform-crds.ts';
import { useBed } from '../bed/mocha.ts';
import {
  CA_PEM,
  CERTIFICATE,
  COMPONENTS,
  FLOW,
  INJECTED,
  NAMESPACE,
  RECONCILER,
  WEBHOOK,
  documents,
} from '../chart.ts';
import { flowLease, globalName, isRuntime, isSeed, isShared } from '../chart.ts';
import type { Component, Rendered } from '../chart.ts';
import { configOf, find, ofKind, useRenderings } from '../chart-renderings.ts';
import { apply, applyDefinitions } from '../installation.ts';

const COMPONENT = 'app.kubernetes.io/component';

/** Kinds of the chart by what switches them. */
const KINDS = {
  always: [
    'ClusterRole',
    'ClusterRoleBinding',
    'ConfigMap',
    'Deployment',
    'PodDisruptionBudget',
    'Role',
    'RoleBinding',
  ],
  others: ['Service', 'ServiceAccount', 'MutatingWebhookConfiguration', 'CustomResourceDefinition'],
  toggled: ['VerticalPodAutoscaler', 'NetworkPolicy', 'ServiceMonitor', 'PrometheusRule'],
  ofTheMeter: ['DaemonSet', 'Namespace'],
  fromVersion130: ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'],
};

describe('charts', () => {
  const bed = useBed();
  const { helm, all, each } = useRenderings();

  const listOf = (items: readonly object[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  /** The API server looks into certificates. */
  const withAuthority = (text: string): string =>
    text.replaceAll(CERTIFICATE.caBundle, readFileSync(bed().pki.authority.certificate, 'base64'));

  before('an API server that serves what the chart may render', async () => {
    await applyDefinitions(bed(), platformCrds());
    for (const name of [NAMESPACE, 'garden']) await bed().api.create('/api/v1/namespaces', { metadata: { name } });
  });

  for (const [where, values] of Object.entries(INJECTED)) {
    it(`passes helm lint with the values of ${where}`, async () => {
      const output = await helm().lint(values);
      expect(output)
        .to.contain('0 chart(s) failed')
        .and.not.to.match(/WARNING|ERROR/);
    });
  }

  it('renders objects that are complete, distinct, and in the namespace of the release', () => {
    const guards = ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'];
    const ours = new Set(['ClusterRole', 'ClusterRoleBinding', 'MutatingWebhookConfiguration', ...guards]);
    each((rendering) => {
      const names = rendering.objects.map(({ kind, metadata }) => `${kind}/${metadata?.name}`);
      expect(new Set(names).size, rendering.name).to.equal(names.length);
      for (const { apiVersion, kind = '', metadata } of rendering.objects) {
        expect(apiVersion, `${rendering.name}: ${kind}`).to.be.a('string').and.not.empty;
        // Its name is that of the API.
        const wide = ours.has(kind) || kind === 'CustomResourceDefinition';
        const isDashboard = metadata?.labels?.[COMPONENT] === 'monitoring' && kind === 'ConfigMap';
        const common = metadata?.namespace === 'garden' && (isDashboard || ['Role', 'RoleBinding'].includes(kind));
        if (common) expect(isShared(rendering), rendering.name).to.equal(true);
        else expect(metadata?.namespace, `${rendering.name}: ${kind}`).to.equal(wide ? undefined : NAMESPACE);
        if (ours.has(kind) || (common && !isDashboard))
          expect(metadata?.name?.split(/:|\.guard-/)[0], rendering.name).to.equal(globalName(rendering));
      }
    });
  });

  it('renders nothing of a component that is off', () => {
    each((rendering) => {
      const deployed = ofKind(rendering, 'Deployment').map(({ metadata }) => metadata?.name ?? '');
      expect(deployed.sort(), rendering.name).to.deep.equal([...rendering.components].sort());
      for (const { kind, metadata } of rendering.objects) {
        // Rules and dashboards about what runs are of no single component.
        const component = metadata?.labels?.[COMPONENT];
        expect([...rendering.components, 'monitoring'], `${rendering.name}: ${kind}`).to.include(component);
      }
    });
  });

  it('configures the settings-reconciler for where it runs', () => {
    each((rendering) => {
      const flags = parseReconcilerFlags(['--config', 'config.yaml']);
      if (flags.kind !== 'run') throw new Error(flags.text);
      // What gardenlet puts into the containers beside.
      const environment = isSeed(rendering) ? { GARDEN_KUBECONFIG: '/garden/kubeconfig', SEED_NAME: 'eu-1' } : {};
      const { modes, leaderElection, extensions, heartbeat } = configurationOf(
        flags.flags,
        configOf(rendering, RECONCILER),
        environment,
      );
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
      const named = find(rendering, 'Role', RECONCILER).rules?.flatMap(({ resourceNames = [] }) => resourceNames);
      const lease = isShared(rendering) ? [] : [FLOW];
      const beats = isSeed(rendering) || isRuntime(rendering) ? [HEARTBEAT_LEASE] : [];
      expect(named, rendering.name).to.deep.equal([leaderElection.name, ...beats, ...lease]);
      expect(extensions.enabled, rendering.name).to.equal(true);
      expect(heartbeat, rendering.name).to.deep.equal({ extension: EXTENSION_TYPE, renewIntervalSeconds: 30 });
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
      expect(leaderElection, rendering.name).to.include({ enabled: true, ...flowLease(rendering) });
      for (const component of [RECONCILER, WEBHOOK] as const) {
        if (!rendering.components.includes(component)) continue;
        const { flowController } = parse(configOf(rendering, component)) as { flowController?: { lease: object } };
        const own = { namespace: NAMESPACE, name: FLOW };
        expect(flowController?.lease ?? own, rendering.name).to.deep.equal(flowLease(rendering));
      }
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
        routingLabel: isRuntime(rendering) ? 'runtime' : 'true',
      });
      expect(found, rendering.name).to.deep.equal([wanted]);
    }, WEBHOOK);
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
        expect(pod.automountServiceAccountToken, at).to.equal(false);
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
        for (const { configMap, secret, projected } of pod.volumes) {
          if (projected !== undefined) continue;
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

  it('renders the kinds that it should, each of them somewhere', async () => {
    const kinds = new Set(all().flatMap(({ objects }) => objects.map(({ kind = '' }) => kind)));
    const { ofTheMeter, ...ofTheMatrix } = KINDS;
    expect([...kinds].sort()).to.deep.equal(Object.values(ofTheMatrix).flat().sort());
    const measured = documents(await helm().template({ trafficMeter: { enabled: true } }));
    expect(measured.map(({ kind }) => kind)).to.include.members(ofTheMeter);
  });

  it('renders guards from Kubernetes 1.30 on, each with a binding, but where they are switched off', () => {
    for (const rendering of all()) {
      const { name, kubernetes, components, values } = rendering;
      const policies = ofKind(rendering, 'ValidatingAdmissionPolicy').map(({ metadata }) => metadata?.name ?? '');
      const bindings = ofKind(rendering, 'ValidatingAdmissionPolicyBinding').map(
        ({ metadata }) => metadata?.name ?? '',
      );
      expect(bindings, name).to.deep.equal(policies);
      const wanted = components.length > 0 && kubernetes === '1.36.3' && !('guards' in values);
      expect(policies.length > 0, name).to.equal(wanted);
    }
  });

  it('renders nothing that the API server refuses, unknown fields included', async () => {
    const distinct = new Set(all().flatMap(({ objects }) => objects.map((object) => JSON.stringify(object))));
    expect(distinct.size).to.be.above(100);
    const text = withAuthority(listOf([...distinct].map((object) => JSON.parse(object) as Rendered)));
    const output = await apply(bed(), 'matrix.json', text, '--dry-run=server', '--force-conflicts');
    expect(output.trim().split('\n')).to.have.lengthOf(distinct.size);
  });

  const everything = {
    flowController: { enabled: true, nodeGroups: true },
    trafficMeter: { enabled: true, enableAccounting: true },
    vpa: { enabled: true },
    networkPolicy: { enabled: true },
    monitoring: { serviceMonitors: true, alerts: 'prometheusRule', dashboards: true },
  };
  for (const [where, values] of Object.entries(INJECTED)) {
    it(`is applied with all that there is, and the values of ${where}, over what was there`, async () => {
      const text = await helm().template({ ...values, ...everything, endpointsliceWebhook: CERTIFICATE });
      const output = await apply(bed(), 'everything.yaml', withAuthority(text), '--force-conflicts');
      expect(output.match(/serverside-applied/g)).to.have.lengthOf(documents(text).length);
    });
  }

  it('runs Pods that the strictest Pod Security Standard allows', async () => {
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await bed().api.create('/api/v1/namespaces', { metadata: { name: 'restricted', labels } });
    const objects = documents(await helm().template({ ...everything, endpointsliceWebhook: CERTIFICATE }));
    const pods = objects
      .filter(({ kind }) => kind === 'Deployment')
      .map(({ metadata, spec }) => ({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: metadata?.name, namespace: 'restricted', labels: spec?.template?.metadata.labels },
        spec: spec?.template?.spec,
      }));
    const output = await apply(bed(), 'pods.json', listOf(pods), '--dry-run=server');
    expect(output.match(/serverside-applied/g)).to.have.lengthOf(COMPONENTS.length);
    const [pod] = pods;
    const root = { ...pod, spec: { ...pod?.spec, securityContext: { runAsUser: 0 } } };
    const refusal = await apply(bed(), 'root.json', listOf([root]), '--dry-run=server').catch(String);
    expect(refusal, 'the standard is enforced here').to.contain('violates PodSecurity "restricted');
  });
});
