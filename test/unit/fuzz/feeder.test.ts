// The fuzzer finds planted faults, makes them small, and brings them back.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createFeeder } from '../../fuzz/feeder.ts';
import { createInputs } from '../../fuzz/inputs.ts';
import type { Failure, FeedResult } from '../../fuzz/protocol.ts';
import type { Input, OpenTarget, Target } from '../../fuzz/types.ts';
import { must } from '../../fuzz/types.ts';

const SAMPLES = [
  {
    name: 'one',
    value: { kind: 'One', list: [{ name: 'a' }, { name: 'b' }], nested: { deep: { number: 7, flag: true } } },
  },
  { name: 'other', value: { kind: 'Other', text: 'word', map: { 'a/b': 'c' } } },
];

const targetOf = (run: (input: Input) => void, more: Partial<OpenTarget> = {}, bytes = true): Target => ({
  name: 'planted',
  bytes,
  covers: [],
  open: () => Promise.resolve({ samples: SAMPLES, run, ...more }),
});

const feed = async (
  target: Target,
  options: { count?: number; only?: number; seed?: number } = {},
): Promise<{ result: FeedResult; failures: Failure[]; fed: number[] }> => {
  const failures: Failure[] = [];
  const fed: number[] = [];
  const { count = 400, only, seed = 1 } = options;
  const feeder = await createFeeder({
    target,
    seed,
    count,
    only,
    folder: '/nowhere',
    heapBytes: () => Promise.resolve(0),
    onInput: (index) => void fed.push(index),
    onFailure: (failure) => void failures.push(failure),
  });
  return { result: await feeder.run(), failures, fed };
};

const parsed = ({ text }: Input): unknown => {
  try {
    return JSON.parse(text.toString());
  } catch {
    return undefined;
  }
};

describe('the feeder', () => {
  it('runs every input, most of them valid documents with a few fields changed', async () => {
    const { result, failures, fed } = await feed(targetOf(() => undefined));
    expect(failures).to.deep.equal([]);
    expect(fed).to.deep.equal(Array.from({ length: 400 }, (_, index) => index));
    expect(result.inputs.fields + result.inputs.bytes).to.equal(400);
    expect(result.inputs.fields).to.be.above(200);
  });

  it('changes fields only where damaged text would test the parser', async () => {
    const { result } = await feed(targetOf(() => undefined, {}, false));
    expect(result.inputs).to.deep.equal({ fields: 400, bytes: 0 });
  });

  it('finds a fault, once however often it comes, and makes the input small', async () => {
    const target = targetOf((input) => {
      const value = parsed(input) as { nested?: unknown } | undefined | null;
      must(value?.nested !== null, () => 'nested must not be null');
    });
    const { result, failures } = await feed(target, { count: 3_000 });
    expect(result.failed).to.be.above(1);
    expect(failures).to.have.length(1);
    expect(failures[0]).to.include({ text: '{"nested":null}', sample: 'one' });
    expect(failures[0]?.error).to.contain('Violation: nested must not be null');
    expect(failures[0]?.changes).to.have.length(1);
  });

  it('brings the input back by seed and index', async () => {
    const target = targetOf((input) => must(!input.text.includes('flag":null'), () => 'no flag'));
    const { failures } = await feed(target, { count: 3_000 });
    const [first] = failures;
    const again = await feed(target, { only: first?.index ?? -1 });
    expect(again.fed).to.deep.equal([first?.index]);
    expect(again.failures.map(({ text, changes }) => [text, changes])).to.deep.equal(
      failures.map(({ text, changes }) => [text, changes]),
    );
    const other = await feed(target, { only: first?.index ?? -1, seed: 2 });
    expect(other.failures, 'another seed is another input').to.deep.equal([]);
  });

  it('distinguishes one crash from another', async () => {
    const target = targetOf((input) => {
      if (input.kind === 'bytes') throw new TypeError('of bytes');
      if (input.changes.length === 3) throw new RangeError('of three changes');
    });
    const { failures } = await feed(target);
    expect(failures.map(({ error }) => error.split('\n', 1)[0])).to.have.members([
      'TypeError: of bytes',
      'RangeError: of three changes',
    ]);
  });

  it('shrinks what is no document byte by byte', async () => {
    const target = targetOf(({ text }) => must(!text.includes(0xff), () => 'a byte 255'));
    const { failures } = await feed(target, { count: 2_000 });
    expect(failures[0]?.text).to.equal(Buffer.from([0xff]).toString());
  });

  it('sees what an input adds to the prototype of all objects, and takes it away', async () => {
    const target = targetOf((input) => {
      const value = parsed(input) as { kind?: unknown } | undefined | null;
      if (value?.kind === null) Object.assign(Object.prototype, { polluted: true });
    });
    const { failures } = await feed(target, { count: 2_000 });
    expect(failures[0]?.error).to.contain('the prototype of all objects has polluted now');
    expect({}).to.not.have.property('polluted');
  });

  it('reports what only shows after all inputs, and closes the target', async () => {
    let closed = 0;
    const finish = (): void => must(false, () => '3 requests are held for ever');
    const target = targetOf(() => undefined, { finish, close: () => void (closed += 1) });
    const { result, failures } = await feed(target, { count: 10 });
    expect([result.failed, closed]).to.deep.equal([1, 1]);
    expect(failures[0]?.error).to.contain('3 requests are held for ever');
  });
});

describe('inputs', () => {
  const changesOf = (leaveOut?: ReadonlySet<number>): readonly string[][] => {
    const target = targetOf(() => undefined, {}, false);
    const inputs = createInputs(target, { samples: SAMPLES, run: () => undefined }, 1);
    return Array.from({ length: 50 }, (_, index) => [...inputs.make(index, leaveOut).changes]);
  };

  it('have one to three changes', () => {
    expect(new Set(changesOf().map(({ length }) => length))).to.deep.equal(new Set([1, 2, 3]));
  });

  it('can be made without one of them', () => {
    const without = changesOf(new Set([0]));
    expect(without.map(({ length }) => length)).to.deep.equal(changesOf().map(({ length }) => length - 1));
  });
});
