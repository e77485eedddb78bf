// The rotation decision: when a certificate is issued, by whom it is signed, and that callers can always check it.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { defined } from '../../../../pkg/apis/values.ts';
import { BACKDATE_MS } from '../../../../pkg/webhook/certificates/issue.ts';
import { DEFAULT_POLICY, decideRotation } from '../../../../pkg/webhook/certificates/rotation.ts';
import type { Validity } from '../../../../pkg/webhook/certificates/pair.ts';
import type { ServerFacts, StoredFacts } from '../../../../pkg/webhook/certificates/rotation.ts';
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
  const first = { current: issued(T0) };
  const young = { ...first, server: server(T0) };
  /** When the authority is replaced, and what is stored then. */
  const T1 = T0 + 20 * DAY;
  const replaced = { current: issued(T1), previous: issued(T0) };
  const ofPrevious = (more: Partial<ServerFacts> = {}) => server(T0, { issuer: 'previous', ...more });
  const spreading = { ...replaced, server: ofPrevious() };
  const spread = { ...replaced, server: server(T1 + 15 * MINUTE) };
  const soon = T1 + 10 * MINUTE;
  const ending = {
    current: issued(T1),
    previous: { ...issued(T0), notAfter: soon },
    server: ofPrevious({ notAfter: soon }),
  };
  const early = { ...first, previous: issued(T0 + DAY), server: server(T0 + DAY, { issuer: 'previous' }) };
  const youngOfPrevious = { ...server(T0 + 19 * DAY, { issuer: 'previous' }), notAfter: T0 + 30 * DAY };
  /** `is`: the kind, and of what is issued the reason and by whom it is signed. */
  const table: readonly (readonly [name: string, stored: StoredFacts, now: number, is: string, says?: string])[] = [
    ['nothing is stored', {}, T0, 'RotateAuthority AuthorityMissing'],
    ['only a server certificate is stored', { server: server(T0) }, T0, 'RotateAuthority AuthorityMissing'],
    ['there is an authority but no server certificate', first, T0, 'IssueServer ServerMissing current'],
    ['all is young', young, T0 + DAY, 'Keep'],
    ['both are just short of two thirds', young, T1 - 1, 'Keep'],
    [
      'the authority was issued by a clock that is ahead by as much as certificates are dated back',
      { current: issued(T0 + BACKDATE_MS), server: server(T0 + BACKDATE_MS) },
      T0,
      'Keep',
    ],
    [
      'the authority was issued by a clock that is ahead by more',
      { current: issued(T0 + BACKDATE_MS + 1), server: server(T0) },
      T0,
      'RotateAuthority AuthorityNotYetValid',
      'the certificate authority is not valid before 2026-01-01T00:00:00.001Z',
    ],
    [
      'the server certificate alone was issued by a clock that is ahead',
      { ...first, server: server(T0 + DAY) },
      T0,
      'IssueServer ServerNotYetValid current',
      'the server certificate is not valid before 2026-01-01T23:50:00.000Z',
    ],
    ['nothing trusts what the previous one signs', early, T0, 'IssueServer ServerNotYetValid current'],
    [
      'the authority has reached two thirds',
      young,
      T1,
      'RotateAuthority AuthorityExpiring',
      'the certificate authority expires 2026-01-31T00:00:00.000Z',
    ],
    [
      'the server certificate alone has reached two thirds',
      { ...first, server: { ...server(T0), notAfter: T0 + 9 * DAY } },
      T0 + 6 * DAY,
      'IssueServer ServerExpiring current',
    ],
    [
      'a wanted name is missing',
      { ...first, server: server(T0, { missingNames: ['a.svc', 'b.svc'] }) },
      T0 + DAY,
      'IssueServer NamesChanged current',
      'the server certificate lacks a.svc, b.svc',
    ],
    [
      'the server certificate comes from elsewhere',
      { ...first, server: server(T0, { issuer: 'unknown' }) },
      T0 + DAY,
      'IssueServer ForeignIssuer current',
    ],
    ['the new authority is not yet known everywhere', spreading, T1 + 14 * MINUTE, 'Keep'],
    ['it is known everywhere', spreading, T1 + 15 * MINUTE, 'IssueServer ServerExpiring current'],
    [
      'the new authority is known everywhere and the server certificate is young',
      { ...replaced, server: youngOfPrevious },
      T1 + 15 * MINUTE,
      'IssueServer AuthorityChanged current',
    ],
    ['the certificate is lost meanwhile', replaced, T1 + MINUTE, 'IssueServer ServerMissing previous'],
    ['the previous one ends before the new one has spread', ending, T1 + MINUTE, 'IssueServer ServerExpiring current'],
    [
      'the server certificate would end while the new authority spreads',
      { ...replaced, server: ofPrevious({ notAfter: T1 + 20 * MINUTE }) },
      T1 + MINUTE,
      'IssueServer ServerExpiring previous',
    ],
    ['all replicas have had a day to change over', spread, T1 + DAY, 'DropPrevious'],
    ['a replica may still serve that of the previous authority', spread, T1 + DAY - 1, 'Keep'],
  ];
  for (const [name, stored, now, is, says] of table) {
    it(`answers ${is} when ${name}`, () => {
      const decision = decideRotation(stored, now);
      const [kind, reason, signer] = is.split(' ');
      expect(decision).to.include(defined({ kind, reason, signer, message: says }));
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
