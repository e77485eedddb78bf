// The line that says at the end of a log what failed.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { failureLine } from '../../support/failure-line.ts';

const thrownBy = (assertion: () => unknown): unknown => {
  try {
    assertion();
  } catch (error) {
    return error;
  }
  return undefined;
};

describe('the line of a failed test', () => {
  it('names the test, the message, what was compared, and where', () => {
    const error = thrownBy(() => expect({ zone: 'a' }, 'hints').to.deep.equal({ zone: 'b' }));
    expect(failureLine('a slice keeps its hints', error)).to.match(
      /^FAILED a slice keeps its hints: hints: expected \{ zone: 'a' \} to deeply equal \{ zone: 'b' \}; actual \{"zone":"a"\}; expected \{"zone":"b"\} \(test\/unit\/support\/failure-line\.test\.ts:\d+:\d+\)$/,
    );
  });

  it('shows values from just before their first difference', () => {
    const zones = (last: string): string[] => [...Array.from({ length: 200 }, () => 'a'), last];
    const line = failureLine(
      'it',
      thrownBy(() => expect(zones('b')).to.deep.equal(zones('c'))),
    );
    expect(line).to.match(/; actual …[",a]+"b"\]; expected …[",a]+"c"\] \(/);
    expect(line.length).to.be.below(800);
  });

  it('takes the text that mocha makes of what was compared', () => {
    const error = Object.assign(new Error('differ'), {
      showDiff: true,
      actual: '[\n  1\n]',
      expected: '[]',
      stack: '',
    });
    expect(failureLine('it', error)).to.equal('FAILED it: differ; actual [ 1 ]; expected []');
  });

  it('leaves out what was not compared', () => {
    expect(
      failureLine(
        'it waits',
        thrownBy(() => expect([]).not.to.be.empty),
      ),
    ).to.match(
      /^FAILED it waits: expected \[\] not to be empty \(test\/unit\/support\/failure-line\.test\.ts:\d+:\d+\)$/,
    );
  });

  for (const { name, thrown, line } of [
    {
      name: 'an error from elsewhere',
      thrown: { message: 'gone', stack: 'Error: gone\n    at /elsewhere.js:1:1' },
      line: 'gone',
    },
    { name: 'a message of several lines', thrown: { message: 'a:\n  b\n\tc', stack: '' }, line: 'a: b c' },
    { name: 'a long message', thrown: { message: 'x'.repeat(401), stack: '' }, line: `${'x'.repeat(400)}…` },
    { name: 'an error without a stack', thrown: { message: 'gone', stack: undefined }, line: 'gone' },
  ]) {
    it(`tells ${name} on one line`, () => {
      expect(failureLine('it', Object.assign(new Error(), thrown))).to.equal(`FAILED it: ${line}`);
    });
  }

  it('takes what is thrown without being an error', () => {
    expect(failureLine('it', 'a text')).to.match(/^FAILED it: a text/);
  });
});
