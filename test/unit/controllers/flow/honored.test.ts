import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { createHonored } from '../../../../pkg/controllers/flow/honored.ts';
import { nullLogger } from '../../../../pkg/telemetry/log.ts';
import type { OutcomeCounts, ServiceCounts } from '../../../../pkg/traffic/proof.ts';
import { type FakeClock, createFakeClock } from '../../../fixtures/fake-clock.ts';

interface Change {
  readonly text: string;
  readonly at: number;
}

describe('honored: verdicts of Services over time', () => {
  let clock: FakeClock;
  let changes: Change[];
  let counters: Record<string, OutcomeCounts>;
  let fails: boolean;
  let stop: AbortController;
  let running: Promise<void>;
  let honored: ReturnType<typeof createHonored>;

  const read = (): Promise<ReadonlyMap<string, ServiceCounts>> => {
    if (fails) return Promise.reject(new Error('no meter'));
    return Promise.resolve(
      new Map(Object.entries(counters).map(([node, own]) => [node, new Map([['shop/web', own]])])),
    );
  };

  beforeEach(() => {
    clock = createFakeClock();
    [changes, counters, fails] = [[], {}, false];
    stop = new AbortController();
    honored = createHonored({ read, clock, intervalMs: 10_000, logger: nullLogger });
    running = honored.run(stop.signal);
  });
  afterEach(async () => {
    stop.abort();
    await running;
  });

  /** Every ten seconds counters grow by `each`, and meters are read. */
  const pass = async (seconds: number, each: Record<string, OutcomeCounts> = {}): Promise<void> => {
    for (let second = 0; second < seconds; second += 10) {
      for (const [node, counts] of Object.entries(each)) {
        const sum: Record<string, number> = { ...counters[node] };
        for (const [outcome, count] of Object.entries(counts)) sum[outcome] = (sum[outcome] ?? 0) + count;
        counters = { ...counters, [node]: sum };
      }
      await clock.advance(10_000);
      const verdict = honored.verdict('shop/web');
      const text = verdict === undefined ? '' : `${verdict.status} ${verdict.reason}: ${verdict.message}`;
      if (text !== '' && text !== changes.at(-1)?.text) changes.push({ text, at: clock.monotonic() });
    }
  };
  const reasons = (): string[] => changes.map(({ text }) => text.slice(0, text.indexOf(':')));

  it('True once connections are honored, and nothing else while that stays so', async () => {
    expect(honored.verdict('shop/web')).to.equal(undefined);
    await pass(300, { n1: { Honored: 9 } });
    expect(reasons()).to.deep.equal(['True Honored']);
  });

  it('False within a minute of a fault, with the Node, and True again after it was mended', async () => {
    await pass(120, { n1: { Honored: 9 } });
    const began = clock.monotonic();
    await pass(60, { n1: { Honored: 9 }, n2: { Ignored: 9 } });
    const { text = '', at = 0 } = changes.at(-1) ?? {};
    expect(text).to.match(/^False HintsIgnored: .*n2 /);
    expect(at - began).to.be.below(60_000);
    await pass(180, { n1: { Honored: 9 }, n2: { Honored: 9 } });
    expect(reasons()).to.deep.equal(['True Honored', 'False HintsIgnored', 'True Honored']);
  });

  it('a reading that by chance holds honored connections only does not hide a fault for a minute', async () => {
    await pass(20, { n1: { Honored: 0 } });
    await pass(10, { n1: { Honored: 2 } });
    await pass(20, { n1: { Honored: 9, Ignored: 9 } });
    expect(reasons()).to.deep.equal(['False HintsIgnored']);
  });

  it('a fault that comes and goes changes the verdict once a minute at most', async () => {
    for (let round = 0; round < 10; round += 1) {
      await pass(70, { n1: { Honored: 9 } });
      await pass(70, { n1: { Ignored: 9 } });
    }
    const gaps = changes.slice(1).map(({ at }, index) => at - (changes[index]?.at ?? 0));
    expect(changes.length).to.be.at.least(10);
    expect(Math.min(...gaps)).to.be.at.least(60_000);
  });

  it('Unknown ten minutes after the last connection or answer of a meter, forgotten after a day', async () => {
    await pass(60, { n1: { Honored: 9 } });
    fails = true;
    await pass(500);
    expect(reasons().at(-1)).to.equal('True Honored');
    await pass(200);
    expect(reasons().at(-1)).to.equal('Unknown NoTraffic');
    await pass(86_400);
    expect(honored.verdict('shop/web')).to.equal(undefined);
  });
});
