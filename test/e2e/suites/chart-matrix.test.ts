// SPDX-License-Identifier: Apache-2.0
// Whatever is combined: every object of every rendering is accepted by the API server, and each place is applied for real.
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { platformCrds } from '../../fixtures/platform-crds.ts';
import { useBed } from '../bed/mocha.ts';
import { CERTIFICATE, COMPONENTS, INJECTED, NAMESPACE, documents, matrix } from '../chart.ts';
import type { Rendered, Rendering } from '../chart.ts';
import { ofKind, renderAll, useHelm } from '../chart-renderings.ts';
import { apply, applyDefinitions } from '../installation.ts';

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

describe('chart, in every combination', () => {
  const bed = useBed();
  const { helm } = useHelm();
  let renderings: readonly Rendering[] = [];

  const listOf = (items: readonly object[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  const caBundle = (): string => readFileSync(bed().pki.authority.certificate, 'base64');
  /** The API server looks into certificates. */
  const withAuthority = (text: string): string => text.replaceAll(CERTIFICATE.caBundle, caBundle());

  before('render all, on an API server that serves what the chart may render', async () => {
    await applyDefinitions(bed(), platformCrds());
    for (const name of [NAMESPACE, 'garden']) await bed().api.create('/api/v1/namespaces', { metadata: { name } });
    renderings = await renderAll(helm(), matrix);
  });

  it('renders the kinds that it should, each of them somewhere', async () => {
    const kinds = new Set(renderings.flatMap(({ objects }) => objects.map(({ kind = '' }) => kind)));
    const { ofTheMeter, ...ofTheMatrix } = KINDS;
    expect([...kinds].sort()).to.deep.equal(Object.values(ofTheMatrix).flat().sort());
    const measured = documents(await helm().template({ trafficMeter: { enabled: true } }));
    expect(measured.map(({ kind }) => kind)).to.include.members(ofTheMeter);
  });

  it('renders the set of Deployments, roles and accounts that is on, and distinct names', () => {
    for (const rendering of renderings) {
      const at = rendering.name;
      const wanted = [...rendering.components].sort();
      for (const kind of ['Deployment', 'ServiceAccount', 'PodDisruptionBudget', 'Service']) {
        const names = ofKind(rendering, kind).map(({ metadata }) => metadata?.name ?? '');
        expect(names.sort(), `${at}: ${kind}`).to.deep.equal(wanted);
      }
      const keys = rendering.objects.map(({ kind, metadata }) => [kind, metadata?.namespace, metadata?.name].join('/'));
      expect(new Set(keys).size, at).to.equal(keys.length);
    }
  });

  it('renders sizes, policies and monitors for what is on, where they are switched on', () => {
    const seen = new Map<string, number>();
    for (const rendering of renderings) {
      for (const kind of ['VerticalPodAutoscaler', 'NetworkPolicy', 'ServiceMonitor']) {
        const count = ofKind(rendering, kind).length;
        expect([0, rendering.components.length], `${rendering.name}: ${kind}`).to.include(count);
        seen.set(kind, (seen.get(kind) ?? 0) + count);
      }
    }
    for (const [kind, count] of seen) expect(count, kind).to.be.above(0);
  });

  it('renders guards from Kubernetes 1.30 on, each with a binding, but where they are switched off', () => {
    for (const rendering of renderings) {
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
    const distinct = new Set(renderings.flatMap(({ objects }) => objects.map((object) => JSON.stringify(object))));
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
