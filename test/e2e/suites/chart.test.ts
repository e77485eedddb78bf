// SPDX-License-Identifier: Apache-2.0
// The chart, rendered by the real helm in every combination and read as the commands and the API server read it.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parse } from 'yaml';
import {
  configurationOf as flowConfigurationOf,
  parseFlags as parseFlowFlags,
} from '../../../cmd/flow-controller/options.ts';
import { configurationOf, parseFlags as parseReconcilerFlags } from '../../../cmd/settings-reconciler/options.ts';
import type { MutatingWebhookConfiguration } from '../../../pkg/apis/admission.ts';
import { ENDPOINTSLICE_WEBHOOK_CONFIGURATION } from '../../../pkg/apis/config/endpointslice-webhook.ts';
import { loadConfiguration } from '../../../pkg/apis/config/load.ts';
import { EXTENSION_TYPE, HEARTBEAT_LEASE, LABEL_CONSIDER, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { parseKubernetesVersion } from '../../../pkg/routing/version.ts';
import { CARRIER_NAME } from '../../../pkg/hints/policy/index.ts';
import { excludedNamespacesOf } from '../../../pkg/hints/served-namespaces.ts';
import { buildRegistration } from '../../../pkg/webhook/registration.ts';
import { CA_PEM, CERTIFICATE, FLOW, INJECTED, NAMESPACE, RECONCILER, WEBHOOK } from '../chart.ts';
import { flowLease, globalName, isRuntime, isSeed, isShared } from '../chart.ts';
import { configOf, find, ofKind, useRenderings } from '../chart-renderings.ts';

const COMPONENT = 'app.kubernetes.io/component';

describe('chart', () => {
  const { helm, each } = useRenderings();

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
      expect(named, rendering.name).to.deep.equal([leaderElection.name, ...beats, ...lease, CARRIER_NAME]);
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
        carrier: 'webhook',
      });
      expect(found, rendering.name).to.deep.equal([wanted]);
    }, WEBHOOK);
  });
});
