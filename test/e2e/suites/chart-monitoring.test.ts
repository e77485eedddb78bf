// How each place finds metrics, alert rules and the dashboard: Gardener by its labels and annotations, others as values say.
// Needs no bed.
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parse } from 'yaml';
import { DASHBOARD } from '../../../hack/generate/dashboard.ts';
import { alertFiles } from '../../../hack/lib/alerts.ts';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { TRAFFIC_METER } from '../../../pkg/apis/names.ts';
import { COMPONENTS, INJECTED, NAMESPACE, documents, root } from '../chart.ts';
import type { Rendered } from '../chart.ts';
import { useHelm } from '../chart-renderings.ts';

type Monitored = Rendered & { spec?: { endpoints?: { port: string }[]; groups?: object[] } };

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const groupsOf = (path: string): object[] => (parse(read(path)) as { groups: object[] }).groups;
const ALL = { flowController: { enabled: true }, trafficMeter: { enabled: true } };
const METER_NAMESPACE = 'topology-traffic-meter';
const monitoring = (values: object): object => ({ monitoring: values });

describe('chart, monitoring', () => {
  const { helm } = useHelm();
  const render = async (...values: object[]): Promise<Monitored[]> =>
    documents<Monitored>(await helm().template(Object.assign({}, ...values) as object));
  const ofKind = (objects: readonly Monitored[], kind: string): Monitored[] =>
    objects.filter((one) => one.kind === kind);
  const namesOf = (objects: readonly KubernetesObject[]): string[] =>
    objects.map(({ metadata }) => metadata?.name ?? '').sort();
  const labelled = (objects: readonly Monitored[], label: string): Monitored[] =>
    objects.filter(({ metadata }) => metadata?.labels?.[label] !== undefined);

  const places = [
    { where: 'seed', prometheus: 'seed', monitors: false, name: 'gardener-extension-topology-aware-routing' },
    {
      where: 'runtime',
      prometheus: 'garden',
      monitors: true,
      name: 'gardener-extension-topology-aware-routing-runtime',
    },
    {
      where: 'seed and runtime',
      prometheus: 'garden',
      monitors: true,
      name: 'gardener-extension-topology-aware-routing-runtime',
    },
  ] as const;
  for (const { where, prometheus, monitors, name } of places) {
    describe(`on ${where}`, () => {
      it('gives rules to the Prometheus there', async () => {
        const rules = ofKind(await render(INJECTED[where], ALL), 'PrometheusRule');
        const files = alertFiles();
        expect(namesOf(rules)).to.deep.equal(files.map(({ about }) => `${name}-${about}`).sort());
        for (const { metadata, spec } of rules) {
          expect(metadata?.labels).to.include({ prometheus });
          const file = files.find(({ about }) => metadata?.name === `${name}-${about}`);
          expect(spec?.groups).to.deep.equal(groupsOf(file?.path ?? ''));
        }
      });

      it('gives the dashboard to the Plutono there', async () => {
        const [map, ...others] = labelled(
          await render(INJECTED[where]),
          `dashboard.monitoring.gardener.cloud/${prometheus}`,
        );
        expect(others).to.be.empty;
        expect(map?.metadata).to.deep.include({ name: `${name}-dashboards`, namespace: 'garden' });
        expect(Object.keys(map?.data ?? {})).to.deep.equal([basename(DASHBOARD)]);
        expect(JSON.parse(map?.data?.[basename(DASHBOARD)] ?? '')).to.deep.equal(JSON.parse(read(DASHBOARD)));
      });

      it(`has ${monitors ? '' : 'no '}ServiceMonitors`, async () => {
        const objects = await render(INJECTED[where], ALL);
        const found = ofKind(objects, 'ServiceMonitor');
        expect(namesOf(found)).to.deep.equal(
          monitors ? [...COMPONENTS, TRAFFIC_METER].map((component) => `${name}-${component}`).sort() : [],
        );
        for (const { metadata, spec } of found) {
          expect(metadata?.labels).to.include({ prometheus });
          const selector = spec?.selector?.['matchLabels'] as Record<string, string>;
          const services = ofKind(objects, 'Service').filter(({ metadata: of }) =>
            Object.entries(selector).every(([key, value]) => of?.labels?.[key] === value),
          );
          expect(services, metadata?.name).to.have.lengthOf(1);
          const [endpoint] = spec?.endpoints ?? [];
          expect(services[0]?.spec?.ports?.map(({ name: port }) => port)).to.include(endpoint?.port);
        }
      });
    });
  }

  it('renders no PrometheusRule on a seed of a Gardener that may not know the kind', async () => {
    const gardener = { ...(INJECTED.seed as { gardener: object }).gardener, version: 'v1.90.0' };
    expect(ofKind(await render({ gardener }), 'PrometheusRule')).to.be.empty;
  });

  describe('outside Gardener', () => {
    it('renders nothing that an API server may not know, and nothing that is not read', async () => {
      const objects = await render(ALL);
      expect(objects.filter(({ apiVersion }) => apiVersion?.startsWith('monitoring'))).to.be.empty;
      expect(objects.filter(({ metadata }) => /-(?:alerts|dashboards)$/.test(metadata?.name ?? ''))).to.be.empty;
    });

    it('labels monitors and rules as their Prometheus wants them', async () => {
      const labels = { release: 'kube-prometheus-stack' };
      const objects = await render(ALL, monitoring({ serviceMonitors: true, alerts: 'prometheusRule', labels }));
      for (const kind of ['ServiceMonitor', 'PrometheusRule']) {
        const found = ofKind(objects, kind);
        expect(found, kind).not.to.be.empty;
        for (const { metadata } of found) {
          expect(metadata?.labels, kind).to.include(labels).and.not.to.have.property('prometheus');
          const isMeter = kind === 'ServiceMonitor' && metadata?.name?.endsWith(TRAFFIC_METER) === true;
          expect(metadata?.namespace, kind).to.equal(isMeter ? METER_NAMESPACE : NAMESPACE);
        }
      }
    });

    it("labels the dashboard for Grafana's side-car", async () => {
      const [map] = labelled(await render(monitoring({ dashboards: true })), 'grafana_dashboard');
      expect(map?.metadata).to.deep.include({ namespace: NAMESPACE });
    });
  });
});
