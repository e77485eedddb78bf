// How many Services get series of their own: bounded a namespace and in all, whoever comes first.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { SERVICES_IN_ALL, SERVICES_PER_NAMESPACE, limitServices } from '../../../pkg/telemetry/metrics.ts';

interface Item {
  readonly namespace: string;
  readonly service: string;
}

const services = (namespace: string, count: number): Item[] =>
  Array.from({ length: count }, (_, index) => ({ namespace, service: `s${index}` }));

describe('limitServices', () => {
  it('shows all where they are few', () => {
    const all = [...services('a', 2), ...services('b', SERVICES_PER_NAMESPACE)];
    expect(limitServices(all)).to.deep.equal({ shown: all, omitted: 0 });
  });

  it('lets no namespace crowd out the others', () => {
    const { shown, omitted } = limitServices([...services('hostile', 5_000), ...services('other', 3)]);
    expect(shown.filter(({ namespace }) => namespace === 'hostile')).to.have.length(SERVICES_PER_NAMESPACE);
    expect(shown.filter(({ namespace }) => namespace === 'other')).to.have.length(3);
    expect(omitted).to.equal(5_000 - SERVICES_PER_NAMESPACE);
  });

  it('shows no more than its limit, whatever there is', () => {
    const all = Array.from({ length: 5_000 }, (_, index) => services(`n${index}`, 1)).flat();
    const { shown, omitted } = limitServices(all);
    expect(shown).to.deep.equal(all.slice(0, SERVICES_IN_ALL));
    expect(omitted).to.equal(5_000 - SERVICES_IN_ALL);
  });
});
