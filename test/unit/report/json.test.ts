import { expect } from 'chai';
import { describe, it } from 'mocha';
import { renderJson } from '../../../pkg/report/text.ts';

describe('renderJson', () => {
  it('indents by two, keeps the order of keys and ends in a line break', () => {
    expect(renderJson({ b: 1, a: [null] })).to.equal('{\n  "b": 1,\n  "a": [\n    null\n  ]\n}\n');
  });
});
