import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type Flags, configurationOf, parseFlags } from '../../../cmd/settings-reconciler/options.ts';
import { CONFIG_API_VERSION } from '../../../pkg/apis/config/load.ts';
import { ConfigError } from '../../../pkg/apis/config/config-error.ts';

const text = (modes: string): string =>
  `apiVersion: ${CONFIG_API_VERSION}\nkind: SettingsReconcilerConfiguration\nmodes: ${modes}\n`;
const flagsOf = (...args: string[]): Flags => {
  const parsed = parseFlags(['--config', 'c.yaml', ...args]);
  if (parsed.kind === 'exit') throw new Error(parsed.text);
  return parsed.flags;
};

describe('flags of the settings-reconciler', () => {
  it('leave everything to the file by default', () => {
    expect(flagsOf()).to.deep.equal({ config: 'c.yaml' });
    const config = configurationOf(flagsOf(), text('{cluster: {}}'), {});
    expect(config.leaderElection.enabled).to.equal(true);
    expect(config.health).to.deep.equal({ bindAddress: '::', port: 8081 });
  });

  it('win over the file', () => {
    const line =
      '--kubernetes-version 1.30 --bind-address 127.0.0.1 --health-port 0 --metrics-port 9 --no-leader-elect ' +
      '--leader-election-namespace x --log-level debug --log-format console';
    const flags = flagsOf(...line.split(' '));
    const config = configurationOf(flags, text('{cluster: {}}'), {});
    expect(config.kubernetesVersion.override).to.equal('1.30');
    expect(config.health).to.deep.equal({ bindAddress: '127.0.0.1', port: 0 });
    expect(config.metrics).to.deep.equal({ bindAddress: '127.0.0.1', port: 9 });
    expect(config.leaderElection).to.include({ enabled: false, namespace: 'x' });
    expect(config.log).to.deep.equal({ level: 'debug', format: 'console' });
  });

  it('--leader-elect wins over a file that switches it off', () => {
    const off = `${text('{cluster: {}}')}leaderElection: {enabled: false}\n`;
    expect(configurationOf(flagsOf(), off, {}).leaderElection.enabled).to.equal(false);
    expect(configurationOf(flagsOf('--leader-elect'), off, {}).leaderElection.enabled).to.equal(true);
  });

  const wrong = [
    { name: 'no configuration', args: [], code: 2, says: /--config/ },
    {
      name: 'a port that is none',
      args: ['--config', 'c', '--health-port', '-1'],
      code: 2,
      says: /expected a number from 0 to 65535/,
    },
    { name: 'an output that is none', args: ['--config', 'c', '-o', 'xml'], code: 2, says: /table, json/ },
    { name: 'a stray argument', args: ['--config', 'c', 'stray'], code: 2, says: /too many arguments/ },
    {
      name: 'dry run with cleanup',
      args: ['--config', 'c', '--dry-run', '--cleanup'],
      code: 2,
      says: /cannot be used with/,
    },
    { name: 'help', args: ['--help'], code: 0, says: /Examples:/ },
  ];
  for (const { name, args, code, says } of wrong) {
    it(`end with ${code} for ${name}`, () => {
      const parsed = parseFlags(args);
      expect(parsed).to.include({ kind: 'exit', code });
      expect(parsed.kind === 'exit' && parsed.text).to.match(says);
    });
  }
});

describe('environment of the settings-reconciler', () => {
  const env = { SEED_NAME: 'from-env', GARDEN_KUBECONFIG: '/from/env' };

  it('fills in the name of the Seed and the way to the garden', () => {
    const { seed } = configurationOf(flagsOf(), text('{seed: {}}'), env).modes;
    expect(seed).to.include({ seedName: 'from-env', gardenKubeconfig: '/from/env' });
  });

  it('gives way to the file', () => {
    const { seed } = configurationOf(flagsOf(), text('{seed: {seedName: mine, gardenKubeconfig: here}}'), env).modes;
    expect(seed).to.include({ seedName: 'mine', gardenKubeconfig: 'here' });
  });

  it('means nothing without seed mode or when empty', () => {
    expect(configurationOf(flagsOf(), text('{garden: {}}'), env).modes).to.have.all.keys('garden');
    expect(
      configurationOf(flagsOf(), text('{seed: {}}'), { SEED_NAME: '', GARDEN_KUBECONFIG: '' }).modes.seed,
    ).not.to.have.property('seedName');
  });

  it('must name the Seed where the garden can be read', () => {
    const load = () => configurationOf(flagsOf(), text('{seed: {gardenKubeconfig: here}}'), {});
    expect(load).to.throw(ConfigError, /modes\.seed\.seedName: is required together with gardenKubeconfig.*SEED_NAME/);
  });
});
