// SPDX-License-Identifier: Apache-2.0
// What is read while a zone is evacuated: queries to a Prometheus on the wire, whatever it answers, and the traffic-meters.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import nock from 'nock';
import type { EvacuationConfiguration } from '../../../../pkg/apis/config/settings-reconciler.ts';
import { createMeasuring } from '../../../../pkg/controllers/evacuation/measuring.ts';
import type { Measuring, MeasuringOptions } from '../../../../pkg/controllers/evacuation/measuring.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../../fixtures/fake-clock.ts';
import { useScriptedServer } from '../../../fixtures/scripted-server.ts';

const SERVER = 'http://prometheus.test:9090';
const QUERY = { name: 'errors', query: 'sum by (zone) (errors)', zoneLabel: 'zone', unit: 'Ratio' } as const;
const SAMPLE_TIME = 1_700_000_000;
const configuration = (more: Partial<EvacuationConfiguration> = {}): EvacuationConfiguration => ({
  prometheus: { url: SERVER, timeoutSeconds: 8 },
  measurements: [QUERY],
  meters: { enabled: false, namespace: 'meters' },
  intervalSeconds: 15,
  ...more,
});
const sample = (metric: object, value: string) => ({ metric, value: [SAMPLE_TIME, value] });
const vector = (...result: object[]) => ({ status: 'success', data: { resultType: 'vector', result } });

describe('measuring an evacuated zone', () => {
  let stop: AbortController;
  let running: Promise<void> | undefined;
  let clock: FakeClock;
  beforeEach(() => {
    stop = new AbortController();
    clock = createFakeClock();
  });
  useScriptedServer(
    () => clock,
    async () => {
      stop.abort(new Error('test is over'));
      await running;
    },
  );

  /** Resolves after the first reading. */
  const measured = async (
    config: EvacuationConfiguration,
    more: Partial<MeasuringOptions> = {},
  ): Promise<Measuring> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const client = {} as MeasuringOptions['client'];
    const common = { config, client, clock, userAgent: 'unit/1.0' };
    const measuring = createMeasuring({ ...common, needed: () => true, onReading: resolve, ...more });
    running = measuring.run(stop.signal);
    await promise;
    return measuring;
  };
  const answering = (body: object | string, status = 200): nock.Scope =>
    nock(SERVER).post('/api/v1/query').reply(status, body);

  it('asks each query once for all zones, and has what it comes to for any of them', async () => {
    const sent: string[] = [];
    const keep = (body: unknown): boolean => {
      sent.push((body as { query: string }).query);
      return true;
    };
    nock(SERVER)
      .post('/api/v1/query', keep)
      .matchHeader('user-agent', 'unit/1.0')
      .reply(200, vector(sample({ zone: 'a' }, '0.05'), sample({ zone: 'b' }, '0.01')));
    const measuring = await measured(configuration());
    expect(sent).to.deep.equal([QUERY.query]);
    expect([measuring.of('a'), measuring.of('b')].map((one) => one?.message)).to.deep.equal([
      'errors: 5 % in a, at most 1 % elsewhere (b)',
      'errors: 1 % in b, at most 5 % elsewhere (a)',
    ]);
  });

  const hostile: { name: string; body: object | string; status?: number; message: RegExp }[] = [
    {
      name: 'several samples of one zone',
      body: vector(sample({ zone: 'a', pod: 'x' }, '1'), sample({ zone: 'a', pod: 'y' }, '2')),
      message: /^errors: several samples of a: sum or average by \(zone\)$/,
    },
    {
      name: 'samples without the label',
      body: vector(sample({ pod: 'x' }, '1')),
      message: /^errors: no sample has a zone as its label zone$/,
    },
    {
      name: 'a zone that is no name',
      body: vector(sample({ zone: 'a\n\u001b[31mforged' }, '1')),
      message: /^errors: no sample has a zone as its label zone$/,
    },
    { name: 'no traffic, which divides by zero', body: vector(sample({ zone: 'a' }, 'NaN')), message: /NaN/ },
    { name: 'nothing', body: vector(), message: /^errors: no sample$/ },
    { name: 'a number', body: { status: 'success', data: { resultType: 'scalar' } }, message: /instant vector/ },
    { name: 'a page of a proxy', body: '<html>login</html>', message: /the answer \(18 characters\) is/ },
    {
      name: 'an error of PromQL',
      body: { status: 'error', errorType: 'bad_data', error: 'parse error\u0007' },
      status: 400,
      message: /^errors: .*parse error/,
    },
    { name: 'a redirect', body: '', status: 302, message: /redirects are not followed/ },
    { name: 'an outage', body: '', status: 503, message: /503/ },
  ];
  for (const { name, body, status, message } of hostile)
    it(`is Unknown where Prometheus answers ${name}`, async () => {
      answering(body, status);
      const found = (await measured(configuration())).of('a');
      expect(found?.status).to.equal('Unknown');
      expect(found?.message).to.match(message);
      // eslint-disable-next-line no-control-regex
      expect(found?.message).not.to.match(/[\u0000-\u001f]/);
    });

  it('asks nothing while no zone is evacuated, or where nothing is configured', async () => {
    let asked = 0;
    const idle = {
      client: {} as MeasuringOptions['client'],
      clock,
      userAgent: 'x',
      onReading: () => void (asked += 1),
    };

    const none = createMeasuring({ ...idle, config: configuration({ measurements: [] }), needed: () => true });
    await none.run(stop.signal);
    const quiet = createMeasuring({ ...idle, config: configuration(), needed: () => false });
    running = quiet.run(stop.signal);
    // A query would reach no server, and be seen.
    expect([none.of('a'), quiet.of('a')]).to.deep.equal([undefined, undefined]);
    expect(asked).to.equal(0);
  });

  it('says why the meters cannot be read', async () => {
    const forbidden = new ApiError({
      status: 403,
      reason: 'Forbidden',
      message: 'pods is forbidden',
      method: 'GET',
      path: '/x',
    });
    const client = {
      // eslint-disable-next-line require-yield
      async *pages() {
        throw forbidden;
      },
    } as unknown as MeasuringOptions['client'];
    const config = configuration({ measurements: [], meters: { enabled: true, namespace: 'meters' } });
    const found = (await measured(config, { client })).of('a');
    expect(found?.status).to.equal('Unknown');
    expect(found?.message).to.match(/^traffic-meters: .*pods is forbidden/);
  });
});
