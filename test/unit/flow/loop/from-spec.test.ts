// Tests of what a FlowPolicy's spec means to the loop.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parseDuration } from '../../../../pkg/apis/quantity.ts';
import { DEFAULT_LOOP_POLICY, settingsFromSpec } from '../../../../pkg/flow/loop/from-spec.ts';

describe('the settings of a FlowPolicy', () => {
  it('of an empty one are the defaults', () => {
    expect(settingsFromSpec({})).to.deep.equal({
      mode: 'Enforce',
      loop: { ...DEFAULT_LOOP_POLICY, cost: undefined },
      capacity: { from: 'Requests' },
      source: undefined,
      query: undefined,
      intervalSeconds: undefined,
    });
  });

  it('of a full one are in cores, fractions and seconds', () => {
    const { loop, ...rest } = settingsFromSpec({
      mode: 'Observe',
      targetUtilizationPercent: 60,
      upperUtilizationPercent: 75,
      upDwell: '1m30s',
      downDwell: '1h',
      planInterval: '2s',
      metrics: { source: 'prometheus', query: 'q', interval: '5s' },
      capacity: { from: 'Value', value: '250m' },
      minEndpointsPerZone: 2,
      worthwhileSavingPercent: 5,
      staleness: { holdAfter: '30s', safeModeAfter: '1.5m' },
      safeMode: 'SameZone',
      zoneCosts: [{ from: 'a', to: 'b', cost: 0.5 }],
    });
    expect(rest).to.deep.equal({
      mode: 'Observe',
      capacity: { from: 'Value', cores: 0.25 },
      source: 'prometheus',
      query: 'q',
      intervalSeconds: 5,
    });
    const { cost, ...numbers } = loop;
    expect(numbers).to.deep.equal({
      targetUtilization: 0.6,
      upperUtilization: 0.75,
      upDwellSeconds: 90,
      downDwellSeconds: 3_600,
      quickReturnSeconds: Infinity,
      planIntervalSeconds: 2,
      holdAfterSeconds: 30,
      safeModeAfterSeconds: 90,
      safeMode: 'same-zone',
      minEndpoints: 2,
      worthwhileSaving: 0.05,
      settleSeconds: DEFAULT_LOOP_POLICY.settleSeconds,
    });
    expect([cost?.('a', 'b'), cost?.('b', 'a')], 'listed, and not').to.deep.equal([0.5, 1]);
  });

  it('have limits as capacity where they are asked for', () => {
    expect(settingsFromSpec({ capacity: { from: 'Limits' } }).capacity).to.deep.equal({ from: 'Limits' });
  });
});

describe('a duration', () => {
  const read: [string, number | undefined][] = [
    ['30s', 30],
    ['1h2m3.5s', 3_723.5],
    ['500ms', 0.5],
    ['90m', 5_400],
    ['', undefined],
    ['5', undefined],
    ['-5s', undefined],
    ['5 s', undefined],
    ['1d', undefined],
    ['9'.repeat(100), undefined],
  ];
  for (const [text, seconds] of read)
    it(`${JSON.stringify(text)} is ${seconds}`, () => expect(parseDuration(text)).to.equal(seconds));
});
