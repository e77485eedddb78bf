import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import fc from 'fast-check';
import { SERVICES } from '../../../pkg/apis/resources.ts';
import { NotLeadingError, createFencedClient, createGuardedClient } from '../../../pkg/kubernetes/client.ts';
import type { Client, DeleteOptions, Refusal } from '../../../pkg/kubernetes/types.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { type RewriteGuard, createRewriteGuard } from '../../../pkg/kubernetes/rewrite-guard.ts';
import { createPlanGuard } from '../../../pkg/controllers/flow/write.ts';
import { type FakeClock, createFakeClock } from '../../fixtures/fake-clock.ts';

const ref = { namespace: 'n', name: 's' };

describe('fenced client', () => {
  let sent: string[];
  let holds: boolean;
  let client: Client;
  beforeEach(() => {
    sent = [];
    holds = true;
    const note = (name: string) => (): Promise<object> => {
      sent.push(name);
      return Promise.resolve({});
    };
    const names = ['get', 'list', 'pages', 'watch', 'raw', 'text', 'create', 'update', 'patch', 'delete', 'close'];
    const inner = Object.fromEntries(names.map((name) => [name, note(name)])) as unknown as Client;
    client = createFencedClient({ ...inner, server: 'https://server' }, () => holds);
  });

  const writes: { name: string; send: () => Promise<unknown> }[] = [
    { name: 'create', send: () => client.create(SERVICES, {}) },
    { name: 'update', send: () => client.update(SERVICES, {}) },
    { name: 'patch', send: () => client.patch(SERVICES, ref, 'merge', {}) },
    { name: 'delete', send: () => client.delete(SERVICES, ref) },
  ];
  for (const { name, send } of writes) {
    it(`sends ${name} while the lease is held, and not one more afterwards`, async () => {
      await send();
      expect(sent).to.deep.equal([name]);
      holds = false;
      expect(await rejection(send())).to.be.instanceOf(NotLeadingError);
      expect(sent).to.deep.equal([name]);
    });
  }

  it('reads in every replica', async () => {
    holds = false;
    await client.get(SERVICES, ref);
    await client.list(SERVICES);
    await client.raw('/version');
    await client.text('/log');
    client.pages(SERVICES);
    client.watch(SERVICES, {}, new AbortController().signal);
    await client.close();
    expect(sent).to.deep.equal(['get', 'list', 'raw', 'text', 'pages', 'watch', 'close']);
    expect(client.server).to.equal('https://server');
  });
});

describe('guarded client', () => {
  it('asks again before each write, and rejects with the answer', async () => {
    const sent: unknown[] = [];
    const inner = { create: (_resource: unknown, object: unknown) => Promise.resolve(sent.push(object)) };
    const answers = [undefined, new Error('first no'), undefined, new Error('second no')];
    const client = createGuardedClient(inner as unknown as Client, () => answers.shift());
    const write = (name: string) => client.create(SERVICES, { metadata: { name } });
    await write('a');
    expect(await rejection(write('b'))).to.include({ message: 'first no' });
    await write('c');
    expect(await rejection(write('d'))).to.include({ message: 'second no' });
    expect(sent).to.deep.equal([{ metadata: { name: 'a' } }, { metadata: { name: 'c' } }]);
  });

  it('hands the question on to whatever sends, beside the one that the caller brings', async () => {
    const handed: Array<Refusal | undefined> = [];
    const inner = {
      delete: (_resource: unknown, _ref: unknown, options: DeleteOptions) =>
        Promise.resolve(void handed.push(options.refusal)),
    };
    let [own, callers]: Array<Error | undefined> = [];
    const client = createGuardedClient(inner as unknown as Client, () => own);
    await client.delete(SERVICES, { namespace: 'a', name: 'b' }, { refusal: () => callers });
    expect(handed[0]?.()).to.equal(undefined);
    callers = new Error('the caller has changed its mind');
    expect(handed[0]?.()).to.equal(callers);
    own = new Error('no longer leading');
    expect(handed[0]?.()).to.equal(own);
  });
});

const MINUTE = 60_000;

