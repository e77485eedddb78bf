// Pages are followed to the last, and others get their turn in between.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject, ObjectList } from '../../../pkg/apis/meta.ts';
import { type FetchPage, pagesOf } from '../../../pkg/kubernetes/request.ts';
import { AnswerTooLongError } from '../../../pkg/kubernetes/exchange.ts';
import type { ListOptions } from '../../../pkg/kubernetes/types.ts';
import { rejection } from '../../fixtures/eventually.ts';

const REQUEST = { method: 'GET', path: '/api/v1/nodes' };

/** Serves pages whose tokens are `1`, `2`, …; the last has the token that `last` says. */
const serving = (count: number, last?: string) => {
  const asked: ListOptions[] = [];
  const fetchPage: FetchPage<KubernetesObject> = (options) => {
    asked.push(options);
    const next = asked.length < count ? String(asked.length) : last;
    return Promise.resolve({
      metadata: { resourceVersion: '7', ...(next === undefined ? {} : { continue: next }) },
      items: [{ metadata: { name: `n${asked.length}` } }],
    });
  };
  return { asked, fetchPage };
};

const collect = async (pages: AsyncIterable<ObjectList<KubernetesObject>>): Promise<unknown[]> => {
  const names: unknown[] = [];
  for await (const { items } of pages) names.push(...items.map(({ metadata }) => metadata?.name));
  return names;
};

describe('pagesOf', () => {
  for (const last of [undefined, '']) {
    it(`follows every token, up to ${JSON.stringify(last) ?? 'none'}`, async () => {
      const { asked, fetchPage } = serving(3, last);
      expect(await collect(pagesOf(fetchPage, REQUEST, { namespace: 'a', limit: 1 }))).to.deep.equal([
        'n1',
        'n2',
        'n3',
      ]);
      expect(asked).to.deep.equal([
        { namespace: 'a', limit: 1 },
        { namespace: 'a', limit: 1, continue: '1' },
        { namespace: 'a', limit: 1, continue: '2' },
      ]);
    });
  }

  it('lets the event loop turn between two pages', async () => {
    let turns = 0;
    let counting = true;
    const count = (): void => {
      turns += 1;
      if (counting) setImmediate(count);
    };
    setImmediate(count);
    const at: number[] = [];
    for await (const page of pagesOf(serving(4).fetchPage, REQUEST, {})) {
      expect(page.items).to.have.length(1);
      at.push(turns);
    }
    counting = false;
    expect(new Set(at).size, `turns at each page: ${at.join(', ')}`).to.equal(4);
  });

  it('asks for no further page when its reader stops', async () => {
    const { asked, fetchPage } = serving(3);
    for await (const page of pagesOf(fetchPage, REQUEST, {})) {
      expect(page.items).to.have.length(1);
      break;
    }
    expect(asked).to.have.length(1);
  });

  describe('of a list without end', () => {
    /** Page after page, each with the token and the items that `pageOf` says. */
    const endless = (pageOf: (page: number) => { token: string; items?: number }) => {
      let asked = 0;
      const fetchPage: FetchPage<KubernetesObject> = () => {
        asked += 1;
        const { token, items = 0 } = pageOf(asked);
        const names = Array.from({ length: items }, () => ({ metadata: { name: 'n' } }));
        return Promise.resolve({ metadata: { continue: token }, items: names });
      };
      return { fetchPage, asked: () => asked };
    };
    const cases = [
      { name: 'a token that repeats', pageOf: () => ({ token: 'x' }), asked: 2, message: 'same next page twice' },
      {
        name: 'tokens that go in a circle',
        pageOf: (page: number) => ({ token: 'xyz'.charAt(page % 3) }),
        asked: 4,
        message: 'same next page twice',
      },
      {
        name: 'more items than any cluster has',
        pageOf: (page: number) => ({ token: `${page}`, items: 50_000 }),
        asked: 11,
        message: 'more than 500000 items',
      },
      {
        name: 'a token as long as a book',
        pageOf: () => ({ token: 'x'.repeat(4_097) }),
        asked: 1,
        message: 'a token that is too long',
      },
    ];
    for (const { name, pageOf, asked, message } of cases) {
      it(`ends at ${name}`, async () => {
        const server = endless(pageOf);
        const error = await rejection(collect(pagesOf(server.fetchPage, REQUEST, {})));
        expect(error).to.include({ reason: 'InvalidResponse' });
        expect(error).to.have.property('message').that.includes(message).and.includes('GET /api/v1/nodes');
        expect(server.asked()).to.equal(asked);
      });
    }
  });

  describe('that are too long for one answer', () => {
    /** Holds `count` objects; a page of more than `most` is too long. */
    const heavy = (count: number, most: number) => {
      const asked: Array<number | undefined> = [];
      const fetchPage: FetchPage<KubernetesObject> = ({ limit, continue: token = '0' }) => {
        asked.push(limit);
        const start = Number(token);
        const size = limit === 0 ? count : (limit ?? 500);
        if (Math.min(size, count - start) > most) return Promise.reject(new AnswerTooLongError(REQUEST));
        const end = start + size;
        const items = Array.from({ length: Math.min(size, count - start) }, (_, index) => ({
          metadata: { name: `n${start + index}` },
        }));
        return Promise.resolve({ metadata: end < count ? { continue: String(end) } : {}, items });
      };
      return { asked, fetchPage };
    };

    it('are asked for again with half as many items, and nothing is left out', async () => {
      const { asked, fetchPage } = heavy(700, 130);
      const names = await collect(pagesOf(fetchPage, REQUEST, {}));
      expect(names).to.deep.equal(Array.from({ length: 700 }, (_, index) => `n${index}`));
      expect(asked).to.deep.equal([undefined, 250, 125, 125, 125, 125, 125, 125]);
    });

    it('are asked for in pages where everything was wanted at once', async () => {
      const { asked, fetchPage } = heavy(600, 500);
      expect(await collect(pagesOf(fetchPage, REQUEST, { limit: 0 }))).to.have.length(600);
      expect(asked).to.deep.equal([0, 500, 500]);
    });

    it('end in an error where a single object is too long', async () => {
      const { asked, fetchPage } = heavy(3, 0);
      const error = await rejection(collect(pagesOf(fetchPage, REQUEST, { limit: 4 })));
      expect(error).to.be.instanceOf(AnswerTooLongError);
      expect(asked).to.deep.equal([4, 2, 1]);
    });
  });
});
