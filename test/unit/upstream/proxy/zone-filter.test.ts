// SPDX-License-Identifier: Apache-2.0
// Filtering by zone in proxies that differ about partly hinted Services.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { mergeEndpoints } from '../../../../pkg/upstream/proxy/endpoints.ts';
import { filterByZone } from '../../../../pkg/upstream/proxy/zone-filter.ts';
import { aSlice, at } from '../support.ts';

const ready = (...hints: (string | undefined)[]) =>
  mergeEndpoints([aSlice(hints.map((hint, index) => at('z', index, hint === undefined ? {} : { hints: [hint] })))], {
    port: 'https',
    family: 'IPv4',
    duplicates: { prefer: 'running' },
  });

describe('filterByZone', () => {
  for (const { name, endpoints, zone = 'a', partial = 'ignore', count, reason } of [
    { name: 'own zone', endpoints: ready('a', 'b', 'a'), count: 2, reason: 'SameZoneHints' },
    { name: 'no hints', endpoints: ready(undefined, undefined), count: 2, reason: 'NoHints' },
    { name: 'no zone', endpoints: ready('a', 'b'), zone: '', count: 2, reason: 'ClientNodeWithoutZone' },
    { name: 'another zone', endpoints: ready('b', 'c'), count: 2, reason: 'ZoneNotHinted' },
    {
      name: 'some unhinted, all ignored',
      endpoints: ready('a', 'b', undefined),
      count: 3,
      reason: 'EndpointWithoutHint',
    },
    {
      name: 'some unhinted, skipped',
      endpoints: ready('a', 'b', undefined),
      partial: 'skip',
      count: 1,
      reason: 'SameZoneHints',
    },
    {
      name: 'some unhinted, kept',
      endpoints: ready('a', 'b', undefined),
      partial: 'keep',
      count: 2,
      reason: 'SameZoneHints',
    },
    {
      name: 'unhinted and another zone, skipped',
      endpoints: ready('b', undefined),
      partial: 'skip',
      count: 2,
      reason: 'ZoneNotHinted',
    },
    {
      name: 'unhinted and another zone, kept',
      endpoints: ready('b', undefined),
      partial: 'keep',
      count: 1,
      reason: 'SameZoneHints',
    },
  ] as const) {
    it(name, () => {
      const result = filterByZone(endpoints, zone, partial);
      expect(result).to.include({ reason, mode: reason === 'SameZoneHints' ? 'PreferSameZone' : '' });
      expect(result.list).to.have.length(count);
    });
  }
});
