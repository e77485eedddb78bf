// Clients that are seen: workloads that name the Service in their environment. Under hints endpoints of zones without any of them idle.
import { zoneOfNode } from '../../apis/core.ts';
import { byText, nameOf } from '../../apis/values.ts';
import { matchesSelector } from '../../routing/types.ts';
import { countBy } from '../../evacuation/capacity.ts';
import type { Facts } from './facts.ts';
import { type Cause, cause, counted, listed } from './reasons.ts';
import { workloadTitle } from './waiting.ts';

const callersOf = ({ index, name }: Facts) =>
  (index.bypasses.members.callers.get(name) ?? []).map(({ runner }) => runner);

/** Pods of clients that are seen, in zones of endpoints and of their own; undefined where hints leave no endpoint idle, or others send to it as well. */
export const callersByZone = (facts: Facts): ReadonlyMap<string, number> | undefined => {
  const { index, nodes, endpoints, routes, bypasses, service } = facts;
  if (bypasses.length > 0 || (service.spec?.type ?? 'ClusterIP') !== 'ClusterIP') return undefined;
  const zoneOf = new Map(nodes.map((node) => [nameOf(node), zoneOfNode(node)]));
  const pods = callersOf(facts).flatMap(({ namespace, podLabels: matchLabels }) =>
    (index.pods.get(namespace) ?? []).filter(({ labels }) => matchesSelector({ matchLabels }, labels)),
  );
  const counts = countBy(pods, ({ nodeName }) => zoneOf.get(nodeName) ?? '');
  const idle = endpoints.filter(({ zone }) => zone !== '' && !counts.has(zone));
  if (counts.size === 0 || counts.has('') || idle.length === 0 || routes.every(({ mode }) => mode === ''))
    return undefined;
  return new Map([...idle.map(({ zone }) => [zone, 0] as const), ...counts].sort(([a], [b]) => byText(a, b)));
};

const REMEDY =
  'Run these clients in every zone that has endpoints: a topologySpreadConstraint, and at the fewest that an autoscaler leaves still one for each zone. Or choose what serves them as they are, or take off what asks for routing by zone.';

export const callerCauses = (facts: Facts): Cause[] => {
  const zones = callersByZone(facts);
  if (zones === undefined) return [];
  const idle = facts.endpoints.filter(({ zone }) => zones.get(zone) === 0);
  const own = listed([...zones].flatMap(([zone, count]) => (count === 0 ? [] : [zone])));
  const evidence = `${counted(idle.length, 'endpoint')} of ${facts.endpoints.length} (${listed(idle.map(({ zone }) => zone))}) get nothing from the clients that are seen: Pods of ${listed(callersOf(facts).map(workloadTitle))}, by variables or arguments, in ${own} only.`;
  return [cause('prerequisite', 'UnevenLoad', evidence, REMEDY)];
};
