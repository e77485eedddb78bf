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

  const given: readonly (readonly [name: string, line: string, flags: Partial<ControllerFlags>])[] = [
    ['dry run', '--dry-run -o json', { dryRun: true, output: 'json' }],
    ['cleanup', '--cleanup --kubeconfig k', { cleanup: true, kubeconfig: 'k' }],
    ['a Lease of its own', '--leader-elect', { leaderElect: true }],
    ['no Lease', '--no-leader-elect', { leaderElect: false }],
    [
      'where it serves',
      '--bind-address ::1 --health-port 0 --metrics-port 65535 --leader-election-namespace own',
      { bindAddress: '::1', healthPort: 0, metricsPort: 65_535, leaderElectionNamespace: 'own' },
    ],
    ['how it writes its log', '--log-level warn --log-format console', { logLevel: 'warn', logFormat: 'console' }],
  ];
  for (const [name, line, flags] of given)
    it(`read ${name}`, () => expect(flagsOf(...line.split(' '))).to.deep.equal({ config: 'c.yaml', ...flags }));

  const wrong = [
    ['no configuration', [], /--config/],
    ['a format that is none', ['--config', 'c', '-o', 'xml'], /table, json/],
    ['a level that is none', ['--config', 'c', '--log-level', 'loud'], /Allowed choices are/],
    ['a port that is too large', ['--config', 'c', '--health-port', '65536'], /from 0 to 65535/],
    ['a word too many', ['--config', 'c', 'serve'], /too many arguments/],
    ['a flag that is none', ['--config', 'c', '--nope'], /unknown option/],
    ['dry run with cleanup', ['--config', 'c', '--dry-run', '--cleanup'], /cannot be used with/],
  ] as const;
  for (const [name, args, says] of wrong) {
    it(`end with 2 for ${name}`, () => {
      const parsed = parse(...args);
      expect(parsed).to.include({ kind: 'exit', code: 2 });
      expect(parsed.kind === 'exit' && parsed.text).to.match(says);
    });
  }

  it('win over the file, one by one', () => {
    expect(withControllerFlags(flagsOf(), config)).to.deep.equal(config);
    const line =
      '--no-leader-elect --leader-election-namespace own --bind-address ::1 --metrics-port 0 --log-format console';
    const flags = flagsOf(...line.split(' '));
    expect(withControllerFlags(flags, config)).to.deep.equal({
      ...config,
      leaderElection: { ...config.leaderElection, enabled: false, namespace: 'own' },
      health: { bindAddress: '::1', port: 1 },
      metrics: { bindAddress: '::1', port: 0 },
      log: { level: 'info', format: 'console' },
    });
  });

  it('--leader-elect wins over a file that switches it off', () => {
    const off = { ...config, leaderElection: { ...config.leaderElection, enabled: false } };
    expect(withControllerFlags(flagsOf(), off).leaderElection.enabled).to.equal(false);
    expect(withControllerFlags(flagsOf('--leader-elect'), off).leaderElection.enabled).to.equal(true);
  });
});
