// SPDX-License-Identifier: Apache-2.0
// Pages are followed to the last, and others get their turn in between.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject, ObjectList } from '../../../pkg/apis/meta.ts';
import { pagesOf } from '../../../pkg/kubernetes/pages.ts';
import type { FetchPage } from '../../../pkg/kubernetes/pages.ts';
import type { ListOptions } from '../../../pkg/kubernetes/types.ts';
import { rejection } from '../../fixtures/eventually.ts';

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
      expect(await collect(pagesOf(fetchPage, { namespace: 'a', limit: 1 }))).to.deep.equal(['n1', 'n2', 'n3']);
      expect(asked).to.deep.equal([
        { namespace: 'a', limit: 1 },
        { namespace: 'a', limit: 1, continue: '1' },
        { namespace: 'a', limit: 1, continue: '2' },
      ]);
    });
  }

  it('begins with a token that is given', async () => {
    const { asked, fetchPage } = serving(1);
    await collect(pagesOf(fetchPage, { continue: 'x' }));
    expect(asked).to.deep.equal([{ continue: 'x' }]);
  });

  it('lets the event loop turn between two pages', async () => {
    let turns = 0;
    let counting = true;
    const count = (): void => {
      turns += 1;
      if (counting) setImmediate(count);
    };
    setImmediate(count);
    const at: number[] = [];
    for await (const page of pagesOf(serving(4).fetchPage, {})) {
      expect(page.items).to.have.length(1);
      at.push(turns);
    }
    counting = false;
    expect(new Set(at).size, `turns at each page: ${at.join(', ')}`).to.equal(4);
  });

  it('asks for no further page once aborted', async () => {
    const { asked, fetchPage } = serving(3);
    const controller = new AbortController();
    const reason = new Error('stop');
    const read = async (): Promise<void> => {
      for await (const page of pagesOf(fetchPage, {}, controller.signal)) {
        expect(page.items).to.have.length(1);
        controller.abort(reason);
      }
    };
    expect(await rejection(read())).to.equal(reason);
    expect(asked).to.have.length(1);
  });

  it('asks for no further page when its reader stops', async () => {
    const { asked, fetchPage } = serving(3);
    for await (const page of pagesOf(fetchPage, {})) {
      expect(page.items).to.have.length(1);
      break;
    }
    expect(asked).to.have.length(1);
  });
});
