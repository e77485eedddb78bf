// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Namespace } from '../../../../pkg/apis/core.ts';
import { LABEL_ROUTING } from '../../../../pkg/apis/names.ts';
import { createRecentWrites } from '../../../../pkg/kubernetes/recent-writes.ts';
import { wantsRoutingLabel, writeRoutingLabel } from '../../../../pkg/controllers/settings/routing-label.ts';
import type { LabelWish } from '../../../../pkg/controllers/settings/routing-label.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';

const wish = (overrides: Partial<LabelWish>): LabelWish => ({
  keep: 'auto',
  manages: true,
  fighting: false,
  labelled: false,
  ...overrides,
});

describe('routing label', () => {
  const cases: { name: string; of: Partial<LabelWish>; wanted: boolean }[] = [
    { name: 'auto, no fight', of: {}, wanted: false },
    { name: 'auto, a fight', of: { fighting: true }, wanted: true },
    { name: 'auto, the fight is over but the label remembers', of: { labelled: true }, wanted: true },
    { name: 'auto, nothing managed any more', of: { labelled: true, fighting: true, manages: false }, wanted: false },
    { name: 'on', of: { keep: 'on' }, wanted: true },
    { name: 'on, nothing managed', of: { keep: 'on', manages: false, labelled: true }, wanted: false },
    { name: 'off', of: { keep: 'off', fighting: true, labelled: true }, wanted: false },
  ];
  for (const { name, of, wanted } of cases)
    it(`${name}: ${wanted}`, () => expect(wantsRoutingLabel(wish(of))).to.equal(wanted));

  const write = async (labels: Record<string, string>, wanted: boolean, error?: Error) => {
    const patches: unknown[] = [];
    const patch = (_resource: unknown, _ref: unknown, _type: unknown, body: unknown) => {
      patches.push(body);
      return error === undefined
        ? Promise.resolve({ metadata: { name: 'n', resourceVersion: '2' } })
        : Promise.reject(error);
    };
    const namespaces = createRecentWrites<Namespace>();
    const writer = { client: { patch: patch as unknown as Client['patch'] }, namespaces };
    const namespace = { metadata: { name: 'n', labels, resourceVersion: '1' } };
    return {
      wrote: await writeRoutingLabel(namespace, wanted, writer, new AbortController().signal),
      patches,
      namespaces,
    };
  };

  const writes = [
    { name: 'sets it', labels: {}, wanted: true, value: 'true' },
    { name: 'mends another value', labels: { [LABEL_ROUTING]: 'yes' }, wanted: true, value: 'true' },
    { name: 'removes it', labels: { [LABEL_ROUTING]: 'true' }, wanted: false, value: null },
  ];
  for (const { name, labels, wanted, value } of writes) {
    it(`${name} with one patch and remembers the answer`, async () => {
      const { wrote, patches, namespaces } = await write(labels, wanted);
      expect(wrote).to.equal(true);
      expect(patches).to.deep.equal([{ metadata: { labels: { [LABEL_ROUTING]: value } } }]);
      expect(namespaces.size).to.equal(1);
    });
  }

  it('writes nothing where it is as wanted', async () => {
    expect((await write({ [LABEL_ROUTING]: 'true' }, true)).patches).to.deep.equal([]);
    expect((await write({}, false)).patches).to.deep.equal([]);
  });

  it('lets a namespace that is gone be, and passes on other errors', async () => {
    const error = (status: number) => new ApiError({ status, method: 'PATCH', path: '/x' });
    expect((await write({}, true, error(404))).wrote).to.equal(false);
    const failure = await write({}, true, error(403)).catch((caught: unknown) => caught);
    expect(failure).to.include({ status: 403 });
  });
});
