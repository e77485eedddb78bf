// A seed that is also the garden runtime, with both installations: disjoint writes, one claim, one planner, and the one that stays takes over.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { MutatingWebhookConfiguration } from '../../../pkg/apis/admission.ts';
import {
  ANNOTATION_INSTALLATION,
  EXTENSION_NAME,
  LABEL_MANAGED,
  LABEL_ROUTING,
  LABEL_STRATEGY,
} from '../../../pkg/apis/names.ts';
import { gardenerCrds } from '../../fixtures/crds.ts';
import { cluster, garden, namespace as gardenerNamespace, ZONES } from '../../fixtures/gardener.ts';
import { exposeAddress } from '../bed/access.ts';
import type { Component as Program } from '../bed/component.ts';
import { type Bed, useBed } from '../bed/index.ts';
import { atLeast, is, ofLength, waitFor } from '../bed/machine.ts';
import type { BedService, Slice } from '../bed/pod.ts';
import { COMPONENTS, FLOW, INJECTED, openHelm, RECONCILER, root, WEBHOOK } from '../chart.ts';
import type { Component, Helm } from '../chart.ts';
import { apply, commandReady, installedProgram, removeRendered, WEBHOOKS } from '../commands.ts';
import { type AuditEvent, isAccepted, openAudit, subjectOf } from '../settings-audit.ts';

interface Installation {
  /** Also the name of its release. */
  readonly namespace: string;
  /** Of its cluster-wide objects. */
  readonly name: string;
  readonly values: object;
  /** First digit of every port. */
  readonly ports: number;
}
const SEED: Installation = { namespace: 'extension-tar', name: EXTENSION_NAME, values: INJECTED.seed, ports: 1 };
const RUNTIME: Installation = {
  namespace: 'runtime-extension-r',
  name: `${EXTENSION_NAME}-runtime`,
  values: INJECTED.runtime,
  ports: 2,
};
const BOTH = [SEED, RUNTIME];

interface Place {
  readonly role: 'shoot' | 'garden' | 'extension' | undefined;
  /** One that is routed by zone where the namespace is anybody's. */
  readonly service: string;
  readonly by?: Installation;
}
/** A namespace of every kind, and whose it is. */
const OWNED: Readonly<Record<string, Place>> = {
  'shoot--foo--bar': { role: 'shoot', service: 'gardener-resource-manager', by: SEED },
  'extension-provider-x': { role: 'extension', service: 'webhook', by: SEED },
  garden: { role: 'garden', service: 'gardener-apiserver', by: RUNTIME },
  'runtime-extension-dns': { role: 'extension', service: 'webhook', by: RUNTIME },
  'istio-ingress': { role: undefined, service: 'webhook' },
};

const webhookPort = (ports: number): number => ports * 10_000 + 250;

/** The control plane's address is one for all: every command has ports of its own. */
const portsOf = ({ ports }: Installation, component: Component): { health: number; flags: string[] } => {
  const health = ports * 10_000 + COMPONENTS.indexOf(component) * 100 + 81;
  const serve = component === WEBHOOK ? ['--port', String(webhookPort(ports))] : [];
  return { health, flags: ['--health-port', String(health), '--metrics-port', String(health - 1), ...serve] };
};

/** As it would be delivered: its own release in its own namespace. */
const install = async (bed: Bed, helm: Helm, { namespace, values, ports }: Installation): Promise<void> => {
  const more = {
    settingsReconciler: { keep: 'on' },
    flowController: { enabled: true, definition: false },
    // Of kinds that no bed serves.
    vpa: { enabled: false },
    monitoring: { serviceMonitors: false, alerts: 'none', dashboards: false },
  };
  await bed.api.create('/api/v1/namespaces', gardenerNamespace({ role: 'extension', metadata: { name: namespace } }));
  const text = await helm.template({ ...values, ...more }, { namespace, release: namespace });
  await apply(bed, `${namespace}.yaml`, text);
  await exposeAddress(bed.api, { namespace, name: WEBHOOK, targetPort: webhookPort(ports) });
};

