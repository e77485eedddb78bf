// The mechanism chosen for each Kubernetes version keeps real traffic in its zone there, and nothing less would.
//
//   E2E_VERSIONS=all         every version; a list such as 1.31,1.33 for some; by default the newest
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Service } from '../../../pkg/apis/core.ts';
import {
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_CONSIDER,
  LABEL_MANAGED,
  LABEL_STRATEGY,
} from '../../../pkg/apis/names.ts';
import { ApiFailure } from '../bed/api.ts';
import { defaultVersion } from '../bed/binaries.ts';
import type { Component } from '../bed/component.ts';
import { type Bed, type BedNode, type BedPod, type BedService, type Traffic, useBed } from '../bed/index.ts';
import { run, waitFor } from '../bed/machine.ts';
import type { NodeOptions } from '../bed/node.ts';
import type { ServiceOptions, SliceEndpoint } from '../bed/pod.ts';
import { startWebhook } from '../commands.ts';
import { startReconciler, zonesOf } from '../hints-support.ts';
import { keepResults } from '../results.ts';
import { oldestProxy, shapeOf, versionCases, withMeasured } from '../versions-plan.ts';

/** Of each node, in every count that is judged. */
const CONNECTIONS = 100;
const namespace = 'shop';

interface VersionsWorld {
  readonly nodes: readonly BedNode[];
  readonly commands: readonly Component[];
  /** A Service in front of the four Pods. */
  service(options: Omit<ServiceOptions, 'namespace' | 'app'>): Promise<BedService>;
  /** Waits until each of the four endpoints is hinted for exactly its own zone. */
  hinted(service: BedService): Promise<void>;
  /** Waits until a node's connections stay in its zone, counts more of them, and returns how many. */
  staysInZone(service: BedService, nodes?: readonly BedNode[]): Promise<number>;
  /** The opposite: every Pod answers to each of the nodes. */
  goesEverywhere(service: BedService, nodes?: readonly BedNode[]): Promise<void>;
}

/** Label of a Service whose settings are the project's. */
const managed = { [LABEL_MANAGED]: 'true' };

const isOwnZone = (endpoint: SliceEndpoint): boolean => zonesOf(endpoint).join() === endpoint.zone;

const startCluster = async (bed: Bed, options: (zone: string) => Partial<NodeOptions>) => {
  await bed.api.create('/api/v1/namespaces', { metadata: { name: namespace } });
  const nodes: BedNode[] = [];
  for (const zone of ['a', 'b', 'c']) nodes.push(await bed.node({ name: `${zone}1`, zone, ...options(zone) }));
  const pods: BedPod[] = [];
  // Four over three zones: what the control plane's own Auto gives no hints for.
  for (const index of [0, 1, 1, 2]) pods.push(await bed.pod({ node: nodes[index]!, app: 'web', namespace }));
  const commands = [await startWebhook(bed), await startReconciler(bed)];
  return { nodes, pods, commands };
};

/** Counts connections of every node; none may fail. */
const countAll = async (
  bed: Bed,
  nodes: readonly BedNode[],
  service: BedService,
  accept: (traffic: Traffic, node: BedNode) => boolean,
  what: string,
): Promise<Traffic[]> => {
  const counted: Traffic[] = [];
  for (const node of nodes) {
    const connect = (count: number, timeoutMs = 30_000): Promise<Traffic> =>
      bed.connect({ node, service, count, timeoutMs });
    await waitFor(
      `${service.name} from ${node.name}: ${what}`,
      () => connect(40, 1_000),
      (traffic) => traffic.total === 40 && accept(traffic, node),
    );
    const traffic = await connect(CONNECTIONS);
    expect(traffic.errors, `${service.name} from ${node.name}`).to.deep.equal({});
    expect(
      accept(traffic, node),
      `${service.name} from ${node.name}: ${what}; ${JSON.stringify(traffic.byPod)}`,
    ).to.equal(true);
    counted.push(traffic);
  }
  return counted;
};

