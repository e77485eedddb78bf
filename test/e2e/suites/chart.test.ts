// The chart, rendered by the real helm in every combination: read as the commands read it, accepted by a real API server, and applied in each place.
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { parse } from 'yaml';
import { configurationOf, parseFlags } from '../../../cmd/settings-reconciler/options.ts';
import type { MutatingWebhookConfiguration } from '../../../pkg/apis/admission.ts';
import { HEARTBEAT_LEASE, LABEL_CONSIDER, LABEL_STRATEGY, TRAFFIC_METER } from '../../../pkg/apis/names.ts';
import { excludedNamespacesOf } from '../../../pkg/hints/readiness.ts';
import { parseKubernetesVersion } from '../../../pkg/routing/version.ts';
import { buildRegistration } from '../../../pkg/webhook/register.ts';
import { platformCrds } from '../../fixtures/platform-crds.ts';
import { useBed } from '../bed/index.ts';
import {
  CA_PEM,
  CERTIFICATE,
  COMPONENTS,
  configOf,
  documents,
  find,
  FLOW,
  flowLease,
  globalName,
  INJECTED,
  isRuntime,
  isSeed,
  isShared,
  NAMESPACE,
  ofKind,
  RECONCILER,
  useRenderings,
  WEBHOOK,
  type Component,
  type Rendered,
  type Rendering,
} from '../chart.ts';
import { apply, applyDefinitions } from '../commands.ts';

const COMPONENT = 'app.kubernetes.io/component';
const ENFORCE = 'pod-security.kubernetes.io/enforce';
/** Roles for people, which the chart binds to nobody; who has them is for the cluster's operator to say. */
const FOR_PEOPLE = /:(?:evacuate|read-evacuations)$/;

/** Rights that not every installation has, and where a component has them; the suite install shows that each is used. */
const CONDITIONAL: readonly (readonly [Component, string, (rendering: Rendering) => boolean])[] = [
  [RECONCILER, 'druid.gardener.cloud/etcds', isShared],
  [RECONCILER, 'extensions.gardener.cloud/clusters', isSeed],
  [RECONCILER, 'extensions.gardener.cloud/extensions', isShared],
  [RECONCILER, `[${HEARTBEAT_LEASE}]`, isShared],
  [RECONCILER, 'operator.gardener.cloud/gardens', isRuntime],
  [RECONCILER, 'leases[topology-aware-routing-admission]: get', isShared],
  [WEBHOOK, 'leases[topology-aware-routing-admission]: get,update', isShared],
  [WEBHOOK, '/secrets', ({ registration }) => registration === 'self'],
  [WEBHOOK, 'mutatingwebhookconfigurations', ({ registration }) => registration === 'self'],
  [FLOW, 'metrics.k8s.io/pods', () => true],
  [FLOW, 'kubeedge', () => false],
];

