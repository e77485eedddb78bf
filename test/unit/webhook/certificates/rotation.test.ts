// The rotation decision: when a certificate is issued, by whom it is signed, and that callers can always check it.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { BACKDATE_MS } from '../../../../pkg/webhook/certificates/issue.ts';
import { DEFAULT_POLICY, decideRotation } from '../../../../pkg/webhook/certificates/rotation.ts';
import type { ServerFacts, StoredFacts, Validity } from '../../../../pkg/webhook/certificates/rotation.ts';
import { upTo } from '../../../support/depth.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const T0 = Date.UTC(2026, 0, 1);

const issued = (at: number, lifetimeMs = 30 * DAY): Validity => ({
  notBefore: at - BACKDATE_MS,
  notAfter: at + lifetimeMs,
});

const server = (at: number, more: Partial<ServerFacts> = {}): ServerFacts => ({
  ...issued(at),
  issuer: 'current',
  missingNames: [],
  ...more,
});

describe('decideRotation', () => {
  const table: { name: string; stored: StoredFacts; now: number; expected: object }[] = [
    {
      name: 'nothing is stored',
      stored: {},
      now: T0,
      expected: { kind: 'RotateAuthority', reason: 'AuthorityMissing' },
    },
    {
      name: 'only a server certificate is stored',
      stored: { server: server(T0) },
      now: T0,
      expected: { kind: 'RotateAuthority', reason: 'AuthorityMissing' },
    },
    {
      name: 'there is an authority but no server certificate',
      stored: { current: issued(T0) },
      now: T0,
      expected: { kind: 'IssueServer', signer: 'current', reason: 'ServerMissing' },
    },
    {
      name: 'all is young',
      stored: { current: issued(T0), server: server(T0) },
      now: T0 + DAY,
      expected: { kind: 'Keep' },
    },
    {
      name: 'both are just short of two thirds',
      stored: { current: issued(T0), server: server(T0) },
      now: T0 + 20 * DAY - 1,
      expected: { kind: 'Keep' },
    },
    {
      name: 'the authority was issued by a clock that is ahead by as much as certificates are dated back',
      stored: { current: issued(T0 + BACKDATE_MS), server: server(T0 + BACKDATE_MS) },
      now: T0,
      expected: { kind: 'Keep' },
    },
    {
      name: 'the authority was issued by a clock that is ahead by more',
      stored: { current: issued(T0 + BACKDATE_MS + 1), server: server(T0) },
      now: T0,
      expected: {
        kind: 'RotateAuthority',
        reason: 'AuthorityNotYetValid',
        message: 'the certificate authority is not valid before 2026-01-01T00:00:00.001Z',
      },
    },
    {
      name: 'the server certificate alone was issued by a clock that is ahead',
      stored: { current: issued(T0), server: server(T0 + DAY) },
      now: T0,
      expected: {
        kind: 'IssueServer',
        signer: 'current',
        reason: 'ServerNotYetValid',
        message: 'the server certificate is not valid before 2026-01-01T23:50:00.000Z',
      },
    },
    {
      name: 'the previous authority is not valid yet, so that nobody trusts what it signs',
      stored: { current: issued(T0), previous: issued(T0 + DAY), server: server(T0 + DAY, { issuer: 'previous' }) },
      now: T0,
      expected: { kind: 'IssueServer', signer: 'current', reason: 'ServerNotYetValid' },
    },
    {
      name: 'the authority has reached two thirds',
      stored: { current: issued(T0), server: server(T0) },
      now: T0 + 20 * DAY,
      expected: {
        kind: 'RotateAuthority',
        reason: 'AuthorityExpiring',
        message: 'the certificate authority expires 2026-01-31T00:00:00.000Z',
      },
    },
    {
      name: 'the server certificate alone has reached two thirds',
      stored: { current: issued(T0), server: { ...server(T0), notAfter: T0 + 9 * DAY } },
      now: T0 + 6 * DAY,
      expected: { kind: 'IssueServer', signer: 'current', reason: 'ServerExpiring' },
    },
    {
      name: 'a wanted name is missing',
      stored: { current: issued(T0), server: server(T0, { missingNames: ['a.svc', 'b.svc'] }) },
      now: T0 + DAY,
      expected: {
        kind: 'IssueServer',
        signer: 'current',
        reason: 'NamesChanged',
        message: 'the server certificate lacks a.svc, b.svc',
      },
    },
    {
      name: 'the server certificate comes from elsewhere',
      stored: { current: issued(T0), server: server(T0, { issuer: 'unknown' }) },
      now: T0 + DAY,
      expected: { kind: 'IssueServer', signer: 'current', reason: 'ForeignIssuer' },
    },
    {
      name: 'the new authority is not yet known everywhere',
      stored: { current: issued(T0 + 20 * DAY), previous: issued(T0), server: server(T0, { issuer: 'previous' }) },
      now: T0 + 20 * DAY + 14 * MINUTE,
      expected: { kind: 'Keep' },
    },
    {
      name: 'the new authority is known everywhere',
      stored: { current: issued(T0 + 20 * DAY), previous: issued(T0), server: server(T0, { issuer: 'previous' }) },
      now: T0 + 20 * DAY + 15 * MINUTE,
      expected: { kind: 'IssueServer', signer: 'current', reason: 'ServerExpiring' },
    },
    {
      name: 'the new authority is known everywhere and the server certificate is young',
      stored: {
        current: issued(T0 + 20 * DAY),
        previous: issued(T0),
        server: { ...server(T0 + 19 * DAY, { issuer: 'previous' }), notAfter: T0 + 30 * DAY },
      },
      now: T0 + 20 * DAY + 15 * MINUTE,
      expected: { kind: 'IssueServer', signer: 'current', reason: 'AuthorityChanged' },
    },
    {
      name: 'the server certificate is lost while the new authority spreads',
      stored: { current: issued(T0 + 20 * DAY), previous: issued(T0) },
      now: T0 + 20 * DAY + MINUTE,
      expected: { kind: 'IssueServer', signer: 'previous', reason: 'ServerMissing' },
    },
    {
      name: 'the previous authority ends before the new one has spread',
      stored: {
        current: issued(T0 + 20 * DAY),
        previous: { ...issued(T0), notAfter: T0 + 20 * DAY + 10 * MINUTE },
        server: { ...server(T0, { issuer: 'previous' }), notAfter: T0 + 20 * DAY + 10 * MINUTE },
      },
      now: T0 + 20 * DAY + MINUTE,
      expected: { kind: 'IssueServer', signer: 'current', reason: 'ServerExpiring' },
    },
    {
      name: 'the server certificate would end while the new authority spreads',
      stored: {
        current: issued(T0 + 20 * DAY),
        previous: issued(T0),
        server: { ...server(T0, { issuer: 'previous' }), notAfter: T0 + 20 * DAY + 20 * MINUTE },
      },
      now: T0 + 20 * DAY + MINUTE,
      expected: { kind: 'IssueServer', signer: 'previous', reason: 'ServerExpiring' },
    },
    {
      name: 'all replicas have had a day to change over',
      stored: { current: issued(T0 + 20 * DAY), previous: issued(T0), server: server(T0 + 20 * DAY + 15 * MINUTE) },
      now: T0 + 21 * DAY,
      expected: { kind: 'DropPrevious' },
    },
    {
      name: 'a replica may still serve the certificate of the previous authority',
      stored: { current: issued(T0 + 20 * DAY), previous: issued(T0), server: server(T0 + 20 * DAY + 15 * MINUTE) },
      now: T0 + 21 * DAY - 1,
      expected: { kind: 'Keep' },
    },
  ];
  for (const { name, stored, now, expected } of table) {
    it(`answers ${(expected as { kind: string }).kind} when ${name}`, () => {
      expect(decideRotation(stored, now)).to.include(expected);
    });
  }

  /** Carries decisions out on facts alone, as the store does with certificates. */
  const carryOut = (stored: StoredFacts, now: number): StoredFacts => {
    const decision = decideRotation(stored, now);
    const { current, previous } = stored;
    switch (decision.kind) {
      case 'Keep':
        return stored;
      case 'RotateAuthority': {
        const next = { current: issued(now, DEFAULT_POLICY.authorityLifetimeMs) };
        const issuer = stored.server?.issuer === 'current' && current !== undefined ? 'previous' : 'unknown';
        return {
          ...next,
          ...(current === undefined ? {} : { previous: current }),
          ...(stored.server === undefined ? {} : { server: { ...stored.server, issuer } }),
        };
      }
      case 'DropPrevious':
        return {
          ...(current === undefined ? {} : { current }),
          ...(stored.server === undefined ? {} : { server: stored.server }),
        };
      case 'IssueServer': {
        const signer = decision.signer === 'previous' ? previous! : current!;
        const notAfter = Math.min(now + DEFAULT_POLICY.serverLifetimeMs, signer.notAfter);
        return {
          ...stored,
          server: { notBefore: now - BACKDATE_MS, notAfter, issuer: decision.signer, missingNames: [] },
        };
      }
    }
  };

  it('replaces in a few steps all that a clock ahead has issued, with what both clocks hold valid', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 19 * 24 * 60 }),
        fc.integer({ min: 0, max: 24 * 60 }),
        (aheadMinutes, laterMinutes) => {
          const ahead = T0 + aheadMinutes * MINUTE;
          const settled = (stored: StoredFacts, now: number): StoredFacts => {
            for (let steps = 0; steps < 4; steps += 1) stored = carryOut(stored, now);
            expect(decideRotation(stored, now).kind, `at ${new Date(now).toISOString()}`).to.equal('Keep');
            return stored;
          };
          const right = settled(settled({}, ahead), T0);
          for (const one of [right.current!, right.server!]) expect(T0).to.be.within(one.notBefore, one.notAfter - 1);
          // The clock that is ahead finds nothing to replace either: two replicas do not undo each other's work.
          const kept = settled(right, ahead + laterMinutes * MINUTE);
          if (laterMinutes < 60) expect(kept.current).to.equal(right.current);
        },
      ),
      { numRuns: upTo(200) },
    );
  });

  it('settles in a few steps and, looked at in any interval, never serves what callers cannot check', () => {
    const violations = (minutes: number): string[] => {
      const found: string[] = [];
      let stored: StoredFacts = {};
      let trustedSince = T0;
      // Four lives of an authority; a plain list instead of assertions, for there are thousands of looks.
      for (let now = T0; now < T0 + 80 * DAY; now += minutes * MINUTE) {
        const complain = (what: string): void => void found.push(`${new Date(now).toISOString()}: ${what}`);
        const authority = stored.current;
        for (let steps = 0; decideRotation(stored, now).kind !== 'Keep'; steps += 1) {
          if (steps > 3) return [...found, `${now}: does not settle`];
          const before = stored;
          stored = carryOut(stored, now);
          const changedOver = before.server?.issuer === 'previous' && stored.server?.issuer === 'current';
          // The new authority signs only once callers have had time to hear of it.
          if (changedOver && now - trustedSince < DEFAULT_POLICY.propagationMs) complain('changed over too early');
          if (stored.current !== before.current) trustedSince = now;
        }
        if (!((stored.server?.notAfter ?? 0) > now)) complain('server certificate has ended');
        if (!((stored.current?.notAfter ?? 0) > now)) complain('authority has ended');
        if (stored.server?.issuer === 'unknown') complain('signed by nobody that callers trust');
        if (authority !== undefined && stored.current !== authority && stored.previous !== authority)
          complain('the replaced authority is not published any more');
      }
      return found;
    };
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 6 * 60 }), (minutes) => void expect(violations(minutes)).to.deep.equal([])),
      { numRuns: 12 },
    );
  });
});
