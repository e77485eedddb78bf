// The source on the wire: what it asks of metrics.k8s.io, what it makes of answers, and what failures are called.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import nock from 'nock';
import type { LabelSelector } from '../../../pkg/apis/admission.ts';
import { createClient } from '../../../pkg/kubernetes/client.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { createListScope, createResourceMetrics, selectorText } from '../../../pkg/metrics/resource-metrics.ts';
import { LoadError, type LoadQuery, type LoadReading, type LoadSource } from '../../../pkg/metrics/types.ts';
import { testConfig } from '../../fixtures/config-source.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { type FakeClock, createFakeClock } from '../../fixtures/fake-clock.ts';
import { passTimeUntil, useScriptedServer } from '../../fixtures/scripted-server.ts';

const SERVER = 'https://kube.test:6443';
const PATH = '/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods';
const NOW = Date.UTC(2026, 0, 1) / 1_000;
const never = new AbortController().signal;

const item = (name: string, cpu: string, ago = 10, window = '15s'): object => ({
  metadata: { name, namespace: 'shop' },
  timestamp: `${new Date((NOW - ago) * 1_000).toISOString().slice(0, 19)}Z`,
  window,
  containers: [{ name: 'main', usage: { cpu, memory: '64Mi' } }],
});

const list = (items: readonly unknown[] | null, metadata: object = {}): object => ({
  kind: 'PodMetricsList',
  apiVersion: 'metrics.k8s.io/v1beta1',
  metadata,
  items,
});

const query = (service: string, pods: readonly string[], more: Partial<LoadQuery> = {}): LoadQuery => ({
  namespace: 'shop',
  service,
  pods: new Set(pods),
  ...more,
});

describe('resource metrics', () => {
  let client: Client;
  let clock: FakeClock;
  let source: LoadSource;
  const api = (): nock.Scope => nock(SERVER);
  const listed = (items: readonly unknown[] | null, more: object = {}): nock.Scope =>
    api()
      .get(PATH)
      .query({ limit: 500, ...more })
      .reply(200, list(items));

  beforeEach(() => {
    clock = createFakeClock(NOW * 1_000);
    client = createClient({ config: testConfig(SERVER), userAgent: 'unit/1.0', clock, random: () => 0 });
    source = createResourceMetrics({ client, clock });
  });
  useScriptedServer(
    () => clock,
    () => client.close(),
  );

  const read = (of: LoadQuery, signal = never): Promise<LoadReading> => source.read(of, signal);
  const through = <T>(promise: Promise<T>): Promise<T> => passTimeUntil(clock, promise);

  it('gives the samples of the Pods asked for, and says whose are missing', async () => {
    listed([item('a', '250m'), item('b', '1500m', 20, '30.5s'), item('other', '9')]);
    expect(await read(query('web', ['a', 'b', 'c']))).to.deep.equal({
      kind: 'pods',
      samples: [
        { pod: 'a', load: 0.25, sampledAt: NOW - 10, window: 15 },
        { pod: 'b', load: 1.5, sampledAt: NOW - 20, window: 30.5 },
      ],
      problems: ['1 of 3 Pods without a sample, first of "c"'],
    });
  });

  it('lets a sample from the future get old, and says that the clock is ahead', async () => {
    listed([item('a', '1', -600)]);
    const first = await read(query('web', ['a']));
    expect(first.samples).to.deep.equal([{ pod: 'a', load: 1, sampledAt: NOW, window: 15 }]);
    expect(first.problems).to.deep.equal(['the clock of the metrics server is 600 s ahead of this one']);
    await clock.advance(120_000);
    listed([item('a', '1', -600)]);
    expect((await read(query('web', ['a']))).samples).to.deep.include({
      pod: 'a',
      load: 1,
      sampledAt: NOW,
      window: 15,
    });
  });

  describe('calls failures', () => {
    const status = (code: number, reason: string, message: string): object => ({
      kind: 'Status',
      status: 'Failure',
      code,
      reason,
      message,
    });
    for (const { name, code, reason } of [
      { name: 'NotInstalled, where the API server does not know the group', code: 404, reason: 'NotInstalled' },
      { name: 'NotInstalled, where nobody stands behind the group', code: 503, reason: 'NotInstalled' },
      { name: 'Forbidden, where RBAC says no', code: 403, reason: 'Forbidden' },
      { name: 'Forbidden, where the credentials are refused', code: 401, reason: 'Forbidden' },
      { name: 'BadQuery, where the selector is refused', code: 400, reason: 'BadQuery' },
      { name: 'Timeout, where the aggregator gave up', code: 504, reason: 'Timeout' },
      { name: 'Unreachable, where the server failed', code: 500, reason: 'Unreachable' },
    ]) {
      it(`${name} (${code})`, async () => {
        api()
          .get(PATH)
          .query(true)
          .reply(code, status(code, '', 'in its own words'));
        const error = await rejection(read(query('web', ['a'])));
        expect(error).to.be.instanceOf(LoadError).with.property('reason', reason);
        expect((error as Error).message)
          .to.include(`${code}`)
          .and.include('in its own words');
      });
    }

    for (const { name, body } of [
      { name: 'no JSON', body: '<html>' },
      { name: 'no list', body: '{"items": 5}' },
      { name: 'items of null', body: '{"items": [null]}' },
      { name: 'an empty object in an array', body: '[]' },
    ]) {
      it(`BadAnswer, or nothing measured, for ${name}`, async () => {
        api().get(PATH).query(true).reply(200, body);
        const answer = await read(query('web', ['a'])).catch((error: unknown) => error);
        if (answer instanceof Error) expect(answer).to.be.instanceOf(LoadError).with.property('reason', 'BadAnswer');
        else expect(answer).to.have.property('samples').that.deep.equals([]);
      });
    }

    it('BadAnswer, where the list is made of more values than Pods can have, in pages of every size', async () => {
      const body = `{"items":[${'{},'.repeat(1_100_000)}{}]}`;
      api().get(PATH).query(true).times(10).reply(200, body);
      const error = await rejection(read(query('web', ['a'])));
      expect(error).to.be.instanceOf(LoadError).with.property('reason', 'BadAnswer');
      expect((error as Error).message).to.include('longer than 1048576 values and keys');
    });

    it('Timeout, where the answer takes longer than it may', async () => {
      api().get(PATH).query(true).delay(60_000).reply(200, list([]));
      const error = await through(rejection(read(query('web', ['a']))));
      expect(error).to.be.instanceOf(LoadError).with.property('reason', 'Timeout');
      expect((error as Error).message).to.equal('no list of PodMetrics in namespace shop within 8 s');
      nock.abortPendingRequests();
    });
  });
});

