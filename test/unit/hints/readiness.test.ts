// Endpoints that are not ready: which hints they get, and that no client is without an endpoint while one is ready.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { type Endpoint, isEndpointReady } from '../../../pkg/apis/core.ts';
import { LABEL_SLICE_MANAGED_BY, NOWHERE, isNowhere } from '../../../pkg/apis/names.ts';
import { PLANES } from '../../../pkg/diagnosis/routers/planes.ts';
import { type Proxy, routeFor } from '../../../pkg/upstream/index.ts';
import { node } from '../../fixtures/core.ts';
import { LEFT, ZONES, led, readinessWorlds, rebuilt } from '../../fixtures/readiness-worlds.ts';
import { upTo } from '../../support/depth.ts';
import { hintsAfter, inputOf, nodes, sliceOf, strategy, withHints, zones } from './support.ts';

const STARTING = { ready: false, serving: false, terminating: false };
const TERMINATING = { ready: false, serving: true, terminating: true };
const CUSTOM = { [LABEL_SLICE_MANAGED_BY]: 'example.com' };
const MIRRORED = { [LABEL_SLICE_MANAGED_BY]: 'endpointslicemirroring-controller.k8s.io' };
/** With the prefix it is longer than a hint may be. */
const LONG_ZONE = 'z'.repeat(60);
const LONG_NODE = 'n'.repeat(250);
const waiting = (...names: string[]) => zones(...names.map((name) => `not-ready.${name}`));

const rows: (readonly [
  name: string,
  more: { old?: object; labels?: Readonly<Record<string, string>>; by?: string; zone?: string; nodeName?: string },
  conditions: Endpoint['conditions'],
  want: unknown,
])[] = [
  ['starting', {}, STARTING, waiting('a')],
  ['terminating, serving', {}, TERMINATING, waiting('a')],
  ['terminating, drained', {}, { ...TERMINATING, serving: false }, waiting('a')],
  ['starting, hinted for its zone before', { old: zones('a') }, STARTING, waiting('a')],
  ['starting, evacuated before', { old: zones(NOWHERE) }, STARTING, waiting('a')],
  ['ready again', { old: waiting('a') }, { ready: true }, zones('a')],
  ['ready not said', {}, {}, zones('a')],
  ['conditions not said', {}, undefined, zones('a')],
  [
    'terminating, but published all the same (publishNotReadyAddresses)',
    {},
    { ready: true, serving: false, terminating: true },
    zones('a'),
  ],
  ['mirrored, starting', { labels: MIRRORED }, STARTING, waiting('a')],
  ['of another writer, starting', { labels: CUSTOM }, STARTING, undefined],
  ['of another writer, starting, hinted before', { old: zones('a'), labels: CUSTOM }, STARTING, undefined],
  ['of another writer, ready', { labels: CUSTOM }, { ready: true }, zones('a')],
  ['in a zone with a long name', { zone: LONG_ZONE }, STARTING, zones(NOWHERE)],
  ['same-node', { by: 'same-node', nodeName: 'n1' }, STARTING, { ...waiting('a'), ...nodes('not-ready.n1') }],
  ['same-node, a Node with a long name', { by: 'same-node', nodeName: LONG_NODE }, STARTING, waiting('a')],
  ['planned', { old: zones('b', 'c'), by: 'load-aware' }, STARTING, waiting('b', 'c')],
  ['planned, still not ready', { old: waiting('b', 'c'), by: 'load-aware' }, TERMINATING, waiting('b', 'c')],
  ['planned, ready again', { old: waiting('b', 'c'), by: 'load-aware' }, { ready: true }, zones('b', 'c')],
  ['planned, new', { by: 'load-aware' }, STARTING, waiting('a')],
  [
    'planned, with Nodes that no plan has',
    { old: { ...zones('b'), ...nodes('n1') }, by: 'load-aware' },
    STARTING,
    waiting('b'),
  ],
  [
    'planned for a zone with a long name: its own',
    { old: zones(LONG_ZONE, 'b'), by: 'load-aware' },
    STARTING,
    waiting('a'),
  ],
  ['planned, of another writer', { old: zones('b'), labels: CUSTOM, by: 'load-aware' }, STARTING, undefined],
  ['planned, evacuated before', { old: zones(NOWHERE), by: 'load-aware' }, { ready: true }, zones('a')],
];

