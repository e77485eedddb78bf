import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { StringMap } from '../../../pkg/apis/meta.ts';
import { LABEL_ZONE } from '../../../pkg/apis/names.ts';
import { type ClaimingPod, type PersistentVolume, unlessBound } from '../../../pkg/kubeedge/volumes.ts';

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

/** Of the zone that the Node is in. */
const OLD = volume([[inZone('eu-1a')]]);

type Case = readonly [
  name: string,
  bound: boolean,
  volume: PersistentVolume,
  more?: { zone?: string | undefined; pod?: ClaimingPod },
];

const cases: Case[] = [
  ['a volume of the old zone', true, OLD],
  ['a volume of several, the new one among them', false, volume([[inZone('eu-1a', 'north')]])],
  ['a volume that may be anywhere', false, volume([])],
  ['a volume of a host', false, volume([[{ key: 'kubernetes.io/hostname', operator: 'In', values: ['n1'] }]])],
  [
    "a volume of a driver's own zone",
    false,
    volume([[{ key: 'topology.ebs.csi.aws.com/zone', operator: 'In', values: ['eu-1a'] }]]),
  ],
  ['the old name of the label', true, volume([[{ ...inZone('eu-1a'), key: BETA }]])],
  ['one of two terms lets it through', false, volume([[inZone('eu-1a')], [inZone('north')]])],
  ['one condition of a term does not', true, volume([[inZone('north'), inZone('eu-1a')]])],
  ['another operator about the zone', true, volume([[{ ...inZone('eu-1a'), operator: 'NotIn' }]])],
  ['a label of the old zone', true, volume([], { [LABEL_ZONE]: 'eu-1a' })],
  ['a label of several zones', false, volume([], { [LABEL_ZONE]: 'eu-1a__north' })],
  ['a label of the old zone under its old name', true, volume([], { [BETA]: 'eu-1a' })],
  ['the zone shall go altogether', true, volume([[inZone('north')]]), { zone: undefined }],
  ['the claim of another Pod', false, volume([[inZone('eu-1a')]], {}, 'other')],
  ['a Pod that has ended', false, OLD, { pod: pod({ phase: 'Succeeded' }) }],
  ['a Pod that failed', false, OLD, { pod: pod({ phase: 'Failed' }) }],
  ['a Pod that has not begun', true, OLD, { pod: pod({ phase: 'Pending' }) }],
  [
    'a volume that lives as long as its Pod',
    true,
    volume([[inZone('eu-1a')]], {}, 'web-0-tmp'),
    { pod: pod({ volumes: [{ name: 'tmp', ephemeral: {} }] }) },
  ],
  ['a volume that is none', false, OLD, { pod: pod({ volumes: [{ name: 'tmp' }] }) }],
  ['a Pod without volumes', false, OLD, { pod: { metadata: { namespace: 'shop', name: 'web-0' } } }],
  ['a volume without a claim', false, { metadata: { name: 'pv' }, spec: { claimRef: null } }],
];

const write = {
  kind: 'write',
  reason: 'Assigned',
  groups: ['north'],
  zone: 'north',
  record: { zone: 'north', previous: 'eu-1a', losses: 0 },
  moves: true,
  message: 'x',
} as const;

describe('a new zone of a Node', () => {
  for (const [name, isBound, given, more = {}] of cases) {
    const zone = 'zone' in more ? more.zone : 'north';
    it(`${isBound ? 'is refused' : 'is written'}: ${name}`, () =>
      expect(unlessBound({ ...write, zone }, 'n1', [more.pod ?? pod()], [given]).kind).to.equal(
        isBound ? 'refused' : 'write',
      ));
  }

  it('is refused with Node, zone, volumes and Pods, and what to do', () => {
    expect(unlessBound(write, 'n1', [pod()], [OLD])).to.deep.equal({
      kind: 'refused',
      reason: 'ZoneBoundVolumes',
      groups: ['north'],
      message:
        'Node n1 cannot be in zone "north": PersistentVolume pv of Pod shop/web-0 may not be used there. Move the Pods to another Node first',
    });
  });

  it('counts the Pods that it does not name', () => {
    const pods = Array.from({ length: 5 }, () => pod());
    expect(unlessBound({ ...write, zone: undefined }, 'n1', pods, [OLD]))
      .to.have.property('message')
      .that.matches(/without a zone: .*pv of Pod shop\/web-0 and 2 more may not/);
  });
});
