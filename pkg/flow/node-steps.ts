// SPDX-License-Identifier: Apache-2.0
// Smaller steps for small Services: Nodes that use endpoints of their own choice, above a plan of zones that is safe without them.
import { checkDemand, checkEndpoints, checkTarget } from './input.ts';
import { MAX_ZONES } from './problem.ts';
import type { FlowEndpoint, ZoneCost } from './types.ts';
import { byText } from '../apis/order.ts';

/** A Node with clients, and what they ask for, in cores. */
export interface ClientNode {
  readonly name: string;
  readonly zone: string;
  readonly demand: number;
}

export interface NodeStepsInput {
  /** With the zones of a plan: what clients use on Nodes that no endpoint names, and what proxies without Node hints use. */
  readonly endpoints: readonly FlowEndpoint[];
  readonly nodes: readonly ClientNode[];
  readonly targetUtilization: number;
  readonly cost?: ZoneCost;
}

export interface NodeSteps {
  /** Nodes that each endpoint is hinted for, in name order, eight at most; every endpoint has one, since proxies use none otherwise. */
  readonly endpoints: readonly { readonly name: string; readonly forNodes: readonly string[] }[];
  /** Of the clients of these Nodes. */
  readonly inZoneShare: number;
  /** Load above the target, cores. */
  readonly overload: number;
  readonly crossZoneCost: number;
}

/** An endpoint that no Node is to use alone names this one, which no cluster has: without any name proxies use no Node hints at all. */
export const NO_NODE = 'no-node.topology.extensions.gardener.cloud';

/** More endpoints make steps that are small enough; the search grows with their sets. */
const MAX_ENDPOINTS = 9;
/** Nodes whose clients may get endpoints of their own, those that ask for most; the others follow the zones. */
const MAX_NODES = 24;
/** All sets of so many endpoints are tried; of more of them only those of one, two, the own zone and one more. */
const ALL_SETS = 6;
/** Load above the target outweighs any cost. */
const OVERLOAD = 1_000;
const EPSILON = 1e-9;
/** Looks at pairs of Nodes, at most. */
const LOOKS = 500_000;

interface Client {
  readonly node: ClientNode;
  /** Share of the whole demand. */
  readonly demand: number;
  /** Sets of endpoints, as bits, that it may use; the first is what its zone's hints give it. */
  readonly sets: readonly number[];
  /** Cost by set of endpoints. */
  readonly costOf: ReadonlyMap<number, number>;
  /** Those that differ in name alone have the same. */
  readonly kind: string;
}

const bits = (mask: number): number[] =>
  Array.from({ length: 32 - Math.clz32(mask) }, (_, index) => index).filter((index) => (mask & (1 << index)) !== 0);

const maskOf = (endpoints: readonly FlowEndpoint[], has: (endpoint: FlowEndpoint) => boolean): number =>
  endpoints.reduce((mask, endpoint, index) => (has(endpoint) ? mask | (1 << index) : mask), 0);

/** What proxies make of the zones: all endpoints where one has no hint, or none names the zone. */
const byZoneHints = (endpoints: readonly FlowEndpoint[], zone: string): number => {
  const all = (1 << endpoints.length) - 1;
  if (endpoints.some(({ forZones = [] }) => forZones.length === 0)) return all;
  return maskOf(endpoints, ({ forZones = [] }) => forZones.includes(zone)) || all;
};

const setsFor = (endpoints: readonly FlowEndpoint[], zone: string): number[] => {
  const all = (1 << endpoints.length) - 1;
  const given = byZoneHints(endpoints, zone);
  const every = Array.from({ length: all }, (_, index) => index + 1);
  const own = maskOf(endpoints, (endpoint) => endpoint.zone === zone);
  const isSimple = (mask: number): boolean =>
    bits(mask).length <= 2 || (mask & own) === mask || ((mask & own) === own && bits(mask & ~own).length <= 1);
  return [given, ...every.filter((mask) => mask !== given && (endpoints.length <= ALL_SETS || isSimple(mask)))];
};

const clientsOf = (input: NodeStepsInput, endpoints: readonly FlowEndpoint[], total: number): Client[] => {
  const { nodes, cost = () => 1 } = input;
  const largest = [...nodes]
    .sort((a, b) => b.demand - a.demand || byText(a.name, b.name))
    .filter((one) => one.demand > 0);
  return largest.map((node, rank) => {
    const { zone } = node;
    const demand = node.demand / total;
    const price = endpoints.map((endpoint) => (endpoint.zone === zone && zone !== '' ? 0 : cost(zone, endpoint.zone)));
    const sets = rank < MAX_NODES ? setsFor(endpoints, zone) : [byZoneHints(endpoints, zone)];
    const costOf = new Map(
      sets.map((mask) => {
        const used = bits(mask);
        return [mask, (demand * used.reduce((sum, index) => sum + (price[index] ?? 0), 0)) / used.length];
      }),
    );
    return { node, demand, sets, costOf, kind: `${zone}\n${demand.toPrecision(9)}\n${String(rank < MAX_NODES)}` };
  });
};

