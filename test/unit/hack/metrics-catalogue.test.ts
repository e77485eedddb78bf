// Metrics that were released keep their names, types and labels: dashboards and alert rules of others hang on them.
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { metricsCatalogue } from '../../../hack/lib/metrics-catalogue.ts';

const LIST = 'test/fixtures/stable-metrics.txt';

const released = readFileSync(new URL('../../../' + LIST, import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

const registered = metricsCatalogue().flatMap(({ command, metrics }) =>
  metrics.map(({ name, type, labels, since }) => [command, name, type, labels.join(',') || '-', since].join(' ')),
);

describe('the catalogue of metrics', () => {
  it('holds every released metric as it was', () => {
    const gone = released.filter((line) => !registered.includes(line));
    expect(gone, 'removed or changed: bring them back').to.deep.equal([]);
  });

  it('holds no metric that is not on the list', () => {
    const unlisted = registered.filter((line) => !released.includes(line));
    expect(unlisted, `new: add these lines to ${LIST}`).to.deep.equal([]);
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
