// Tests of `kubectl topology replay`: a line in, a line out.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';
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
    expect(decisions[1]).to.deep.equal({ error: { line: 2, field: 'zones', message: 'is required.' } });
    expect(decisions[2]).to.deep.include({ time: 30 });
  });

  describe('with a policy', () => {
    const folder = temporaryFolder();
    const policy = (spec: string): string =>
      folder.write(
        'fp.yaml',
        `apiVersion: topology.extensions.gardener.cloud/v1alpha1\nkind: FlowPolicy\nmetadata: {name: web}\nspec: ${spec}\n`,
      );
    const replayWith = (file: string, ...lines: readonly string[]) =>
      runTopology(['replay', '--policy', file], { stdin: `${lines.join('\n')}\n` });
    const hot = [observation(0, 0.2), observation(30, 0.6), observation(60, 0.6), observation(90, 0.6)];

    it('goes by it', async () => {
      const reasons = async (spec: string): Promise<unknown[]> => {
        const { code, out } = await replayWith(policy(spec), ...hot);
        expect(code).to.equal(0);
        return out
          .trim()
          .split('\n')
          .map((line) => (JSON.parse(line) as { reason: string }).reason);
      };
      expect(await reasons('{}'), 'the defaults').not.to.include('Overloaded');
      expect(await reasons('{targetUtilizationPercent: 40, upperUtilizationPercent: 50, upDwell: 1s}')).to.include(
        'Overloaded',
      );
    });

    const wrong: { name: string; spec: string; says: RegExp }[] = [
      { name: 'an unknown field', spec: '{upDwel: 5s}', says: /fp\.yaml:4:8: spec\.upDwel: is not a field/ },
      { name: 'a duration that is none', spec: '{upDwell: soon}', says: /fp\.yaml:4:17: spec\.upDwell: is "soon"/ },
      { name: 'thresholds the wrong way round', spec: '{upperUtilizationPercent: 60}', says: /must be above/ },
      { name: 'what is no YAML', spec: '{', says: /not valid YAML/ },
    ];
    for (const { name, spec, says } of wrong) {
      it(`ends with 2 for ${name}, and reads no observation`, async () => {
        const { code, out, err } = await replayWith(policy(spec), ...hot);
        expect(err).to.match(says);
        expect({ code, out }).to.deep.equal({ code: 2, out: '' });
      });
    }

    it('ends with 2 for a file that is not there', async () => {
      const { code, err } = await replayWith(folder.at('none.yaml'));
      expect(code).to.equal(2);
      expect(err).to.match(/none\.yaml: no such file or folder/);
    });
  });

  it('ends at the end of its input', async () => {
    const { code, out } = await runTopology(['replay'], { stdin: '' });
    expect({ code, out }).to.deep.equal({ code: 0, out: '' });
  });
});
