// docs/usage/kubeedge.md says what every reason means, and has a configuration that the flow controller takes.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { FLOW_CONTROLLER_CONFIGURATION } from '../../../pkg/apis/config/flow-controller.ts';
import { loadConfiguration } from '../../../pkg/apis/config/load.ts';

const root = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(resolve(root, path), 'utf8');
const page = read('docs/usage/kubeedge.md');

/** The members of an exported union of words, read from its source: types leave nothing to import. */
const members = (path: string, type: string): string[] => {
  const declaration = new RegExp(`export type ${type} =([^;]*);`).exec(read(path))?.[1] ?? '';
  return [...declaration.matchAll(/'([^']+)'/g)].map((match) => match[1] ?? '');
};

describe('the page about KubeEdge', () => {
  it('has a row for every refusal', () => {
    const reasons = members('pkg/kubeedge/decide.ts', 'ZoneRefusal');
    expect(reasons).to.have.length.above(5);
    expect(reasons.filter((reason) => !page.includes(`\n| \`${reason}\` |`))).to.deep.equal([]);
  });

  it('names the event of every write', () => {
    const writes = members('pkg/kubeedge/decide.ts', 'ZoneWrite');
    expect(writes).to.have.length.above(3);
    expect(writes.filter((write) => !page.includes(`\`Zone${write}\``))).to.deep.equal([]);
  });

  it('has a configuration that the flow controller takes', () => {
    const [, yaml = ''] = /```yaml\n(apiVersion: config[^]*?)```/.exec(page) ?? [];
    const { nodeGroups } = loadConfiguration(FLOW_CONTROLLER_CONFIGURATION, yaml, 'kubeedge.md');
    expect(nodeGroups).to.deep.equal({ enabled: true, touchesPerSecond: 5 });
  });
});
