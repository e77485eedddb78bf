// SPDX-License-Identifier: Apache-2.0
// The Auto heuristic: CPU shares per zone, minimum endpoints per zone, lending; doubles in the order of the original.
import type { Endpoint } from '../../pkg/apis/core.ts';
import { LABEL_ZONE } from '../../pkg/apis/names.ts';
import { asArray, asRecord, asString, clone, labelsOf, type StoredObject } from './object.ts';
import { endpointsOf, type SlicePlan } from './slice-plan.ts';

/** Share of the cluster's CPU by zone. */
export type ZoneRatios = ReadonlyMap<string, number>;

interface ZoneAllocation {
  readonly desired: number;
  readonly maximum: number;
}

export type Allocation =
  { kind: 'allocated'; zones: ReadonlyMap<string, ZoneAllocation> } | { kind: 'refused'; message: string };

const OVERLOAD_FACTOR = 1 / (1 + 0.2);
const CONTROL_PLANE = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];
const MILLI = 1000;

/** CPU quantity in millicores, rounded up; 0 when it cannot be read. */
const milliCpu = (quantity: unknown): number => {
  const [, number = '', suffix = ''] =
    /^(\d+(?:\.\d+)?)([munk]?)$/.exec(typeof quantity === 'number' ? String(quantity) : asString(quantity)) ?? [];
  const factor = { '': MILLI, m: 1, u: 1 / MILLI, n: 1 / (MILLI * MILLI), k: MILLI * MILLI }[suffix] ?? MILLI;
  return Math.ceil(Number(number) * factor);
};

const isReadyNode = (node: StoredObject): boolean =>
  asArray(asRecord(node['status'])['conditions']).some(
    (item) => asRecord(item)['type'] === 'Ready' && asRecord(item)['status'] === 'True',
  );

/** CPU share of each zone; undefined when one node lacks zone or CPU, or there are fewer than two zones. */
export const zoneRatios = (nodes: readonly StoredObject[]): ZoneRatios | undefined => {
  const cpu = new Map<string, number>();
  for (const node of nodes) {
    const labels = labelsOf(node);
    if (CONTROL_PLANE.some((label) => Object.hasOwn(labels, label)) || !isReadyNode(node)) continue;
    const zone = labels[LABEL_ZONE] ?? '';
    const own = milliCpu(asRecord(asRecord(node['status'])['allocatable'])['cpu']);
    if (zone === '' || own === 0) return undefined;
    cpu.set(zone, (cpu.get(zone) ?? 0) + own);
  }
  const total = [...cpu.values()].reduce((sum, own) => sum + own, 0);
  if (total === 0 || cpu.size < 2) return undefined;
  return new Map([...cpu].map(([zone, own]) => [zone, own / total]));
};

/** Desired and maximum number of endpoints per zone for `count` ready ones, or why there are none. */
export const allocate = (ratios: ZoneRatios | undefined, count: number): Allocation => {
  if (ratios === undefined) {
    return {
      kind: 'refused',
      message: 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes',
    };
  }
  const figures = `(${count} endpoints, ${ratios.size} zones)`;
  if (ratios.size > count) return { kind: 'refused', message: `Insufficient number of endpoints ${figures}` };
  const zones = [...ratios].map(([zone, ratio]) => {
    const minimum = Math.ceil(ratio * count * OVERLOAD_FACTOR);
    return { zone, minimum, desired: Math.max(ratio * count, minimum) };
  });
  const minimums = zones.reduce((sum, { minimum }) => sum + minimum, 0);
  if (minimums > count) {
    return {
      kind: 'refused',
      message: `Unable to allocate minimum required endpoints to each zone without exceeding overload threshold ${figures}`,
    };
  }
  const spare = count - minimums;
  return {
    kind: 'allocated',
    zones: new Map(zones.map(({ zone, minimum, desired }) => [zone, { desired, maximum: minimum + spare }])),
  };
};

const isReady = ({ conditions }: Endpoint): boolean => conditions?.ready === true;

const hintedZones = ({ hints }: Endpoint): string[] => (hints?.forZones ?? []).map(({ name }) => name);

const countInto = (counts: Map<string, number>, zone: string): void =>
  void counts.set(zone, (counts.get(zone) ?? 0) + 1);

