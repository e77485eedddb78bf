import { expect } from 'chai';
import { describe, it } from 'mocha';
import { readOnly } from '../../../cmd/shared/run-controller.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';

describe('readOnly client', () => {
  const called: string[] = [];
  const note = (name: string) => () => {
    called.push(name);
    return Promise.resolve({});
  };
  const names = ['get', 'list', 'pages', 'watch', 'raw', 'close', 'create', 'update', 'patch', 'delete'] as const;
  const client = readOnly(
    Object.fromEntries(names.map((name) => [name, note(name)])) as unknown as Client,
    'a dry run does not write',
  ) as unknown as Record<string, () => Promise<unknown>>;

  for (const name of names.slice(0, 6)) {
    it(`passes ${name} on`, async () => {
      await client[name]?.();
      expect(called.at(-1)).to.equal(name);
    });
  }
  for (const name of names.slice(6)) {
    it(`refuses to ${name}`, async () => {
      const error = await client[name]?.().catch((caught: unknown) => caught);
      expect(error).to.include({ message: 'a dry run does not write' });
      expect(called).not.to.include(name);
    });
  }
});
