import { expect } from 'chai';
import { describe, it } from 'mocha';
import { plannerUsersOf } from '../../../pkg/hints/readiness.ts';

const own = 'system:serviceaccount:own:flow-controller';
const other = 'system:serviceaccount:other:flow-controller';

describe('plannerUsersOf', () => {
  const cases: { name: string; configured?: string[]; planning: string; users: string[] }[] = [
    { name: 'our own where nobody says who plans', planning: '', users: [own] },
    { name: 'our own once where we plan', planning: 'own', users: [own] },
    { name: 'our own and the one that plans', planning: 'other', users: [own, other] },
    { name: 'those configured and nobody else', configured: ['a', 'b'], planning: 'other', users: ['a', 'b'] },
    { name: 'nobody by a name that is none of a namespace', planning: 'x:admin:y', users: [own] },
    { name: 'nobody by a quotation mark', planning: 'x" || true || "', users: [own] },
    { name: 'nobody by a name that is too long', planning: 'x'.repeat(64), users: [own] },
  ];
  for (const { name, configured = [], planning, users } of cases) {
    it(`is ${name}`, () => expect(plannerUsersOf({ configured, ownNamespace: 'own', planning })).to.deep.equal(users));
  }
});
