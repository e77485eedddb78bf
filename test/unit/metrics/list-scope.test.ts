// When Services of a namespace share one list of it, and when each lists its own Pods.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { type ListScope, createListScope } from '../../../pkg/metrics/resource-metrics.ts';

const podsOf = (count: number): Set<string> => new Set(Array.from({ length: count }, (_, index) => `p${index}`));

describe('scope of a list', () => {
  let scope: ListScope;
  const choose = (service: string, pods: number, nowMs = 0, namespace = 'shop', selector?: string) =>
    scope.choose({ namespace, service, pods: podsOf(pods) }, selector ?? `app=${service}`, nowMs);

  beforeEach(() => {
    scope = createListScope();
  });

  it('is its own Pods for a Service that is alone in its namespace', () => {
    expect(choose('a', 3)).to.equal('app=a');
    expect(choose('a', 3, 15_000)).to.equal('app=a');
    expect(choose('x', 3, 15_000, 'other')).to.equal('app=x');
  });

  it('is the namespace for several Services of which nothing else is known', () => {
    choose('a', 3);
    expect(choose('b', 3)).to.equal(undefined);
    expect(choose('a', 3)).to.equal(undefined);
  });

  it('is the namespace where that is less than all requests of its Services', () => {
    choose('a', 30);
    choose('b', 30);
    scope.learn('shop', 100, 0);
    expect(choose('a', 30)).to.equal(undefined);
  });

  it('is their own Pods where the namespace is full of others', () => {
    choose('a', 3);
    choose('b', 3);
    scope.learn('shop', 20_000, 0);
    expect(choose('a', 3)).to.equal('app=a');
    expect(choose('b', 3)).to.equal('app=b');
  });

  it('becomes known anew after ten minutes', () => {
    choose('a', 3);
    choose('b', 3);
    scope.learn('shop', 20_000, 0);
    for (let now = 0; now <= 600_000; now += 60_000) {
      expect(choose('a', 3, now)).to.equal('app=a');
      expect(choose('b', 3, now)).to.equal('app=b');
    }
    expect(choose('a', 3, 600_001)).to.equal(undefined);
    scope.learn('shop', 50, 600_001);
    expect(choose('b', 3, 660_000), 'the others have gone').to.equal(undefined);
  });

  it('forgets a Service that has not asked for two minutes', () => {
    choose('a', 3);
    choose('b', 3);
    expect(choose('a', 3, 60_000)).to.equal(undefined);
    expect(choose('a', 3, 180_001)).to.equal('app=a');
  });
});
