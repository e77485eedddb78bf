import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { StringMap } from '../../../pkg/apis/meta.ts';
import { LABEL_ZONE } from '../../../pkg/apis/names.ts';
import { type ClaimingPod, type PersistentVolume, unlessBound, volumesAgainst } from '../../../pkg/kubeedge/volumes.ts';

const BETA = 'failure-domain.beta.kubernetes.io/zone';

const pod = (
  overrides: { phase?: string; volumes?: NonNullable<ClaimingPod['spec']>['volumes'] } = {},
): ClaimingPod => ({
  metadata: { namespace: 'shop', name: 'web-0' },
  spec: { volumes: overrides.volumes ?? [{ name: 'data', persistentVolumeClaim: { claimName: 'claim' } }] },
  status: { phase: overrides.phase ?? 'Running' },
});

type Expression = { key: string; operator: string; values?: string[] };

const volume = (terms: Expression[][], labels: StringMap = {}, claim = 'claim'): PersistentVolume => ({
  metadata: { name: 'pv', labels },
  spec: {
    claimRef: { namespace: 'shop', name: claim },
    ...(terms.length === 0
      ? {}
      : { nodeAffinity: { required: { nodeSelectorTerms: terms.map((matchExpressions) => ({ matchExpressions })) } } }),
  },
});

const inZone = (...values: string[]): Expression => ({ key: LABEL_ZONE, operator: 'In', values });

interface Case {
  readonly name: string;
  readonly zone?: string | undefined;
  readonly pod?: ClaimingPod;
  readonly volume: PersistentVolume;
  readonly bound: boolean;
}

const cases: Case[] = [
  { name: 'a volume of the old zone', volume: volume([[inZone('eu-1a')]]), bound: true },
  { name: 'a volume of several, the new one among them', volume: volume([[inZone('eu-1a', 'north')]]), bound: false },
  { name: 'a volume that may be anywhere', volume: volume([]), bound: false },
  {
    name: 'a volume of a host',
    volume: volume([[{ key: 'kubernetes.io/hostname', operator: 'In', values: ['n1'] }]]),
    bound: false,
  },
  {
    name: "a volume of a driver's own zone",
    volume: volume([[{ key: 'topology.ebs.csi.aws.com/zone', operator: 'In', values: ['eu-1a'] }]]),
    bound: false,
  },
  { name: 'the old name of the label', volume: volume([[{ ...inZone('eu-1a'), key: BETA }]]), bound: true },
  { name: 'one of two terms lets it through', volume: volume([[inZone('eu-1a')], [inZone('north')]]), bound: false },
  { name: 'one condition of a term does not', volume: volume([[inZone('north'), inZone('eu-1a')]]), bound: true },
  { name: 'any zone will do', volume: volume([[{ key: LABEL_ZONE, operator: 'Exists' }]]), bound: false },
  {
    name: 'any zone will do, and there should be none',
    zone: undefined,
    volume: volume([[{ key: LABEL_ZONE, operator: 'Exists' }]]),
    bound: true,
  },
  { name: 'no zone will do', volume: volume([[{ key: LABEL_ZONE, operator: 'DoesNotExist' }]]), bound: true },
  { name: 'every zone but the old one', volume: volume([[{ ...inZone('eu-1a'), operator: 'NotIn' }]]), bound: false },
  { name: 'every zone but the new one', volume: volume([[{ ...inZone('north'), operator: 'NotIn' }]]), bound: true },
  { name: 'an operator that nobody knows', volume: volume([[{ ...inZone('north'), operator: 'Near' }]]), bound: true },
  { name: 'a label of the old zone', volume: volume([], { [LABEL_ZONE]: 'eu-1a' }), bound: true },
  { name: 'a label of several zones', volume: volume([], { [LABEL_ZONE]: 'eu-1a__north' }), bound: false },
  { name: 'a label of the old zone under its old name', volume: volume([], { [BETA]: 'eu-1a' }), bound: true },
  { name: 'the zone shall go altogether', zone: undefined, volume: volume([[inZone('north')]]), bound: true },
  { name: 'the claim of another Pod', volume: volume([[inZone('eu-1a')]], {}, 'other'), bound: false },
  { name: 'a Pod that has ended', pod: pod({ phase: 'Succeeded' }), volume: volume([[inZone('eu-1a')]]), bound: false },
  { name: 'a Pod that failed', pod: pod({ phase: 'Failed' }), volume: volume([[inZone('eu-1a')]]), bound: false },
  {
    name: 'a Pod that has not begun',
    pod: pod({ phase: 'Pending' }),
    volume: volume([[inZone('eu-1a')]]),
    bound: true,
  },
  {
    name: 'a volume that lives as long as its Pod',
    pod: pod({ volumes: [{ name: 'tmp', ephemeral: {} }] }),
    volume: volume([[inZone('eu-1a')]], {}, 'web-0-tmp'),
    bound: true,
  },
  {
    name: 'a volume that is none',
    pod: pod({ volumes: [{ name: 'tmp' }] }),
    volume: volume([[inZone('eu-1a')]]),
    bound: false,
  },
  {
    name: 'a Pod without volumes',
    pod: { metadata: { namespace: 'shop', name: 'web-0' } },
    volume: volume([[inZone('eu-1a')]]),
    bound: false,
  },
  { name: 'a volume that nobody claims', volume: { metadata: { name: 'pv' }, spec: { claimRef: null } }, bound: false },
];

describe('volumes that stand in the way of a zone', () => {
  for (const one of cases) {
    const zone = 'zone' in one ? one.zone : 'north';
    it(`${one.bound ? 'stands in the way' : 'does not'}: ${one.name}`, () => {
      const expected = one.bound ? [{ volume: 'pv', pod: 'shop/web-0' }] : [];
      expect(volumesAgainst(zone, [one.pod ?? pod()], [one.volume])).to.deep.equal(expected);
    });
  }
});

describe('the refusal for volumes', () => {
  const write = {
    kind: 'write',
    reason: 'Assigned',
    groups: ['north'],
    zone: 'north',
    record: { zone: 'north', previous: 'eu-1a', losses: 0 },
    moves: true,
    message: 'x',
  } as const;
  const bound = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ volume: `pv-${index}`, pod: `shop/p-${index}` }));

  it('is none without volumes', () => expect(unlessBound(write, 'n1', [])).to.equal(write));

  it('names Node, zone, volumes and Pods, and what to do', () => {
    expect(unlessBound(write, 'n1', bound(1))).to.deep.equal({
      kind: 'refused',
      reason: 'ZoneBoundVolumes',
      groups: ['north'],
      message:
        'Node n1 cannot be in zone "north": PersistentVolume pv-0 of Pod shop/p-0 may not be used there. Move the Pods to another Node first',
    });
  });

  it('counts what it does not name', () => {
    const decision = unlessBound({ ...write, zone: undefined }, 'n1', bound(5));
    expect(decision)
      .to.have.property('message')
      .that.matches(/without a zone: .*pv-2 of Pod shop\/p-2 and 2 more may not/);
  });
});
