// SPDX-License-Identifier: Apache-2.0
// What happens on a node, second by second: which second an event belongs to, and when a second is given out.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createLedger } from '../../e2e/closed-loop-ledger.ts';

describe('the ledger of a node', () => {
  it('gives out every second once it is over, also one in which nothing happened', () => {
    const ledger = createLedger('a', 10_300);
    expect(ledger.complete(10_999)).to.deep.equal([]);
    expect(ledger.complete(12_000)).to.deep.equal([
      { zone: 'a', second: 10, lateMs: 0, clients: {}, pods: {} },
      { zone: 'a', second: 11, lateMs: 0, clients: {}, pods: {} },
    ]);
    expect(ledger.complete(12_500)).to.deep.equal([]);
  });

  it('counts a request in the second it was sent and its end in the second it ended', () => {
    const ledger = createLedger('a', 0);
    ledger.sent(900, 'web');
    ledger.ended(1_100, 'web', { kind: 'served', zone: 'b', ms: 200, openedAt: 900 });
    const [first, second] = ledger.complete(2_000);
    expect(first?.clients['web']).to.deep.include({ sent: 1, byZone: {} });
    expect(second?.clients['web']).to.deep.include({ sent: 0, byZone: { b: 1 }, errors: {}, newest: { b: 900 } });
  });

  it('knows where a refused request went, and nothing of one that reached no endpoint', () => {
    const ledger = createLedger('a', 0);
    ledger.ended(0, 'web', { kind: 'refused', zone: 'a', openedAt: 7 });
    ledger.ended(0, 'web', { kind: 'failed', code: 'ETIMEDOUT' });
    const [only] = ledger.complete(1_000);
    expect(only?.clients['web']).to.deep.equal({
      sent: 0,
      byZone: { a: 1 },
      errors: { REFUSED: 1, ETIMEDOUT: 1 },
      latencies: {},
      newest: { a: 7 },
    });
  });

  it('counts a Pod’s work in the second that it will be done in', () => {
    const ledger = createLedger('a', 0);
    ledger.served(990, 'web-1', 'web');
    ledger.served(1_010, 'web-1', 'web');
    ledger.refused(995, 'web-1', 'web');
    ledger.filled(990, 'web-1', 'web', 0.25);
    ledger.filled(991, 'web-1', 'web', 1);
    ledger.filled(992, 'web-1', 'web', 0.5);
    const [first, second] = ledger.complete(2_000);
    expect(first?.pods['web-1']).to.deep.equal({ service: 'web', served: 1, refused: 1, filled: 1 });
    expect(second?.pods['web-1']).to.deep.equal({ service: 'web', served: 1, refused: 0, filled: 0 });
  });

  it('keeps the longest time of a second that the program was kept from its work', () => {
    const ledger = createLedger('a', 0);
    ledger.late(400, 3);
    ledger.late(500, 120);
    ledger.late(600, 0);
    ledger.late(1_900, 800);
    expect(ledger.complete(3_000).map(({ lateMs }) => lateMs)).to.deep.equal([120, 800, 0]);
  });

  it('counts what comes too late in the oldest second that is open', () => {
    const ledger = createLedger('a', 0);
    ledger.complete(3_000);
    ledger.sent(1_500, 'web');
    expect(ledger.complete(4_000).map(({ second, clients }) => [second, clients['web']?.sent])).to.deep.equal([[3, 1]]);
  });
});
