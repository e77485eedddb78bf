// Share of the cluster's CPU by zone, from its Nodes; after topologycache.SetNodes of kubernetes/endpointslice.
import type { Node } from '../../apis/core.ts';
import { nameOf } from '../../apis/object.ts';
import { zoneOfNode } from '../../apis/readings.ts';
import { milliFromNano, nanoCpu } from '../../apis/quantity.ts';
import { byText } from '../../apis/order.ts';

/** Share of all allocatable CPU by zone, 0..1. */
export type ZoneRatios = ReadonlyMap<string, number>;

/** Why shares are unknown; the original does not distinguish these. */
export type UnknownSharesCause = 'NodeWithoutZone' | 'NodeWithoutCpu' | 'FewerThanTwoZones';

export type ZoneShares =
  | { readonly kind: 'known'; readonly ratios: ZoneRatios; readonly milliCpu: ReadonlyMap<string, number> }
  | {
      readonly kind: 'unknown';
      readonly cause: UnknownSharesCause;
      /** Nodes at fault, by name. */
      readonly nodes: readonly string[];
      readonly message: string;
    };

const CONTROL_PLANE = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];

/** Ready, and not of the control plane (the label counts, whatever its value). Taints and cordons do not matter. */
const counts = ({ metadata, status }: Node): boolean =>
  !CONTROL_PLANE.some((label) => Object.hasOwn(metadata?.labels ?? {}, label)) &&
  (status?.conditions ?? []).some(({ type, status: value }) => type === 'Ready' && value === 'True');

const unknown = (cause: UnknownSharesCause, nodes: readonly string[], message: string): ZoneShares => ({
  kind: 'unknown',
  cause,
  nodes: [...nodes].sort(byText),
  message,
});

const listed = (names: readonly string[]): string => [...names].sort(byText).slice(0, 3).join(', ');

/**
 * One counted Node without zone or CPU makes the whole cluster's shares unknown, and so do fewer than two zones. CPU is
 * summed exactly, rounded up to millicores per zone, then divided as doubles. Zones come in name order.
 */
export const zoneShares = (nodes: readonly Node[]): ZoneShares => {
  const candidates = nodes.filter((node) => counts(node));
  const cpuOf = ({ status }: Node): bigint => nanoCpu(status?.allocatable?.['cpu']);
  const zoneless = candidates.filter((node) => zoneOfNode(node) === '').map((node) => nameOf(node));
  if (zoneless.length > 0) {
    return unknown('NodeWithoutZone', zoneless, `${zoneless.length} ready Nodes have no zone (${listed(zoneless)})`);
  }
  const powerless = candidates.filter((node) => cpuOf(node) === 0n).map((node) => nameOf(node));
  if (powerless.length > 0) {
    const message = `${powerless.length} ready Nodes have no allocatable CPU (${listed(powerless)})`;
    return unknown('NodeWithoutCpu', powerless, message);
  }
  const nano = new Map<string, bigint>();
  for (const node of candidates) nano.set(zoneOfNode(node), (nano.get(zoneOfNode(node)) ?? 0n) + cpuOf(node));
  if (nano.size < 2) {
    return unknown('FewerThanTwoZones', [], `ready worker Nodes are in ${nano.size} zones, and two are needed`);
  }
  const total = milliFromNano([...nano.values()].reduce((sum, own) => sum + own, 0n));
  const milliCpu = new Map([...nano].sort(([a], [b]) => byText(a, b)).map(([zone, own]) => [zone, milliFromNano(own)]));
  return { kind: 'known', milliCpu, ratios: new Map([...milliCpu].map(([zone, own]) => [zone, own / total])) };
};
