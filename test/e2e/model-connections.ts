// Cross-checks with connections: rules that a kube-proxy wrote are worth what they do to packets.
import type { Bed } from './bed/index.ts';
import type { ServiceOptions } from './bed/service.ts';
import { waitFor } from './bed/wait-for.ts';
import { describeProxy } from './model-fleet.ts';
import type { FleetMember } from './model-fleet.ts';
import { readRules } from './model-rules.ts';
import { describeDisagreements, disagreements } from './traffic-agreement.ts';
import { predictedEndpoints, readStoredObjects } from './traffic-prediction.ts';

const namespace = 'connections';
const app = 'server';
const connections = 60;

/** Two nodes a zone, a Pod that answers on each. */
export const startServers = async (bed: Bed, fleet: readonly FleetMember[]): Promise<void> => {
  await bed.api.create('/api/v1/namespaces', { metadata: { name: namespace } });
  for (const [index, { node }] of fleet.entries()) {
    const labels = { 'topology.kubernetes.io/zone': 'abc'.charAt(Math.floor(index / 2) % 3) };
    await bed.api.patch(`/api/v1/nodes/${node.name}`, { metadata: { labels } });
    await bed.pod({ node, app, namespace });
  }
};

/** Connects from every node to one Service; returns one line for each share that the model cannot explain. */
export const checkConnections = async (
  bed: Bed,
  fleet: readonly FleetMember[],
  options: Omit<ServiceOptions, 'namespace' | 'app'>,
): Promise<string[]> => {
  const service = await bed.service({ ...options, namespace, app });
  const hinted = options.trafficDistribution !== undefined;
  await waitFor(
    `${fleet.length} endpoints of ${options.name}`,
    () => service.endpoints(),
    (endpoints) =>
      endpoints.length === fleet.length && endpoints.every(({ hints }) => (hints?.forZones !== undefined) === hinted),
  );
  const objects = await readStoredObjects(bed.api, namespace, service.name);
  const lines: string[] = [];
  for (const member of fleet) {
    const node = objects.nodes.find(({ metadata }) => metadata?.name === member.node.name);
    const used = node === undefined ? [] : predictedEndpoints(objects, node, member.proxy.gates);
    const keys = used.map(({ key }) => key).sort();
    await waitFor(
      `rules of ${describeProxy(member)} for ${keys.join(', ')}`,
      async () => (await readRules(member.node.namespace, 'IPv4')).used(service.clusterIPs[0] ?? '', service.port),
      (rules) => rules?.join() === keys.join(),
    );
    const { byNode, errors } = await bed.connect({ node: member.node, service, count: connections });
    const predicted = Object.fromEntries(used.map(({ nodeName }) => [nodeName, 1 / used.length]));
    const wrong = disagreements(
      { [describeProxy(member)]: predicted },
      { [describeProxy(member)]: { ...byNode, ...errors } },
    );
    if (wrong.length > 0) lines.push(describeDisagreements(wrong));
  }
  return lines;
};
