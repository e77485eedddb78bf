// Which strings are Kubernetes versions, and where the supported range begins and ends.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import {
  InvalidVersionError,
  NEWEST_KNOWN_VERSION,
  UnsupportedVersionError,
  formatVersion,
  isNewerThanKnown,
  parseKubernetesVersion,
  parseVersion,
  proxyNeedsAnnotation,
} from '../../../pkg/routing/version.ts';
import { STRATEGIES } from '../../../pkg/apis/names.ts';
import {
  domainPrefixedMode,
  mechanismOf,
  routingSettings,
  strategySettings,
  withOldProxies,
} from '../../../pkg/routing/plan.ts';
import type { RoutingSettings } from '../../../pkg/routing/types.ts';

const caught = (act: () => unknown): unknown => {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
};

const cycle: Record<string, unknown> = {};
cycle['self'] = cycle;

describe('parseKubernetesVersion', () => {
  const readable: { name: string; value: unknown; minor: number }[] = [
    { name: 'major and minor', value: '1.30', minor: 30 },
    { name: 'with patch', value: '1.30.4', minor: 30 },
    { name: 'with a leading v', value: 'v1.30.4', minor: 30 },
    { name: 'pre-release', value: '1.34.0-alpha.1', minor: 34 },
    { name: 'vendor suffix', value: 'v1.34.1-gke.100', minor: 34 },
    { name: 'vendor suffix of EKS', value: 'v1.31.2-eks-7f9249a', minor: 31 },
    { name: 'build metadata', value: 'v1.33.1+k3s1', minor: 33 },
    { name: 'tilde', value: '1.33.1~rc1', minor: 33 },
    { name: 'minor with plus', value: '1.33+', minor: 33 },
    { name: 'suffix right after the minor', value: '1.34-0', minor: 34 },
    { name: 'spaces around it', value: ' v1.30.4\n', minor: 30 },
    { name: 'the answer of /version', value: { major: '1', minor: '33' }, minor: 33 },
    { name: 'the answer of /version with plus', value: { major: '1', minor: '33+', gitVersion: 'x' }, minor: 33 },
    { name: 'numbers', value: { major: 1, minor: 24 }, minor: 24 },
    { name: 'the oldest supported', value: '1.24.0', minor: 24 },
    { name: 'newer than known', value: '1.99.0', minor: 99 },
  ];
  for (const { name, value, minor } of readable) {
    it(`reads ${name}: ${JSON.stringify(value)}`, () => {
      expect(parseKubernetesVersion(value)).to.deep.equal({ major: 1, minor });
    });
  }

  const malformed: { name: string; value: unknown }[] = [
    { name: 'undefined', value: undefined },
    { name: 'null', value: null },
    { name: 'empty', value: '' },
    { name: 'a word', value: 'latest' },
    { name: 'major only', value: '1' },
    { name: 'no major', value: '.30' },
    { name: 'no minor', value: '1.' },
    { name: 'two v', value: 'vv1.30' },
    { name: 'upper-case V', value: 'V1.30' },
    { name: 'negative', value: '1.-30' },
    { name: 'trailing dot', value: '1.30.' },
    { name: 'letters in the patch', value: '1.30.x' },
    { name: 'four parts', value: '1.30.4.5' },
    { name: 'a number', value: 1.3 },
    { name: 'a list', value: ['1.30'] },
    { name: 'an object without minor', value: { major: '1' } },
    { name: 'an object with a bad minor', value: { major: '1', minor: 'x' } },
    { name: 'an object with a list', value: { major: ['1'], minor: '30' } },
    { name: 'a bigint', value: 130n },
    { name: 'a cycle', value: cycle },
    { name: 'a function', value: () => '1.30' },
    { name: 'a huge minor', value: `1.${'9'.repeat(400)}` },
    { name: 'digits of another script', value: '1.٣٠' },
  ];
  for (const { name, value } of malformed) {
    it(`refuses ${name}`, () => {
      const error = caught(() => parseKubernetesVersion(value));
      expect(error).to.be.instanceOf(InvalidVersionError);
      const { message, value: given, name: errorName } = error as InvalidVersionError;
      expect(errorName).to.equal('InvalidVersionError');
      expect(given).to.equal(value);
      expect(message).to.include('is not a Kubernetes version');
      if (typeof value === 'string') expect(message).to.include(JSON.stringify(value).slice(0, 80));
      if (value === undefined) expect(message).to.include('missing');
    });
  }

  for (const value of ['1.23.17', 'v1.18.0', '0.9', { major: '1', minor: '23+' }]) {
    it(`refuses ${JSON.stringify(value)} as too old, with the reason`, () => {
      const error = caught(() => parseKubernetesVersion(value));
      expect(error).to.be.instanceOf(UnsupportedVersionError);
      const { version, reason, message } = error as UnsupportedVersionError;
      expect(version).to.deep.equal(parseVersion(value));
      expect(reason).to.include('hints');
      expect(message).to.equal(`Kubernetes ${formatVersion(version)} is not supported; the oldest is 1.24: ${reason}`);
    });
  }

  it('answers or throws one of its two errors, whatever it is given', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        try {
          const { major, minor } = parseKubernetesVersion(value);
          expect(Number.isInteger(major) && Number.isInteger(minor)).to.equal(true);
        } catch (error) {
          expect(error instanceof InvalidVersionError || error instanceof UnsupportedVersionError).to.equal(true);
        }
      }),
    );
  });
});

describe('order of versions', () => {
  for (const { value, newer } of [
    { value: '1.35.9', newer: false },
    { value: `1.${NEWEST_KNOWN_VERSION.minor}.3`, newer: false },
    { value: `1.${NEWEST_KNOWN_VERSION.minor + 1}.0-beta.0`, newer: true },
    { value: '2.0', newer: true },
  ]) {
    it(`${value} is ${newer ? '' : 'not '}newer than known`, () => {
      expect(isNewerThanKnown(parseKubernetesVersion(value))).to.equal(newer);
    });
  }
});

describe('proxyNeedsAnnotation', () => {
  for (const { kubelet, needs } of [
    { kubelet: 'v1.22.0', needs: true },
    { kubelet: 'v1.30.14', needs: true },
    { kubelet: 'v1.31.0-alpha.1', needs: false },
    { kubelet: 'v1.34.1', needs: false },
  ])
    it(`${kubelet}: ${needs}`, () => expect(proxyNeedsAnnotation(kubelet)).to.equal(needs));
});

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
  it('names the strategy where there is one', () => {
    const { annotations } = withOldProxies(strategySettings(v(33), 'load-aware'));
    expect(annotations).to.deep.equal({ [MODE]: domainPrefixedMode('load-aware') });
  });
});
