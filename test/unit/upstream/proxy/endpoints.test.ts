// Merging slices per port: defaults, families, duplicates.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { type MergeOptions, mergeEndpoints } from '../../../../pkg/upstream/proxy/endpoints.ts';
import type { EndpointSlice } from '../../../../pkg/apis/core.ts';
import { aSlice, at } from '../support.ts';

const RUNNING = { prefer: 'running' } as const;
const merge = (slices: readonly EndpointSlice[], options: Partial<MergeOptions> = {}) =>
  mergeEndpoints(slices, { port: 'https', family: 'IPv4', duplicates: RUNNING, ...options });
const keys = (slices: readonly EndpointSlice[], options: Partial<MergeOptions> = {}): string[] =>
  merge(slices, options).map(({ key }) => key);

describe('mergeEndpoints', () => {
  for (const { name, slices, options = {}, expected } of [
    {
      name: 'merges slices, sorted by key',
      slices: [aSlice([at('a', 3)], 's1'), aSlice([at('a', 1)], 's2')],
      expected: ['198.18.0.1:8443', '198.18.0.3:8443'],
    },
    {
      name: 'takes the first address only',
      slices: [aSlice([at('a', 1, { addresses: ['198.18.0.1', '198.18.0.2'] })])],
      expected: ['198.18.0.1:8443'],
    },
    { name: 'ignores an endpoint without address', slices: [aSlice([at('a', 1, { addresses: [] })])], expected: [] },
    { name: 'ignores other ports', slices: [aSlice([at('a', 1)])], options: { port: 'metrics' }, expected: [] },
    {
      name: 'ignores a port without number',
      slices: [aSlice([at('a', 1)], 's', { ports: [{ name: 'https' }] })],
      expected: [],
    },
    {
      name: 'ignores port 0',
      slices: [aSlice([at('a', 1)], 's', { ports: [{ name: 'https', port: 0 }] })],
      expected: [],
    },
    {
      name: 'takes an absent port name for the empty one',
      slices: [aSlice([at('a', 1)], 's', { ports: [{ port: 80 }] })],
      options: { port: '' },
      expected: ['198.18.0.1:80'],
    },
    { name: 'survives null', slices: [{ ...aSlice([]), endpoints: null, ports: null }], expected: [] },
    { name: 'ignores the other family', slices: [aSlice([at('a', 1)])], options: { family: 'IPv6' }, expected: [] },
    {
      name: 'writes IPv6 in brackets',
      slices: [aSlice([at('a', 1, { addresses: ['fd00::1'] })], 's', { addressType: 'IPv6' })],
      options: { family: 'IPv6' },
      expected: ['[fd00::1]:8443'],
    },
    {
      name: 'merges different numbers of one named port',
      slices: [aSlice([at('a', 1)], 's1'), aSlice([at('a', 1)], 's2', { ports: [{ name: 'https', port: 9443 }] })],
      expected: ['198.18.0.1:8443', '198.18.0.1:9443'],
    },
    ...['service.kubernetes.io/headless', 'service.kubernetes.io/service-proxy-name'].map((label) => {
      const watched = aSlice([at('a', 1)]);
      return {
        name: `does not watch slices labelled ${label}`,
        slices: [{ ...watched, metadata: { ...watched.metadata, labels: { [label]: '' } } }],
        expected: [],
      };
    }),
  ])
    it(name, () => expect(keys(slices, options)).to.deep.equal(expected));

  it('fills in conditions: ready and serving unless said, not terminating', () => {
    const [endpoint] = merge([aSlice([at('a', 1, { conditions: {} })])]);
    expect(endpoint).to.include({ ready: true, serving: true, terminating: false, zone: 'a', nodeName: 'node-a' });
  });
  it('reads empty lists of hints as none', () => {
    const [endpoint] = merge([aSlice([{ ...at('a', 1), hints: { forZones: [], forNodes: [] } }])]);
    expect([endpoint?.zoneHints.size, endpoint?.nodeHints.size]).to.deep.equal([0, 0]);
  });

  const running = at('a', 1, { nodeName: 'far', hints: ['running'] });
  const leaving = at('a', 1, {
    nodeName: 'near',
    hints: ['leaving'],
    conditions: { ready: false, serving: true, terminating: true },
  });
  for (const [name, duplicates, winner] of [
    ['the running endpoint', RUNNING, 'running'],
    ['the local endpoint', { prefer: 'local', nodeName: 'near' } as const, 'leaving'],
    ['the first slice by name when none is local', { prefer: 'local', nodeName: 'other' } as const, 'running'],
  ] as const) {
    it(`lets ${name} win over another of the same address, in whatever order they come`, () => {
      const slices = [aSlice([running], 's1'), aSlice([leaving], 's2')];
      for (const order of [slices, [...slices].reverse()]) {
        const merged = merge(order, { duplicates });
        expect(merged.map(({ zoneHints }) => [...zoneHints])).to.deep.equal([[winner]]);
      }
    });
  }

  it('does not depend on the order of slices', () => {
    const parts = fc.array(fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 5 }), { maxLength: 4 });
    fc.assert(
      fc.property(parts, (groups) => {
        const slices = groups.map((group, index) =>
          aSlice(
            group.map((address) => at(`z${index}`, address)),
            `s${index}`,
          ),
        );
        expect(merge([...slices].reverse())).to.deep.equal(merge(slices));
        expect(keys(slices)).to.have.length(new Set(groups.flat()).size);
      }),
    );
  });
});
