import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { type Access, createTokenAccess } from '../../../pkg/kubernetes/token-access.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';

interface Review extends KubernetesObject {
  readonly spec: { readonly audiences?: string[]; readonly token?: string; readonly user?: string };
}

/** What the API server says about one token. */
interface Told {
  /** Audiences it is valid for; the empty string is the API server's own. */
  readonly audiences: readonly string[];
  readonly allowed: boolean;
  /** An authenticator that knows no audiences answers none. */
  readonly knowsAudiences?: boolean;
  /** The only one that is valid; without it all are. */
  readonly token?: string;
}

const tellingClient = (told: Told, asked: Review[] = []) => {
  const answer = (review: Review): object => {
    const { audiences, allowed, knowsAudiences = true } = told;
    if (review.kind !== 'TokenReview') return { allowed };
    if (told.token !== undefined && review.spec.token !== told.token) return { authenticated: false };
    const [wanted = ''] = review.spec.audiences ?? [];
    if (knowsAudiences && !audiences.includes(wanted)) return { authenticated: false };
    return {
      authenticated: true,
      ...(knowsAudiences ? { audiences: [wanted] } : {}),
      user: { username: 'u', groups: ['g'], extra: { 'k/v': ['1'] } },
    };
  };
  const create = (_resource: unknown, object: KubernetesObject): Promise<KubernetesObject> => {
    asked.push(object as Review);
    return Promise.resolve({ ...object, status: answer(object as Review) });
  };
  return { create } as unknown as Pick<Client, 'create'>;
};

/** Where readers are. */
const HOME = '10.0.0.1';

const accessWith = (client: Pick<Client, 'create'>, clock = createFakeClock()) =>
  createTokenAccess({ client, clock, audience: 'ours', path: '/metrics' });

describe('token access: who may read', () => {
  const cases: readonly { name: string; told: Told; access: Access }[] = [
    { name: 'a token for our audience', told: { audiences: ['ours'], allowed: true }, access: 'allowed' },
    { name: 'a token for the API server', told: { audiences: [''], allowed: true }, access: 'allowed' },
    { name: 'a token for another audience', told: { audiences: ['theirs'], allowed: true }, access: 'unauthenticated' },
    { name: 'an owner without the right', told: { audiences: ['ours'], allowed: false }, access: 'forbidden' },
    {
      name: 'an authenticator that ignores audiences vouches for the API server',
      told: { audiences: [], allowed: true, knowsAudiences: false },
      access: 'allowed',
    },
  ];
  for (const { name, told, access } of cases) {
    it(`${access}: ${name}`, async () => {
      expect(await accessWith(tellingClient(told))('t', HOME)).to.equal(access);
    });
  }

  it('asks for the path, in the name of the owner with all that authorizers look at', async () => {
    const asked: Review[] = [];
    await accessWith(tellingClient({ audiences: ['ours'], allowed: true }, asked))('t', HOME);
    expect(asked.at(-1)?.spec).to.deep.equal({
      user: 'u',
      groups: ['g'],
      extra: { 'k/v': ['1'] },
      nonResourceAttributes: { path: '/metrics', verb: 'get' },
    });
  });

  for (const [name, token] of Object.entries({ 'no token': '', 'a token longer than any': 'x'.repeat(8_193) })) {
    it(`${name} is refused without a question`, async () => {
      const asked: Review[] = [];
      expect(await accessWith(tellingClient({ audiences: ['ours'], allowed: true }, asked))(token, HOME)).to.equal(
        'unauthenticated',
      );
      expect(asked).to.deep.equal([]);
    });
  }
});

describe('token access: what it costs', () => {
  it('an answer counts for a minute, and a right that was taken away ends then', async () => {
    const clock = createFakeClock();
    const told = { audiences: ['ours'], allowed: true };
    const asked: Review[] = [];
    const access = accessWith(tellingClient(told, asked), clock);
    await access('t', HOME);
    told.allowed = false;
    await clock.advance(59_000);
    expect(await access('t', HOME)).to.equal('allowed');
    expect(asked).to.have.lengthOf(2);
    await clock.advance(1_000);
    expect(await access('t', HOME)).to.equal('forbidden');
  });

  const ours = { audiences: ['ours'], allowed: true };
  const flood = (access: ReturnType<typeof accessWith>, from: (index: number) => string): Promise<Access[]> =>
    Promise.all(Array.from({ length: 200 }, (_, index) => access(`unknown ${index}`, from(index))));

  it('of a flood of unknown tokens some are asked about, known and other sources are let in all the same', async () => {
    const clock = createFakeClock();
    const access = accessWith(tellingClient(ours), clock);
    await access('known', HOME);
    const outcomes = await flood(access, () => 'attacker');
    expect(outcomes.filter((outcome) => outcome === 'busy')).to.have.lengthOf(190);
    expect(await access('known', 'attacker')).to.equal('allowed');
    expect(await access('new', HOME)).to.equal('allowed');
    expect(await access('new too', 'attacker')).to.equal('busy');
    await clock.advance(1_000);
    expect(await access('new too', 'attacker')).to.equal('allowed');
  });

  it('of a flood from many sources so many questions reach the API server', async () => {
    const asked: Review[] = [];
    const outcomes = await flood(accessWith(tellingClient(ours, asked)), (index) => `attacker ${index}`);
    expect(outcomes.filter((outcome) => outcome === 'busy')).to.have.lengthOf(180);
    expect(asked.filter(({ kind }) => kind === 'TokenReview')).to.have.lengthOf(20);
  });

  it('in ten minutes of 200 unknown tokens a second, also of its own address, no scrape of a good token is refused', async () => {
    const clock = createFakeClock();
    const access = accessWith(tellingClient({ ...ours, token: 'prometheus' }), clock);
    await access('prometheus', HOME);
    for (let second = 1; second <= 600; second += 1) {
      await flood(
        (token, source) => access(`${token} ${second}`, source),
        (index) => (index % 2 === 0 ? HOME : `attacker ${index}`),
      );
      if (second % 30 === 0) expect(await access('prometheus', HOME), `second ${second}`).to.equal('allowed');
      await clock.advance(1_000);
    }
  });

  it('a token that is no longer good is asked about as any other', async () => {
    const clock = createFakeClock();
    const told = { ...ours };
    const access = accessWith(tellingClient(told), clock);
    await access('revoked', 'attacker');
    told.allowed = false;
    await clock.advance(60_000);
    expect(await access('revoked', 'attacker')).to.equal('forbidden');
    await clock.advance(60_000);
    await flood(access, () => 'attacker');
    expect(await access('revoked', 'attacker')).to.equal('busy');
  });

  it('no answer of the API server is unavailable, and asked again', async () => {
    let fails = true;
    const working = tellingClient({ audiences: ['ours'], allowed: true });
    const create: Client['create'] = (...args) => (fails ? Promise.reject(new Error('down')) : working.create(...args));
    const access = accessWith({ create });
    expect(await access('t', HOME)).to.equal('unavailable');
    fails = false;
    expect(await access('t', HOME)).to.equal('allowed');
  });
});
