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
