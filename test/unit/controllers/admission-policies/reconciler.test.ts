// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { AdmissionCarrier } from '../../../../pkg/apis/config/admission.ts';
import type { OwnerReference } from '../../../../pkg/apis/meta.ts';
import { MUTATING_ADMISSION_POLICIES } from '../../../../pkg/apis/resources.ts';
import { chooseCarrier } from '../../../../pkg/controllers/admission-policies/choose.ts';
import { managedKey } from '../../../../pkg/controllers/admission-policies/objects.ts';
import type { Managed } from '../../../../pkg/controllers/admission-policies/objects.ts';
import {
  createAdmissionPoliciesReconciler,
  SETTLE_MS,
} from '../../../../pkg/controllers/admission-policies/reconciler.ts';
import type { PolicyWriter } from '../../../../pkg/controllers/admission-policies/writer.ts';
import type { Carrier } from '../../../../pkg/hints/policy/index.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import type { EventInput, Result } from '../../../../pkg/kubernetes/types.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import { policyOptions } from '../../../fixtures/policies.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';
import { installed, isCarrierObject, NAMESPACE } from './support.ts';

/** A cluster that does at once what it is told. */
const setup = (current: Managed[] = []) => {
  const clock = createFakeClock();
  const state = {
    admission: 'auto' as AdmissionCarrier,
    served: true,
    ready: true,
    known: true,
    claim: { held: true, known: true },
    planners: undefined as string[] | undefined,
    owner: undefined as OwnerReference | undefined,
    alive: true,
    largest: 3,
    acts: { policy: true, webhook: true } as Record<Carrier, boolean>,
    foreign: new Set<string>(),
    fails: undefined as Error | undefined,
    objects: new Map(current.map((item) => [managedKey(item), item])),
  };
  const writes: string[] = [];
  const probes: Carrier[] = [];
  const events: EventInput[] = [];
  const carriers: string[] = [];
  const writer: PolicyWriter = {
    withCreated: (cached) => [...cached],
    foreign: () => state.foreign,
    perform(actions) {
      if (state.fails !== undefined) return Promise.reject(state.fails);
      for (const { kind, ...item } of actions) {
        writes.push(`${kind} ${item.resource.kind}`);
        if (kind === 'delete') state.objects.delete(managedKey(item));
        else state.objects.set(managedKey(item), item);
      }
      return Promise.resolve();
    },
  };
  const reconciler = () =>
    createAdmissionPoliciesReconciler({
      admission: state.admission,
      policies: () =>
        policyOptions(NAMESPACE, state.planners === undefined ? {} : { flowControllerUsers: state.planners }),
      claim: { held: () => state.claim.held, known: () => state.claim.known },
      owner: () => Promise.resolve(state.owner),
      choose: () =>
        state.ready
          ? chooseCarrier({
              admission: state.admission,
              served: state.served,
              readable: true,
              largestSlice: state.largest,
            })
          : undefined,
      namespace: NAMESPACE,
      store: { list: () => [...state.objects.values()] },
      writer,
      planner: { alive: () => state.alive, known: () => state.known },
      acts(carrier) {
        probes.push(carrier);
        return Promise.resolve(state.acts[carrier]);
      },
      clock,
      events: { record: (event) => void events.push(event) },
      regarding: { apiVersion: 'v1', kind: 'Namespace', name: NAMESPACE },
      logger: recordingLogger(),
    });
  let leader = reconciler();
  const turn = async (): Promise<Result> => {
    const result = await leader.reconcile('policies', new AbortController().signal);
    const now = leader.backends();
    if (now !== undefined)
      carriers.push(now.awaited === undefined ? now.acting : `${now.acting}, awaits ${now.awaited}`);
    return result;
  };
  /** Turns as the queue would make them, for so long. */
  const turns = async (milliseconds: number): Promise<void> => {
    for (const end = clock.monotonic() + milliseconds; clock.monotonic() < end;) {
      const result = await turn();
      await clock.advance(result.kind === 'requeue' ? result.afterMs : milliseconds);
    }
  };
  const says = (): string | undefined => [...state.objects.values()].find(isCarrierObject)?.object.data?.['carrier'];
  /** As a new leader would begin. */
  const restart = (): void => void (leader = reconciler());
  return { clock, state, writes, probes, events, carriers, turn, turns, says, restart };
};

