import { expect } from 'chai';
import { Command } from 'commander';
import { describe, it } from 'mocha';
import { withControllerFlags, withRunning, withServing } from '../../../cmd/shared/run-controller.ts';
import type { ControllerFlags } from '../../../cmd/shared/run-controller.ts';
import { parseWith } from '../../../cmd/shared/flags.ts';
import type { ControllerConfiguration } from '../../../cmd/shared/session.ts';

const create = (): Command =>
  withServing(
    withRunning(new Command('thing'), { kind: 'ThingConfiguration', dryRun: 'looks only', cleanup: 'takes back' }),
    'alone',
  );
const parse = (...args: string[]) => parseWith<ControllerFlags>(create, args);
const flagsOf = (...args: string[]): ControllerFlags => {
  const parsed = parse('--config', 'c.yaml', ...args);
  if (parsed.kind === 'exit') throw new Error(parsed.text);
  return parsed.flags;
};

const config: ControllerConfiguration = {
  leaderElection: {
    enabled: true,
    name: 'thing',
    leaseDurationSeconds: 15,
    renewDeadlineSeconds: 10,
    retryPeriodSeconds: 2,
  },
  health: { bindAddress: '::', port: 1 },
  metrics: { bindAddress: '::', port: 2 },
  log: { level: 'info', format: 'json' },
};

describe('flags of a controller', () => {
  it('are undefined where they are not given', () => expect(flagsOf()).to.deep.equal({ config: 'c.yaml' }));

  const given: { name: string; line: string; flags: Partial<ControllerFlags> }[] = [
    { name: 'dry run', line: '--dry-run -o json', flags: { dryRun: true, output: 'json' } },
    { name: 'cleanup', line: '--cleanup --kubeconfig k', flags: { cleanup: true, kubeconfig: 'k' } },
    { name: 'a Lease of its own', line: '--leader-elect', flags: { leaderElect: true } },
    { name: 'no Lease', line: '--no-leader-elect', flags: { leaderElect: false } },
    {
      name: 'where it serves',
      line: '--bind-address ::1 --health-port 0 --leader-election-namespace own --log-level warn',
      flags: { bindAddress: '::1', healthPort: 0, leaderElectionNamespace: 'own', logLevel: 'warn' },
    },
  ];
  for (const { name, line, flags } of given) {
    it(`read ${name}`, () => expect(flagsOf(...line.split(' '))).to.deep.equal({ config: 'c.yaml', ...flags }));
  }

  const wrong = [
    { name: 'no configuration', args: [], says: /--config/ },
    { name: 'a format that is none', args: ['--config', 'c', '-o', 'xml'], says: /table, json/ },
    { name: 'dry run with cleanup', args: ['--config', 'c', '--dry-run', '--cleanup'], says: /cannot be used with/ },
  ];
  for (const { name, args, says } of wrong) {
    it(`end with 2 for ${name}`, () => {
      const parsed = parse(...args);
      expect(parsed).to.include({ kind: 'exit', code: 2 });
      expect(parsed.kind === 'exit' && parsed.text).to.match(says);
    });
  }

  it('are explained in the words of their command', () => {
    const parsed = parse('--help');
    const text = parsed.kind === 'exit' ? parsed.text.replaceAll(/\s+/g, ' ') : '';
    for (const words of ['configuration file (ThingConfiguration)', 'looks only', 'takes back', 'alone'])
      expect(text).to.contain(words);
  });

  it('win over the file, one by one', () => {
    expect(withControllerFlags(flagsOf(), config)).to.deep.equal(config);
    const flags = flagsOf('--no-leader-elect', '--leader-election-namespace', 'own', '--metrics-port', '0');
    expect(withControllerFlags(flags, config)).to.deep.equal({
      ...config,
      leaderElection: { ...config.leaderElection, enabled: false, namespace: 'own' },
      metrics: { bindAddress: '::', port: 0 },
    });
  });

  it('--leader-elect wins over a file that switches it off', () => {
    const off = { ...config, leaderElection: { ...config.leaderElection, enabled: false } };
    expect(withControllerFlags(flagsOf(), off).leaderElection.enabled).to.equal(false);
    expect(withControllerFlags(flagsOf('--leader-elect'), off).leaderElection.enabled).to.equal(true);
  });
});
