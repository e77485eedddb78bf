// SPDX-License-Identifier: Apache-2.0
// Filtering by zone hints as the proxies other than kube-proxy do it; their releases differ where only some are hinted.
import type { Reason } from '../reasons.ts';
import type { Chosen } from './alternative.ts';
import type { ProxyEndpoint } from './endpoints.ts';

/**
 * Where some ready endpoints carry no hint: `ignore` all hints, as kube-proxy does; `skip` those endpoints; or `keep`
 * them beside the ones hinted for the zone.
 */
export type PartialHints = 'ignore' | 'skip' | 'keep';

/** Filters `ready`, which is not empty, for one zone; falls back to all of it, and says why. */
export const filterByZone = (ready: readonly ProxyEndpoint[], zone: string, partial: PartialHints): Chosen => {
  const all = (reason: Reason): Chosen => ({ list: ready, mode: '', reason });
  const unhinted = ready.filter(({ zoneHints }) => zoneHints.size === 0);
  if (unhinted.length === ready.length) return all('NoHints');
  if (zone === '') return all('ClientNodeWithoutZone');
  if (unhinted.length > 0 && partial === 'ignore') return all('EndpointWithoutHint');
  const list = ready.filter(({ zoneHints }) => zoneHints.has(zone) || (partial === 'keep' && zoneHints.size === 0));
  return list.length === 0 ? all('ZoneNotHinted') : { list, mode: 'PreferSameZone', reason: 'SameZoneHints' };
};
