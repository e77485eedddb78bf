// The hints of an endpoint as they are without an evacuation, as a short text and as the API has them.
import type { EndpointHints } from '../apis/core.ts';
import { isNodeName, isZoneHint, MAX_HINTS } from '../hints/names.ts';
import { whenReady } from '../hints/readiness.ts';
import { isFields } from '../apis/fields.ts';
import type { Fields } from '../apis/fields.ts';

/** As stored, or as sent by a client. */
export type AnyHints = Fields | EndpointHints | null | undefined;

export interface BaseHints {
  readonly zones: readonly string[];
  readonly nodes: readonly string[];
}

const namesOf = (list: unknown): string[] | undefined => {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) return undefined;
  const names = list.map((entry: unknown) => (isFields(entry) ? entry['name'] : undefined));
  return names.every((name) => typeof name === 'string') ? names : undefined;
};

const isAcceptable = ({ zones, nodes }: BaseHints): boolean =>
  zones.length <= MAX_HINTS && nodes.length <= MAX_HINTS && zones.every(isZoneHint) && nodes.every(isNodeName);

/** Hints as an endpoint has them when it is ready; what the API could not have stored counts as none. */
export const baseOf = (hints: AnyHints): BaseHints => {
  const { forZones, forNodes }: Fields = { ...hints };
  const base = { zones: (namesOf(forZones) ?? []).map(whenReady), nodes: (namesOf(forNodes) ?? []).map(whenReady) };
  return isAcceptable(base) ? base : { zones: [], nodes: [] };
};

const named = (names: readonly string[]) => names.map((name) => ({ name }));

/** Undefined for none. */
export const hintsOfBase = ({ zones, nodes }: BaseHints): EndpointHints | undefined => {
  if (zones.length === 0 && nodes.length === 0) return undefined;
  return {
    ...(zones.length === 0 ? {} : { forZones: named(zones) }),
    ...(nodes.length === 0 ? {} : { forNodes: named(nodes) }),
  };
};

/** Zones and nodes in their order; no name of either holds a comma or a bar. Empty for none. */
export const textOfBase = ({ zones, nodes }: BaseHints): string =>
  nodes.length === 0 ? zones.join(',') : `${zones.join(',')}|${nodes.join(',')}`;

const split = (text: string): string[] => (text === '' ? [] : text.split(','));

/** Undefined for a text that says no hints that the API would take. */
export const parseBase = (text: string): BaseHints | undefined => {
  const [zones = '', nodes = '', more] = text.split('|');
  const base = { zones: split(zones), nodes: split(nodes) };
  return more === undefined && isAcceptable(base) ? base : undefined;
};
