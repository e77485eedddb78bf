// The informer after failures: what it asks again, when, and what it keeps.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { ApiError, ConnectionError } from '../../../pkg/kubernetes/errors.ts';
import { gone } from '../../fixtures/model-api.ts';
import { cut, request, unreachable, useInformer } from './informer-support.ts';
import { informerDelay } from '../../../pkg/kubernetes/informer.ts';

const refused = (status: number, retryAfterMs?: number) =>
  new ApiError({ ...request, status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });

describe('informer, after failures', () => {
  const bed = useInformer();
  const { make, start, takeTold } = bed;

  describe('recovery', () => {
    beforeEach(async () => {
      bed.api.put('a');
      bed.api.put('b');
      await start();
      takeTold();
    });

    it('410 lists anew at once, and reports the difference only', async () => {
      bed.api.endWatches({ error: gone() });
      bed.api.remove('a');
      bed.api.put('c');
      bed.api.compact();
      await bed.clock.settle();
      expect(bed.relists()).to.deep.equal(['Initial', 'Gone']);
      expect(takeTold().sort()).to.deep.equal(['a gone', 'c@5 was absent']);
    });

    it('410 when opening a watch lists anew at once', async () => {
      bed.api.failNext('watch', gone());
      await bed.clock.advance(100_000);
      bed.api.endWatches('close');
      await bed.clock.settle();
      expect(bed.relists()).to.deep.equal(['Initial', 'Gone']);
      expect(bed.api.openWatches).to.equal(1);
    });

    it('410 after 410 waits longer each time: lists are dear', async () => {
      for (let count = 0; count < 4; count += 1) bed.api.failNext('watch', gone());
      bed.api.endWatches({ error: gone() });
      await bed.clock.settle();
      expect(bed.api.lists).to.have.length(2);
      for (const [waitMs, lists] of [
        [799, 2],
        [1, 3],
        [1_599, 3],
        [1, 4],
        [3_199, 4],
        [1, 5],
      ] as const) {
        await bed.clock.advance(waitMs);
        expect(bed.api.lists).to.have.length(lists);
      }
    });

    it('410 two minutes after the last one lists anew at once again', async () => {
      for (const lists of [2, 3]) {
        await bed.clock.advance(120_000);
        bed.api.put('a');
        bed.api.endWatches({ error: gone() });
        await bed.clock.settle();
        expect(bed.api.lists).to.have.length(lists);
      }
    });

    it('bookmarks move the version on', async () => {
      bed.api.compact();
      bed.api.bookmark();
      await bed.clock.settle();
      bed.api.endWatches({ error: cut() });
      await bed.clock.advance(800);
      expect(bed.api.watches).to.deep.equal(['3', '4']);
      expect(bed.failures).to.have.length(1);
    });

    it('an orderly end within a second waits: no tight loop, whatever the server does', async () => {
      bed.api.put('c');
      bed.api.endWatches('close');
      await bed.clock.advance(799);
      expect(bed.api.watches).to.have.length(1);
      await bed.clock.advance(1);
      expect(bed.api.watches).to.have.length(2);
    });

    it('three watches in a row without any event list anew: some servers do that instead of 410', async () => {
      for (let count = 0; count < 3; count += 1) {
        expect(bed.relists()).to.deep.equal(['Initial']);
        await bed.clock.advance(100_000);
        bed.api.endWatches({ error: cut() });
        await bed.clock.advance(800);
      }
      expect(bed.relists()).to.deep.equal(['Initial', 'Silent']);
    });

    it('an event in between begins the count anew', async () => {
      for (let count = 0; count < 6; count += 1) {
        await bed.clock.advance(100_000);
        if (count % 2 === 1) bed.api.bookmark();
        bed.api.endWatches({ error: cut() });
        await bed.clock.advance(800);
      }
      expect(bed.relists()).to.deep.equal(['Initial']);
    });

    for (const [name, error] of [
      ['refused connections', unreachable()],
      ['503', refused(503)],
      ['429', refused(429)],
    ] as const) {
      it(`an outage (${name}) is no reason to list: the server has enough to do`, async () => {
        for (let count = 0; count < 8; count += 1) bed.api.failNext('watch', error);
        bed.api.endWatches({ error });
        await bed.clock.advance(600_000);
        expect(bed.relists()).to.deep.equal(['Initial']);
        expect(bed.api.openWatches).to.equal(1);
      });
    }
  });

  describe('lists that fail', () => {
    it('without a version they are no lists that a watch could go on from', async () => {
      const pages = async function* () {
        yield await Promise.resolve({ metadata: {}, items: [{ metadata: { name: 'a' } }] });
      };
      make({ client: { ...bed.api.client, pages: pages as unknown as typeof bed.api.client.pages } });
      await start();
      expect(bed.informer.hasSynced).to.equal(false);
      expect(bed.failures[0]).to.be.instanceOf(ConnectionError).and.include({ reason: 'InvalidResponse' });
      expect(bed.informer.store.size()).to.equal(0);
    });

    it('between pages (expired token) begin anew, without deleting what the lost pages would have held', async () => {
      for (const name of ['a', 'b', 'c']) bed.api.put(name);
      make({ pageSize: 1 });
      let thrown = false;
      bed.api.betweenPages = () => {
        if (thrown) return;
        thrown = true;
        throw gone();
      };
      await start();
      expect(bed.informer.hasSynced).to.equal(true);
      expect(takeTold()).to.deep.equal(['a@2 was absent', 'b@3 was absent', 'c@4 was absent']);
      expect(bed.api.lists).to.have.length(2);
    });
  });
});

describe('informerDelay', () => {
  const cases = [
    ['begins at 0.8 s', 1, 0, undefined, 800],
    ['doubles', 4, 0, undefined, 6_400],
    ['ends at 30 s', 7, 0, undefined, 30_000],
    ['stays finite after a day of failures', 5_000, 0, undefined, 30_000],
    ['is spread up to the double', 1, 0.5, undefined, 1_200],
    ['is never below what the server asks', 1, 0, 7_000, 7_000],
    ['may be above it', 6, 0, 7_000, 25_600],
    ['ends where the server asks for a day', 1, 0, 86_400_000, 30_000],
    ['is at most a minute, whatever happens', 5_000, 0.999_9, 86_400_000, 59_997],
  ] as const;
  for (const [name, failures, random, asked, expected] of cases)
    it(name, () => expect(informerDelay(failures, () => random, asked)).to.equal(expected));
});
