import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CONDITION_EFFECTIVE } from '../../../../pkg/apis/names.ts';
import { decideCondition, nextCondition } from '../../../../pkg/gardener/extension/condition.ts';
import type { ConditionInput, SeenNamespace, SeenService } from '../../../../pkg/gardener/extension/condition.ts';
import type { RefusalReason, RoutingDecision } from '../../../../pkg/gardener/types.ts';
import { NAME, NOW, NOW_TEXT, read, readingOf, extensionIn, lastOperation, settled } from './support.ts';
import { decideOperation } from '../../../../pkg/gardener/extension/status.ts';

const ON: RoutingDecision = { kind: 'enabled' };
const refused = (reason: RefusalReason): RoutingDecision => ({ kind: 'refused', reason, message: `because ${reason}` });
const good = (name: string): SeenService => ({ name, decision: ON, effect: { kind: 'effective' } });

const bad = (name: string, reason: string): SeenService => ({
  name,
  decision: ON,
  effect: { kind: 'ineffective', reason, message: `Service ${name}: ${reason}` },
});

const evacuated: SeenService = {
  name: 'e',
  decision: ON,
  effect: { kind: 'evacuated', reason: 'Evacuated', message: 'Service e: eu-1a is evacuated' },
};

const place = (services: SeenService[], overrides: Partial<SeenNamespace> = {}): SeenNamespace => ({
  name: 'shoot--foo--bar',
  decision: ON,
  services,
  ...overrides,
});

const without = (name: string, reason: RefusalReason): SeenService => ({ name, decision: refused(reason) });
const off = place([], { decision: refused('SettingDisabled') });
const [x, y] = ['x', 'y'].map((name) => place([good('a')], { name }));
const UNCHECKED: SeenService = { name: 'b', decision: ON };
const GONE = 'spec.providerConfig.services[1]: Service shoot--foo--bar/gone does not exist';
const INVALID = /^Extension shoot--foo--bar.*spec\.providerConfig\.apiVersion is required/;

/** `given`: the Services of one namespace, or all that is looked at; `is`: status and reason. */
const cases: readonly (readonly [
  name: string,
  given: SeenService[] | Partial<ConditionInput>,
  is: string,
  says: string | RegExp,
])[] = [
  ['all have effect', [good('a'), good('b')], 'True Effective', '2 Services are routed by zone: a, b'],
  ['several namespaces', { namespaces: [x!, y!] }, 'True Effective', '2 Services are routed by zone: x/a, y/a'],
  [
    'many are counted, not listed',
    Array.from('abcdefg', good),
    'True Effective',
    /^7 Services .*: a, b, c, d, e and 2 more$/,
  ],
  ['a zone is evacuated', [good('a'), evacuated], 'True Evacuated', 'Service e: eu-1a is evacuated'],
  ['and another has a fault', [evacuated, bad('b', 'HintsMissing')], 'False HintsMissing', 'Service b: HintsMissing'],
  ['one has none', [good('a'), bad('b', 'HintsMissing')], 'False HintsMissing', 'Service b: HintsMissing'],
  [
    'what does not pass by itself comes first',
    [bad('a', 'NoReadyEndpoints'), bad('b', 'EndpointWithoutZone')],
    'False EndpointWithoutZone',
    'Service b: EndpointWithoutZone; Service a: NoReadyEndpoints',
  ],
  ['etcd-druid waits', [good('a'), bad('etcd-main-client', 'Pending')], 'False Pending', /etcd-main-client/],
  ['not looked at yet', [good('a'), UNCHECKED], 'Unknown NotAssessed', /not been checked/],
  ['the setting is off', { namespaces: [off] }, 'False SettingDisabled', 'because SettingDisabled'],
  [
    'left out on purpose is no trouble',
    [good('a'), without('b', 'Excluded'), without('kube-apiserver', 'LayerSevenLoadBalancing')],
    'True Effective',
    '1 Service is routed by zone: a',
  ],
  [
    'left out, to be mended',
    [good('a'), without('b', 'ConflictingMode')],
    'False ConflictingMode',
    /^because Conflicting/,
  ],
  [
    'a wrong configuration',
    { reading: read({}), namespaces: [place([good('a')])] },
    'False ConfigurationInvalid',
    INVALID,
  ],
  [
    'a Service that is asked for and does not exist',
    { reading: readingOf({ services: [{ name: 'a' }, { name: 'gone' }] }), namespaces: [place([good('a')])] },
    'False ServiceMissing',
    GONE,
  ],
  [
    'it need exist in one of several namespaces only',
    {
      reading: readingOf({ services: [{ name: 'a' }, { name: 'a', namespace: 'y' }, { name: 'b', namespace: 'x' }] }),
      namespaces: [place([], { name: 'x' }), y!],
    },
    'False ServiceMissing',
    'spec.providerConfig.services[2]: Service x/b does not exist',
  ],
  ['nothing to route', [], 'Unknown NothingToRoute', /no Service/],
  ['no namespace yet', {}, 'Unknown NothingToRoute', /no namespace/],
];

describe('decideCondition', () => {
  for (const [name, given, is, says] of cases) {
    it(`${name}: ${is}`, () => {
      const input = Array.isArray(given) ? { namespaces: [place(given)] } : given;
      const nothing = { reading: { kind: 'absent' }, namespaces: [] } as const;
      const { type, status, reason, message } = decideCondition({ name: NAME, ...nothing, ...input });
      expect([type, `${status} ${reason}`]).to.deep.equal([CONDITION_EFFECTIVE, is]);
      if (says instanceof RegExp) expect(message).to.match(says);
      else expect(message).to.equal(says);
    });
  }
});

