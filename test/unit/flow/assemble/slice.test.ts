// Tests of reduced slices: nothing that the loop reads is lost, nothing else is kept.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ANNOTATION_PLAN, LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import { createSliceProjection, endpointName, isSpread } from '../../../../pkg/flow/assemble/slice.ts';
import { endpoint, slice } from '../../../fixtures/core.ts';

describe('a slice reduced', () => {
  const project = createSliceProjection();

  it('keeps identity, strategy, mark, and of endpoints what plans are made of', () => {
    const reduced = project(
      slice({
        metadata: {
          namespace: 'shop',
          name: 'web-1',
          uid: 'u',
          resourceVersion: '7',
          managedFields: [{}],
          labels: { [LABEL_STRATEGY]: 'load-aware' },
          annotations: { [ANNOTATION_PLAN]: 'spread', other: 'x' },
        },
        endpoints: [
          endpoint({
            zone: 'a',
            targetRef: { kind: 'Pod', name: 'web-a', uid: 'p' },
            hints: { forZones: [{ name: 'a' }, { name: 'b' }] },
          }),
          endpoint({ zone: 'b', conditions: { ready: false }, hints: {} }),
        ],
      }),
    );
    expect(reduced).to.deep.equal({
      metadata: { name: 'web-1', namespace: 'shop', uid: 'u', resourceVersion: '7' },
      service: 'server',
      strategy: 'load-aware',
      mark: 'spread',
      annotated: true,
      addressType: 'IPv4',
      rebuilt: true,
      endpoints: [
        { pod: 'web-a', address: '198.18.0.10', zone: 'a', ready: true, forZones: ['a', 'b'], hinted: true },
        { pod: '', address: '198.18.0.10', zone: 'b', ready: false, forZones: [], hinted: true },
      ],
    });
    expect(isSpread(reduced)).to.equal(true);
  });

  it('takes what an API server may leave out: no endpoints, no conditions, no zone', () => {
    expect(project({ metadata: { name: 'x' }, endpoints: null }).endpoints).to.deep.equal([]);
    const [one] = project({ metadata: { name: 'x' }, endpoints: [{ addresses: ['1'] }] }).endpoints;
    expect(one).to.deep.equal({ pod: '', address: '1', zone: '', ready: true, forZones: [], hinted: false });
  });

  for (const zone of ['a b', '-a', 'z'.repeat(64), 'a\n', '\ud800']) {
    it(`takes the zone ${JSON.stringify(zone)} for none: no hint could name it`, () => {
      const [one] = project({ endpoints: [endpoint({ zone })] }).endpoints;
      expect(one?.zone).to.equal('');
    });
  }

  it('shares equal lists of zones', () => {
    const hints = { forZones: [{ name: 'a' }, { name: 'b' }] };
    const [left, right] = project({ endpoints: [endpoint({ hints }), endpoint({ hints })] }).endpoints;
    expect(left?.forZones).to.equal(right?.forZones);
  });

  it('is distinguished by Pod, and by address where there is none', () => {
    expect(endpointName({ pod: 'web-a', address: '1' })).to.equal('web-a');
    expect(endpointName({ pod: '', address: '1' })).to.equal('1');
  });
});
