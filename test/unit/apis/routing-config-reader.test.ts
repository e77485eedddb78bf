import { expect } from 'chai';
import * as fc from 'fast-check';
import { describe, it } from 'mocha';
import { STRATEGIES } from '../../../pkg/apis/names.ts';
import { createRoutingConfigReader } from '../../../pkg/apis/routing-config-reader.ts';
import { routingConfig } from '../../fixtures/gardener.ts';

const read = createRoutingConfigReader();

/** `field: message` of all problems. */
const problemsOf = (providerConfig: unknown): string[] => {
  const reading = read(providerConfig);
  return reading.kind === 'invalid' ? reading.problems.map(({ field, message }) => `${field}: ${message}`) : [];
};

describe('a providerConfig', () => {
  for (const none of [undefined, null])
    it(`that is ${none} asks for nothing`, () => expect(read(none)).to.deep.equal({ kind: 'absent' }));

  it('is read with its defaults, and what was given stays as it was', () => {
    const given = routingConfig({ services: [{ name: 'a', strategy: 'same-node' }] });
    const before = structuredClone(given);
    expect(read(given)).to.deep.equal({
      kind: 'valid',
      config: { ...before, services: [{ name: 'a', strategy: 'same-node' }], exclude: [] },
    });
    expect(given).to.deep.equal(before);
  });

  it('takes every field', () => {
    const selector = {
      matchLabels: { app: 'x' },
      matchExpressions: [
        { key: 'tier', operator: 'In', values: ['a'] },
        { key: 'old', operator: 'DoesNotExist' },
      ],
    };
    const full = routingConfig({
      services: [{ selector, namespace: 'extension-x', strategy: 'load-aware' }],
      exclude: [{ name: 'vpa-webhook' }, { selector: { matchExpressions: [{ key: 'off', operator: 'Exists' }] } }],
    });
    expect(read(full)).to.have.property('kind', 'valid');
  });

  const services = (...list: object[]): unknown => routingConfig({ services: list as never });
  const requires = (expression: object): unknown => services({ selector: { matchExpressions: [expression] } });
  const wrong: [name: string, config: unknown, says: RegExp][] = [
    ['text', 'services', /^spec\.providerConfig: must be of type object/],
    ['an empty block', {}, /^spec\.providerConfig\.apiVersion: is required/],
    ['another kind', { ...routingConfig(), kind: 'Config' }, /\.kind: is "Config"\. \(allowed: RoutingConfig\)/],
    [
      'an unknown field',
      { ...routingConfig(), service: [] },
      /^spec\.providerConfig\.service: is not a field of this kind\. \(allowed: .*services, exclude\)/,
    ],
    [
      'an unknown field inside',
      services({ name: 'a' }, { name: 'b', zone: 'x' }),
      /\.services\[1\]\.zone: is not a field/,
    ],
    [
      'a strategy that does not exist',
      services({ name: 'a', strategy: 'nearest' }),
      new RegExp(`services\\[0\\]\\.strategy: is "nearest"\\. \\(allowed: ${STRATEGIES.join(', ')}\\)`),
    ],
    ['neither name nor selector', services({ strategy: 'same-zone' }), /services\[0\]: needs either name or selector/],
    [
      'both name and selector',
      routingConfig({ exclude: [{ name: 'a', selector: { matchLabels: { a: 'b' } } }] }),
      /exclude\[0\]: needs either name or selector/,
    ],
    [
      'a selector of everything',
      services({ selector: { matchLabels: {} } }),
      /\[0\]\.selector: would select every Service/,
    ],
    ['In without values', requires({ key: 'a', operator: 'In' }), /matchExpressions\[0\]: In and NotIn need values/],
    ['Exists with values', requires({ key: 'a', operator: 'Exists', values: ['b'] }), /DoesNotExist take none/],
    ['no name of a Service', services({ name: 'A_b' }), /services\[0\]\.name: is "A_b"; it must match/],
    [
      'more entries than anybody needs',
      services(...Array.from({ length: 101 }, (_, index) => ({ name: `s${index}` }))),
      /^spec\.providerConfig\.services: /,
    ],
    ['more text than anybody writes', services({ name: 'a'.repeat(70_000) }), /has more than 65536 characters/],
  ];
  for (const [name, config, says] of wrong)
    it(`is refused with the field's path: ${name}`, () => expect(problemsOf(config)[0]).to.match(says));

  it('reports several problems, but no more than a person reads', () => {
    const many = Array.from({ length: 20 }, () => ({ name: 'a', strategy: 'nearest' }));
    expect(problemsOf(services(...many))).to.have.lengthOf(5);
  });

  it('never throws, whatever was written', () => {
    const field = fc.constantFrom('services', 'exclude', 'apiVersion', 'kind', '__proto__', 'constructor');
    fc.assert(
      fc.property(fc.jsonValue(), field, (value, key) => {
        expect(read(value)).to.have.property('kind');
        const changed = JSON.parse(`{"apiVersion":"a","kind":"b",${JSON.stringify(key)}:${JSON.stringify(value)}}`);
        expect(read({ ...routingConfig(), ...changed })).to.have.property('kind');
        expect(read(routingConfig({ [key]: value }))).to.have.property('kind');
      }),
    );
    expect(({} as { polluted?: unknown }).polluted).to.equal(undefined);
  });

  it('nesting deeper than the stack is reported', () => {
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as unknown;
    expect(problemsOf(routingConfig({ services: deep as never }))).to.deep.equal([
      'spec.providerConfig: is nested too deep.',
    ]);
  });
});