describe('the rewrite guard', () => {
  let now: number;
  let guard: RewriteGuard;
  const create = (): RewriteGuard =>
    createRewriteGuard({ clock: { monotonic: () => now }, delayMs: () => MINUTE, windowMs: 15 * MINUTE });
  beforeEach(() => {
    now = 1_000;
    guard = create();
  });
  const repair = (key = 'k'): void => {
    expect(guard.admit(key, 'on')).to.deep.equal({ kind: 'write', again: true });
    guard.written(key, 'on');
  };

  it('never holds back what is wanted for the first time, or anew', () => {
    expect(guard.admit('k', 'on')).to.deep.equal({ kind: 'write', again: false });
    guard.written('k', 'on');
    repair();
    expect(guard.admit('k', 'off'), 'the setting was flipped').to.deep.equal({ kind: 'write', again: false });
  });

  it('repairs at once, then a minute apart', () => {
    guard.written('k', 'on');
    repair();
    now += 20_000;
    expect(guard.admit('k', 'on')).to.deep.equal({ kind: 'wait', afterMs: 40_000 });
    now += 40_000;
    repair();
  });

  it('says how long a fight lasts in which the other writer stopped', () => {
    guard.written('k', 'on');
    for (let time = 0; time < 4; time += 1) {
      expect(guard.peaceInMs('k'), `${time} repairs`).to.equal(time < 3 ? 0 : 12 * MINUTE);
      repair();
      now += MINUTE;
    }
    // The third from the end decides.
    const peace = guard.peaceInMs('k');
    now += peace - 1;
    expect(guard.fighting('k'), 'just before').to.equal(true);
    now += 1;
    expect([guard.fighting('k'), guard.peaceInMs('k')]).to.deep.equal([false, 0]);
    expect(guard.peaceInMs('never seen')).to.equal(0);
  });

  it('takes what was seen in place for a base: a difference later is drift', () => {
    guard.confirmed('k', 'on');
    repair();
    guard.confirmed('k', 'off');
    expect(guard.admit('k', 'on')).to.deep.equal({ kind: 'write', again: false });
  });

  it('calls it a fight after enough repairs within the window, and peace after it', () => {
    guard.written('k', 'on');
    for (const fighting of [false, false, true]) {
      repair();
      expect(guard.fighting('k')).to.equal(fighting);
      now += MINUTE;
    }
    now += 13 * MINUTE;
    expect(guard.fighting('k')).to.equal(false);
    expect(guard.fighting('unknown')).to.equal(false);
  });

  it('keeps objects apart and forgets', () => {
    guard.written('a', 'on');
    guard.written('b', 'on');
    repair('a');
    repair('b');
    guard.forget('a');
    expect(guard.admit('b', 'on')).to.have.property('kind', 'wait');
    expect(guard.admit('a', 'on')).to.deep.equal({ kind: 'write', again: false });
  });

  it('never repairs the same object twice within a minute, whatever happens', () => {
    const step = fc.record({ ms: fc.integer({ min: 0, max: 90_000 }), confirmed: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        now = 0;
        guard = create();
        guard.written('k', 'on');
        let last = Number.NEGATIVE_INFINITY;
        for (const { ms, confirmed } of steps) {
          now += ms;
          if (confirmed) guard.confirmed('k', 'on');
          const permit = guard.admit('k', 'on');
          if (permit.kind === 'wait') {
            expect(last + MINUTE - now).to.equal(permit.afterMs);
            continue;
          }
          expect(now - last).to.be.at.least(MINUTE);
          guard.written('k', 'on');
          last = now;
        }
      }),
    );
  });
});

describe('the guard of plans', () => {
  let clock: FakeClock;
  let guard: RewriteGuard;
  beforeEach(() => {
    clock = createFakeClock();
    guard = createPlanGuard(clock);
  });

  /** Milliseconds until the plan may be written again. */
  const waits = (plan = 'p'): number => {
    const permit = guard.admit('web', plan);
    return permit.kind === 'wait' ? permit.afterMs : 0;
  };
  const lose = (plan = 'p'): void => guard.written('web', plan);

  it('doubles the wait with every loss, up to five minutes', async () => {
    lose();
    const seen: number[] = [];
    for (let loss = 0; loss < 11; loss += 1) {
      lose();
      seen.push(waits());
      await clock.advance(waits());
    }
    expect(seen).to.deep.equal([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((seconds) => seconds * 1_000));
  });

  it('is losing from the third loss on, until the plan held for a minute', async () => {
    lose();
    for (const losing of [false, false, true]) {
      lose();
      expect(guard.fighting('web')).to.equal(losing);
    }
    guard.confirmed('web', 'p');
    expect(guard.fighting('web'), 'confirmed a moment ago').to.equal(true);
    await clock.advance(60_000);
    guard.confirmed('web', 'p');
    expect(guard.fighting('web')).to.equal(false);
    expect(waits()).to.equal(0);
  });
});
