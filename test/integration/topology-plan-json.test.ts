// `kubectl topology plan --demand`, its JSON: a plan by load, its figures and its bounds.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import type { PlanReport } from '../../pkg/diagnosis/models/lookup.ts';
import { endpoint, service, slice } from '../fixtures/core.ts';
import { topologyJson } from '../fixtures/topology-command.ts';
import { ZONES, endpoints, nodes, stdin } from './topology-objects.ts';

describe('kubectl topology plan, its JSON', () => {
  const plan = (objects: readonly KubernetesObject[], demand: string, ...flags: string[]): Promise<PlanReport> =>
    topologyJson<PlanReport>(
      ['plan', '-f', '-', '--service', 'default/server', '--demand', demand, '--capacity', '1', ...flags],
      { stdin: stdin(...objects) },
    );

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
