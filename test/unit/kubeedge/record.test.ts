import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { type ZoneRecord, formatRecord, parseRecord } from '../../../pkg/kubeedge/decide.ts';

describe('the record of a zone', () => {
  const zone = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
  const records: fc.Arbitrary<ZoneRecord> = fc
    .record({ zone, previous: fc.option(zone, { nil: undefined }), losses: fc.nat(5), lostAt: fc.nat(2 ** 31) })
    .map(({ previous, losses, lostAt, ...rest }) => ({
      ...rest,
      losses,
      ...(previous === undefined ? {} : { previous }),
      ...(losses === 0 ? {} : { lostAt }),
    }));

  it('is read as it was written', () => {
    fc.assert(
      fc.property(records, (record) => {
        expect(parseRecord(formatRecord(record))).to.deep.equal(record);
      }),
    );
  });

  it('is short where there is little to say', () => {
    expect(formatRecord({ zone: 'north', losses: 0 })).to.equal('{"zone":"north"}');
    expect(formatRecord({ zone: 'north', previous: 'eu-1a', losses: 2, lostAt: 7 })).to.equal(
      '{"zone":"north","previous":"eu-1a","losses":2,"lostAt":7}',
    );
  });

  for (const { name, text } of [
    { name: 'no annotation', text: undefined },
    { name: 'no JSON', text: 'north' },
    { name: 'null', text: 'null' },
    { name: 'a list', text: '[]' },
    { name: 'no zone', text: '{"previous":"eu-1a"}' },
    { name: 'a zone that is no text', text: '{"zone":7}' },
    { name: 'a zone that no label can hold', text: '{"zone":"a b"}' },
  ])
    it(`claims nothing: ${name}`, () => expect(parseRecord(text)).to.equal(undefined));

  it('forgets what cannot be, and keeps the rest', () => {
    expect(parseRecord('{"zone":"north","previous":"a b","losses":-1}')).to.deep.equal({ zone: 'north', losses: 0 });
    expect(parseRecord('{"zone":"north","losses":"many","lostAt":"now"}')).to.deep.equal({ zone: 'north', losses: 0 });
  });
});
