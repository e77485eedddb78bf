import { expect } from 'chai';
import { describe, it } from 'mocha';
import { NOWHERE } from '../../../pkg/apis/names.ts';
import { isNodeName, isZoneName } from '../../../pkg/hints/readiness.ts';

describe('isZoneName', () => {
  for (const value of ['a', 'eu-1a', 'EU_1.a', '1', 'z'.repeat(63)]) {
    it(`accepts ${value.slice(0, 20)}`, () => expect(isZoneName(value)).to.equal(true));
  }
  for (const value of [
    '',
    '-a',
    'a-',
    'a b',
    'a/b',
    'ä',
    'a\n',
    'z'.repeat(64),
    NOWHERE,
    undefined,
    null,
    5,
    ['a'],
    {},
  ]) {
    it(`refuses ${JSON.stringify(value)?.slice(0, 20)}`, () => expect(isZoneName(value)).to.equal(false));
  }
});

describe('isNodeName', () => {
  for (const value of ['n', 'node-1', 'ip-10-0-0-1.eu-west-1.compute.internal', '1.2', `${'a'.repeat(250)}.bc`]) {
    it(`accepts ${value.slice(0, 20)}`, () => expect(isNodeName(value)).to.equal(true));
  }
  for (const value of ['', 'N', 'a_b', '-a', 'a-', 'a..b', '.a', 'a.', 'a\n', 'a'.repeat(254), undefined, 5]) {
    it(`refuses ${JSON.stringify(value)?.slice(0, 20)}`, () => expect(isNodeName(value)).to.equal(false));
  }
});
