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

type Case = readonly [
  name: string,
  bound: boolean,
  volume: PersistentVolume,
  more: { zone?: string | undefined; pod?: ClaimingPod },
];

const cases: Case[] = [
  ['a volume of the old zone', true, volume([[inZone('eu-1a')]]), {}],
  ['a volume of several, the new one among them', false, volume([[inZone('eu-1a', 'north')]]), {}],
  ['a volume that may be anywhere', false, volume([]), {}],
  ['a volume of a host', false, volume([[{ key: 'kubernetes.io/hostname', operator: 'In', values: ['n1'] }]]), {}],
  [
    "a volume of a driver's own zone",
    false,
    volume([[{ key: 'topology.ebs.csi.aws.com/zone', operator: 'In', values: ['eu-1a'] }]]),
    {},
  ],
  ['the old name of the label', true, volume([[{ ...inZone('eu-1a'), key: BETA }]]), {}],
  ['one of two terms lets it through', false, volume([[inZone('eu-1a')], [inZone('north')]]), {}],
  ['one condition of a term does not', true, volume([[inZone('north'), inZone('eu-1a')]]), {}],
  ['any zone will do', false, volume([[{ key: LABEL_ZONE, operator: 'Exists' }]]), {}],
  [
    'any zone will do, and there should be none',
    true,
    volume([[{ key: LABEL_ZONE, operator: 'Exists' }]]),
    { zone: undefined },
  ],
  ['no zone will do', true, volume([[{ key: LABEL_ZONE, operator: 'DoesNotExist' }]]), {}],
  ['every zone but the old one', false, volume([[{ ...inZone('eu-1a'), operator: 'NotIn' }]]), {}],
  ['every zone but the new one', true, volume([[{ ...inZone('north'), operator: 'NotIn' }]]), {}],
  ['an operator that nobody knows', true, volume([[{ ...inZone('north'), operator: 'Near' }]]), {}],
  ['a label of the old zone', true, volume([], { [LABEL_ZONE]: 'eu-1a' }), {}],
  ['a label of several zones', false, volume([], { [LABEL_ZONE]: 'eu-1a__north' }), {}],
  ['a label of the old zone under its old name', true, volume([], { [BETA]: 'eu-1a' }), {}],
  ['the zone shall go altogether', true, volume([[inZone('north')]]), { zone: undefined }],
  ['the claim of another Pod', false, volume([[inZone('eu-1a')]], {}, 'other'), {}],
  ['a Pod that has ended', false, volume([[inZone('eu-1a')]]), { pod: pod({ phase: 'Succeeded' }) }],
  ['a Pod that failed', false, volume([[inZone('eu-1a')]]), { pod: pod({ phase: 'Failed' }) }],
  ['a Pod that has not begun', true, volume([[inZone('eu-1a')]]), { pod: pod({ phase: 'Pending' }) }],
  [
    'a volume that lives as long as its Pod',
    true,
    volume([[inZone('eu-1a')]], {}, 'web-0-tmp'),
    { pod: pod({ volumes: [{ name: 'tmp', ephemeral: {} }] }) },
  ],
  ['a volume that is none', false, volume([[inZone('eu-1a')]]), { pod: pod({ volumes: [{ name: 'tmp' }] }) }],
  [
    'a Pod without volumes',
    false,
    volume([[inZone('eu-1a')]]),
    { pod: { metadata: { namespace: 'shop', name: 'web-0' } } },
  ],
  ['a volume that nobody claims', false, { metadata: { name: 'pv' }, spec: { claimRef: null } }, {}],
];

describe('volumes that stand in the way of a zone', () => {
  for (const [name, isBound, given, more] of cases) {
    const zone = 'zone' in more ? more.zone : 'north';
    it(`${isBound ? 'stands in the way' : 'does not'}: ${name}`, () => {
      const expected = isBound ? [{ volume: 'pv', pod: 'shop/web-0' }] : [];
      expect(volumesAgainst(zone, [more.pod ?? pod()], [given])).to.deep.equal(expected);
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