describe('chart', () => {
  const bed = useBed();
  const { helm, all, each } = useRenderings();

  const listOf = (items: readonly object[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  const tryOut = (namespace: string, pods: readonly object[]): Promise<string> =>
    apply(bed(), `${namespace}.json`, listOf(pods), '--dry-run=server').catch(String);
  const podOf = (namespace: string, { metadata, spec }: Rendered, over: object = {}): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: metadata?.name, namespace, labels: spec?.template?.metadata.labels },
    spec: { ...spec?.template?.spec, ...over },
  });
  /** The API server looks into certificates. */
  const withAuthority = (text: string): string =>
    text.replaceAll(CERTIFICATE.caBundle, readFileSync(bed().pki.authority.certificate, 'base64'));

  before('an API server that serves what the chart may render', async () => {
    await applyDefinitions(bed(), platformCrds());
    for (const name of [NAMESPACE, 'garden']) await bed().api.create('/api/v1/namespaces', { metadata: { name } });
    for (const level of ['restricted', 'baseline'])
      await bed().api.create('/api/v1/namespaces', { metadata: { name: level, labels: { [ENFORCE]: level } } });
  });

  it('passes helm lint with the values of each place', async () => {
    for (const values of Object.values(INJECTED))
      expect(await helm().lint(values))
        .to.contain('0 chart(s) failed')
        .and.not.to.match(/WARNING|ERROR/);
  });

  it('renders distinct objects of the components that are on, in the namespace of the release', () => {
    const guards = ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'];
    const ours = new Set(['ClusterRole', 'ClusterRoleBinding', 'MutatingWebhookConfiguration', ...guards]);
    each((rendering) => {
      const names = rendering.objects.map(({ kind, metadata }) => `${kind}/${metadata?.name}`);
      expect(new Set(names).size, rendering.name).to.equal(names.length);
      const deployed = ofKind(rendering, 'Deployment').map(({ metadata }) => metadata?.name ?? '');
      expect(deployed.sort(), rendering.name).to.deep.equal([...rendering.components].sort());
      for (const { kind = '', metadata } of rendering.objects) {
        const component = metadata?.labels?.[COMPONENT];
        expect([...rendering.components, 'monitoring'], `${rendering.name}: ${kind}`).to.include(component);
        const isDashboard = component === 'monitoring' && kind === 'ConfigMap';
        const common = metadata?.namespace === 'garden' && (isDashboard || ['Role', 'RoleBinding'].includes(kind));
        const wide = ours.has(kind) || kind === 'CustomResourceDefinition';
        if (common) expect(isShared(rendering), rendering.name).to.equal(true);
        else expect(metadata?.namespace, `${rendering.name}: ${kind}`).to.equal(wide ? undefined : NAMESPACE);
        if (ours.has(kind) || (common && !isDashboard))
          expect(metadata?.name?.split(/:|\.guard-/)[0], rendering.name).to.equal(globalName(rendering));
      }
    });
  });

  it('configures the settings-reconciler for where it runs', () => {
    each((rendering) => {
      const flags = parseFlags(['--config', 'config.yaml']);
      if (flags.kind !== 'run') throw new Error(flags.text);
      // What gardenlet puts into the containers beside.
      const environment = isSeed(rendering) ? { GARDEN_KUBECONFIG: '/garden/kubeconfig', SEED_NAME: 'eu-1' } : {};
      const { modes } = configurationOf(flags.flags, configOf(rendering, RECONCILER), environment);
      const wanted = [...(isRuntime(rendering) ? ['garden'] : []), ...(isSeed(rendering) ? ['seed'] : [])];
      expect(Object.keys(modes), rendering.name).to.deep.equal(wanted.length > 0 ? wanted : ['cluster']);
      if (!isSeed(rendering)) return;
      expect(modes.seed, rendering.name).to.deep.equal({
        seedName: 'eu-1',
        gardenKubeconfig: '/garden/kubeconfig',
        extensionServices: true,
        seed: { spec: { provider: { zones: ['a', 'b', 'c'] }, settings: { topologyAwareRouting: { enabled: true } } } },
        gardener: { version: 'v1.140.0', featureGates: { IstioTLSTermination: false } },
      });
    }, RECONCILER);
  });

  it('gives all components the Lease of the flow-controller', () => {
    each((rendering) => {
      for (const component of [RECONCILER, WEBHOOK] as const) {
        if (!rendering.components.includes(component)) continue;
        const { flowController } = parse(configOf(rendering, component)) as { flowController?: { lease: object } };
        const own = { namespace: NAMESPACE, name: FLOW };
        expect(flowController?.lease ?? own, rendering.name).to.deep.equal(flowLease(rendering));
      }
      const { leaderElection } = parse(configOf(rendering, FLOW)) as { leaderElection?: object };
      expect({ namespace: NAMESPACE, name: FLOW, ...leaderElection }, rendering.name).to.include(flowLease(rendering));
    }, FLOW);
  });

  it('does not let the webhook ask itself: its Service carries no label that selects slices', () => {
    each((rendering) => {
      const { metadata } = find(rendering, 'Service', WEBHOOK);
      expect(metadata?.labels, rendering.name).not.to.have.any.keys(LABEL_CONSIDER, LABEL_STRATEGY);
    }, WEBHOOK);
  });

  it('registers, where the chart does, exactly what the webhook would register by itself', () => {
    each((rendering) => {
      const found = ofKind(rendering, 'MutatingWebhookConfiguration');
      const { includedNamespaces: included, excludedNamespaces: excluded, failurePolicy, timeoutSeconds } = CERTIFICATE;
      const wanted = (): MutatingWebhookConfiguration =>
        buildRegistration({
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
      expect(found, rendering.name).to.deep.equal(rendering.registration === 'self' ? [] : [wanted()]);
    }, WEBHOOK);
  });

  it('runs one container a Pod, with a read-only root, requests, and a limit for memory alone', () => {
    each((rendering) => {
      for (const { metadata, spec } of ofKind(rendering, 'Deployment')) {
        const at = `${rendering.name}: ${metadata?.name}`;
        const { containers, automountServiceAccountToken, volumes } = spec!.template!.spec;
        expect(containers, at).to.have.lengthOf(1);
        expect(automountServiceAccountToken, at).to.equal(false);
        const [{ securityContext, resources, volumeMounts }] = containers as [(typeof containers)[0]];
        expect(securityContext, at).to.include({ readOnlyRootFilesystem: true });
        expect(resources.requests, at).to.have.all.keys('cpu', 'memory');
        expect(resources.limits, at).to.have.all.keys('memory');
        expect(volumeMounts.map(({ name }) => name).sort(), at).to.deep.equal(volumes.map(({ name }) => name).sort());
      }
    });
  });

  it('binds each role to the account of its component, without wildcards, with rights only where they are used', () => {
    each((rendering) => {
      const roles = [...ofKind(rendering, 'Role'), ...ofKind(rendering, 'ClusterRole')].filter(
        ({ metadata }) => !FOR_PEOPLE.test(metadata?.name ?? ''),
      );
      const bindings = [...ofKind(rendering, 'RoleBinding'), ...ofKind(rendering, 'ClusterRoleBinding')];
      expect(bindings.map(({ roleRef }) => `${roleRef?.kind}/${roleRef?.name}`).sort(), rendering.name).to.deep.equal(
        roles.map(({ kind, metadata }) => `${kind}/${metadata?.name}`).sort(),
      );
      for (const { subjects, metadata } of bindings) {
        const name = metadata?.labels?.[COMPONENT] ?? '';
        expect(subjects, rendering.name).to.deep.equal([{ kind: 'ServiceAccount', name, namespace: NAMESPACE }]);
        expect(find(rendering, 'ServiceAccount', name).automountServiceAccountToken).to.equal(false);
      }
      const rights = roles.flatMap(({ metadata, rules = [] }) =>
        rules.map((rule) => {
          expect(Object.values(rule).flat(), rendering.name).not.to.include('*');
          const { apiGroups, resources, resourceNames, verbs } = rule;
          const names = resourceNames === undefined ? '' : `[${[...resourceNames].sort().join()}]`;
          return `${metadata?.labels?.[COMPONENT]} ${apiGroups.join()}/${resources.join()}${names}: ${verbs.join()}`;
        }),
      );
      for (const [component, right, wanted] of CONDITIONAL) {
        const has = rights.some((one) => one.startsWith(`${component} `) && one.includes(right));
        const may = rendering.components.includes(component) && wanted(rendering);
        expect(has, `${rendering.name}: ${component} ${right}`).to.equal(may);
      }
    });
  });

  it('renders guards from Kubernetes 1.30 on, each with a binding, but where they are switched off', () => {
    for (const rendering of all()) {
      const { name, kubernetes, components, values } = rendering;
      const policies = ofKind(rendering, 'ValidatingAdmissionPolicy').map(({ metadata }) => metadata?.name);
      const bindings = ofKind(rendering, 'ValidatingAdmissionPolicyBinding').map(({ metadata }) => metadata?.name);
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

  it('runs Pods that the strictest Pod Security Standard allows, but for the meter, whose namespace allows it', async () => {
    const objects = documents(await helm().template({ ...everything, endpointsliceWebhook: CERTIFICATE }));
    const deployments = objects.filter(({ kind }) => kind === 'Deployment');
    const output = await tryOut(
      'restricted',
      deployments.map((one) => podOf('restricted', one)),
    );
    expect(output.match(/serverside-applied/g)).to.have.lengthOf(COMPONENTS.length);
    const root = podOf('restricted', deployments[0]!, { securityContext: { runAsUser: 0 } });
    expect(await tryOut('restricted', [root]), 'it is enforced here').to.contain('violates PodSecurity "restricted');
    const meter = objects.find(({ kind }) => kind === 'DaemonSet')!;
    const own = meter.metadata?.namespace ?? '';
    expect(own).to.equal(`topology-${TRAFFIC_METER}`);
    expect(await tryOut(own, [podOf(own, meter)])).to.contain('serverside-applied');
    expect(await tryOut('baseline', [podOf('baseline', meter)])).to.contain('violates PodSecurity "baseline');
  });
});