/** What every client uses, and what that does. */
class Assignment {
  readonly masks: number[];
  readonly loads: number[];
  readonly names: number[];
  overload = 0;
  cost = 0;
  private readonly clients: readonly Client[];
  private readonly limits: readonly number[];

  constructor(clients: readonly Client[], limits: readonly number[]) {
    this.clients = clients;
    this.limits = limits;
    this.masks = clients.map(({ sets }) => sets[0] ?? 0);
    this.loads = limits.map(() => 0);
    this.names = limits.map(() => 0);
    clients.forEach((_, index) => this.add(index, this.masks[index] ?? 0, 1));
  }

  private add(index: number, mask: number, sign: 1 | -1): void {
    const client = this.clients[index];
    if (client === undefined) return;
    let count = 0;
    for (let rest = mask; rest !== 0; rest &= rest - 1) count += 1;
    const named = mask === client.sets[0] ? 0 : sign;
    for (let rest = mask; rest !== 0; rest &= rest - 1) {
      const endpoint = 31 - Math.clz32(rest & -rest);
      const before = this.loads[endpoint] ?? 0;
      const after = before + (sign * client.demand) / count;
      const limit = this.limits[endpoint] ?? 0;
      this.overload += Math.max(0, after - limit) - Math.max(0, before - limit);
      this.loads[endpoint] = after;
      this.names[endpoint] = (this.names[endpoint] ?? 0) + named;
    }
    this.cost += sign * (client.costOf.get(mask) ?? 0);
  }

  set(index: number, mask: number): void {
    this.add(index, this.masks[index] ?? 0, -1);
    this.masks[index] = mask;
    this.add(index, mask, 1);
  }

  get isAllowed(): boolean {
    return this.names.every((count) => count <= MAX_ZONES);
  }

  get score(): number {
    return OVERLOAD * Math.max(0, this.overload - EPSILON) + this.cost;
  }
}

/** The first of each kind of client that uses the same set. */
const representatives = (clients: readonly Client[], { masks }: Assignment): number[] => {
  const seen = new Set<string>();
  return clients.flatMap(({ kind, sets }, index) => {
    const key = `${kind}\n${masks[index]}`;
    if (sets.length < 2 || seen.has(key)) return [];
    seen.add(key);
    return [index];
  });
};

/** The best change of one client, until none is better. */
const improve = (clients: readonly Client[], state: Assignment): void => {
  for (let improved = true; improved;) {
    improved = false;
    let best = { score: state.score - EPSILON, index: -1, mask: 0 };
    for (const index of representatives(clients, state)) {
      const before = state.masks[index] ?? 0;
      for (const mask of clients[index]?.sets ?? []) {
        if (mask === before) continue;
        state.set(index, mask);
        if (state.score < best.score && state.isAllowed) best = { score: state.score, index, mask };
      }
      state.set(index, before);
    }
    if (best.index >= 0) {
      state.set(best.index, best.mask);
      improved = true;
    }
  }
};

/** Gives one client the first set with which the score is below a limit; false, and as before, where there is none. */
const follow = (
  { sets }: Pick<Client, 'sets'>,
  index: number,
  state: Assignment,
  limit: number,
  looks: { left: number },
): boolean => {
  const before = state.masks[index] ?? 0;
  for (const mask of sets) {
    looks.left -= 1;
    if (looks.left < 0) break;
    if (mask === before) continue;
    state.set(index, mask);
    if (state.score < limit && state.isAllowed) return true;
  }
  state.set(index, before);
  return false;
};

/** The first change of two clients that is better; false where there is none, or the looks are spent. */
const exchange = (clients: readonly Client[], state: Assignment, looks: { left: number }): boolean => {
  const candidates = representatives(clients, state);
  const start = state.score - EPSILON;
  for (const first of candidates) {
    const before = state.masks[first] ?? 0;
    for (const mask of clients[first]?.sets ?? []) {
      if (mask === before) continue;
      state.set(first, mask);
      for (const second of [...candidates, ...twinOf(clients, state, first, before)]) {
        const client = clients[second];
        if (client !== undefined && second !== first && follow(client, second, state, start, looks)) return true;
      }
    }
    state.set(first, before);
  }
  return false;
};

