// Clients that are seen: workloads that name the Service in their variables or arguments. Under hints endpoints share what their own zone sends.
import { zoneOfNode } from '../../apis/core.ts';
import { byText, nameOf } from '../../apis/values.ts';
import { matchesSelector } from '../../routing/types.ts';
import { countBy } from '../../evacuation/capacity.ts';
import type { Facts } from './facts.ts';
import { type Cause, cause, listed } from './reasons.ts';
import { workloadTitle } from './waiting.ts';

const callersOf = ({ index, name }: Facts) =>
  (index.bypasses.members.callers.get(name) ?? []).map(({ runner }) => runner);

const MUCH = 2;

/** Pods of clients that are seen, in zones of endpoints and of their own; undefined where no endpoint idles or gets twice an even share, or others send to it as well. */
export const callersByZone = (facts: Facts): ReadonlyMap<string, number> | undefined => {
  const { index, nodes, endpoints, routes, bypasses, service } = facts;
  if (bypasses.length > 0 || (service.spec?.type ?? 'ClusterIP') !== 'ClusterIP') return undefined;
  const callers = callersOf(facts);
  if (callers.length === 0) return undefined;
  const zoneOf = new Map(nodes.map((node) => [nameOf(node), zoneOfNode(node)]));
  const pods = callers.flatMap(({ namespace, podLabels: matchLabels }) =>
    (index.pods.get(namespace) ?? []).filter(({ labels }) => matchesSelector({ matchLabels }, labels)),
  );
  const counts = countBy(pods, ({ nodeName }) => zoneOf.get(nodeName) ?? '');
  if (pods.length === 0 || counts.has('') || routes.every(({ mode }) => mode === '')) return undefined;
  const zones = [...countBy(endpoints, ({ zone }) => zone)];
  const isEven = zones.every(([zone, own]) => {
    const share = (counts.get(zone) ?? 0) / pods.length;
    return share > 0 && share * endpoints.length < MUCH * own;
  });
  return isEven ? undefined : new Map([...zones.map(([zone]) => [zone, 0] as const), ...counts]);
};

const REMEDY =
  'Spread these clients over the zones as the endpoints are (a topologySpreadConstraint, and at the fewest that an autoscaler leaves still one for each zone), or run a workload with an autoscaler for each zone: one for all sees the mean, and its Pods come to lie anywhere. Or take off what asks for routing by zone.';

const byZone = (counts: Iterable<readonly [zone: string, count: number]>): string =>
  [...counts]
    .sort(([a], [b]) => byText(a, b))
    .map(([zone, count]) => `${zone} ${count}`)
    .join(', ');

export const callerCauses = (facts: Facts): Cause[] => {
  const callers = callersByZone(facts);
  if (callers === undefined) return [];
  const evidence = `Endpoints of a zone share what its own clients send, and those that are seen (Pods of ${listed(callersOf(facts).map(workloadTitle))}, by variables or arguments) are in ${byZone(callers)}; endpoints: ${byZone(countBy(facts.endpoints, ({ zone }) => zone))}.`;
  return [cause('prerequisite', 'UnevenLoad', evidence, REMEDY)];
};
