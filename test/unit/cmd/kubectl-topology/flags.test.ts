import { expect } from 'chai';
import { InvalidArgumentError } from 'commander';
import { describe, it } from 'mocha';
import { reasonsFlag } from '../../../../cmd/kubectl-topology/flags.ts';
import { COMMANDS } from '../../../../cmd/kubectl-topology/program.ts';

const read = reasonsFlag(['any', 'SingleZone', 'NoEndpoints'], 'no reason');

describe('a flag of reasons', () => {
  const good: { name: string; text: string; words: string[] }[] = [
    { name: 'one', text: 'any', words: ['any'] },
    { name: 'several', text: 'SingleZone,any', words: ['SingleZone', 'any'] },
    { name: 'several with spaces', text: ' NoEndpoints , SingleZone', words: ['NoEndpoints', 'SingleZone'] },
  ];
  for (const { name, text, words } of good) it(`reads ${name}`, () => expect(read(text)).to.deep.equal(words));

  const wrong: { name: string; text: string; says: string }[] = [
    { name: 'a slip of the pen', text: 'any,SingelZone', says: '"SingelZone" is no reason; did you mean SingleZone?' },
    { name: 'something else', text: 'xyzzyplugh', says: '"xyzzyplugh" is no reason; see the reference of reasons.' },
    { name: 'nothing', text: '', says: '"" is no reason' },
  ];
  for (const { name, text, says } of wrong)
    it(`refuses ${name}`, () => expect(() => read(text)).to.throw(InvalidArgumentError, says));
});

describe('the flags of every command', () => {
  for (const { name, flags } of COMMANDS)
    it(`stand under the names that commander gives their values: ${name}`, () =>
      expect(Object.keys(flags)).to.deep.equal(Object.values(flags).map((option) => option.attributeName())));
});
