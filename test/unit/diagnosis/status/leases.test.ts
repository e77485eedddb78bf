import { expect } from 'chai';
import { describe, it } from 'mocha';
import { COMMANDS, HEARTBEAT_LEASE } from '../../../../pkg/apis/names.ts';
import type { ComponentPod, ConfigFacts, LeaseFacts } from '../../../../pkg/diagnosis/status/evidence.ts';
import { leasesOf, leaseStatus, leaseUsesOf } from '../../../../pkg/diagnosis/status/leases.ts';

const NOW = 1_000_000_000;
const lease = (overrides: Partial<LeaseFacts> = {}): LeaseFacts => ({
  namespace: 'own',
  name: COMMANDS.flowController,
  holder: 'flow-controller-abc_0123-4567',
  renewedAt: NOW - 2_000,
  durationSeconds: 15,
  installation: '',
  ...overrides,
});
const pod = (name: string): ComponentPod => ({
  namespace: 'own',
  name,
  instance: 'one',
  component: COMMANDS.flowController,
  nodeName: 'node',
  ready: true,
  restarts: 0,
  waiting: '',
});
const config = (name: string, leases: ConfigFacts['leases']): ConfigFacts => ({ namespace: 'own', name, leases });

describe('leases of a status', () => {
  const uses = leaseUsesOf([], 'own');

  const AGES: readonly { name: string; lease: Partial<LeaseFacts>; state: string; age: number | null }[] = [
    { name: 'renewed just now', lease: {}, state: 'Held', age: 2 },
    { name: 'late by less than the grace', lease: { renewedAt: NOW - 30_000 }, state: 'Held', age: 30 },
    { name: 'late by more', lease: { renewedAt: NOW - 31_000 }, state: 'Stale', age: 31 },
    { name: 'of a clock that is ahead', lease: { renewedAt: NOW + 9_000 }, state: 'Held', age: 0 },
    { name: 'held by nobody', lease: { holder: '' }, state: 'Released', age: 2 },
    {
      name: 'a heartbeat that missed one beat',
      lease: { name: HEARTBEAT_LEASE, durationSeconds: 30, renewedAt: NOW - 60_000 },
      state: 'Held',
      age: 60,
    },
    {
      name: 'a heartbeat that missed two',
      lease: { name: HEARTBEAT_LEASE, durationSeconds: 30, renewedAt: NOW - 90_000 },
      state: 'Stale',
      age: 90,
    },
  ];
  for (const { name, lease: overrides, state, age } of AGES) {
    it(`${state}: ${name}`, () => {
      const found = leaseStatus(lease(overrides), { now: NOW, uses, pods: undefined });
      expect([found.state, found.ageSeconds]).to.deep.equal([state, age]);
    });
  }

  it('is never renewed without a time', () => {
    const { renewedAt: _, ...never } = lease();
    expect(leaseStatus(never, { now: NOW, uses, pods: undefined })).to.include({ state: 'Released', ageSeconds: null });
  });

  it('knows whether the holder is one of the Pods, also where the host name is a cut-off one', () => {
    const gone = (pods: ComponentPod[] | undefined): boolean =>
      leaseStatus(lease(), { now: NOW, uses, pods }).holderGone;
    expect(gone([pod('flow-controller-abc'), pod('flow-controller-def')])).to.equal(false);
    expect(gone([pod('flow-controller-abcdef')])).to.equal(false);
    expect(gone([pod('flow-controller-def')])).to.equal(true);
    expect(gone([])).to.equal(false);
    expect(gone(undefined)).to.equal(false);
  });

  it('goes by the Leases that the configuration names, else by the default ones', () => {
    const shared = {
      component: COMMANDS.flowController,
      purpose: 'leader',
      namespace: 'garden',
      name: 'shared',
    } as const;
    const claim = {
      component: COMMANDS.endpointSliceWebhook,
      purpose: 'claim',
      namespace: 'garden',
      name: 'claim',
    } as const;
    const found = leaseUsesOf([config('flow-controller', [shared]), config('endpointslice-webhook', [claim])], 'own');
    expect(found.map(({ namespace, name }) => `${namespace}/${name}`)).to.deep.equal([
      'garden/shared',
      'garden/claim',
      'own/settings-reconciler-leader-election',
    ]);
    const leases = [
      lease({ namespace: 'garden', name: 'shared', installation: 'other' }),
      lease({ namespace: 'garden', name: 'unrelated' }),
      lease({ namespace: 'own', name: 'anything' }),
    ];
    const own = leasesOf(leases, 'own', found);
    expect(own.map(({ name }) => name)).to.deep.equal(['shared', 'anything']);
    expect(leaseStatus(own[0]!, { now: NOW, uses: found, pods: undefined })).to.include({
      purpose: 'leader',
      component: COMMANDS.flowController,
      installation: 'other',
    });
  });
});
