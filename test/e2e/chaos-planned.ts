// The planned Services of a shoot, one by load and one by the Nodes' weights: what is done to them, and what was planned.
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import type { FlowPolicy } from '../../pkg/apis/flow-policy.ts';
import { ANNOTATION_TOPOLOGY_MODE, GROUP } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, FLOW_POLICIES, SERVICES } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { service } from '../fixtures/core.ts';
import { ZONES } from '../fixtures/gardener.ts';
import { APP, persist } from './faults-world.ts';
import { QUICK, policyOf } from './flow-world.ts';
import type { LoadedService } from './followed-load.ts';
import { serviceSelector, zonesOf } from './hints-support.ts';

export const BY_LOAD = 'planned-by-load';
export const BY_WEIGHT = 'planned-by-weight';
const STRATEGIES = { [BY_LOAD]: 'load-aware', [BY_WEIGHT]: 'proportional' } as const;
export type PlannedName = keyof typeof STRATEGIES;
export const PLANNED = Object.keys(STRATEGIES) as PlannedName[];

type Demand = Readonly<Record<string, number>>;
const demand = (first: number, others: number): Demand =>
  Object.fromEntries(ZONES.map((zone, index) => [zone, index === 0 ? first : others]));

/** Two Pods of one core in each zone: every zone carries its own. */
export const CALM = demand(0.4, 0.4);
/** The first zone needs help of the others. */
export const HOT = demand(1.8, 0.4);

/** Every method that writes returns when the server took it. */
export interface PlannedShoot {
  readonly namespace: string;
  /** What `followLoad` follows; its demand is set here. */
  readonly loaded: LoadedService & { demand: Demand };
  ask(name: PlannedName, wanted: boolean): Promise<void>;
  policy(present: boolean): Promise<void>;
  /** Deletes all slices of a Service; the controller writes them anew. */
  deleteSlices(name: PlannedName): Promise<void>;
  /** `zone: hinted zones` of each endpoint, sorted: of two alike Pods of a zone, chance decides which one helps. */
  plan(name: PlannedName): Promise<string[]>;
  /** `type reason` of the conditions by load that say whether the loop sees and acts. */
  conditions(): Promise<string[]>;
  /** Brings demand, Services and policy to the same end, whatever was done before. */
  finish(): Promise<void>;
}

const TRY_MS = 10_000;

/** Creates the Services and the policy in the namespace of a shoot, whose Pods they share. */
export const createPlanned = async (client: Client, namespace: string): Promise<PlannedShoot> => {
  const does = (what: string, write: (signal: AbortSignal) => Promise<unknown>): Promise<void> =>
    persist(`${namespace}: ${what}`, write);
  const slices = async (name: PlannedName, signal: AbortSignal): Promise<readonly EndpointSlice[]> =>
    (await client.list<EndpointSlice>(ENDPOINT_SLICES, { namespace, labelSelector: serviceSelector(name) }, signal))
      .items;
  const ref = { namespace, name: BY_LOAD };
  const planned: PlannedShoot = {
    namespace,
    loaded: { namespace, name: BY_LOAD, app: APP, demand: CALM },
    ask(name, wanted) {
      const annotations = { [ANNOTATION_TOPOLOGY_MODE]: wanted ? `${GROUP}/${STRATEGIES[name]}` : null };
      return does(`${name} asks: ${wanted}`, (signal) =>
        client.patch(SERVICES, { namespace, name }, 'merge', { metadata: { annotations } }, {}, signal),
      );
    },
    policy: (present) =>
      does(`policy ${present}`, async (signal) => {
        if (!present) return client.delete(FLOW_POLICIES, ref, {}, signal);
        // The controller may have made one with its defaults.
        await client
          .create<FlowPolicy>(FLOW_POLICIES, policyOf(namespace, BY_LOAD, QUICK), {}, signal)
          .catch(() => client.patch(FLOW_POLICIES, ref, 'merge', { spec: QUICK }, {}, signal));
        return undefined;
      }),
    deleteSlices: (name) =>
      does(`delete slices of ${name}`, async (signal) => {
        for (const { metadata } of await slices(name, signal))
          await client.delete(ENDPOINT_SLICES, { namespace, name: metadata?.name ?? '' }, {}, signal);
      }),
    async plan(name) {
      const all = await slices(name, AbortSignal.timeout(TRY_MS));
      return all
        .flatMap(({ endpoints }) => endpoints ?? [])
        .map((one) => `${one.zone}: ${zonesOf(one).toSorted().join()}`)
        .sort();
    },
    async conditions() {
      const { status } = await client.get<FlowPolicy>(FLOW_POLICIES, ref, AbortSignal.timeout(TRY_MS));
      return (status?.conditions ?? [])
        .filter(({ type }) => type === 'Observed' || type === 'Effective')
        .map(({ type, reason }) => `${type} ${reason}`)
        .sort();
    },
    async finish() {
      planned.loaded.demand = CALM;
      await planned.policy(true);
      for (const name of PLANNED) await planned.ask(name, true);
    },
  };
  for (const name of PLANNED)
    await client.create(SERVICES, service({ metadata: { namespace, name }, spec: { selector: { app: APP } } }));
  await planned.finish();
  return planned;
};
