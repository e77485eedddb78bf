// SPDX-License-Identifier: Apache-2.0
// Plans the next step of a switch of the admission backend: install it, wait until it acts, then remove the other one. Pure.
import type { OwnerReference } from '../../apis/meta.ts';
import { CONFIG_MAPS, MUTATING_ADMISSION_POLICIES, MUTATING_ADMISSION_POLICY_BINDINGS } from '../../apis/resources.ts';
import { buildCarrierObject } from '../../hints/policy/index.ts';
import type { AdmissionPolicies, Carrier } from '../../hints/policy/index.ts';
import { hasOwnerLabel, managedKey, managedObjects, titleOf, updateOf } from './objects.ts';
import type { Managed } from './objects.ts';

export interface PlanInput {
  /** The backend that should be active. */
  readonly carrier: Carrier;
  /** What should be there where policies are the backend. */
  readonly wanted: AdmissionPolicies;
  /** Namespace of the object that names the admission backend. */
  readonly namespace: string;
  /** Policies and bindings of this installation as the server holds them, and the record of the admission backend, whosever it is. */
  readonly current: readonly Managed[];
  /** What everything goes with; undefined: not known, and what is there stays as it is. */
  readonly owner?: OwnerReference | undefined;
  /** Keys of objects of other writers under a name that is needed here. */
  readonly foreign: ReadonlySet<string>;
  /** Whether each backend was observed to act, for long enough that it holds for every API server. */
  readonly acting: Readonly<Record<Carrier, boolean>>;
}

export interface Action extends Managed {
  readonly kind: 'create' | 'update' | 'delete';
}

export interface Plan {
  /** In this order; each is one write. */
  readonly actions: readonly Action[];
  /** Why nothing is installed: one sentence for each object of another writer. */
  readonly refused: readonly string[];
  /** The backend that the next step waits for; undefined: none. */
  readonly awaits: Carrier | undefined;
  /** The backend, as it is recorded once the actions are done. */
  readonly says: Carrier;
}

const refusalOf = (item: Managed): string =>
  `${titleOf(item)} exists and is not managed by settings-reconciler; delete it, or configure admission: webhook`;

const saidBy = (current: readonly Managed[]): Carrier | undefined => {
  const found = current.find(({ resource, object }) => resource === CONFIG_MAPS && hasOwnerLabel(object));
  if (found === undefined) return undefined;
  return found.object.data?.['carrier'] === 'policy' ? 'policy' : 'webhook';
};

/** The one write that makes an object as it should be. */
const writeOf = (item: Managed, current: ReadonlyMap<string, Managed>): Action[] => {
  const found = current.get(managedKey(item));
  if (found === undefined) return [{ kind: 'create', ...item }];
  const object = updateOf(item.object, found.object);
  return object === undefined ? [] : [{ kind: 'update', resource: item.resource, object }];
};

/** Bindings first: what is not bound does not act, and nothing ever waits for what is gone already. */
const REMOVAL = [MUTATING_ADMISSION_POLICY_BINDINGS, MUTATING_ADMISSION_POLICIES, CONFIG_MAPS];

/** Removes the objects that are no longer wanted, in an order that never blocks a write. */
export const removalOf = (current: readonly Managed[], isWanted: (item: Managed) => boolean = () => false): Action[] =>
  REMOVAL.flatMap((resource) => current.filter((item) => item.resource === resource && hasOwnerLabel(item.object)))
    .filter((item) => !isWanted(item))
    .map((item) => ({ kind: 'delete', ...item }));

const planPolicy = ({ wanted, namespace, current, foreign, acting, owner }: PlanInput): Plan => {
  const known = new Map(current.map((item) => [managedKey(item), item]));
  const said = saidBy(current);
  const objects = (says: Carrier): Managed[] => managedObjects(buildCarrierObject(namespace, says), wanted, owner);
  const others = objects('webhook').filter((item) => {
    const found = known.get(managedKey(item));
    return foreign.has(managedKey(item)) || (found !== undefined && !hasOwnerLabel(found.object));
  });
  if (others.length > 0) {
    return { actions: [], refused: others.map(refusalOf), awaits: undefined, says: said ?? 'webhook' };
  }
  const installing = objects('webhook').filter(({ resource }) => resource !== CONFIG_MAPS);
  const complete = installing.every((item) => writeOf(item, known).length === 0);
  // Said once it was seen to act; a repair later does not take that back.
  const says: Carrier = said === 'policy' || (complete && acting.policy) ? 'policy' : 'webhook';
  const keys = new Set(objects(says).map(managedKey));
  const actions = [
    ...objects(says).flatMap((item) => writeOf(item, known)),
    ...removalOf(current, (item) => keys.has(managedKey(item))),
  ];
  return { actions, refused: [], awaits: says === 'webhook' && complete ? 'policy' : undefined, says };
};

const planWebhook = ({ wanted, namespace, current, acting, owner }: PlanInput): Plan => {
  const plan = (actions: Action[], awaits?: Carrier): Plan => ({ actions, refused: [], awaits, says: 'webhook' });
  const removal = removalOf(current);
  if (removal.length === 0) return plan([]);
  const bound = removal.some(({ resource }) => resource === MUTATING_ADMISSION_POLICY_BINDINGS);
  if (!bound || acting.webhook) return plan(removal);
  const known = new Map(current.map((item) => [managedKey(item), item]));
  const said = saidBy(current);
  const says = managedObjects(buildCarrierObject(namespace, 'webhook'), wanted, owner);
  // While they act, they are as they should be: they know who plans.
  const actions = says.filter((item) => known.has(managedKey(item))).flatMap((item) => writeOf(item, known));
  return plan(actions, said === 'policy' ? undefined : 'webhook');
};

/**
 * The writes of this reconcile. The old backend is removed only after the new one was observed to act beside it; both at once is
 * harmless, since each leaves alone what is right already. Nothing differs: nothing is written.
 */
export const planCarrier = (input: PlanInput): Plan =>
  input.carrier === 'policy' ? planPolicy(input) : planWebhook(input);