describe('the admission backend', () => {
  it('is brought in: everything installed, seen to act for a while, then said', async () => {
    const { turns, turn, says, writes, probes, events } = setup();
    await turn();
    expect(writes).to.have.lengthOf(13);
    await turns(SETTLE_MS);
    expect(says(), 'acts, but not for long enough').to.equal('webhook');
    await turns(2_000);
    expect(says()).to.equal('policy');
    expect(writes.slice(13)).to.deep.equal(['update ConfigMap']);
    expect(new Set(probes)).to.deep.equal(new Set(['policy']));
    expect(events.map(({ type, reason }) => [type, reason])).to.deep.equal([['Normal', 'AdmissionCarrier']]);
  });

  it('is reported after each step, with the one that is awaited', async () => {
    const { turns, carriers } = setup();
    await turns(SETTLE_MS + 2_000);
    expect(carriers.filter((said, index) => said !== carriers[index - 1])).to.deep.equal([
      'webhook',
      'webhook, awaits policy',
      'policy',
    ]);
  });

  it('is left alone once it is in: no write, no probe', async () => {
    const { turns, writes, probes, events } = setup(installed('policy'));
    await turns(600_000);
    expect([writes, probes, events]).to.deep.equal([[], [], []]);
  });

  it('begins to wait anew after a moment in which it did not act', async () => {
    const { state, turns, says } = setup(installed('webhook'));
    await turns(4_000);
    state.acts.policy = false;
    await turns(1_000);
    state.acts.policy = true;
    await turns(4_000);
    expect(says()).to.equal('webhook');
    await turns(4_000);
    expect(says()).to.equal('policy');
  });

  it('is not changed while the new one does not act, which is reported once', async () => {
    const { state, turns, says, events, writes } = setup(installed('policy'));
    state.acts.webhook = false;
    state.largest = 500;
    await turns(300_000);
    expect(says()).to.equal('webhook');
    expect(writes, 'the policies stay').to.deep.equal(['update ConfigMap']);
    expect(events.filter(({ reason }) => reason === 'CarrierNotActing')).to.have.lengthOf(1);
  });

  it('goes back to the webhook for large slices, and everything is removed', async () => {
    const { state, turns, writes } = setup(installed('policy'));
    state.largest = 101;
    await turns(20_000);
    expect(state.objects.size).to.equal(0);
    expect(writes[0]).to.equal('update ConfigMap');
    expect(writes.slice(1)).to.have.lengthOf(13);
    expect(writes.at(-1)).to.equal('delete ConfigMap');
  });

  it('follows what a former leader said', async () => {
    const { state, turns, restart, says } = setup();
    await turns(10_000);
    restart();
    await turns(10_000);
    expect([says(), state.objects.size]).to.deep.equal(['policy', 13]);
  });

  it('decides nothing before it knows what is served and whether the planner lives', async () => {
    const { state, turn, writes } = setup();
    state.ready = false;
    expect(await turn()).to.deep.equal({ kind: 'requeue', afterMs: 1_000 });
    state.ready = true;
    state.known = false;
    await turn();
    expect(writes).to.deep.equal([]);
  });

  it('lets the policies know within 15 seconds that the planner died, with a write each', async () => {
    const { state, turns, writes } = setup(installed('policy'));
    await turns(60_000);
    state.alive = false;
    await turns(15_000);
    expect(writes).to.deep.equal(['update MutatingAdmissionPolicy', 'update MutatingAdmissionPolicy']);
    await turns(60_000);
    expect(writes).to.have.lengthOf(2);
  });

  it('says once why nothing is installed over objects of others', async () => {
    const { state, turns, events, writes } = setup();
    state.foreign = new Set(installed('webhook').slice(1, 2).map(managedKey));
    await turns(120_000);
    expect(writes).to.deep.equal([]);
    expect(events.map(({ type, reason }) => [type, reason])).to.deep.equal([['Warning', 'PolicyRefused']]);
    expect(events[0]?.message).to.contain('MutatingAdmissionPolicy ours.same-zone exists');
  });

  it('warns where policies are configured and cannot be', async () => {
    const { state, turns, events, restart } = setup();
    state.admission = 'policy';
    state.served = false;
    restart();
    await turns(60_000);
    expect(events.map(({ type, reason }) => [type, reason])).to.deep.equal([['Warning', 'PolicyNotServed']]);
  });

  it('looks again after a conflict, and fails with what else the server says', async () => {
    const { state, turn } = setup();
    const failed = (status: number) =>
      new ApiError({ method: 'PUT', path: '/x', status, reason: status === 409 ? 'Conflict' : 'x' });
    state.fails = failed(409);
    expect(await turn()).to.deep.equal({ kind: 'requeue', afterMs: 1_000 });
    state.fails = failed(500);
    expect(await turn().catch((error: unknown) => error)).to.equal(state.fails);
  });

  it('goes with its owner: policies, bindings, and what says that they carry', async () => {
    const { state, turns, writes } = setup();
    const owner = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'ours', uid: 'one' };
    const owners = () => [...state.objects.values()].map(({ object }) => object.metadata?.ownerReferences?.[0]?.uid);
    state.owner = owner;
    await turns(SETTLE_MS + 2_000);
    expect(new Set(owners())).to.deep.equal(new Set(['one']));
    const { length } = writes;
    state.owner = { ...owner, uid: 'two' };
    await turns(20_000);
    expect(new Set(owners()), 'after the owner was made anew').to.deep.equal(new Set(['two']));
    expect(writes).to.have.lengthOf(length + 13);
    state.owner = undefined;
    await turns(20_000);
    expect(writes, 'nobody knows the owner for a while').to.have.lengthOf(length + 13);
  });

  it('lets pass whom the Lease names as planner, once another installation plans', async () => {
    const { state, turns, writes } = setup(installed('policy'));
    state.planners = ['system:serviceaccount:other:flow-controller'];
    await turns(20_000);
    expect(writes).to.deep.equal(['update MutatingAdmissionPolicy', 'update MutatingAdmissionPolicy']);
  });

  describe('of an installation beside another one', () => {
    const names = ({ objects }: { objects: ReadonlyMap<string, Managed> }): string[] =>
      [...objects.values()]
        .filter(({ resource }) => resource === MUTATING_ADMISSION_POLICIES)
        .map(({ object }) => String(object.metadata?.name).replace('ours.', ''))
        .sort();
    const SETTINGS = ['service-settings'];

    it('waits until the claim is known before it writes', async () => {
      const { state, turn, writes } = setup();
      state.claim.known = false;
      expect(await turn()).to.deep.equal({ kind: 'requeue', afterMs: 1_000 });
      expect(writes).to.deep.equal([]);
      state.claim.known = true;
      await turn();
      expect(writes).to.have.lengthOf(13);
    });

    it('keeps settings alone, without a look at slices', async () => {
      const { state, turns, says, probes } = setup();
      state.claim.held = false;
      state.acts.policy = false;
      await turns(SETTLE_MS + 5_000);
      expect([says(), names(state), probes]).to.deep.equal(['policy', SETTINGS, []]);
    });

    it('takes slices over with the claim, and gives them back', async () => {
      const { state, turns, says } = setup();
      state.claim.held = false;
      await turns(10_000);
      state.claim.held = true;
      await turns(20_000);
      const all = ['etcd-clients', 'load-aware', 'proportional', 'same-node', 'same-zone', 'service-settings'];
      expect([says(), names(state)]).to.deep.equal(['policy', all]);
      state.claim.held = false;
      await turns(20_000);
      expect([says(), names(state)]).to.deep.equal(['policy', SETTINGS]);
    });
  });
});
