// What a holder writes into its Lease.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ANNOTATION_INSTALLATION } from '../../../pkg/apis/names.ts';
import { claimLease, holderOf, installationOf, microTime, releaseLease } from '../../../pkg/kubernetes/lease.ts';
import type { Lease } from '../../../pkg/kubernetes/lease.ts';

const now = Date.UTC(2026, 0, 2, 3, 4, 5, 6);
const time = '2026-01-02T03:04:05.006000Z';
const earlier = '2026-01-01T00:00:00.000000Z';
const ref = { namespace: 'garden', name: 'leader' };
const claim = { identity: 'me', leaseDurationMs: 15_000, now };

const held = (holderIdentity: string): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { ...ref, resourceVersion: '7', labels: { kept: 'yes' } },
  spec: { holderIdentity, leaseDurationSeconds: 15, acquireTime: earlier, renewTime: earlier, leaseTransitions: 3 },
});

describe('microTime', () => {
  for (const [ms, text] of [
    [0, '1970-01-01T00:00:00.000000Z'],
    [now, time],
  ] as const) {
    it(`writes ${text} with six digits`, () => expect(microTime(ms)).to.equal(text));
  }
});

describe('claimLease', () => {
  it('creates a Lease without transitions', () => {
    expect(claimLease(ref, undefined, claim)).to.deep.equal({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: ref,
      spec: { holderIdentity: 'me', leaseDurationSeconds: 15, acquireTime: time, renewTime: time, leaseTransitions: 0 },
    });
  });

  it('renews its own Lease and changes nothing but the time', () => {
    const before = held('me');
    expect(claimLease(ref, before, claim)).to.deep.equal({ ...before, spec: { ...before.spec, renewTime: time } });
  });

  it('takes over another one: new times, one more transition, the rest kept', () => {
    const taken = claimLease(ref, held('other'), claim);
    expect(taken.metadata).to.deep.equal(held('other').metadata);
    expect(taken.spec).to.deep.include({
      holderIdentity: 'me',
      acquireTime: time,
      renewTime: time,
      leaseTransitions: 4,
    });
  });

  describe('with marks', () => {
    const reference = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', name, uid: `u-${name}` });
    const marks = { installation: 'mine', owner: reference('mine') };
    const marked = (by: string): Lease => {
      const lease = held(by);
      const annotations = { theirs: 'x', [ANNOTATION_INSTALLATION]: by };
      return { ...lease, metadata: { ...lease.metadata, annotations, ownerReferences: [reference(by)] } };
    };

    it('says whose a new Lease is', () => {
      const lease = claimLease(ref, undefined, { ...claim, marks });
      expect(installationOf(lease)).to.equal('mine');
      expect(lease.metadata?.ownerReferences).to.deep.equal([marks.owner]);
    });

    it('replaces those of the holder before, and keeps what others wrote', () => {
      const { metadata } = claimLease(ref, marked('other'), { ...claim, marks });
      expect(metadata?.annotations).to.deep.equal({ theirs: 'x', [ANNOTATION_INSTALLATION]: 'mine' });
      expect(metadata?.ownerReferences).to.deep.equal([marks.owner]);
      expect(metadata?.labels).to.deep.equal({ kept: 'yes' });
    });

    it('takes those of the holder before away where it has none', () => {
      const { metadata } = claimLease(ref, marked('other'), { ...claim, marks: { owner: undefined } });
      expect(metadata).not.to.have.property('ownerReferences');
      expect(metadata?.annotations).to.deep.equal({ theirs: 'x' });
    });

    it('are written when the Lease is taken, and not with each renewal', () => {
      expect(claimLease(ref, held('me'), { ...claim, marks }).metadata).to.deep.equal(held('me').metadata);
    });

    it('name no installation where a Lease names none', () => expect(installationOf(held('me'))).to.equal(''));
  });

  for (const spec of [undefined, {}, { holderIdentity: null, leaseTransitions: null, acquireTime: null }]) {
    it(`takes a Lease with spec ${JSON.stringify(spec)}`, () => {
      const lease: Lease = spec === undefined ? { metadata: ref } : { metadata: ref, spec };
      expect(claimLease(ref, lease, claim).spec).to.deep.include({ holderIdentity: 'me', leaseTransitions: 1 });
    });
  }

  for (const [leaseDurationMs, seconds] of [
    [15_000, 15],
    [15_001, 16],
    [200, 1],
  ] as const) {
    it(`writes ${leaseDurationMs} ms as ${seconds} s`, () => {
      expect(claimLease(ref, undefined, { ...claim, leaseDurationMs }).spec?.leaseDurationSeconds).to.equal(seconds);
    });
  }
});

describe('releaseLease', () => {
  it('empties the holder and lets followers in at once', () => {
    const released = releaseLease(held('me'), now);
    expect(holderOf(released)).to.equal('');
    expect(released.spec).to.deep.include({ leaseDurationSeconds: 1, renewTime: time, leaseTransitions: 3 });
    expect(released.metadata?.resourceVersion).to.equal('7');
  });
});
