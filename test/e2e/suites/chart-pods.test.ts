// SPDX-License-Identifier: Apache-2.0
// The Pods of the chart and what stands around them: security, mounts, class, spread, budgets, sizes, network.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parseFlags as parseWebhookFlags } from '../../../cmd/endpointslice-webhook/options.ts';
import { parseFlags as parseFlowFlags } from '../../../cmd/flow-controller/options.ts';
import { parseFlags as parseReconcilerFlags } from '../../../cmd/settings-reconciler/options.ts';
import { ENDPOINTSLICE_WEBHOOK_CONFIGURATION } from '../../../pkg/apis/config/endpointslice-webhook.ts';
import { loadConfiguration } from '../../../pkg/apis/config/load.ts';
import { CERTIFICATE, FLOW, RECONCILER, WEBHOOK, isRuntime, isSeed } from '../chart.ts';
import type { Component, Where } from '../chart.ts';
import { configOf, find, ofKind, useRenderings } from '../chart-renderings.ts';

describe('chart, Pods', () => {
  const { each } = useRenderings();

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

  it('mounts a token that lasts an hour, with what a client in a cluster looks for beside it', () => {
    each((rendering) => {
      for (const { spec } of ofKind(rendering, 'Deployment')) {
        const { containers, volumes } = spec!.template!.spec;
        const mount = containers[0]?.volumeMounts.find(({ name }) => name === 'token');
        expect(mount?.mountPath, rendering.name).to.equal('/var/run/secrets/kubernetes.io/serviceaccount');
        const [token, bundle, own, ...more] = volumes.find(({ name }) => name === 'token')?.projected?.sources ?? [];
        expect(token?.serviceAccountToken, rendering.name).to.deep.equal({ path: 'token', expirationSeconds: 3600 });
        expect(bundle?.configMap, rendering.name).to.deep.include({ name: 'kube-root-ca.crt' });
        expect(JSON.stringify(own?.downwardAPI), rendering.name).to.contain('"path":"namespace"');
        expect(more, rendering.name).to.deep.equal([]);
      }
    });
  });

  it('keeps two old ReplicaSets, and is labelled for the high availability of its kind', () => {
    const types = { [RECONCILER]: 'controller', [WEBHOOK]: 'server', [FLOW]: 'controller' };
    each((rendering) => {
      for (const { metadata, spec } of ofKind(rendering, 'Deployment')) {
        const type = metadata?.labels?.['high-availability-config.resources.gardener.cloud/type'];
        expect(type, rendering.name).to.equal(types[metadata?.name as Component]);
        expect(spec?.revisionHistoryLimit, rendering.name).to.equal(2);
        const { labels } = spec!.template!.metadata;
        for (const way of ['to-dns', 'to-runtime-apiserver']) {
          expect(labels[`networking.gardener.cloud/${way}`], rendering.name).to.equal('allowed');
        }
      }
    });
  });

  it('offers the metrics of each component by a Service, which Gardener opens for its Prometheus', () => {
    const prefix = 'networking.resources.gardener.cloud/';
    each((rendering) => {
      for (const component of rendering.components) {
        const { spec, metadata } = find(rendering, 'Service', component);
        const at = `${rendering.name}: ${component}`;
        const port = spec?.ports?.find(({ name }) => name === 'metrics');
        const ports = find(rendering, 'Deployment', component).spec!.template!.spec.containers[0]!.ports;
        expect(port?.targetPort, at).to.equal(ports.find(({ name }) => name === 'metrics')?.containerPort);
        const scraped = JSON.stringify([{ protocol: 'TCP', port: 8080 }]);
        const wanted = {
          ...(isSeed(rendering) ? { [`${prefix}from-all-seed-scrape-targets-allowed-ports`]: scraped } : {}),
          ...(isRuntime(rendering) ? { [`${prefix}from-all-garden-scrape-targets-allowed-ports`]: scraped } : {}),
          ...(rendering.where === 'plain'
            ? {}
            : {
                [`${prefix}namespace-selectors`]: '[{"matchLabels":{"kubernetes.io/metadata.name":"garden"}}]',
                [`${prefix}pod-label-selector-namespace-alias`]: 'extensions',
                ...(component === WEBHOOK
                  ? { [`${prefix}from-world-to-ports`]: JSON.stringify([{ protocol: 'TCP', port: 10_250 }]) }
                  : {}),
              }),
        };
        expect(metadata?.annotations ?? {}, at).to.deep.equal(wanted);
      }
    });
  });
});
