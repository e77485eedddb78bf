// The loss of a zone: all Services together, and a comparison with the proxy models.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { EndpointSlice, Node, Service } from '../../../../pkg/apis/core.ts';
import { unknownZone } from '../../../../pkg/diagnosis/survival/survival.ts';
import { baseOf, evacuatedHints } from '../../../../pkg/evacuation/slice.ts';
import { decideInOrder } from '../../../../pkg/evacuation/decide.ts';
import { routeFor, trafficOf } from '../../../../pkg/upstream/index.ts';
import { endpointsIn, kubeProxy, node, service, slice } from '../../../fixtures/core.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';
import { A, B, C, NODES, SAME_ZONE, ask, named } from './survival-support.ts';

describe('survival: the whole', () => {
  const objects = [
    ...NODES,
    kubeProxy(),
    ...named('fine', [A, B]),
    ...named('lost', [A]),
    ...named('busy', [A, A, A, B]),
  ];

  it('comes worst first, and says no where one does not survive', () => {
    const report = ask(objects);
    expect(report.services.map(({ name }) => name)).to.deep.equal(['lost', 'busy', 'fine']);
    expect(report.survives).to.equal(false);
    expect(report.sum).to.deep.include({ replicas: 2, endpoints: { count: 5, of: 7 }, nodes: { count: 1, of: 3 } });
  });

  it('takes one namespace, and the Services that are selected', () => {
    expect(ask(objects, { namespace: 'other' })).to.deep.include({ survives: true, services: [] });
    const selects = ({ metadata }: Service): boolean => metadata?.name === 'fine';
    expect(ask(objects, { selects }).services.map(({ name }) => name)).to.deep.equal(['fine']);
  });

  it('names the zone that was probably meant', () => {
    const snapshot = snapshotOf(...objects);
    expect(unknownZone(snapshot, [A])).to.equal(undefined);
    expect(unknownZone(snapshot, [A, 'eu-1aa'])).to.contain('did you mean "eu-1a"?');
    expect(unknownZone(snapshotOf(), ['eu-1a'])).to.contain('none has a zone at all');
  });
});

/** Load of the busiest endpoint, in fair shares of today, by the models of the proxies on the slice that the leader would store. */
const modelled = (nodes: readonly Node[], own: Service, stored: EndpointSlice): number => {
  const { decision } = decideInOrder({
    slices: [stored],
    clientZones: [A, B, C],
    requests: [{ zone: A, percent: 100, rounding: 'Up' }],
  });
  if (decision.kind !== 'moved') throw new Error(decision.kind);
  const mark = { ...decision, original: { usual: 'none' as const, except: new Map<string, string>() } };
  const endpoints = (stored.endpoints ?? []).map((each) => ({
    ...each,
    hints: evacuatedHints(each, baseOf(each.hints), mark),
  }));
  const traffic = trafficOf({
    nodes,
    endpointsFor: (each) =>
      routeFor({ node: each, service: own, slices: [{ ...stored, endpoints }], version: { major: 1, minor: 34 } }).used,
  });
  return Math.max(...traffic.endpoints.values()) * endpoints.length;
};

describe('survival: the forecast is what the models of the proxies make of what the leader writes', () => {
  for (const homes of [false, true]) {
    it(homes ? 'where clients keep to their zone' : 'where clients spread', () => {
      const counts = fc.tuple(fc.integer({ min: 1, max: 4 }), fc.nat(4), fc.nat(4)).filter(([, b, c]) => b + c > 0);
      fc.assert(
        fc.property(counts, fc.tuple(fc.nat(3), fc.nat(3), fc.nat(3)), ([a, b, c], extra) => {
          const zones = [...Array<string>(a).fill(A), ...Array<string>(b).fill(B), ...Array<string>(c).fill(C)];
          const nodes = [A, B, C].flatMap((zone, index) =>
            Array.from({ length: 1 + (extra[index] ?? 0) }, (_, at) =>
              node({ zone, metadata: { name: `${zone}-${at}` } }),
            ),
          );
          const own = service({ metadata: { name: 'web' }, spec: homes ? SAME_ZONE : {} });
          const stored = slice({ service: 'web', endpoints: endpointsIn(zones, homes) });
          const report = ask([...nodes, kubeProxy(), own, stored]);
          expect(report.services[0]?.load?.after).to.be.closeTo(modelled(nodes, own, stored), 1e-9);
        }),
      );
    });
  }
});
