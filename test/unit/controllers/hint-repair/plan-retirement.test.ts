// Planned hints do not outlive their planner: not a touch while it lives, all of them soon after its Lease is too old.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { EndpointSlice, Service } from '../../../../pkg/apis/core.ts';
import type { ObjectRef } from '../../../../pkg/apis/meta.ts';
import {
  LABEL_STRATEGY,
  ANNOTATION_TOPOLOGY_MODE,
  LABEL_CONSIDER,
  LABEL_ETCD_CLIENTS,
  LABEL_MANAGED_BY,
  MANAGED_BY_DRUID,
} from '../../../../pkg/apis/names.ts';
import { createPlanRetirement } from '../../../../pkg/controllers/hint-repair/resync.ts';
import { HOLDER_TIMEOUT_MS, createHolderLiveness, microTime } from '../../../../pkg/kubernetes/lease.ts';
import type { Client, EventInput, Reconciler } from '../../../../pkg/kubernetes/types.ts';
import { endpoint, slice, service } from '../../../fixtures/core.ts';
import { type FakeClock, createFakeClock } from '../../../fixtures/fake-clock.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';
import { createHintRelease, isChosen, isLeftOver } from '../../../../pkg/controllers/hint-repair/etcd-clients.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import { namespace } from '../../../fixtures/gardener.ts';

describe('plan retirement', () => {
  const { signal } = new AbortController();

  const named = (name: string, strategy: string, hinted = true): EndpointSlice =>
    slice({
      metadata: { name, namespace: 'shop', labels: { [LABEL_STRATEGY]: strategy } },
      endpoints: [endpoint({ zone: 'a', ...(hinted ? { hints: { forZones: [{ name: 'a' }, { name: 'b' }] } } : {}) })],
    });

  let clock: FakeClock;
  let lease: ReturnType<typeof createHolderLiveness>;
  let slices: EndpointSlice[];
  let admissionActs: boolean;
  let touched: { name: string; at: number }[];
  let outcomes: boolean[];
  let events: EventInput[];
  let retirement: Reconciler;
  beforeEach(() => {
    clock = createFakeClock();
    lease = createHolderLiveness(clock);
    slices = [
      named('a', 'load-aware'),
      named('b', 'proportional'),
      named('c', 'same-zone'),
      named('d', 'load-aware', false),
    ];
    admissionActs = true;
    touched = [];
    outcomes = [];
    events = [];
    const patch = (_resource: unknown, { name }: ObjectRef) => {
      touched.push({ name, at: clock.monotonic() });
      const before = slices.find((one) => one.metadata?.name === name)!;
      const after = admissionActs ? { ...before, endpoints: [endpoint({ zone: 'a' })] } : before;
      slices = slices.map((one) => (one === before ? after : one));
      return Promise.resolve(after);
    };
    retirement = createPlanRetirement({
      client: { patch: patch as unknown as Client['patch'] },
      planner: lease,
      slices: () => slices,
      clock,
      writesPerSecond: 20,
      backoffMs: 60_000,
      events: { record: (event) => void events.push(event) },
      regarding: { apiVersion: 'v1', kind: 'Namespace', name: 'own' },
      logger: recordingLogger(),
      onResync: (helped) => void outcomes.push(helped),
    });
  });

  const renew = (): void => lease.observe({ spec: { holderIdentity: 'x', renewTime: microTime(clock.now()) } });

  /** Turns as the queue would make them, for so long. */
  const turns = async (milliseconds: number): Promise<void> => {
    const end = clock.monotonic() + milliseconds;
    while (clock.monotonic() < end) {
      const turn = retirement.reconcile('plans', signal);
      await clock.advance(100);
      const result = await turn;
      expect(result.kind, 'never ends').to.equal('requeue');
      await clock.advance(result.kind === 'requeue' ? Math.min(result.afterMs, end - clock.monotonic()) : 0);
    }
  };

  it('touches nothing while the planner lives, nor before anything is known of it', async () => {
    await turns(HOLDER_TIMEOUT_MS);
    for (let minutes = 0; minutes < 30; minutes += 1) {
      renew();
      await turns(60_000);
    }
    expect(touched).to.deep.equal([]);
  });

  it('reverts what is planned while no planner is known, whenever it appears', async () => {
    lease.gone();
    await turns(60_000);
    slices.push(named('e', 'load-aware'));
    await turns(20_000);
    expect(touched.at(-1)?.name).to.equal('e');
  });
});

