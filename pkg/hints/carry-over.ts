// Finds, for an endpoint of the new slice, the planned hints that the stored slice holds for the same endpoint.
import type { EndpointHints } from '../apis/core.ts';
import { isZoneName, MAX_HINTS } from './names.ts';
import { whenReady } from './readiness.ts';
import type { ReadEndpoint } from './slice.ts';
import { readEndpoint, readSlice } from './slice.ts';
import { strategyOf } from './table.ts';
import type { HintStrategy } from './types.ts';
import { isFields } from '../apis/fields.ts';

/** Hints to keep for an endpoint, or undefined where the stored slice holds none for it. */
export type CarryOver = (endpoint: ReadEndpoint) => EndpointHints | undefined;

/** Two stored endpoints with one identity and different hints: none of them can be trusted. A plan is never empty. */
const AMBIGUOUS = '';

/**
 * Address, zone and target UID as one unambiguous string. Proxies look at the first address only, so that one identifies.
 * Neither a zone name nor a length contains a line break, and the length says where the address ends.
 */
const identityOf = ({ addresses, zone, targetRef }: ReadEndpoint): string => {
  const address = addresses[0] ?? '';
  return `${zone ?? ''}\n${address.length}\n${address}${targetRef?.uid ?? ''}`;
};

const nameIn = (entry: unknown): unknown => {
  const name = isFields(entry) ? entry['name'] : undefined;
  return typeof name === 'string' ? whenReady(name) : undefined;
};

/**
 * The zones of stored hints where the API could have stored them: one to eight distinct zone names, also of an endpoint that was not ready.
 * An evacuation is no plan.
 */
const plannedZones = (hints: ReadEndpoint['hints']): string[] | undefined => {
  const forZones = hints?.['forZones'];
  if (!Array.isArray(forZones) || forZones.length === 0 || forZones.length > MAX_HINTS) return undefined;
  const names = forZones.map(nameIn);
  return names.every(isZoneName) && new Set(names).size === names.length ? names : undefined;
};

const remember = (plans: Map<string, string>, endpoint: ReadEndpoint): void => {
  const zones = isZoneName(endpoint.zone) ? plannedZones(endpoint.hints) : undefined;
  if (zones === undefined) return;
  const identity = identityOf(endpoint);
  const plan = zones.join(',');
  const known = plans.get(identity);
  plans.set(identity, known === undefined || known === plan ? plan : AMBIGUOUS);
};

/**
 * A look-up into the stored slice, linear in its size. A stored slice that is no slice, or that asked for another
 * strategy, holds nothing to keep.
 */
export const carryOverFrom = (oldObject: unknown, strategy: HintStrategy): CarryOver => {
  const old = readSlice(oldObject);
  if (typeof old === 'string' || strategyOf(old.labels) !== strategy) return () => undefined;
  const plans = new Map<string, string>();
  for (const unchecked of old.endpoints) {
    const endpoint = readEndpoint(unchecked);
    if (typeof endpoint !== 'string') remember(plans, endpoint);
  }
  const hintsOf = new Map<string, EndpointHints>();
  return (endpoint) => {
    const plan = plans.get(identityOf(endpoint));
    if (plan === undefined || plan === AMBIGUOUS) return undefined;
    const hints = hintsOf.get(plan) ?? { forZones: plan.split(',').map((name) => ({ name })) };
    hintsOf.set(plan, hints);
    return hints;
  };
};
