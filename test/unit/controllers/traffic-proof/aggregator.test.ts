import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import type { Service } from '../../../../pkg/apis/core.ts';
import type { Condition } from '../../../../pkg/apis/meta.ts';
import { asksForHints, createAggregator } from '../../../../pkg/controllers/traffic-proof/aggregator.ts';
import { createConditionWriter, removeConditions } from '../../../../pkg/controllers/traffic-proof/condition-writer.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';
import { nullLogger } from '../../../../pkg/telemetry/log.ts';
import type { OutcomeCounts, ServiceCounts } from '../../../../pkg/traffic/proof.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../../fixtures/fake-clock.ts';

const TYPE = 'topology.extensions.gardener.cloud/TrafficDistributionHonored';

const asking = (name: string): Service => ({
  metadata: { namespace: 'shop', name },
  spec: { trafficDistribution: 'PreferSameZone' },
});

interface Write {
  readonly service: string;
  readonly condition: Condition | undefined;
  readonly at: number;
}

describe('traffic proof: conditions of Services', () => {
  let clock: FakeClock;
  let services: Service[];
  let stored: Map<string, Condition[]>;
  let writes: Write[];
  let counters: Record<string, Record<string, OutcomeCounts>>;
  let fails: boolean;
  let stop: AbortController;
  let running: Promise<void>;

  const client = {
    get: (_resource: unknown, { name }: { name: string }) =>
      Promise.resolve({ status: { conditions: stored.get(name) ?? [] } }),
    patch: (
      _resource: unknown,
      { name }: { name: string },
      type: string,
      patch: { status?: { conditions: Condition[] } },
      options: object,
    ) => {
      expect(type).to.equal('apply');
      expect(options).to.deep.include({ subresource: 'status', fieldManager: 'topology-traffic-proof' });
      const [condition] = patch.status?.conditions ?? [];
      writes.push({ service: name, condition, at: clock.monotonic() });
      stored.set(name, condition === undefined ? [] : [condition]);
      return Promise.resolve({});
    },
  } as unknown as Pick<Client, 'get' | 'patch'>;

  const read = (): Promise<ReadonlyMap<string, ServiceCounts>> => {
    if (fails) return Promise.reject(new Error('no meter'));
    return Promise.resolve(
      new Map(Object.entries(counters).map(([node, own]) => [node, new Map(Object.entries(own))])),
    );
  };

  beforeEach(() => {
    clock = createFakeClock();
    [services, stored, writes, counters, fails] = [[asking('web')], new Map(), [], {}, false];
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await running;
  });

  const start = (onServices = true): ReturnType<typeof createAggregator> => {
    const writer = onServices ? createConditionWriter({ client, clock, logger: nullLogger }) : undefined;
    const aggregator = createAggregator({
      read,
      services: () => services,
      excludedNamespaces: ['quiet'],
      writer,
      clock,
      intervalMs: 10_000,
      logger: nullLogger,
    });
    running = aggregator.run(stop.signal);
    return aggregator;
  };

  /** Half seconds, in which the writer looks; counters grow by `each` every ten seconds. */
  const pass = async (seconds: number, each: Record<string, Record<string, OutcomeCounts>> = {}): Promise<void> => {
    for (let half = 0; half < seconds * 2; half += 1) {
      if (half % 20 === 0) grow(each);
      await clock.advance(500);
    }
  };
  const grow = (each: Record<string, Record<string, OutcomeCounts>>): void => {
    for (const [node, own] of Object.entries(each)) {
      for (const [service, counts] of Object.entries(own)) {
        const before: Record<string, number> = { ...counters[node]?.[service] };
        for (const [outcome, count] of Object.entries(counts)) before[outcome] = (before[outcome] ?? 0) + count;
        counters = { ...counters, [node]: { ...counters[node], [service]: before } };
      }
    }
  };
  const last = (): string | undefined => {
    const { condition } = writes.at(-1) ?? {};
    return condition === undefined ? undefined : `${condition.status} ${condition.reason}`;
  };

  it('True once connections are honored, and no second write while nothing changes', async () => {
    start();
    await pass(300, { n1: { 'shop/web': { Honored: 9 } } });
    expect(writes.map(({ service, condition }) => [service, condition?.type, condition?.status])).to.deep.equal([
      ['web', TYPE, 'True'],
    ]);
  });

  it('False within a minute of a fault, with the Node, and True again after it was mended', async () => {
    start();
    await pass(120, { n1: { 'shop/web': { Honored: 9 } } });
    const began = clock.monotonic();
    await pass(60, { n1: { 'shop/web': { Honored: 9 } }, n2: { 'shop/web': { Ignored: 9 } } });
    expect(last()).to.equal('False HintsIgnored');
    expect(writes.at(-1)?.condition?.message).to.contain('n2 ');
    expect((writes.at(-1)?.at ?? 0) - began).to.be.below(60_000);
    await pass(180, { n1: { 'shop/web': { Honored: 9 } }, n2: { 'shop/web': { Honored: 9 } } });
    expect(last()).to.equal('True Honored');
    expect(writes).to.have.lengthOf(3);
  });

  it('a reading that by chance holds honored connections only does not hide a fault for a minute', async () => {
    start();
    await pass(20, { n1: { 'shop/web': { Honored: 0 } } });
    await pass(10, { n1: { 'shop/web': { Honored: 2 } } });
    await pass(20, { n1: { 'shop/web': { Honored: 9, Ignored: 9 } } });
    expect(writes.map(({ condition }) => condition?.reason)).to.deep.equal(['HintsIgnored']);
  });

  it('a fault that comes and goes is written once a minute', async () => {
    start();
    for (let round = 0; round < 10; round += 1) {
      await pass(70, { n1: { 'shop/web': { Honored: 9 } } });
      await pass(70, { n1: { 'shop/web': { Ignored: 9 } } });
    }
    const gaps = writes.slice(1).map(({ at }, index) => at - (writes[index]?.at ?? 0));
    expect(writes.length).to.be.at.least(10);
    expect(Math.min(...gaps)).to.be.at.least(60_000);
  });

  it('five writes a second for all Services together', async () => {
    services = Array.from({ length: 60 }, (_, index) => asking(`s${index}`));
    start();
    const each = Object.fromEntries(services.map(({ metadata }) => [`shop/${metadata?.name}`, { Honored: 3 }]));
    await pass(60, { n1: each });
    expect(writes).to.have.lengthOf(60);
    for (const { at } of writes) {
      const second = writes.filter((other) => other.at >= at && other.at < at + 1_000);
      expect(second.length).to.be.at.most(5);
    }
    expect((writes.at(-1)?.at ?? 0) - (writes[0]?.at ?? 0)).to.be.at.least(10_000);
  });

  it('Unknown ten minutes after the last connection, or the last answer of a meter', async () => {
    start();
    await pass(60, { n1: { 'shop/web': { Honored: 9 } } });
    fails = true;
    await pass(500);
    expect(last()).to.equal('True Honored');
    await pass(200);
    expect(last()).to.equal('Unknown NoTraffic');
  });

  it('a Service that asks no more has none, and one that never asked or is excluded is left alone', async () => {
    services = [asking('web'), { metadata: { namespace: 'shop', name: 'plain' } }];
    services.push({ ...asking('web'), metadata: { namespace: 'quiet', name: 'web' } });
    const honored = { Honored: 9 };
    start();
    await pass(120, { n1: { 'shop/web': honored, 'shop/plain': honored, 'quiet/web': honored } });
    expect(writes.map(({ service }) => service)).to.deep.equal(['web']);
    services = [{ metadata: { namespace: 'shop', name: 'web' } }];
    await pass(60);
    expect(writes).to.have.lengthOf(2);
    expect(writes.at(-1)?.condition).to.equal(undefined);
  });

  it('what another leader wrote is removed from a Service that asks no more', async () => {
    const condition = { type: TYPE, status: 'True', reason: 'Honored', lastTransitionTime: '2026-01-01T00:00:00Z' };
    stored.set('web', [condition as Condition]);
    services = [{ metadata: { namespace: 'shop', name: 'web' }, status: { conditions: [condition as Condition] } }];
    start();
    await pass(20);
    expect(writes.map(({ service, condition: written }) => [service, written])).to.deep.equal([['web', undefined]]);
  });

  it('FlowPolicies are given the same, changed once a minute, and no Service is written where that is not asked for', async () => {
    const aggregator = start(false);
    expect(aggregator.verdict('shop/web')).to.equal(undefined);
    await pass(60, { n1: { 'shop/web': { Honored: 9 } } });
    expect(aggregator.verdict('shop/web')).to.deep.include({ status: 'True', reason: 'Honored' });
    const seen = new Set<string>();
    let changes = 0;
    for (let round = 0; round < 12; round += 1) {
      await pass(10, { n1: { 'shop/web': round % 2 === 0 ? { Ignored: 90 } : { Honored: 900 } } });
      const { reason = '' } = aggregator.verdict('shop/web') ?? {};
      if (!seen.has(reason)) changes += 1;
      seen.add(reason);
    }
    expect(changes).to.be.at.most(2);
    services = [];
    await pass(10);
    expect(aggregator.verdict('shop/web')).to.equal(undefined);
    expect(writes).to.deep.equal([]);
  });

  it('are removed from all Services by a cleanup, five a second', async () => {
    const condition = { type: TYPE, status: 'True', reason: 'Honored', lastTransitionTime: '2026-01-01T00:00:00Z' };
    const own = (name: string): Service => ({ ...asking(name), status: { conditions: [condition as Condition] } });
    const items = [asking('plain'), ...Array.from({ length: 11 }, (_, index) => own(`s${index}`))];
    const pages = async function* () {
      yield await Promise.resolve({ items, metadata: {} });
    };
    const removing = removeConditions({ client: { ...client, pages } as never, clock }, stop.signal);
    running = Promise.resolve();
    await clock.advance(1_999);
    expect(writes).to.have.lengthOf(10);
    await clock.advance(1_000);
    expect(await removing).to.equal(11);
    expect(writes.map(({ service, condition: written }) => [service, written])).to.deep.include(['s10', undefined]);
  });

  it('what another leader wrote is not written again', async () => {
    stored.set('web', [{ type: TYPE, status: 'True', reason: 'Honored', lastTransitionTime: '2026-01-01T00:00:00Z' }]);
    start();
    await pass(60, { n1: { 'shop/web': { Honored: 9 } } });
    expect(writes).to.deep.equal([]);
  });
});

describe('traffic proof: who asks', () => {
  const label = 'topology.extensions.gardener.cloud/strategy';
  for (const [wanted, name, service] of [
    [true, 'trafficDistribution', { spec: { trafficDistribution: 'PreferClose' } }],
    [true, 'a strategy label', { metadata: { labels: { [label]: 'same-zone' } } }],
    [true, 'topology-mode', { metadata: { annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } } }],
    [false, 'another mode', { metadata: { annotations: { 'service.kubernetes.io/topology-mode': 'Disabled' } } }],
    [false, 'nothing', { metadata: {} }],
  ] as const) {
    it(`${wanted ? 'asks' : 'does not ask'}: ${name}`, () => {
      expect(asksForHints(service)).to.equal(wanted);
    });
  }
});
