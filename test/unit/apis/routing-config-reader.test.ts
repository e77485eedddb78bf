import { expect } from 'chai';
import * as fc from 'fast-check';
import { describe, it } from 'mocha';
import { createRoutingConfigReader } from '../../../pkg/apis/routing-config-reader.ts';
import { routingConfig } from '../../fixtures/gardener.ts';

const read = createRoutingConfigReader();

/** `field: message` of all problems. */
const problemsOf = (providerConfig: unknown): string[] => {
  const reading = read(providerConfig);
  return reading.kind === 'invalid' ? reading.problems.map(({ field, message }) => `${field}: ${message}`) : [];
};

describe('a providerConfig', () => {
  for (const none of [undefined, null]) {
    it(`that is ${none} asks for nothing`, () => expect(read(none)).to.deep.equal({ kind: 'absent' }));
  }

  it('is read with its defaults, and what was given stays as it was', () => {
    const given = routingConfig({ services: [{ name: 'a', strategy: 'same-node' }] });
    const before = structuredClone(given);
    expect(read(given)).to.deep.equal({
      kind: 'valid',
      config: { ...before, services: [{ name: 'a', strategy: 'same-node' }], exclude: [] },
    });
    expect(given).to.deep.equal(before);
  });

  const wrong: { name: string; config: unknown; says: RegExp }[] = [
    { name: 'text', config: 'services', says: /^spec\.providerConfig: must be of type object/ },
    { name: 'an empty block', config: {}, says: /^spec\.providerConfig\.apiVersion: is required/ },
    {
      name: 'another kind',
      config: { ...routingConfig(), kind: 'Config' },
      says: /^spec\.providerConfig\.kind: is "Config"\. \(allowed: RoutingConfig\)/,
    },
    {
      name: 'an unknown field',
      config: routingConfig({ service: [] }),
      says: /^spec\.providerConfig\.service: is not a field of this kind\. \(allowed: .*services, exclude\)/,
    },
    {
      name: 'an unknown field inside',
      config: routingConfig({ services: [{ name: 'a' }, { name: 'b', zone: 'x' }] }),
      says: /^spec\.providerConfig\.services\[1\]\.zone: is not a field/,
    },
    {
      name: 'a strategy that does not exist',
      config: routingConfig({ services: [{ name: 'a', strategy: 'nearest' }] }),
      says: /^spec\.providerConfig\.services\[0\]\.strategy: is "nearest"\. \(allowed: same-zone, same-node, proportional, load-aware\)/,
    },
    {
      name: 'neither name nor selector',
      config: routingConfig({ services: [{ strategy: 'same-zone' }] }),
      says: /^spec\.providerConfig\.services\[0\]: needs either name or selector, one of them/,
    },
    {
      name: 'both name and selector',
      config: routingConfig({ exclude: [{ name: 'a', selector: { matchLabels: { a: 'b' } } }] }),
      says: /^spec\.providerConfig\.exclude\[0\]: needs either name or selector/,
    },
    {
      name: 'a selector of everything',
      config: routingConfig({ services: [{ selector: { matchLabels: {} } }] }),
      says: /^spec\.providerConfig\.services\[0\]\.selector: would select every Service/,
    },
    {
      name: 'In without values',
      config: routingConfig({ services: [{ selector: { matchExpressions: [{ key: 'a', operator: 'In' }] } }] }),
      says: /services\[0\]\.selector\.matchExpressions\[0\]: In and NotIn need values/,
    },
    {
      name: 'Exists with values',
      config: routingConfig({
        services: [{ selector: { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] } }],
      }),
      says: /matchExpressions\[0\]: .*Exists and DoesNotExist take none/,
    },
    {
      name: 'no name of a Service',
      config: routingConfig({ services: [{ name: 'A_b' }] }),
      says: /services\[0\]\.name: is "A_b"; it must match/,
    },
    {
      name: 'more entries than anybody needs',
      config: routingConfig({ services: Array.from({ length: 101 }, (_, index) => ({ name: `s${index}` })) }),
      says: /^spec\.providerConfig\.services: /,
    },
    {
      name: 'more text than anybody writes',
      config: routingConfig({ services: [{ name: 'a'.repeat(70_000) }] }),
      says: /^spec\.providerConfig: has more than 65536 characters/,
    },
  ];
  for (const { name, config, says } of wrong) {
    it(`is refused with the field's path: ${name}`, () => {
      const problems = problemsOf(config);
      expect(problems).not.to.be.empty;
      expect(problems[0]).to.match(says);
    });
  }

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
