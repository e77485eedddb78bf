// JSON with status 200 that no API server sends: what a proxy, a captive portal or another cluster may answer.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { NODES, SERVICES } from '../../../pkg/apis/resources.ts';
import {
  type FetchPage,
  asList,
  asObject,
  collectionPath,
  listQuery,
  objectPath,
  pagesOf,
  watchQuery,
  withQuery,
} from '../../../pkg/kubernetes/request.ts';
import { ConnectionError } from '../../../pkg/kubernetes/errors.ts';
import type { KubernetesObject, ObjectList } from '../../../pkg/apis/meta.ts';
import { AnswerTooLongError } from '../../../pkg/kubernetes/exchange.ts';
import { rejection } from '../../fixtures/eventually.ts';

const REQUEST = { method: 'GET', path: '/api/v1/nodes' };
const list = (extra: object = {}) => ({ kind: 'NodeList', metadata: { resourceVersion: '7' }, items: [], ...extra });

const refusal = (call: () => unknown): ConnectionError => {
  try {
    call();
  } catch (error) {
    if (error instanceof ConnectionError) return error;
    throw error;
  }
  throw new Error('the answer was believed');
};

describe('asList', () => {
  it('reads null as no items, as Go encodes them, and absent metadata as none', () => {
    expect(asList({ kind: 'NodeList', items: null }, NODES, REQUEST)).to.deep.include({ metadata: {}, items: [] });
  });

  const refused: Array<[string, unknown]> = [
    ['an empty object', {}],
    ['null', null],
    ['an array', []],
    ['a text', 'ok'],
    ['the list of another kind', list({ kind: 'ServiceList' })],
    ['a single object', { kind: 'Node', metadata: { name: 'a' } }],
    ['a Status', { kind: 'Status', status: 'Success' }],
    ['a list without items', { kind: 'NodeList', metadata: { resourceVersion: '7' } }],
    ['items that are an object', list({ items: {} })],
    ['an item that is null', list({ items: [null] })],
    ['an item without metadata', list({ items: [{}] })],
    ['an item with an empty name', list({ items: [{ metadata: { name: '' } }] })],
    ['an item whose name is a number', list({ items: [{ metadata: { name: 1 } }] })],
    ['metadata that is a text', list({ metadata: 'x' })],
    ['a version that is a number', list({ metadata: { resourceVersion: 7 } })],
    ['a token that is an object', list({ metadata: { continue: {} } })],
  ];
  for (const [name, value] of refused) {
    it(`does not believe ${name}`, () => {
      expect(refusal(() => asList(value, NODES, REQUEST))).to.include({ reason: 'InvalidResponse' });
    });
  }
});

describe('asObject', () => {
  const service = { kind: 'Service', metadata: { name: 'a' } };

  it('returns the object that was asked for, and any where the server names it', () => {
    expect(asObject(service, SERVICES, 'a', REQUEST)).to.equal(service);
    expect(asObject(service, SERVICES, undefined, REQUEST)).to.equal(service);
  });

  const refused: Array<[string, unknown]> = [
    ['an empty object', {}],
    ['null', null],
    ['another kind', { ...service, kind: 'Node' }],
    ['another name', { kind: 'Service', metadata: { name: 'b' } }],
    ['no metadata', { kind: 'Service' }],
    ['metadata that is an array', { kind: 'Service', metadata: [] }],
  ];
  for (const [name, value] of refused) {
    it(`does not believe ${name}`, () => {
      expect(refusal(() => asObject(value, SERVICES, 'a', REQUEST))).to.include({ reason: 'InvalidResponse' });
    });
  }
});

const collect = async (pages: AsyncIterable<ObjectList<KubernetesObject>>): Promise<unknown[]> => {
  const names: unknown[] = [];
  for await (const { items } of pages) names.push(...items.map(({ metadata }) => metadata?.name));
  return names;
};

describe('pagesOf', () => {
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
      ['a token that repeats', () => ({ token: 'x' }), 2, 'same next page twice'],
      ['tokens that go in a circle', (page: number) => ({ token: 'xyz'.charAt(page % 3) }), 4, 'same next page twice'],
      [
        'more items than any cluster has',
        (page: number) => ({ token: `${page}`, items: 50_000 }),
        11,
        'more than 500000 items',
      ],
      ['a token as long as a book', () => ({ token: 'x'.repeat(4_097) }), 1, 'a token that is too long'],
    ] as const;
    for (const [name, pageOf, asked, message] of cases) {
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
        return Promise.resolve({ metadata: { continue: end < count ? String(end) : '' }, items });
      };
      return { asked, fetchPage };
    };

    it('are asked for again with half as many items, and nothing is left out', async () => {
      const { asked, fetchPage } = heavy(700, 130);
      const names = await collect(pagesOf(fetchPage, REQUEST, {}));
      expect(names).to.deep.equal(Array.from({ length: 700 }, (_, index) => `n${index}`));
      expect(asked).to.deep.equal([undefined, 250, 125, 125, 125, 125, 125, 125]);
    });

    it('end in an error where a single object is too long', async () => {
      const { asked, fetchPage } = heavy(3, 0);
      const error = await rejection(collect(pagesOf(fetchPage, REQUEST, { limit: 4 })));
      expect(error).to.be.instanceOf(AnswerTooLongError);
      expect(asked).to.deep.equal([4, 2, 1]);
    });
  });
});

describe('collectionPath', () => {
  it('encodes the namespace: it can come from a user', () => {
    expect(collectionPath(SERVICES, 'a/../../secrets?x')).to.equal(
      '/api/v1/namespaces/a%2F..%2F..%2Fsecrets%3Fx/services',
    );
  });
  it('refuses a namespace for a cluster-scoped resource', () => {
    expect(() => collectionPath(NODES, 'a')).to.throw(
      TypeError,
      'nodes is cluster-scoped, but namespace "a" was given',
    );
  });
  it('refuses an empty namespace, which would mean all', () => {
    expect(() => collectionPath(SERVICES, '')).to.throw(TypeError, 'services: the namespace is empty');
  });
});

describe('objectPath', () => {
  it('refuses an empty name, which would address the collection', () => {
    expect(() => objectPath(SERVICES, { namespace: 'a', name: '' })).to.throw(
      TypeError,
      'services: the object has no name',
    );
  });
  it('refuses a missing namespace', () => {
    expect(() => objectPath(SERVICES, { name: 'b' })).to.throw(TypeError, 'services "b": the namespace is missing');
  });
});

describe('queries', () => {
  it('leave undefined values out, and the question mark with them', () => {
    expect(withQuery('/a', { b: undefined })).to.equal('/a');
  });

  it('a following page carries the selectors and the token', () => {
    const query = listQuery({ continue: 'abc', labelSelector: 'a', fieldSelector: 'b' });
    expect(withQuery('', query)).to.equal('?labelSelector=a&fieldSelector=b&limit=500&continue=abc');
  });
  it('a watch asks for bookmarks and says how long', () => {
    expect(withQuery('', watchQuery({ resourceVersion: '7' }, 301))).to.equal(
      '?watch=1&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=301',
    );
  });
});