const startVersionsWorld = async (
  bed: Bed,
  options: (zone: string) => Partial<NodeOptions> = () => ({}),
): Promise<VersionsWorld> => {
  const { nodes, pods, commands } = await startCluster(bed, options);
  const inZone = ({ byZone, total }: Traffic, { zone }: BedNode): boolean => byZone[zone ?? ''] === total;
  // One of four Pods gets none of 40 connections once in 10^5 rounds; then the wait asks again. Of 100: once in 10^12.
  const everywhere = ({ byPod }: Traffic): boolean => Object.keys(byPod).length === pods.length;
  return {
    nodes,
    commands,
    service: (wanted) => bed.service({ ...wanted, namespace, app: 'web' }),
    hinted: async (service) =>
      void (await waitFor(
        `${service.name}: the own zone on each of ${pods.length} endpoints`,
        () => service.endpoints(),
        (all) => all.length === pods.length && all.every(isOwnZone),
        { assert: () => commands.forEach((command) => command.assertRunning()) },
      )),
    staysInZone: async (service, from = nodes) =>
      (await countAll(bed, from, service, inZone, 'its own zone only')).reduce((sum, { total }) => sum + total, 0),
    goesEverywhere: async (service, from = nodes) =>
      void (await countAll(bed, from, service, everywhere, 'every Pod answers')),
  };
};

/** What the programs of a bed say of themselves. */
const componentVersions = async (bed: Bed): Promise<Record<string, string>> => {
  const { gitVersion } = await bed.api.get<{ gitVersion: string }>('/version');
  const versionOf = async (program: 'kube-controller-manager' | 'kube-proxy'): Promise<string> =>
    (await run(bed.binaries(program), ['--version'])).trim().replace('Kubernetes ', '');
  return {
    'kube-apiserver': gitVersion,
    'kube-controller-manager': await versionOf('kube-controller-manager'),
    'kube-proxy': await versionOf('kube-proxy'),
  };
};

const shop = '/api/v1/namespaces/shop/services';
const consider = { [LABEL_CONSIDER]: 'true' };

