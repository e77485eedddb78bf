import { expect } from 'chai';
import { describe, it } from 'mocha';
import { LABEL_CONSIDER, LABEL_STRATEGY, STRATEGIES } from '../../../pkg/apis/names.ts';
import { HINT_STRATEGIES, SELECTING_LABELS, strategyOf } from '../../../pkg/hints/table.ts';

describe('the table of hint strategies', () => {
  it('has a row for every strategy that a Service may ask for', () => {
    expect(HINT_STRATEGIES.map(({ name }) => name)).to.have.members([...STRATEGIES]);
  });

  it('reads our label before that of Gardener', () => {
    expect(SELECTING_LABELS).to.deep.equal([LABEL_STRATEGY, LABEL_CONSIDER]);
  });

  it('no two strategies are asked for by one label and value', () => {
    const labels = HINT_STRATEGIES.flatMap((strategy) => strategy.labels.map(({ key, value }) => `${key}=${value}`));
    expect(new Set(labels).size).to.equal(labels.length);
  });

  for (const name of STRATEGIES) {
    it(`finds ${name} by its label`, () => expect(strategyOf({ [LABEL_STRATEGY]: name })?.name).to.equal(name));
  }

  const none: { name: string; labels: Record<string, unknown> }[] = [
    { name: 'no labels', labels: {} },
    { name: 'another case', labels: { [LABEL_STRATEGY]: 'Same-Zone' } },
    { name: 'an inherited name', labels: { [LABEL_STRATEGY]: 'constructor' } },
    { name: 'no string', labels: { [LABEL_STRATEGY]: ['same-zone'] } },
    { name: 'consider false', labels: { [LABEL_CONSIDER]: 'false' } },
  ];
  for (const { name, labels } of none) {
    it(`finds nothing for ${name}`, () => expect(strategyOf(labels)).to.equal(undefined));
  }
});
