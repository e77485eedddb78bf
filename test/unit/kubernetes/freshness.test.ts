// SPDX-License-Identifier: Apache-2.0
// Liveness by what the informers have heard.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { NODES, SERVICES } from '../../../pkg/apis/resources.ts';
import { informerFreshness } from '../../../pkg/kubernetes/freshness.ts';

describe('informerFreshness', () => {
  const check = (nodesMs: number, servicesMs: number): string | undefined =>
    informerFreshness(
      [
        { resource: NODES, stalenessMs: () => nodesMs },
        { resource: SERVICES, stalenessMs: () => servicesMs },
      ],
      600_000,
    ).check();

  it('is well up to the limit', () => expect(check(0, 600_000)).to.equal(undefined));
  it('names every informer beyond it, and for how long', () => {
    expect(check(600_001, 0)).to.equal('no news of nodes for 600 s');
    expect(check(700_000, 900_000)).to.equal('no news of nodes for 700 s, services for 900 s');
  });
  it('is well without informers', () => expect(informerFreshness([], 1).check()).to.equal(undefined));
  it('asks at every check', () => {
    let age = 0;
    const health = informerFreshness([{ resource: NODES, stalenessMs: () => age }], 10);
    expect(health.check()).to.equal(undefined);
    age = 11;
    expect(health.check()).to.be.a('string');
    age = 0;
    expect(health.check()).to.equal(undefined);
  });
});