for (const expected of versionCases(process.env)) {
  const { version, mechanism, hintsAlone } = expected;

  describe(`Kubernetes ${version}: ${mechanism}`, () => {
    // Registered before the bed's own hooks, so that it runs while the bed is there.
    after('keep the version as measured, if all of this passed', async function () {
      if (!this.test?.parent?.tests.every(({ state }) => state === 'passed')) return;
      const date = new Date().toISOString().slice(0, 10);
      const components = await componentVersions(bed());
      const measured = { kubernetesVersion: version, date, components, connections };
      console.log(`      ${JSON.stringify(measured)}`);
      keepResults('measured-versions', withMeasured(process.env['E2E_RESULTS'], measured));
    });
    const bed = useBed({ version });
    let world: VersionsWorld;
    let routed: BedService;
    let bare: BedService;
    let connections = 0;

    before('three zones, four Pods, both commands', async () => {
      world = await startVersionsWorld(bed());
      routed = await world.service({ name: 'routed', labels: managed });
      bare = await world.service({ name: 'bare', labels: consider });
    });

    it('says that it is this version', async () => {
      for (const [program, found] of Object.entries(await componentVersions(bed())))
        expect(found, program).to.match(new RegExp(`^v${version.replace('.', '\\.')}\\.\\d+$`));
    });

    it('gets its settings from settings-reconciler', async () => {
      const { mode, trafficDistribution } = expected;
      await waitFor(
        JSON.stringify({ mode, consider: expected.consider, trafficDistribution }),
        async () => shapeOf(await bed().api.get<Service>(`${shop}/routed`)),
        (found) =>
          found.mode === mode &&
          found.consider === expected.consider &&
          found.trafficDistribution === trafficDistribution,
        { assert: () => world.commands.forEach((command) => command.assertRunning()) },
      );
    });

    it('has the own zone on every endpoint, and every connection stays in its zone', async () => {
      await world.hinted(routed);
      connections += await world.staysInZone(routed);
    });

    it('sends connections everywhere for a Service that asks for nothing', async () => {
      await world.goesEverywhere(await world.service({ name: 'plain' }));
    });

    it('sends connections everywhere with Auto by the control plane alone: it gives 4 endpoints no hints', async () => {
      const auto = await world.service({ name: 'auto', annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' } });
      await world.goesEverywhere(auto);
      for (const endpoint of await auto.endpoints()) expect(endpoint.hints).to.equal(undefined);
    });

    if (hintsAlone) {
      it('follows hints alone, without annotation and field', async () => {
        await world.hinted(bare);
        connections += await world.staysInZone(bare);
      });
    } else {
      it('ignores hints without the annotation, and those of a Service that is annotated with Disabled', async () => {
        await world.hinted(bare);
        await world.goesEverywhere(bare);
        const annotations = { [ANNOTATION_TOPOLOGY_MODE]: 'Disabled' };
        const disabled = await world.service({ name: 'disabled', labels: consider, annotations });
        await world.hinted(disabled);
        await world.goesEverywhere(disabled);
      });

      it('follows the same hints once the Service is annotated', async () => {
        await bare.patch({ metadata: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'example.com/any' } } });
        await world.hinted(bare);
        connections += await world.staysInZone(bare);
      });
    }

    it(`has an API server by which PreferSameZone is ${expected.preferSameZone}`, async () => {
      const answer = await bed()
        .api.create<Service>(shop, {
          metadata: { name: 'newest' },
          spec: { ports: [{ port: 80 }], trafficDistribution: 'PreferSameZone' },
        })
        .catch((error: unknown) => error);
      if (expected.preferSameZone === 'refused') {
        expect(answer).to.be.instanceOf(ApiFailure).with.property('status', 422);
        expect((answer as Error).message).to.contain('spec.trafficDistribution');
        return;
      }
      const stored = expected.preferSameZone === 'stored' ? 'PreferSameZone' : undefined;
      expect((answer as Service).spec?.trafficDistribution).to.equal(stored);
    });
  });
}

describe(`kube-proxy ${oldestProxy} under Kubernetes ${defaultVersion}`, () => {
  const bed = useBed();
  let world: VersionsWorld;
  let routed: BedService;

  before('the old proxy in two of three zones', async () => {
    world = await startVersionsWorld(bed(), (zone) => (zone === 'b' ? {} : { proxyVersion: oldestProxy }));
    routed = await world.service({ name: 'routed', labels: managed });
  });

  it('gets the annotation beside the field, because of the kubelets that are as old', async () => {
    const wanted = `${GROUP}/same-zone`;
    await waitFor(
      `${wanted} and PreferSameZone`,
      async () => shapeOf(await bed().api.get<Service>(`${shop}/routed`)),
      ({ mode, trafficDistribution }) => mode === wanted && trafficDistribution === 'PreferSameZone',
    );
  });

  it('keeps every connection in its zone, from old proxies and from the new one', async () => {
    await world.hinted(routed);
    await world.staysInZone(routed);
  });

  it('would not without the annotation: the old proxies ignore the hints of the field, the new one follows', async () => {
    const field = await world.service({ name: 'field', trafficDistribution: 'PreferSameZone' });
    await world.hinted(field);
    const [oldOne, newOne, oldTwo] = world.nodes;
    await world.staysInZone(field, [newOne!]);
    await world.goesEverywhere(field, [oldOne!, oldTwo!]);
  });

  it('would not with Auto instead: that beats the field, and the control plane gives 4 endpoints no hints', async () => {
    const annotations = { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' };
    const auto = await world.service({ name: 'auto', annotations, trafficDistribution: 'PreferSameZone' });
    await world.goesEverywhere(auto);
  });

  it('follows hints of admission for a Service that asks for a strategy by name', async () => {
    const labels = { ...managed, [LABEL_STRATEGY]: 'same-zone' };
    const named = await world.service({ name: 'named', labels });
    await world.hinted(named);
    await world.staysInZone(named);
  });
});
