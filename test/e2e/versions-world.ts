// A small cluster of any version under the project's own commands: three zones, four Pods, and how its traffic is counted.
import { expect } from 'chai';
import { LABEL_MANAGED } from '../../pkg/apis/names.ts';
import type { Component } from './bed/component.ts';
import type { Bed, BedNode, BedPod, BedService, Traffic } from './bed/index.ts';
import { run, waitFor } from './bed/machine.ts';
import type { NodeOptions } from './bed/node.ts';
import type { ServiceOptions, SliceEndpoint } from './bed/pod.ts';
import { startWebhook } from './commands.ts';
import { startReconciler, zonesOf } from './hints-support.ts';

/** Of each node, in every count that is judged. */
const connections = 100;
const namespace = 'shop';

export interface VersionsWorld {
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
export const managed = { [LABEL_MANAGED]: 'true' };

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
    const traffic = await connect(connections);
    expect(traffic.errors, `${service.name} from ${node.name}`).to.deep.equal({});
    expect(
      accept(traffic, node),
      `${service.name} from ${node.name}: ${what}; ${JSON.stringify(traffic.byPod)}`,
    ).to.equal(true);
    counted.push(traffic);
  }
  return counted;
};

export const startVersionsWorld = async (
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
export const componentVersions = async (bed: Bed): Promise<Record<string, string>> => {
  const { gitVersion } = await bed.api.get<{ gitVersion: string }>('/version');
  const versionOf = async (program: 'kube-controller-manager' | 'kube-proxy'): Promise<string> =>
    (await run(bed.binaries(program), ['--version'])).trim().replace('Kubernetes ', '');
  return {
    'kube-apiserver': gitVersion,
    'kube-controller-manager': await versionOf('kube-controller-manager'),
    'kube-proxy': await versionOf('kube-proxy'),
  };
};
