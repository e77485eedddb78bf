// Tests of the flow-controller's flags over its configuration file.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type Flags, configurationOf, parseFlags } from '../../../cmd/flow-controller/options.ts';
import { ConfigError } from '../../../pkg/apis/config/config-error.ts';

const HEAD = 'apiVersion: config.topology.extensions.gardener.cloud/v1alpha1\nkind: FlowControllerConfiguration\n';

const flagsOf = (): Flags => {
  const parsed = parseFlags(['--config', 'c.yaml']);
  if (parsed.kind === 'exit') throw new Error(parsed.text);
  return parsed.flags;
};

describe('the configuration of the flow-controller', () => {
  const wrong: { name: string; yaml: string; says: RegExp }[] = [
    { name: 'an unknown field', yaml: 'sources: []', says: /c\.yaml:3:1: sources: is not a field/ },
    {
      name: 'two sources of one name',
      yaml: 'metricSources: [{name: m, type: ResourceMetrics}, {name: m, type: ResourceMetrics}]',
      says: /metricSources\[1\]\.name/,
    },
    {
      name: 'In without values',
      yaml: 'namespaceSelector: {matchExpressions: [{key: x, operator: In}]}',
      says: /In and NotIn need values/,
    },
    {
      name: 'Exists with values',
      yaml: 'namespaceSelector: {matchExpressions: [{key: x, operator: Exists, values: [y]}]}',
      says: /Exists and DoesNotExist take none/,
    },
    {
      name: 'a Lease that cannot be renewed in time',
      yaml: 'leaderElection: {renewDeadlineSeconds: 20}',
      says: /must be less than leaseDurationSeconds/,
    },
  ];
  for (const { name, yaml, says } of wrong) {
    it(`is refused with ${name}`, () => {
      expect(() => configurationOf(flagsOf(), `${HEAD}${yaml}\n`)).to.throw(ConfigError, says);
    });
  }
});
