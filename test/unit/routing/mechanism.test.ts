// The table of mechanisms by Kubernetes version, written out once more as literals.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { STRATEGIES } from '../../../pkg/apis/names.ts';
import {
  domainPrefixedMode,
  mechanismOf,
  routingSettings,
  strategySettings,
  withOldProxies,
} from '../../../pkg/routing/plan.ts';
import type { RoutingSettings } from '../../../pkg/routing/types.ts';

const HINTS = 'service.kubernetes.io/topology-aware-hints';
const MODE = 'service.kubernetes.io/topology-mode';
const CONSIDER = 'endpoint-slice-hints.resources.gardener.cloud/consider';
const STRATEGY = 'topology.extensions.gardener.cloud/strategy';

const minors = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

const v = (minor: number): { major: number; minor: number } => ({ major: 1, minor });

describe('routingSettings: same zone, by version', () => {
  const table: { minors: number[]; mechanism: string; settings: RoutingSettings }[] = [
    {
      minors: minors(24, 26),
      mechanism: 'TopologyAwareHintsAnnotation',
      settings: { labels: { [CONSIDER]: 'true' }, annotations: { [HINTS]: 'auto' } },
    },
    {
      minors: minors(27, 30),
      mechanism: 'TopologyModeAnnotation',
      settings: { labels: { [CONSIDER]: 'true' }, annotations: { [MODE]: 'auto' } },
    },
    {
      minors: [31],
      mechanism: 'PreferCloseAndLabel',
      settings: { labels: { [CONSIDER]: 'true' }, annotations: {}, trafficDistribution: 'PreferClose' },
    },
    {
      minors: [32, 33],
      mechanism: 'PreferClose',
      settings: { labels: {}, annotations: {}, trafficDistribution: 'PreferClose' },
    },
    {
      minors: [...minors(34, 37), 99],
      mechanism: 'PreferSameZone',
      settings: { labels: {}, annotations: {}, trafficDistribution: 'PreferSameZone' },
    },
  ];
  for (const row of table) {
    for (const minor of row.minors) {
      it(`1.${minor}: ${row.mechanism}`, () => {
        expect(mechanismOf(v(minor))).to.equal(row.mechanism);
        expect(routingSettings(v(minor))).to.deep.equal(row.settings);
      });
    }
  }

  it('treats a later major as the newest known', () => {
    expect(mechanismOf({ major: 2, minor: 0 })).to.equal('PreferSameZone');
  });
});

describe('strategySettings: a strategy asked for by name', () => {
  const field = (strategy: (typeof STRATEGIES)[number], minor: number): string | undefined =>
    strategySettings(v(minor), strategy).trafficDistribution;

  it('always sets the strategy label, which slices inherit', () => {
    for (const strategy of STRATEGIES) {
      for (const minor of minors(24, 37)) {
        const { labels } = strategySettings(v(minor), strategy);
        expect(labels, `${strategy} on 1.${minor}`).to.deep.equal({ [STRATEGY]: strategy });
      }
    }
  });

  const fields: { name: (typeof STRATEGIES)[number]; from31: string[] }[] = [
    { name: 'same-zone', from31: ['PreferClose', 'PreferClose', 'PreferClose', 'PreferSameZone', 'PreferSameZone'] },
    { name: 'same-node', from31: ['none', 'none', 'none', 'PreferSameNode', 'PreferSameNode'] },
    { name: 'proportional', from31: ['none', 'none', 'none', 'none', 'none'] },
    { name: 'load-aware', from31: ['none', 'none', 'none', 'none', 'none'] },
  ];
  for (const { name, from31 } of fields) {
    it(`${name} uses the field only where it says the same`, () => {
      expect(minors(31, 35).map((minor) => field(name, minor) ?? 'none')).to.deep.equal(from31);
      for (const minor of minors(24, 30)) expect(field(name, minor), `1.${minor}`).to.equal(undefined);
    });

    it(`${name} has the annotation that proxies up to 1.30 insist on`, () => {
      for (const minor of minors(24, 37)) {
        let expected: Record<string, string> = {};
        if (minor < 27) expected = { [HINTS]: 'auto' };
        else if (minor < 31) expected = { [MODE]: `topology.extensions.gardener.cloud/${name}` };
        expect(strategySettings(v(minor), name).annotations, `1.${minor}`).to.deep.equal(expected);
      }
    });
  }
});

describe('withOldProxies: some kube-proxy is 1.30 or older', () => {
  it('adds the domain-prefixed mode, never auto', () => {
    const settings = withOldProxies(routingSettings(v(34)));
    expect(settings).to.deep.equal({
      labels: {},
      annotations: { [MODE]: 'topology.extensions.gardener.cloud/same-zone' },
      trafficDistribution: 'PreferSameZone',
    });
  });

  it('names the strategy where there is one', () => {
    const { annotations } = withOldProxies(strategySettings(v(33), 'load-aware'));
    expect(annotations).to.deep.equal({ [MODE]: domainPrefixedMode('load-aware') });
  });
});
