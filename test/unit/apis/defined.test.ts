// Absent instead of undefined.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { defined, picked } from '../../../pkg/apis/values.ts';

describe('defined', () => {
  it('leaves out what is undefined, and keeps null, empty and false in their order', () =>
    expect(Object.entries(defined({ b: null, a: undefined, e: '', d: 0, c: false }))).to.deep.equal([
      ['b', null],
      ['e', ''],
      ['d', 0],
      ['c', false],
    ]));
  it('leaves the object that it is given as it is', () => {
    const object = { a: undefined };
    defined(object);
    expect(object).to.have.property('a');
  });
});

describe('picked', () => {
  it('holds what the map has of the keys', () =>
    expect(picked({ a: '1', b: '', c: '3' }, ['b', 'a', 'd'])).to.deep.equal({ a: '1', b: '' }));
  it('is empty without a map', () => expect(picked(undefined, ['a'])).to.deep.equal({}));
});
