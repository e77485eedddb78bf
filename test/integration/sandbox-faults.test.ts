// What the sandbox does to a client that is to be tested: faults, watches that are cut, and connections.
import { expect } from 'chai';
import { after, afterEach, before, describe, it } from 'mocha';
import { createApi, type Api } from '../contract/api.ts';
import type { Sandbox } from '../sandbox/types.ts';
import { SERVICES_PATH, openSeededSandbox } from './sandbox-objects.ts';

describe('the sandbox with injected faults', () => {
  let sandbox: Sandbox;
  let api: Api;
  before(async () => {
    ({ sandbox, api } = await openSeededSandbox());
  });
  afterEach(() => sandbox.clearFaults());
  after(() => sandbox.stop());

  describe('faults', () => {
    it('answer a status with Retry-After as often as asked', async () => {
      sandbox.addFault({
        kind: 'status',
        code: 429,
        retryAfterSeconds: 3,
        times: 2,
        match: { verb: 'list', resource: 'services' },
      });
      const first = await api.get(SERVICES_PATH);
      expect([first.status, first.headers['retry-after'], first.body['reason'], first.body['details']]).to.deep.equal([
        429,
        '3',
        'TooManyRequests',
        { retryAfterSeconds: 3 },
      ]);
      expect((await api.get('/api/v1/nodes')).status).to.equal(200);
      expect((await api.get(SERVICES_PATH)).status).to.equal(429);
      expect((await api.get(SERVICES_PATH)).status).to.equal(200);
    });

    it('strike one user and one name only, until removed', async () => {
      const { remove } = sandbox.addFault({
        kind: 'status',
        code: 500,
        match: { user: 'bob', verb: 'get', name: 'node-a' },
      });
      const bob = await createApi(sandbox.kubeconfig('bob'));
      const asked = async (): Promise<number[]> =>
        Promise.all([
          bob.get('/api/v1/nodes/node-a'),
          bob.get('/api/v1/nodes/node-b'),
          api.get('/api/v1/nodes/node-a'),
        ]).then((answers) => answers.map(({ status }) => status));
      expect(await asked()).to.deep.equal([500, 200, 200]);
      remove();
      expect(await asked()).to.deep.equal([200, 200, 200]);
    });

    it('reset the connection before an answer', async () => {
      sandbox.addFault({ kind: 'reset', times: 1 });
      const outcome = await api.get(SERVICES_PATH).then(
        ({ status }) => `answered ${status}`,
        (error: NodeJS.ErrnoException) => error.code,
      );
      expect(outcome).to.be.oneOf(['ECONNRESET', 'EPIPE']);
      expect((await api.get(SERVICES_PATH)).status).to.equal(200);
    });

    it('answer 200 with a text of their own in place of the list', async () => {
      sandbox.addFault({ kind: 'answer', match: { verb: 'list', resource: 'services' }, text: '{}', times: 1 });
      const answers = [await api.get(SERVICES_PATH), await api.get(SERVICES_PATH)];
      expect(answers.map(({ status, body }) => [status, body['kind']])).to.deep.equal([
        [200, undefined],
        [200, 'ServiceList'],
      ]);
    });

    it('delay an answer and still meet the next fault', async () => {
      sandbox.addFault({ kind: 'latency', milliseconds: 30, times: 1 });
      sandbox.addFault({ kind: 'status', code: 503, times: 1 });
      const begin = performance.now();
      expect((await api.get(SERVICES_PATH)).status).to.equal(503);
      expect(performance.now() - begin).to.be.at.least(25);
    });
  });

  describe('cutting watches', () => {
    for (const { how, check } of [
      { how: '410' as const, check: 'an ERROR event' },
      { how: 'close' as const, check: 'a clean end' },
      { how: 'reset' as const, check: 'a broken stream' },
    ]) {
      it(`by ${how} gives ${check} to the matching ones`, async () => {
        const [cut, kept] = await Promise.all([
          api.watch(`${SERVICES_PATH}?watch=true`),
          api.watch('/api/v1/nodes?watch=true'),
        ]);
        await kept.until(({ type }) => type === 'ADDED');
        sandbox.cutWatches(how, { resource: 'services' });
        await cut.end();
        const errors = cut.events.filter(({ type }) => type === 'ERROR');
        expect(errors.map(({ type, object }) => [type, object['code']])).to.deep.equal(
          how === '410' ? [['ERROR', 410]] : [],
        );
        expect(kept.ended).to.equal(false);
        kept.stop();
      });
    }
  });
});