/** True when a slice's hints still fit; its counts are then added. */
const fits = (
  slice: StoredObject,
  zones: ReadonlyMap<string, ZoneAllocation>,
  counts: Map<string, number>,
): boolean => {
  const own = new Map<string, number>();
  for (const endpoint of endpointsOf(slice).filter((candidate) => isReady(candidate))) {
    const hinted = hintedZones(endpoint);
    if (hinted.length === 0 || hinted.some((zone) => !zones.has(zone))) return false;
    for (const zone of hinted) countInto(own, zone);
  }
  for (const [zone, count] of own) if ((counts.get(zone) ?? 0) + count > (zones.get(zone)?.maximum ?? 0)) return false;
  for (const [zone, count] of own) counts.set(zone, (counts.get(zone) ?? 0) + count);
  return true;
};

/** Largest value above zero; ties go to the first name. */
const largest = (values: ReadonlyMap<string, number>): string | undefined => {
  let best: string | undefined;
  for (const zone of [...values.keys()].sort()) {
    const value = values.get(zone) ?? 0;
    if (value > 0 && (best === undefined || value > (values.get(best) ?? 0))) best = zone;
  }
  return best;
};

/** How many endpoints each zone gives to others and takes from them. */
export const lending = (zones: ReadonlyMap<string, ZoneAllocation>, counts: ReadonlyMap<string, number>) => {
  const surplus = new Map<string, number>();
  const demand = new Map<string, number>();
  for (const [zone, { desired }] of zones) {
    const difference = (counts.get(zone) ?? 0) - desired;
    if (difference > 0) surplus.set(zone, difference);
    else if (difference < 0) demand.set(zone, -difference);
  }
  const give = new Map<string, number>();
  const receive = new Map<string, number>();
  for (;;) {
    const [giver, taker] = [largest(surplus), largest(demand)];
    if (giver === undefined || taker === undefined) break;
    const [spare, wanted] = [surplus.get(giver) ?? 0, demand.get(taker) ?? 0];
    if ((spare < 1 && wanted < 1) || spare < 0.5 || wanted < 0.5) break;
    countInto(give, giver);
    countInto(receive, taker);
    surplus.set(giver, spare - 1);
    demand.set(taker, wanted - 1);
  }
  return { give, receive };
};

/** Hands hints of giving zones over to receiving ones, in the order of the endpoints. */
const lend = (slices: readonly StoredObject[], give: Map<string, number>, receive: Map<string, number>): void => {
  for (const endpoint of slices.flatMap((slice) => endpointsOf(slice)).filter((candidate) => isReady(candidate))) {
    const zone = endpoint.zone ?? '';
    const left = give.get(zone) ?? 0;
    const taker = [...receive.keys()].sort().find((name) => (receive.get(name) ?? 0) > 0);
    if (left <= 0 || taker === undefined) continue;
    endpoint.hints = { forZones: [{ name: taker }] };
    give.set(zone, left - 1);
    receive.set(taker, (receive.get(taker) ?? 0) - 1);
  }
};

/** Writes the hints of an allocation into the plan, or says why it cannot. */
export const autoHints = (
  plan: SlicePlan,
  zones: ReadonlyMap<string, ZoneAllocation>,
): { kind: 'hinted'; plan: SlicePlan } | { kind: 'refused'; message: string } => {
  const counts = new Map<string, number>();
  const valid = plan.unchanged.filter((slice) => fits(slice, zones, counts));
  const create = clone(plan.create);
  const update = clone([...plan.update, ...plan.unchanged.filter((slice) => !valid.includes(slice))]);
  const open = [...create, ...update];
  for (const endpoint of open.flatMap((slice) => endpointsOf(slice)).filter((candidate) => isReady(candidate))) {
    if (endpoint.zone === undefined || endpoint.zone === '') {
      return { kind: 'refused', message: 'One or more endpoints do not have a zone specified' };
    }
    endpoint.hints = { forZones: [{ name: endpoint.zone }] };
    countInto(counts, endpoint.zone);
  }
  const { give, receive } = lending(zones, counts);
  lend(open, give, receive);
  return { kind: 'hinted', plan: { create, update, unchanged: valid, remove: plan.remove } };
};