/** Another client like this one that uses what it used. */
const twinOf = (clients: readonly Client[], { masks }: Assignment, first: number, before: number): number[] => {
  const twin = clients.findIndex(
    ({ kind }, index) => index !== first && kind === clients[first]?.kind && masks[index] === before,
  );
  return twin < 0 ? [] : [twin];
};

const search = (clients: readonly Client[], limits: readonly number[], own: readonly number[]): Assignment => {
  const looks = { left: LOOKS };
  const starts = [new Assignment(clients, limits), new Assignment(clients, limits)];
  clients.forEach((_, index) => {
    const mask = own[index] ?? 0;
    if (mask !== 0) starts[1]?.set(index, mask);
  });
  for (const state of starts) {
    do improve(clients, state);
    while (exchange(clients, state, looks));
  }
  const [first, second] = starts;
  if (first === undefined) throw new Error('no start');
  return second !== undefined && second.isAllowed && second.score < first.score - EPSILON ? second : first;
};

/**
 * Which Nodes use which endpoints: no more load above the target than the zones' plan, and less cost. Undefined where it is nothing better,
 * or the Service is not small. Throws a RangeError for a wrong number.
 */
export const planNodeSteps = (input: NodeStepsInput): NodeSteps | undefined => {
  checkEndpoints(input.endpoints);
  checkTarget(input.targetUtilization);
  checkDemand(Object.fromEntries(input.nodes.map(({ name, demand }) => [name, demand])));
  const endpoints = [...input.endpoints].sort((a, b) => byText(a.name, b.name));
  const total = input.nodes.reduce((sum, { demand }) => sum + demand, 0);
  if (endpoints.length < 2 || endpoints.length > MAX_ENDPOINTS || total === 0) return undefined;
  const clients = clientsOf(input, endpoints, total);
  const limits = endpoints.map(({ capacity }) => (input.targetUtilization * capacity) / total);
  const zones = new Assignment(clients, limits);
  const own = clients.map(({ node, sets }) => {
    const mask = maskOf(endpoints, ({ zone }) => zone === node.zone);
    return sets.includes(mask) ? mask : 0;
  });
  const found = search(clients, limits, own);
  if (found.overload > zones.overload + EPSILON || found.score > zones.score - EPSILON) return undefined;
  const named = endpoints.map((endpoint, index) => {
    const users = clients.filter(
      ({ sets }, client) => found.masks[client] !== sets[0] && ((found.masks[client] ?? 0) & (1 << index)) !== 0,
    );
    const names = users.map(({ node }) => node.name).sort(byText);
    return { name: endpoint.name, forNodes: names.length === 0 ? [NO_NODE] : names };
  });
  const local = clients.reduce((sum, { demand, node }, client) => {
    const used = bits(found.masks[client] ?? 0);
    return sum + (demand * used.filter((index) => endpoints[index]?.zone === node.zone).length) / used.length;
  }, 0);
  return { endpoints: named, inZoneShare: local, overload: found.overload * total, crossZoneCost: found.cost * total };
};

export interface NodeFigures {
  /** Load of the busiest endpoint as a fraction of its capacity. */
  readonly maxUtilization: number;
  readonly inZoneShare: number;
  /** Cores, times what the pairs cost. */
  readonly crossZoneCost: number;
}

/** What hints for Nodes lead to by kube-proxy's rules: one endpoint without any, and the zones decide. */
export const nodeFigures = (
  { endpoints, nodes, cost = () => 1 }: Omit<NodeStepsInput, 'targetUtilization'>,
  namesOf: (endpoint: string) => readonly string[],
): NodeFigures => {
  const whole = endpoints.every(({ name }) => namesOf(name).length > 0);
  const loads = endpoints.map(() => 0);
  let [total, local, paid] = [0, 0, 0];
  for (const { name, zone, demand } of nodes) {
    const own = whole ? maskOf(endpoints, (endpoint) => namesOf(endpoint.name).includes(name)) : 0;
    const used = bits(own || byZoneHints(endpoints, zone));
    total += demand;
    for (const index of used) {
      const part = demand / used.length;
      const there = endpoints[index]?.zone ?? '';
      loads[index] = (loads[index] ?? 0) + part;
      if (there === zone && zone !== '') local += part;
      else paid += part * cost(zone, there);
    }
  }
  const maxUtilization = endpoints.reduce(
    (most, { capacity }, index) => Math.max(most, (loads[index] ?? 0) / capacity),
    0,
  );
  return { maxUtilization, inZoneShare: total === 0 ? 1 : local / total, crossZoneCost: paid };
};
