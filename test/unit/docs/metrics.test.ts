// Metrics that were released keep their names, types and labels: dashboards and alert rules of others hang on them.
import { globSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { RELEASED_METRICS, registeredMetrics } from '../../../hack/generate/pages.ts';
import { metricsCatalogue } from '../../../hack/lib/metrics-catalogue.ts';
import { readText, root } from '../../support/docs/markdown.ts';

const released = readText(RELEASED_METRICS)
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

describe('the catalogue of metrics', () => {
  it('holds every released metric as it was', () => {
    const registered = registeredMetrics();
    const gone = released.filter((line) => !registered.includes(line));
    expect(gone, 'removed or changed: bring them back').to.deep.equal([]);
  });

  it('holds every metric that the sources create', () => {
    const CREATED = /'([a-z][a-z0-9_]*)',\s+(?:help: )?['"`][A-Z0-9]/g;
    const sources = globSync('{cmd,pkg}/**/*.ts', { cwd: root }).map(readText);
    const texts = sources.filter((text) => /telemetry\/metrics\.ts|from 'prom-client'/.test(text));
    const created = texts.flatMap((text) => [...text.matchAll(CREATED)].map(([, name = '']) => name));
    const names = metricsCatalogue().flatMap(({ metrics }) => metrics.map(({ name }) => name));
    const known = names.map((name) => name.replace(/^topology_(?:aware_routing|traffic)_/, ''));
    const missing = created.filter((name) => !known.includes(name));
    expect(missing, 'call what creates them in REGISTER of hack/lib/metrics-catalogue.ts').to.deep.equal([]);
    const unseen = known.filter((name) => !created.includes(name));
    expect(unseen, 'metrics that this test does not find in the sources: mend CREATED').to.deep.equal([]);
  });

  it('is read from definitions that commands agree on', () => {
    const byName = Map.groupBy(
      metricsCatalogue().flatMap(({ metrics }) => metrics),
      ({ name }) => name,
    );
    for (const [name, [first, ...others]] of byName)
      for (const other of others) {
        expect({ type: other.type, labels: other.labels }, name).to.deep.equal({
          type: first?.type,
          labels: first?.labels,
        });
      }
  });

  it('names metrics as Prometheus asks: a total for counters and only for them, a unit, no capitals', () => {
    for (const { metrics } of metricsCatalogue())
      for (const { name, type, help } of metrics) {
        expect(name).to.match(/^topology_(?:aware_routing|traffic)(?:_[a-z0-9]+)+$/);
        expect(name.endsWith('_total'), name).to.equal(type === 'counter');
        if (type === 'histogram') expect(name).to.match(/_seconds$/);
        expect(help, name).to.match(/^[A-Z0-9].*\.$/);
      }
  });
});
