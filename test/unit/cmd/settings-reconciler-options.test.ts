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
    const flags = flagsOf(...'--kubernetes-version 1.30 --health-port 0 --no-leader-elect'.split(' '));
    const config = configurationOf(flags, text('{cluster: {}}'), {});
    expect(config.kubernetesVersion.override).to.equal('1.30');
    expect(config.health.port).to.equal(0);
    expect(config.leaderElection.enabled).to.equal(false);
  });
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
