// SPDX-License-Identifier: Apache-2.0
// Tests of `kubectl topology replay`: a line in, a line out.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { runTopology } from '../../../fixtures/topology-command.ts';

const observation = (time: number, load: number): string =>
  JSON.stringify({
    time,
    zones: ['a', 'b'],
    endpoints: ['a', 'b'].map((zone) => ({
      name: `${zone}1`,
      address: '10.0.0.1',
      zone,
      node: zone,
      ready: true,
      capacity: 1,
      load: zone === 'a' ? load : 0.1,
      sampledAt: time,
    })),
  });

const replay = async (...lines: readonly string[]): Promise<Record<string, unknown>[]> => {
  const { code, out } = await runTopology(['replay'], { stdin: `${lines.join('\n')}\n` });
  expect(code).to.equal(0);
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
};

describe('kubectl topology replay', () => {
  it('answers every observation with the whole plan in force', async () => {
    const decisions = await replay(observation(0, 0.2), observation(30, 0.3));
    expect(decisions).to.have.lengthOf(2);
    expect(Object.keys(decisions[1] ?? {})).to.deep.equal([
      'time',
      'changed',
      'spread',
      'endpoints',
      'demand',
      'inZoneShare',
      'reason',
    ]);
    expect(decisions[1]).to.deep.include({
      time: 30,
      changed: false,
      spread: false,
      inZoneShare: 1,
      reason: 'Steady',
      endpoints: [
        { name: 'a1', forZones: ['a'] },
        { name: 'b1', forZones: ['b'] },
      ],
    });
  });

  it('spills a saturated zone', async () => {
    const decisions = await replay(observation(0, 0.2), observation(30, 1));
    expect(decisions[1]).to.deep.include({ changed: true, reason: 'Saturated' });
  });

  it('says what is wrong with a line and reads on', async () => {
    const decisions = await replay(observation(0, 0.2), '{"time": 15}', '', observation(30, 0.2));
    expect(decisions[1]).to.deep.equal({ error: { line: 2, field: 'endpoints', message: 'expected a list' } });
    expect(decisions[2]).to.deep.include({ time: 30 });
  });

  it('ends at the end of its input', async () => {
    const { code, out } = await runTopology(['replay'], { stdin: '' });
    expect({ code, out }).to.deep.equal({ code: 0, out: '' });
  });
});