describe('nextCondition', () => {
  const is = { type: CONDITION_EFFECTIVE, status: 'True', reason: 'Effective', message: 'a' } as const;
  const before = { ...is, lastUpdateTime: '2025-01-01T00:00:00Z', lastTransitionTime: '2024-01-01T00:00:00Z' };

  it('keeps its transition while the status stays', () => {
    expect(nextCondition({ ...is, message: 'b' }, is, NOW)).to.include({ lastTransitionTime: NOW_TEXT });
  });

  it('moves with the status', () => {
    const next = nextCondition(before, { ...is, status: 'False', reason: 'HintsMissing' }, NOW);
    expect(next).to.include({ status: 'False', lastTransitionTime: NOW_TEXT });
  });

  it('does not forget what was known because a new process has not looked yet', () => {
    const unknown = { ...is, status: 'Unknown', reason: 'NotAssessed' } as const;
    expect(nextCondition(before, unknown, NOW)).to.equal(undefined);
    expect(nextCondition(undefined, unknown, NOW)).to.include({ status: 'Unknown' });
  });
});

describe('decideOperation', () => {
  const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z' };
  const after = (...last: Parameters<typeof lastOperation>) => ({ ...settled, lastOperation: lastOperation(...last) });

  type Case = readonly [
    name: string,
    of: Parameters<typeof extensionIn>[0],
    is: string,
    firstSight?: boolean | undefined,
    shoot?: { metadata?: { generation?: number }; status?: { observedGeneration?: number; lastOperation?: object } },
  ];

  const operations: Case[] = [
    ['new, with the order', { operation: 'reconcile' }, 'Create'],
    ['new, without an order', {}, 'Create'],
    ['created half', { status: { lastOperation: lastOperation('Create', 'Processing') } }, 'Create'],
    [
      'failed at creation, ordered again',
      {
        operation: 'reconcile',
        status: { lastOperation: lastOperation('Create', 'Error'), observedGeneration: 2 },
      },
      'Create',
    ],
    ['settled', { status: settled }, 'settled'],
    ['settled, seen for the first time', { status: settled }, 'settled', true],
    ['the order to reconcile', { operation: 'reconcile', status: settled }, 'Reconcile'],
    ['changed', { status: { ...settled, observedGeneration: 1 } }, 'Reconcile'],
    ['begun by a process that is gone', { status: after('Reconcile', 'Processing') }, 'Reconcile'],
    ['an error waits for a change', { status: after('Reconcile', 'Error') }, 'settled'],
    ['an error of an earlier process is looked at once', { status: after('Reconcile', 'Error') }, 'Reconcile', true],
    ['an order that we do not know', { operation: 'dance', status: settled }, 'settled'],
    ['wait for the state', { operation: 'wait-for-state' }, 'waitForState'],
    [
      'is deleted while the state is waited for',
      { operation: 'wait-for-state', metadata: DELETED, finalizer: true },
      'Delete',
    ],
    ['restore', { operation: 'restore', status: {} }, 'Restore'],
    ['restore what was migrated here before', { operation: 'restore', status: after('Migrate') }, 'Restore'],
    ['restored half, the order lost', { status: after('Restore', 'Processing') }, 'Restore'],
    ['restored', { status: after('Restore') }, 'settled'],
    ['after the restoration an order to reconcile', { operation: 'reconcile', status: after('Restore') }, 'Reconcile'],
    ['migrate', { operation: 'migrate', status: settled }, 'Migrate'],
    ['migrate goes before delete', { operation: 'migrate', metadata: DELETED, finalizer: true }, 'Migrate'],
    ['migrated half, the order lost', { status: after('Migrate', 'Processing') }, 'Migrate'],
    ['migrated', { status: { observedGeneration: 1, lastOperation: lastOperation('Migrate') } }, 'migrated', true],
    [
      'migrated, then deleted: nothing is reverted',
      { metadata: DELETED, finalizer: true, status: { lastOperation: lastOperation('Migrate') } },
      'migrated',
    ],
    ['deleted', { metadata: DELETED, finalizer: true, status: settled }, 'Delete'],
    ['deleted, with an order', { operation: 'reconcile', metadata: DELETED, finalizer: true }, 'Delete'],
    ['deleted, nothing of ours left', { metadata: DELETED, status: settled }, 'released'],
    [
      'a Shoot that Gardener gave up on is left alone',
      { operation: 'reconcile' },
      'shootFailed',
      undefined,
      { metadata: { generation: 4 }, status: { observedGeneration: 4, lastOperation: { state: 'Failed' } } },
    ],
    [
      'until another writer changed it',
      { operation: 'reconcile', status: settled },
      'Reconcile',
      undefined,
      { metadata: { generation: 5 }, status: { observedGeneration: 4, lastOperation: { state: 'Failed' } } },
    ],
  ];

  for (const [name, of, is, firstSight = false, shoot] of operations) {
    it(`${name}: ${is}`, () => {
      expect(decideOperation({ extension: extensionIn(of), shoot, firstSight })).to.equal(is);
    });
  }
});