describe('hints of an endpoint', () => {
  for (const [name, { old, labels = {}, by = 'same-zone', zone = 'a', nodeName = 'n1' }, conditions, want] of rows) {
    it(name, () => {
      const place = { nodeName, ...(conditions === undefined ? {} : { conditions }) };
      const bare = withHints(zone, undefined, place);
      if (conditions === undefined) delete bare.conditions;
      const all = { ...strategy(by), ...labels };
      const oldObject = old === undefined ? undefined : sliceOf([{ ...bare, hints: old }], all);
      const [hints] = hintsAfter(inputOf(sliceOf([bare], all), { oldObject }));
      expect(hints).to.deep.equal(want);
      const stored = sliceOf([{ ...bare, ...(hints === undefined ? {} : { hints: hints as object }) }], all);
      expect(hintsAfter(inputOf(sliceOf([bare], all), { oldObject: stored })), 'written once more').to.deep.equal([
        want,
      ]);
    });
  }

  it('of each zone, where a plan of both has too long a name: its own', () => {
    const of = (zone: string, hints?: object) => withHints(zone, hints, { nodeName: 'n1', conditions: STARTING });
    const all = strategy('load-aware');
    const oldObject = sliceOf([of('a', zones(LONG_ZONE)), of('b', zones(LONG_ZONE))], all);
    const now = hintsAfter(inputOf(sliceOf([of('a'), of('b')], all), { oldObject }));
    expect(now).to.deep.equal([waiting('a'), waiting('b')]);
  });
});

/** Every plane and release whose rule is known. */
const PROXIES: readonly { name: string; proxy: Proxy; minor: number; needsEveryZone: boolean }[] = [
  ...[27, 30, 31, 33, 36].map((minor) => ({
    name: `kube-proxy 1.${minor}`,
    proxy: { kind: 'kube-proxy' as const },
    minor,
    needsEveryZone: false,
  })),
  ...['1.13.10', '1.14.10', '1.16.5', '1.17.6', '1.18.0', '1.18.1', '1.18.5', '1.19.5', '1.20.1', '1.20.2'].map(
    (version) => {
      const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
      const proxy = { kind: 'cilium' as const, serviceTopology: true, ciliumVersion: { major, minor, patch } };
      return { name: `Cilium ${version}`, proxy, minor: 36, needsEveryZone: version === '1.18.0' };
    },
  ),
  { name: 'Linkerd', proxy: { kind: 'linkerd' as const }, minor: 36, needsEveryZone: false },
  ...PLANES.filter(({ cilium }) => cilium !== true).flatMap(({ title, versions }) =>
    versions.map(({ since = [], rule }) => ({
      name: `${title} ${since.join('.')}`,
      proxy: { kind: 'ruled' as const, name: title, rule },
      minor: 36,
      needsEveryZone: rule.partial === 'each',
    })),
  ),
];

describe('a Service whose endpoints come and go', () => {
  for (const { name, proxy, minor, needsEveryZone } of PROXIES) {
    it(`${name}: no client is without an endpoint while one is ready, and none goes to what leaves`, () =>
      fc.assert(
        fc.property(readinessWorlds, fc.constantFrom(...ZONES), ({ service, slices, left, rebuilds }, zone) => {
          for (const family of service.spec?.ipFamilies ?? []) {
            for (const { name: port = '' } of service.spec?.ports ?? []) {
              const served = slices.filter(
                (one) => one.addressType === family && one.ports?.some(({ name: own }) => own === port),
              );
              const ready = served.flatMap((one) => one.endpoints ?? []).filter(isEndpointReady);
              if (ready.length === 0) continue;
              if (needsEveryZone && !ready.some(({ hints }) => hints?.forZones?.some((one) => one.name === zone)))
                continue;
              // By the Node's name alone, whatever the hints: 1.20.0 and 1.20.1 then take an endpoint that is not ready.
              if (name === 'Cilium 1.20.1' && service.spec?.trafficDistribution === 'PreferSameNode') continue;
              const input = { node: node({ zone }), service, slices, version: { major: 1, minor }, port, family };
              const { used, mode } = routeFor(input, proxy);
              expect(used, `clients in ${zone}, port ${port}, ${family}`).not.to.be.empty;
              for (const one of used) expect(one.ready, one.key).to.equal(true);
              if (!left || !rebuilds || mode !== 'PreferSameZone') continue;
              expect(used.filter((one) => one.zone === LEFT).map(({ key }) => key)).to.deep.equal([]);
            }
          }
        }),
        { numRuns: upTo(200) },
      ));
  }

  it('has its hints back in the write in which an endpoint is ready again, evacuated in between or not', () =>
    fc.assert(
      fc.property(readinessWorlds, fc.boolean(), ({ slices, rebuilds, left }, evacuated) => {
        if (!rebuilds || left) return;
        const all = slices.map((one) => rebuilt(one, 'ready', false));
        const before = evacuated ? led(all, true) : all;
        const down = before.map((one) => rebuilt(one, 'starting', evacuated));
        for (const { hints } of down.flatMap((one) => one.endpoints ?? []))
          expect((hints?.forZones ?? []).every(({ name }) => isNowhere(name))).to.equal(true);
        const up = down.map((one) => rebuilt(one, 'ready', evacuated));
        expect(evacuated ? led(up, false) : up).to.deep.equal(evacuated ? led(before, false) : before);
      }),
    ));
});
