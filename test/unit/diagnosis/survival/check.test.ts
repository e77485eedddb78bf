// The check before an evacuation: what is refused, what counts beside it, and what it costs the control plane.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { type Evacuation, type EvacuationCheck, checkEvacuation } from '../../../../pkg/diagnosis/survival/check.ts';
import { BPF, CALICO, CILIUM, configMap, daemonSet } from '../../../fixtures/data-planes.ts';
import { endpoint, kubeProxy, node, slice } from '../../../fixtures/core.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';
import { A, B, C, named } from './survival-support.ts';

const evacuation = (zone: string, more: Partial<Evacuation> = {}): Evacuation => ({
  name: zone,
  zone,
  percent: 100,
  rounding: 'Up',
  concerns: () => true,
  ...more,
});

const check = (
  objects: readonly KubernetesObject[],
  wanted: Evacuation,
  running: readonly Evacuation[] = [],
  nodes: readonly string[] = [A, B, C],
): EvacuationCheck =>
  checkEvacuation(snapshotOf(...nodes.map((zone) => node({ zone })), kubeProxy(), ...objects), wanted, running, {
    now: 0,
  });

const cilium = (version: string): KubernetesObject[] => [
  daemonSet('cilium', `quay.io/cilium/cilium:${version}`, CILIUM),
  configMap('cilium-config', { 'enable-service-topology': 'true', 'kube-proxy-replacement': 'true' }),
];

const reasonsOf = ({ refusals }: EvacuationCheck): string[] => refusals.map(({ reason }) => reason);

describe('survival: the check before an evacuation', () => {
  const web = named('web', [A, B, C]);
  const cases: readonly (readonly [string, EvacuationCheck, readonly string[]])[] = [
    ['goes on where the others can take over', check(web, evacuation(A)), []],
    ['the last of all zones', check(named('web', [A]), evacuation(A), [], [A]), ['LastZone', 'NothingToMove']],
    [
      'the last beside others that run',
      check(web, evacuation(A), [evacuation(B), evacuation(C)]),
      ['LastZone', 'TogetherNoEndpoint', 'NothingToMove'],
    ],
    ['a part of the last zone is allowed', check(named('web', [A, A]), evacuation(A, { percent: 50 }), [], [A]), []],
    ['nothing is in the zone', check(named('web', [B, C]), evacuation(A)), ['NothingToMove']],
    ['nothing in scope is in the zone', check(web, evacuation(A, { concerns: () => false })), ['NothingToMove']],
    ['too much for the others', check(named('web', [A, A, A, B]), evacuation(A)), ['Overloaded']],
    [
      'less than that for a share',
      check(named('web', [A, A, A, B]), evacuation(A, { percent: 34, rounding: 'Down' })),
      [],
    ],
    [
      'too much only together with another',
      check(named('web', [A, A, B, B, C]), evacuation(A), [evacuation(B)]),
      ['Overloaded'],
    ],
    [
      'no endpoint left only together with another',
      check([...web, ...named('two', [A, B])], evacuation(A), [evacuation(B)]),
      ['TogetherNoEndpoint', 'Overloaded'],
    ],
  ];
  for (const [name, found, expected] of cases) it(name, () => expect(reasonsOf(found)).to.deep.equal(expected));

  it('looks at another evacuation only for the Services that it is about', () => {
    const other = evacuation(B, { concerns: ({ metadata }) => metadata?.name === 'else' });
    expect(reasonsOf(check(named('web', [A, A, B, B, C]), evacuation(A), [other]))).to.deep.equal([]);
  });

  describe('refuses, unless forced, where a router leaves no endpoint if hints miss a zone', () => {
    const calico = (version: string) => [daemonSet('calico-node', `docker.io/calico/node:${version}`, CALICO), BPF];
    const rows: readonly (readonly [title: string, version: string, refused: boolean, router: KubernetesObject[]])[] = [
      ['Cilium', '1.17.9', false, cilium('v1.17.9')],
      ['Cilium', '1.18.0', true, cilium('v1.18.0')],
      ['Cilium', '1.18.1', false, cilium('v1.18.1')],
      ['Calico eBPF', '3.25.2', false, calico('v3.25.2')],
      ['Calico eBPF', '3.26.0', true, calico('v3.26.0')],
      ['Calico eBPF', '3.30.9', true, calico('v3.30.9')],
      ['Calico eBPF', '3.31.0', false, calico('v3.31.0')],
    ];
    for (const [title, version, refused, router] of rows) {
      it(`${title} ${version}: ${refused ? 'refused' : 'not refused'}`, () => {
        const { refusals } = check([...web, ...router], evacuation(A));
        const fixed = title === 'Cilium' ? '; 1.20.2 does not' : '';
        const message = `${title} ${version} on 3 Nodes leaves clients without endpoints if no hint names their zone${fixed}.`;
        expect(refusals).to.deep.equal(refused ? [{ reason: 'ConnectionsFail', message, forcible: true }] : []);
      });
    }
  });

  it('names Services that stay because a hint names eight zones at most; that can be forced', () => {
    const nodes = 'abcdefghi'.split('').map((letter) => `eu-1${letter}`);
    const { refusals } = check(web, evacuation(A), [], nodes);
    expect(refusals).to.deep.equal([
      {
        reason: 'TooManyZones',
        message: 'There are 9 zones with Nodes, and hints name 8: default/web would stay as they are.',
        forcible: true,
      },
    ]);
    expect(reasonsOf(check(web, evacuation(A), [], nodes.slice(0, 8)))).to.deep.equal([]);
  });

  it('says nothing can be forced where no zone would be left', () => {
    const { refusals } = check(named('web', [A]), evacuation(A), [], [A]);
    expect(refusals.map(({ forcible }) => forcible)).to.deep.equal([false, false]);
  });

  it('never lets the last zone go, whatever else is evacuated', () => {
    const zones = fc.subarray([A, B, C], { minLength: 1 });
    fc.assert(
      fc.property(zones, fc.constantFrom(A, B, C), (running, zone) => {
        const others = running.filter((other) => other !== zone).map((other) => evacuation(other));
        const found = check(web, evacuation(zone), others);
        expect(reasonsOf(found).includes('LastZone')).to.equal(others.length === 2);
      }),
    );
  });
});

describe('survival: what an evacuation costs the control plane', () => {
  it('counts slices of Services that move, all of them, and none else', () => {
    const { writes } = check(
      [...named('web', [A, B]), ...named('elsewhere', [B, C]), ...named('solo', [A])],
      evacuation(A),
    );
    expect(writes).to.deep.include({ slices: 1, proxies: 3, fanOutBytes: writes.bytes * 3 });
    expect(writes.echo).to.deep.equal({ puts: 1, requestsPerSecond: 20, seconds: 1 / 20 });
  });

  it('counts answers of the EndpointSlice controller for its own slices only', () => {
    const metadata = { name: 'own', labels: { 'endpointslice.kubernetes.io/managed-by': 'someone-else' } };
    const other = slice({ service: 'web', metadata, endpoints: [endpoint({ zone: A, addresses: ['10.1.0.1'] })] });
    const { writes } = check([...named('web', [A, B]), other], evacuation(A));
    expect([writes.slices, writes.echo.puts]).to.deep.equal([2, 1]);
  });
});
