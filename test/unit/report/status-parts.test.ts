import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ageText, daysText, holderText, imageText } from '../../../pkg/report/status.ts';

describe('parts of a status', () => {
  const AGES: readonly [seconds: number | null, text: string][] = [
    [null, '-'],
    [Number.NaN, '-'],
    [0, '0 s'],
    [119, '119 s'],
    [120, '2 min'],
    [7_199, '119 min'],
    [7_200, '2 h'],
    [172_799, '47 h'],
    [172_800, '2 d'],
  ];
  for (const [seconds, text] of AGES) it(`an age: ${text}`, () => expect(ageText(seconds)).to.equal(text));

  it('images without registry and with a short digest', () => {
    expect(imageText('registry.example:5000/a/b:v1')).to.equal('b:v1');
    expect(imageText(`b@sha256:${'0123456789ab'.padEnd(64, 'f')}`)).to.equal('b@sha256:0123456789ab');
    expect(imageText('')).to.equal('');
  });

  it('days left, and days gone', () => {
    const at = (daysLeft: number) => daysText({ daysLeft, notAfter: '2026-12-01T00:00:00.000Z', fingerprint: '' });
    expect([at(2), at(1), at(0), at(-1)]).to.deep.equal([
      '2 days left (2026-12-01)',
      '1 day left (2026-12-01)',
      '0 days left (2026-12-01)',
      'ended on 2026-12-01',
    ]);
  });

  it('holders without the random part of their identity', () => {
    const lease = {
      namespace: 'a',
      name: 'b',
      purpose: 'leader',
      component: 'c',
      installation: '',
      state: 'Held',
      holder: 'flow-controller-abc_de639915-7a31-4fa4-887a-cee32520485c',
      ageSeconds: 3,
      holderGone: false,
    } as const;
    expect(holderText(lease)).to.equal('flow-controller-abc, 3 s ago');
    expect(holderText({ ...lease, state: 'Stale', ageSeconds: 300, holderGone: true })).to.equal(
      'flow-controller-abc, stale 5 min, no such Pod',
    );
    expect(holderText({ ...lease, state: 'Released' })).to.equal('no holder');
  });
});
