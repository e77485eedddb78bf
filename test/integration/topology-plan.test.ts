// `kubectl topology plan --weights`: the strategy `proportional`, beside what the control plane's own heuristic does.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import type { PlanReport } from '../../cmd/kubectl-topology/commands/plan.ts';
import { endpoint, node, service, slice } from '../fixtures/core.ts';
import { runTopology, topologyJson } from '../fixtures/topology-command.ts';
import { ZONES, endpoints, nodes, stdin } from './topology-objects.ts';

const PLAN = ['plan', '-f', '-', '--service', 'default/server'];

describe('kubectl topology plan --weights', () => {
  const SHARES = [1, 6, 10];

  /** Nodes of 1, 6 and 10 cores, and one, one and four endpoints, for which upstream gives hints. */
  const uneven: readonly KubernetesObject[] = [
    ...ZONES.map((zone, index) =>
      node({
        zone,
        status: { allocatable: { cpu: String(SHARES[index]) }, conditions: [{ type: 'Ready', status: 'True' }] },
      }),
    ),
    service({ metadata: { annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } } }),
    slice({ endpoints: endpoints(...[0, 1, 2, 2, 2, 2].map((zone) => ZONES[zone]!)) }),
  ];

  const plan = (...flags: string[]): Promise<PlanReport> =>
    topologyJson<PlanReport>([...PLAN, ...flags], { stdin: stdin(...uneven) });

  const refusal = async (...flags: string[]): Promise<string> => {
    const { code, err } = await runTopology([...PLAN, ...flags], { stdin: stdin(...uneven) });
    expect(code).to.equal(2);
    return err;
  };

  it('gives weights the same plan in any unit, and takes them from the CPU of the Nodes', async () => {
    const byCpu = await plan('--weights', 'cpu');
    for (const given of [['eu-1a=1,eu-1b=6,eu-1c=10'], ['eu-1a=10,eu-1b=60', 'eu-1c=100']]) {
      const report = await plan(...given.flatMap((weights) => ['--weights', weights]));
      expect(report.plan).to.deep.equal(byCpu.plan);
      expect(report.maxUtilization).to.be.closeTo(byCpu.maxUtilization, 1e-9);
    }
  });

  it('names for people what the figures are shares of', async () => {
    const { out } = await runTopology([...PLAN, '--weights', 'cpu'], { stdin: stdin(...uneven) });
    expect(out).to.match(/^eu-1b +2\.12 +2 +106 %$/m);
    expect(out).to.match(/busiest endpoint: 118 % of an even share\.$/m);
  });

  const refused: readonly (readonly [name: string, flags: readonly string[], message: RegExp])[] = [
    ['neither load nor weights', [], /expected --demand and --capacity, or --weights/],
    ['a demand without capacity', ['--demand', 'eu-1a=1'], /expected --demand and --capacity, or --weights/],
    ['both', ['--weights', 'cpu', '--demand', 'eu-1a=1'], /--weights plans without load: leave out --demand/],
    ['a word', ['--weights', 'memory'], /expected cpu, nodes or zone=weight such as eu-1a=2, found "memory"/],
    ['no weight', ['--weights', 'eu-1a=0'], /expected at least one weight above 0/],
    [
      'an overload with a demand',
      ['--demand', 'eu-1a=1', '--capacity', '1', '--max-overload', '5'],
      /goes with --weights/,
    ],
  ];
  for (const [name, flags, message] of refused)
    it(`refuses ${name}`, async () => expect(await refusal(...flags)).to.match(message));
});

describe('kubectl topology plan, its JSON', () => {
  const plan = (objects: readonly KubernetesObject[], demand: string, ...flags: string[]): Promise<PlanReport> =>
    topologyJson<PlanReport>([...PLAN, '--demand', demand, '--capacity', '1', ...flags], { stdin: stdin(...objects) });

  it('has the fields of the contract, no more', async () => {
    const report = await plan(
      [...nodes(), service(), slice()],
      'eu-1a=0.5,eu-1b=0.5,eu-1c=0.5',
      '--target-utilization',
      '70',
    );
    expect(report).to.deep.equal({
      plan: {
        spread: false,
        endpoints: ZONES.map((zone, index) => ({ address: `198.18.0.${10 + index}`, zone, forZones: [zone] })),
      },
      zones: Object.fromEntries(ZONES.map((zone) => [zone, { demand: 0.5, endpoints: 1, utilization: 0.5 }])),
      inZoneShare: 1,
      maxUtilization: 0.5,
      bounds: { lp: 1, integrality: 1 },
    });
  });

  it('counts ready endpoints only, each address once', async () => {
    const gone = endpoint({ zone: 'eu-1b', addresses: ['198.18.0.77'], conditions: { ready: false } });
    const again = slice({ metadata: { name: 'server-again' }, ports: [{ name: 'metrics', port: 9090 }] });
    const report = await plan(
      [...nodes(), service(), slice({ endpoints: [...endpoints(...ZONES), gone] }), again],
      'eu-1a=0.1',
    );
    expect(report.plan.endpoints.map(({ address }) => address)).to.deep.equal([
      '198.18.0.10',
      '198.18.0.11',
      '198.18.0.12',
    ]);
  });
});