const NS = 'shoot--foo--bar';
const HINTS = { forZones: [{ name: 'a' }] };

const of = (more: Parameters<typeof slice>[0] = {}): EndpointSlice =>
  slice({
    service: 'etcd-main-client',
    endpoints: [endpoint({ hints: HINTS }), endpoint()],
    ...more,
    metadata: { name: 's', namespace: NS, resourceVersion: '7', ...more.metadata },
  });

const client = (more: Parameters<typeof service>[0] = {}): Service =>
  service({
    ...more,
    metadata: {
      name: 'etcd-main-client',
      namespace: NS,
      labels: { [LABEL_MANAGED_BY]: MANAGED_BY_DRUID },
      ...more.metadata,
    },
  });

const viewOf = (labelled: boolean, stored: Service | undefined = client()) => ({
  namespaces: { get: () => namespace({ metadata: { labels: labelled ? { [LABEL_ETCD_CLIENTS]: 'true' } : {} } }) },
  services: { get: () => stored },
});

describe("slices of Etcds' client Services", () => {
  const chosen: readonly (readonly [name: string, of: EndpointSlice, labelled: boolean, is: boolean])[] = [
    ['in a labelled namespace', of(), true, true],
    ['in another namespace', of(), false, false],
    ['of another Service', of({ service: 'vpa-webhook' }), true, false],
    ['that ask by a label', of({ metadata: { labels: { [LABEL_CONSIDER]: 'true' } } }), true, false],
  ];
  for (const [name, found, labelled, is] of chosen)
    it(`${name} are ${is ? '' : 'not '}chosen`, () => expect(isChosen(found, viewOf(labelled))).to.equal(is));

  const leftOver: {
    name: string;
    of?: EndpointSlice;
    labelled?: boolean;
    stored?: Service | undefined;
    is: boolean;
  }[] = [
    { name: 'hints that nothing asks for', is: true },
    { name: 'chosen ones', labelled: true, is: false },
    { name: 'no hints', of: of({ endpoints: [endpoint()] }), is: false },
    { name: 'a field that asks', stored: client({ spec: { trafficDistribution: 'PreferClose' } }), is: false },
    {
      name: 'an annotation that asks',
      stored: client({
        metadata: {
          labels: { [LABEL_MANAGED_BY]: MANAGED_BY_DRUID },
          annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'auto' },
        },
      }),
      is: false,
    },
    { name: "somebody else's Service of this name", stored: client({ metadata: { labels: {} } }), is: false },
  ];
  for (const { name, of: found = of(), labelled = false, stored, is } of leftOver) {
    it(`${name}: ${is ? 'removed' : 'left'}`, () =>
      expect(isLeftOver(found, viewOf(labelled, stored ?? client()))).to.equal(is));
  }
});

describe('removing their hints', () => {
  const { signal } = new AbortController();
  const run = async (answer: () => EndpointSlice) => {
    const patches: unknown[] = [];
    const patch = (_resource: unknown, _ref: unknown, type: string, body: unknown) => {
      patches.push([type, body]);
      return Promise.resolve().then(answer);
    };
    const release = createHintRelease({
      client: { patch: patch as unknown as Client['patch'] },
      slices: () => [of(), of({ service: 'vpa-webhook' })],
      view: viewOf(false),
      logger: recordingLogger(),
    });
    return { result: await release.reconcile('etcd-clients', signal), patches };
  };

  const refuse = (status: number) => () => {
    throw new ApiError({ status, method: 'PATCH', path: '/x' });
  };
  it('is tried again where an API server still puts them back, or the slice changed', async () => {
    for (const answer of [() => of(), refuse(409)])
      expect((await run(answer)).result).to.deep.equal({ kind: 'requeue', afterMs: 5_000 });
  });
});
