import { expect } from 'chai';
import { Command } from 'commander';
import { describe, it } from 'mocha';
import { type CommonFlags, parseWith, withCommonFlags, withLog, withPorts } from '../../../cmd/shared/flags.ts';

const create = (): Command => withLog(withPorts(new Command('thing').description('Does things.')));
const parse = (...args: string[]) => parseWith<CommonFlags>(create, args);

describe('flags of every command', () => {
  it('are undefined where they are not given', () => {
    expect(parse()).to.deep.equal({ kind: 'run', flags: {} });
  });

  it('are read', () => {
    const line = '--health-port 0 --metrics-port 65535 --log-level warn --log-format console';
    expect(parse(...line.split(' '))).to.deep.equal({
      kind: 'run',
      flags: { healthPort: 0, metricsPort: 65_535, logLevel: 'warn', logFormat: 'console' },
    });
  });

  const wrong = [
    { name: 'a level that is none', args: ['--log-level', 'loud'], says: /Allowed choices are/ },
    { name: 'a port that is too large', args: ['--health-port', '65536'], says: /number from 0 to 65535/ },
    { name: 'a word too many', args: ['serve'], says: /too many arguments/ },
    { name: 'a flag that is none', args: ['--nope'], says: /unknown option/ },
  ];
  for (const { name, args, says } of wrong) {
    it(`${name}: nothing is run, nothing is printed, exit code 2`, () => {
      const parsed = parse(...args);
      expect(parsed).to.include({ kind: 'exit', code: 2 });
      expect(parsed.kind === 'exit' && parsed.text).to.match(says);
    });
  }

  it('help is text with exit code 0', () => {
    const parsed = parse('--help');
    expect(parsed).to.include({ kind: 'exit', code: 0 });
    expect(parsed.kind === 'exit' && parsed.text).to.contain('Does things.');
  });

  it('win over the file, one by one', () => {
    const config = {
      health: { bindAddress: '::', port: 1 },
      metrics: { bindAddress: '127.0.0.1', port: 2 },
      log: { level: 'info', format: 'json' },
    } as const;
    expect(withCommonFlags({}, config)).to.deep.equal(config);
    expect(withCommonFlags({ bindAddress: '::1', healthPort: 0, logFormat: 'console' }, config)).to.deep.equal({
      health: { bindAddress: '::1', port: 0 },
      metrics: { bindAddress: '::1', port: 2 },
      log: { level: 'info', format: 'console' },
    });
  });
});
