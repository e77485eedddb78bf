// The reference of metric sources says what the code does: fields, failures, and configuration that can be loaded.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parse } from 'yaml';
import { CONFIG_API_VERSION, loadConfiguration } from '../../../pkg/apis/config/load.ts';
import { FLOW_CONTROLLER_CONFIGURATION } from '../../../pkg/apis/config/flow-controller.ts';
import { POD_METRICS } from '../../../pkg/metrics/resource-metrics.ts';
import { fillTemplate } from '../../../pkg/metrics/prometheus.ts';

const root = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(resolve(root, path), 'utf8');
const reference = read('docs/reference/metric-sources.md');
const blocks = (language: string): string[] =>
  [...reference.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'gmu'))].map((match) => match[1] ?? '');

describe('reference of metric sources', () => {
  it('has a row for every reason of a failure', () => {
    const declaration = /export type LoadFailure =([^;]*);/.exec(read('pkg/metrics/types.ts'))?.[1] ?? '';
    const reasons = [...declaration.matchAll(/'(\w+)'/g)].map((match) => match[1] ?? '');
    expect(reasons).to.include('BadQuery');
    expect(reasons.filter((reason) => !reference.includes(`\n| \`${reason}\` |`))).to.deep.equal([]);
  });

  it('has a configuration that the flow controller takes', () => {
    const example = blocks('yaml').find((text) => text.startsWith('metricSources:'));
    const file = `apiVersion: ${CONFIG_API_VERSION}\nkind: FlowControllerConfiguration\n${example}`;
    const { metricSources } = loadConfiguration(FLOW_CONTROLLER_CONFIGURATION, file, 'example.yaml');
    expect(metricSources.map(({ name }) => name)).to.deep.equal(['prometheus', 'metrics.k8s.io']);
  });

  it('has the rights that the requests need', () => {
    const rights = blocks('yaml').find((text) => text.startsWith('rules:'));
    expect(parse(rights ?? '')).to.deep.equal({
      rules: [{ apiGroups: [POD_METRICS.group], resources: [POD_METRICS.plural], verbs: ['get', 'list'] }],
    });
  });

  it('has queries whose names are put in', () => {
    const queries = blocks('promql');
    expect(queries).to.have.length(4);
    for (const query of queries) {
      const filled = fillTemplate(query, { namespace: 'shop', service: 'web' });
      expect(filled)
        .to.include('="shop"')
        .and.to.match(/="web"|=~"web-\.\*"/u);
      expect(filled).not.to.match(/\$(?!1)/u);
    }
  });
});
