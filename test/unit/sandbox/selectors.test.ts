// Label and field selectors of the sandbox.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { compileLabelSelector, parseFieldSelector, parseLabelSelector } from '../../sandbox/selectors.ts';

describe('parseLabelSelector', () => {
  const labels = { app: 'web', 'example.com/tier': 'front', size: '7', empty: '' };
  for (const { selector, matches } of [
    { selector: undefined, matches: true },
    { selector: '  ', matches: true },
    { selector: 'app=web', matches: true },
    { selector: 'app = web , size==7', matches: true },
    { selector: 'app!=web', matches: false },
    { selector: 'none!=web', matches: true },
    { selector: 'example.com/tier in (back, front)', matches: true },
    { selector: 'example.com/tier notin (front)', matches: false },
    { selector: 'none notin (front)', matches: true },
    { selector: 'none in (front)', matches: false },
    { selector: 'empty', matches: true },
    { selector: 'empty=', matches: true },
    { selector: 'app in ()', matches: false },
    { selector: '!empty', matches: false },
    { selector: '! none', matches: true },
    { selector: 'size > 6,size<8', matches: true },
    { selector: 'size>7', matches: false },
    { selector: 'toString', matches: false },
  ]) {
    it(`${JSON.stringify(selector)} ${matches ? 'matches' : 'does not match'}`, () => {
      expect(parseLabelSelector(selector)(labels)).to.equal(matches);
    });
  }

  for (const selector of ['a=b=c', 'a in b', '=', 'a,,b', 'a in (b', '-a', 'a b']) {
    it(`refuses ${JSON.stringify(selector)} with 400`, () => {
      expect(() => parseLabelSelector(selector))
        .to.throw('unable to parse requirement')
        .with.property('code', 400);
    });
  }
});

describe('compileLabelSelector', () => {
  it('agrees with the query form', () => {
    const key = fc.constantFrom('a', 'b', 'c');
    const value = fc.constantFrom('1', '2', '3');
    const expression = fc.oneof(
      fc.record({
        key,
        operator: fc.constantFrom('In' as const, 'NotIn' as const),
        values: fc.array(value, { minLength: 1, maxLength: 2 }),
      }),
      fc.record({ key, operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const) }),
    );
    const toText = (item: { key: string; operator: string; values?: string[] }): string => {
      if (item.operator === 'Exists') return item.key;
      if (item.operator === 'DoesNotExist') return `!${item.key}`;
      return `${item.key} ${item.operator.toLowerCase()} (${(item.values ?? []).join(',')})`;
    };
    fc.assert(
      fc.property(fc.array(expression, { maxLength: 3 }), fc.dictionary(key, value), (matchExpressions, labels) => {
        const text = matchExpressions.map((item) => toText(item)).join(',');
        expect(compileLabelSelector({ matchExpressions })(labels), text).to.equal(parseLabelSelector(text)(labels));
      }),
    );
  });

  it('matches everything without a selector', () => {
    expect(compileLabelSelector(undefined)({})).to.equal(true);
    expect(compileLabelSelector({})({ a: 'b' })).to.equal(true);
    expect(compileLabelSelector({ matchLabels: { a: 'b' } })({ a: 'c' })).to.equal(false);
  });
});

describe('parseFieldSelector', () => {
  const supported = { 'metadata.name': ({ name }: { name: string }) => name };
  it('reads equality in its three forms', () => {
    const test = (text: string): boolean | undefined => parseFieldSelector(text, supported)?.({ name: 'a' });
    expect(
      ['metadata.name=a', 'metadata.name==a', 'metadata.name!=a', 'metadata.name=b'].map((text) => test(text)),
    ).to.deep.equal([true, true, false, false]);
    expect(parseFieldSelector('', supported)).to.equal(undefined);
  });
  it('refuses fields that are not supported', () => {
    expect(() => parseFieldSelector('spec.x=a', supported))
      .to.throw('field label not supported: spec.x')
      .with.property('code', 400);
    expect(() => parseFieldSelector('metadata.name', supported)).to.throw('invalid selector');
    expect(() => parseFieldSelector('constructor=a', supported)).to.throw('field label not supported');
  });
});
