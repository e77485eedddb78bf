// SPDX-License-Identifier: Apache-2.0
// What a fan-out budget holds back: of one Service, of all, and after a start.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { JsonPatchOperation } from '../../../../pkg/apis/admission.ts';
import { LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import { createFanOutBudget } from '../../../../pkg/controllers/flow/fan-out.ts';
import type { FanOutBudget } from '../../../../pkg/controllers/flow/fan-out.ts';
import type { LoadReader } from '../../../../pkg/controllers/flow/loads.ts';
import { openInline } from '../../../../pkg/controllers/flow/plan-thread.ts';
import { createPlanning } from '../../../../pkg/controllers/flow/planning.ts';
import { createFlowReconciler } from '../../../../pkg/controllers/flow/reconciler.ts';
import type { Outcome } from '../../../../pkg/controllers/flow/types.ts';
import type { FlowSlice } from '../../../../pkg/flow/assemble/slice.ts';
import type { Client, Reconciler } from '../../../../pkg/kubernetes/types.ts';
import { service } from '../../../fixtures/core.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../../fixtures/fake-clock.ts';
import { flowEndpoint, flowSlice } from '../../flow/assemble/support.ts';

const MINUTE_MS = 60_000;
const MEGABYTE = 1e6;
const { signal } = new AbortController();

/** Of a thousand bytes, which a thousand proxies receive as a megabyte. */
const sliceOf = (name: string): FlowSlice => flowSlice([], { service: name });

describe('a fan-out budget of the flow-controller', () => {
  let clock: FakeClock;
  const open = (limit?: number): FanOutBudget => createFanOutBudget({ limit, proxies: () => 1_000, clock });
  /** One that began more than a minute ago. */
  const opened = async (limit?: number, own?: number): Promise<FanOutBudget> => {
    const budget = open(limit);
    for (const name of ['web', 'api']) budget.held(`shop/${name}`, [], own);
    await clock.advance(MINUTE_MS);
    return budget;
  };
  const held = (budget: FanOutBudget, name: string, own?: number): string =>
    budget.held(`shop/${name}`, [sliceOf(name)], own) ?? '';
  beforeEach(() => (clock = createFakeClock()));

  it('holds nothing back where there is none', () => {
    const budget = open();
    expect(budget.sent([sliceOf('web')])).to.equal(MEGABYTE);
    expect(held(budget, 'web')).to.equal('');
  });

  it('of the FlowPolicy counts what its Service sent', async () => {
    const budget = await opened(undefined, MEGABYTE);
    expect(held(budget, 'web', MEGABYTE)).to.equal('');
    budget.sent([sliceOf('web')]);
    expect(held(budget, 'web', MEGABYTE)).to.equal(
      'a plan that keeps more traffic in its zone waits: proxies would receive about 1 MB, and its FlowPolicy allows 1 MB a minute',
    );
    expect(held(budget, 'api', MEGABYTE), 'of another Service').to.equal('');
    await clock.advance(MINUTE_MS);
    expect(held(budget, 'web', MEGABYTE)).to.equal('');
  });

  it('of the configuration counts what all Services sent', async () => {
    const budget = await opened(2 * MEGABYTE);
    budget.sent([sliceOf('web')]);
    expect(held(budget, 'api')).to.equal('');
    budget.sent([sliceOf('api')]);
    expect(held(budget, 'web')).to.match(/ the configuration of the flow-controller allows 2 MB a minute$/);
  });

  it('is spent at the start, since what was sent before is not known', async () => {
    const budget = open(2 * MEGABYTE);
    expect(held(budget, 'web')).to.contain('waits');
    await clock.advance(MINUTE_MS);
    expect(held(budget, 'web')).to.equal('');
  });

  it('that a policy changes keeps what was sent', async () => {
    const budget = await opened(undefined, MEGABYTE);
    budget.sent([sliceOf('web')]);
    expect(held(budget, 'web', 1.5 * MEGABYTE)).to.contain('1.5 MB a minute');
    expect(held(budget, 'web', 2 * MEGABYTE)).to.equal('');
  });
});

describe('a Service under a fan-out budget', () => {
  let clock: FakeClock;
  let slices: FlowSlice[];
  let weights: Record<string, number>;
  let outcome: Outcome | undefined;
  let patches: number;
  let reconciler: Reconciler;

  const PODS = [
    ['a', 1],
    ['a', 2],
    ['b', 1],
    ['b', 2],
  ] as const;
  const sliceWith = (mark: string, forZones: (zone: string) => string[]): FlowSlice =>
    flowSlice(
      PODS.map(([zone, index]) => flowEndpoint(zone, { pod: `${zone}${index}`, forZones: forZones(zone) })),
      { mark, annotated: true, strategy: 'proportional' },
    );
  /** Applies hints, as an API server would. */
  const patched = (before: FlowSlice, patch: readonly JsonPatchOperation[]): FlowSlice => ({
    ...before,
    mark: 'zones',
    annotated: true,
    endpoints: before.endpoints.map((one, index) => {
      const found = patch.find(({ path }) => path === `/endpoints/${index}/hints`);
      const value =
        found !== undefined && 'value' in found ? (found.value as { forZones: { name: string }[] }) : undefined;
      return value === undefined ? one : { ...one, hinted: true, forZones: value.forZones.map(({ name }) => name) };
    }),
  });

  beforeEach(() => {
    clock = createFakeClock();
    [patches, outcome] = [0, undefined];
    weights = { a: 1, b: 1 };
    slices = [sliceWith('spread', () => [])];
    const client = {
      patch(_resource: unknown, _ref: unknown, _type: unknown, body: JsonPatchOperation[]) {
        patches += 1;
        slices = slices.map((slice) => patched(slice, body));
        return Promise.resolve({});
      },
    } as unknown as Pick<Client, 'patch'>;
    const fanOut = createFanOutBudget({ limit: MEGABYTE, proxies: () => 1_000, clock });
    const labels = { [LABEL_STRATEGY]: 'proportional' };
    reconciler = createFlowReconciler({
      snapshot: () => ({
        service: service({ metadata: { namespace: 'shop', name: 'web', labels } }),
        slices,
        policy: undefined,
        zones: { zones: Object.keys(weights), weights },
        podCpu: () => undefined,
      }),
      foreign: () => undefined,
      known: () => true,
      client,
      loads: { forget: () => undefined } as unknown as LoadReader,
      planning: createPlanning({ open: openInline, clock }),
      fanOut,
      clock,
      random: () => 0,
      checkSpec: () => undefined,
      onOutcome: (found) => Promise.resolve(void (outcome = found)),
      onForgotten: () => Promise.resolve(),
      onSend: (_cause, sent) => void fanOut.sent(sent),
      rememberedPlan: () => undefined,
    });
  });
  const turn = () => reconciler.reconcile('shop/web', signal);
  const hints = (): string =>
    (slices[0]?.endpoints ?? []).map(({ pod, forZones }) => `${pod}=${forZones.join('+')}`).join(' ');

  it('keeps its hints while a plan that only saves crossing has to wait, and says so', async () => {
    await turn();
    expect(patches).to.equal(0);
    expect(outcome?.held).to.match(/^a plan that keeps more traffic in its zone waits: /);
    expect(outcome).to.deep.include({ inForce: true });
    await clock.advance(MINUTE_MS);
    await turn();
    expect(hints()).to.equal('a1=a a2=a b1=b b2=b');
    expect(outcome?.held).to.equal(undefined);
  });

  it('is relieved at once, whatever was sent', async () => {
    // Those of b have to serve nine tenths of the clients.
    slices = [sliceWith('zones', (zone) => [zone])];
    weights = { a: 1, b: 9 };
    await turn();
    expect(patches).to.equal(1);
    expect(outcome?.held).to.equal(undefined);
    expect(hints()).to.equal('a1=a a2=b b1=b b2=b');
  });
});