describe('text of a label selector', () => {
  for (const { name, selector, text } of [
    { name: 'labels, in the order of their keys', selector: { matchLabels: { b: '2', a: '1' } }, text: 'a=1,b=2' },
    { name: 'an empty value', selector: { matchLabels: { a: '' } }, text: 'a=' },
    {
      name: 'every operator',
      selector: {
        matchLabels: { app: 'web' },
        matchExpressions: [
          { key: 'x', operator: 'In', values: ['2', '1'] },
          { key: 'y', operator: 'NotIn', values: ['3'] },
          { key: 'z', operator: 'Exists' },
          { key: 'w', operator: 'DoesNotExist' },
        ],
      },
      text: '!w,app=web,x in (1,2),y notin (3),z',
    },
    { name: 'nothing, which selects everything', selector: {}, text: undefined },
    { name: 'empty parts', selector: { matchLabels: {}, matchExpressions: [] }, text: undefined },
  ] satisfies { name: string; selector: LabelSelector; text: string | undefined }[]) {
    it(name, () => {
      expect(selectorText(selector)).to.equal(text);
    });
  }
});

const podsOf = (count: number): Set<string> => new Set(Array.from({ length: count }, (_, index) => `p${index}`));

describe('scope of a list', () => {
  let scope: ReturnType<typeof createListScope>;
  const choose = (service: string, pods: number, nowMs = 0, namespace = 'shop', selector?: string) =>
    scope.choose({ namespace, service, pods: podsOf(pods) }, selector ?? `app=${service}`, nowMs);

  beforeEach(() => {
    scope = createListScope();
  });

  it('is its own Pods for a Service that is alone in its namespace', () => {
    expect(choose('a', 3)).to.equal('app=a');
    expect(choose('a', 3, 15_000)).to.equal('app=a');
    expect(choose('x', 3, 15_000, 'other')).to.equal('app=x');
  });

  it('becomes known anew after ten minutes', () => {
    choose('a', 3);
    choose('b', 3);
    scope.learn('shop', 20_000, 0);
    for (let now = 0; now <= 600_000; now += 60_000) {
      expect(choose('a', 3, now)).to.equal('app=a');
      expect(choose('b', 3, now)).to.equal('app=b');
    }
    expect(choose('a', 3, 600_001)).to.equal(undefined);
    scope.learn('shop', 50, 600_001);
    expect(choose('b', 3, 660_000), 'the others have gone').to.equal(undefined);
  });

  it('forgets a Service that has not asked for two minutes', () => {
    choose('a', 3);
    choose('b', 3);
    expect(choose('a', 3, 60_000)).to.equal(undefined);
    expect(choose('a', 3, 180_001)).to.equal('app=a');
  });
});