const openDefinitions = async (bed: Bed): Promise<void> => {
  const items = gardenerCrds();
  await apply(bed, 'crds.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  await apply(bed, 'flowpolicies.yaml', readFileSync(join(root, 'example/flow/crd.yaml'), 'utf8'));
  const paths = ['operator.gardener.cloud/v1alpha1/gardens', 'extensions.gardener.cloud/v1alpha1/clusters'];
  const served = () => Promise.all(paths.map((path) => bed.api.list(`/apis/${path}`)));
  await waitFor('definitions served', served);
};

/** Namespaces and Services of every kind; returns one that asks for a plan, with endpoints in all zones but the last. */
const openLandscape = async (bed: Bed): Promise<BedService> => {
  const { api } = bed;
  await openDefinitions(bed);
  for (const [name, { role, service }] of Object.entries(OWNED)) {
    const metadata = { name };
    await api.create('/api/v1/namespaces', role === undefined ? { metadata } : gardenerNamespace({ role, metadata }));
    const labels = service === 'webhook' ? { [LABEL_MANAGED]: 'true' } : {};
    const object = { metadata: { name: service, labels }, spec: { ports: [{ port: 443 }] } };
    await api.create(`/api/v1/namespaces/${name}/services`, object);
  }
  await api.create('/apis/operator.gardener.cloud/v1alpha1/gardens', garden());
  await api.create('/apis/extensions.gardener.cloud/v1alpha1/clusters', cluster());
  const nodes = await Promise.all(ZONES.map((zone) => bed.node({ name: `node-${zone}`, zone })));
  const namespace = 'istio-ingress';
  for (const node of nodes.slice(0, -1)) await bed.pod({ node, app: 'web', namespace, serve: false });
  return bed.service({ name: 'web', namespace, labels: { [LABEL_STRATEGY]: 'proportional' } });
};

describe('a seed and a garden runtime side by side', () => {
  const bed = useBed();
  const programs = new Map<string, Program>();
  let helm: Helm;
  let planned: BedService;
  let slices = 0;

  interface Routed {
    metadata: { labels?: Record<string, string>; annotations?: Record<string, string> };
    spec: { trafficDistribution?: string };
  }
  const serviceIn = (namespace: string): string =>
    `/api/v1/namespaces/${namespace}/services/${OWNED[namespace]!.service}`;
  const leasePath = (name: string): string =>
    `/apis/coordination.k8s.io/v1/namespaces/garden/leases/topology-aware-routing-${name}`;
  const holderOf = async (name: string): Promise<string | undefined> =>
    (await bed().api.get<Routed>(leasePath(name))).metadata.annotations?.[ANNOTATION_INSTALLATION];
  const userOf = ({ namespace }: Installation, component: Component): string =>
    `system:serviceaccount:${namespace}:${component}`;

  const start = async (installation: Installation, component: Component, ...more: string[]): Promise<Program> => {
    const { health, flags } = portsOf(installation, component);
    const name = `${component}-${installation.namespace}${more.join('')}`;
    const program = await installedProgram(bed(), component, name, [...flags, ...more], installation.namespace);
    program.start();
    if (more.length > 0) return program;
    programs.set(name, program);
    await commandReady(program, health);
    return program;
  };

  const entries = async ({ name }: Installation): Promise<string[]> =>
    ((await bed().api.get<MutatingWebhookConfiguration>(`${WEBHOOKS}/${name}`)).webhooks ?? []).map(
      (webhook) => webhook.name.split('.topology')[0] ?? '',
    );
  const writeSlice = async (): Promise<(string | undefined)[]> => {
    const { endpoints } = await bed().api.create<Slice>('/apis/discovery.k8s.io/v1/namespaces/garden/endpointslices', {
      metadata: { name: `web-${(slices += 1)}`, labels: { [LABEL_STRATEGY]: 'same-zone' } },
      addressType: 'IPv4',
      ports: [{ port: 80 }],
      endpoints: [{ addresses: ['192.0.2.1'], zone: 'a', conditions: { ready: true } }],
    });
    return (endpoints ?? []).map(({ hints }) => hints?.forZones?.[0]?.name);
  };

  /** No endpoint is in the last zone: only a plan hints one for it. */
  const plan = async (): Promise<Slice[]> =>
    waitFor(
      'a plan',
      () => planned.slices(),
      (found) =>
        found
          .flatMap(({ endpoints }) => endpoints ?? [])
          .some(({ hints }) => hints?.forZones?.some(({ name }) => name === ZONES.at(-1))),
    );

  before('namespaces and Services of every kind, and both installations', async () => {
    helm = await openHelm();
    planned = await openLandscape(bed());
    for (const installation of BOTH) await install(bed(), helm, installation);
    // The first one has the claim and the plan.
    for (const installation of BOTH) await Promise.all(COMPONENTS.map((component) => start(installation, component)));
  });

  it('changes slices in one installation, and keeps settings in both', async () => {
    expect(await holderOf('admission')).to.equal(SEED.namespace);
    await waitFor(
      'registration of the runtime, which keeps its settings',
      () => entries(RUNTIME),
      (names) => names.join() === 'routing-settings',
    );
    expect(await entries(SEED)).to.deep.equal([
      'endpoint-slice-hints',
      'label-1.endpoint-slice-hints',
      'etcd-clients.endpoint-slice-hints',
      'routing-settings',
      'etcd-clients.routing-settings',
      'etcd-clients-released.routing-settings',
      'strategy-annotation',
    ]);
    expect(await writeSlice()).to.deep.equal(['a']);
  });

  it('plans in one installation, whichever installation admits', async () => {
    expect(await holderOf('flow-controller')).to.equal(SEED.namespace);
    await plan();
    const audit = openAudit(bed().auditLog);
    const name = `${FLOW}-${SEED.namespace}`;
    await programs.get(name)?.stop();
    const since = audit.mark();
    programs.delete(name);
    await waitFor('another planner', () => holderOf('flow-controller'), is(RUNTIME.namespace));
    // The webhook of the seed, which knows no flow-controller but its own by name, lets the runtime's plan pass.
    const [slice] = await plan();
    const path = `/apis/discovery.k8s.io/v1/namespaces/istio-ingress/endpointslices/${slice!.metadata.name}`;
    const endpoints = slice!.endpoints?.map((endpoint) => ({ ...endpoint, hints: undefined, zone: ZONES[0] }));
    await bed().api.patch(path, { endpoints });
    const writesBy = (installation: Installation): AuditEvent[] =>
      audit.of(userOf(installation, FLOW), since).filter(({ objectRef }) => objectRef?.resource === 'endpointslices');
    await waitFor('the plan of the runtime', () => writesBy(RUNTIME).length, atLeast(1));
    await plan();
    expect(writesBy(SEED)).to.deep.equal([]);
  });

  it('writes each object from one installation alone, and in every kind of namespace the one it belongs to', async () => {
    for (const [namespace, { by }] of Object.entries(OWNED)) {
      const get = () => bed().api.get<Routed>(serviceIn(namespace));
      const wanted = by === undefined ? undefined : 'PreferSameZone';
      await waitFor(`routing in ${namespace}`, get, ({ spec }) => spec.trafficDistribution === wanted);
      const label = by === undefined ? undefined : by === SEED ? 'true' : 'runtime';
      const { metadata } = await bed().api.get<Routed>(`/api/v1/namespaces/${namespace}`);
      expect(metadata.labels?.[LABEL_ROUTING], namespace).to.equal(label);
    }
    const audit = openAudit(bed().auditLog);
    const written = (installation: Installation): Set<string> =>
      new Set(
        COMPONENTS.filter((component) => component !== FLOW)
          .flatMap((component) => audit.of(userOf(installation, component)))
          .filter((event) => isAccepted(event) && !event.requestURI.includes('dryRun=All'))
          .map(subjectOf),
      );
    const [ofSeed, ofRuntime] = [written(SEED), written(RUNTIME)];
    for (const [namespace, { service, by }] of Object.entries(OWNED)) {
      const subject = `services ${namespace}/${service}`;
      expect([ofSeed.has(subject), ofRuntime.has(subject)], subject).to.deep.equal([by === SEED, by === RUNTIME]);
    }
    // What is as it should be is left alone, also a registration without any webhook.
    for (const installation of BOTH) {
      const { length } = audit
        .of(userOf(installation, WEBHOOK))
        .filter(({ objectRef, verb }) => objectRef?.resource === 'mutatingwebhookconfigurations' && verb === 'update');
      expect(length, `updates of ${installation.name}`).to.be.below(4);
    }
    const shared = [...ofSeed].filter((subject) => ofRuntime.has(subject));
    expect(shared, 'written by both').to.deep.equal([]);
  });

  it('reverts with --cleanup what is its own, and leaves the rest', async () => {
    const running = `${RECONCILER}-${SEED.namespace}`;
    await programs.get(running)?.stop();
    programs.delete(running);
    const cleanup = await start(SEED, RECONCILER, '--cleanup');
    await waitFor('the end of the clean-up', () => cleanup.pid, is(undefined));
    const log = readFileSync(cleanup.logFile, 'utf8');
    expect(log).to.contain('left to another installation: namespace garden\n');
    const distribution = async (namespace: string): Promise<string | undefined> =>
      (await bed().api.get<Routed>(serviceIn(namespace))).spec.trafficDistribution;
    for (const [namespace, { by }] of Object.entries(OWNED))
      expect(await distribution(namespace), namespace).to.equal(by === RUNTIME ? 'PreferSameZone' : undefined);
    const flow = await start(SEED, FLOW, '--cleanup');
    await waitFor('the end of the clean-up', () => flow.pid, is(undefined));
    expect(readFileSync(flow.logFile, 'utf8')).to.contain(
      `the flow-controller of namespace ${RUNTIME.namespace} plans`,
    );
    await plan();
  });

  /** What the charts do not render, nobody asks for. */
  const nothingForbidden = (of: readonly Installation[]): void => {
    const asked = [...programs].filter(([name]) => of.some(({ namespace }) => name.endsWith(namespace)));
    expect(asked).not.to.be.empty;
    for (const [name, { logFile }] of asked) {
      const lines = readFileSync(logFile, 'utf8').split('\n');
      expect(
        lines.filter((line) => /forbidden/i.test(line)),
        name,
      ).to.deep.equal([]);
    }
  };

  it('takes slices over when the other installation is removed', async () => {
    nothingForbidden(BOTH);
    for (const component of COMPONENTS) {
      for (const what of ['rights', 'workload'] as const)
        await removeRendered(bed(), { namespace: SEED.namespace, release: SEED.namespace }, component, what);
    }
    await waitFor('the claim', () => holderOf('admission'), is(RUNTIME.namespace));
    await waitFor('its entries for slices', () => entries(RUNTIME), ofLength(7));
    await waitFor('hints', writeSlice, ([zone]) => zone === 'a');
    const registration = (): Promise<number> =>
      bed()
        .api.get(`${WEBHOOKS}/${SEED.name}`)
        .then(() => 200)
        .catch(({ status }: { status: number }) => status);
    await waitFor('the end of the registration of the seed', registration, is(404));
    nothingForbidden([RUNTIME]);
  });
});
