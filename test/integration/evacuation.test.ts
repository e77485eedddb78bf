// A zone is evacuated by the settings-reconciler and by admission on the sandbox: what is written, in which order, what is said, and
// what admission does without the settings-reconciler.
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import type { EndpointSlice, Event, Service } from '../../pkg/apis/core.ts';
import { flowPolicyDefinition, zoneEvacuationDefinition } from '../../hack/lib/crd.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { ANNOTATION_EVACUATED, LABEL_MANAGED, LABEL_STRATEGY, NOWHERE } from '../../pkg/apis/names.ts';
import {
  apiVersionOf,
  ENDPOINT_SLICES,
  EVENTS,
  FLOW_POLICIES,
  SERVICES,
  ZONE_EVACUATIONS,
} from '../../pkg/apis/resources.ts';
import type { ZoneEvacuation, ZoneEvacuationSpec } from '../../pkg/apis/zone-evacuation.ts';
import { CATALOGUE } from '../../pkg/gardener/catalogue.ts';
import { endpoint, hintSwitch, node, service, slice } from '../fixtures/core.ts';
import { eventually } from './controller-bed.ts';
import { CILIUM, configMap, daemonSet } from '../fixtures/data-planes.ts';
import { startEvacuationAdmission } from './evacuation-support.ts';
import { type Bed, openBed } from './settings-support.ts';

const ZONES = ['eu-1a', 'eu-1b', 'eu-1c'];
const MODE = 'modes: {cluster: {}}';
const SHOP = 'shop';

let address = 0;
const endpointsIn = (zones: readonly string[]) =>
  zones.map((zone) => {
    address += 1;
    return endpoint({ zone, addresses: [`10.0.${address >> 8}.${address & 255}`] });
  });
const serviceOf = (name: string, namespace = SHOP) => service({ metadata: { name, namespace } });
const sliceOf = (name: string, zones: readonly string[], of = name, namespace = SHOP): EndpointSlice =>
  slice({ service: of, metadata: { name, namespace }, endpoints: endpointsIn(zones) });

describe('evacuating a zone on the sandbox', () => {
  let bed: Bed;
  let admission: (() => Promise<void>) | undefined;

  beforeEach(async () => {
    bed = await openBed({ endpointSliceController: false });
    await bed.apply(
      zoneEvacuationDefinition(),
      flowPolicyDefinition(),
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SHOP } },
      ...ZONES.map((zone) => node({ zone })),
    );
    admission = await startEvacuationAdmission(bed.sandbox, ['eu-1a'], bed.clock);
  });
  afterEach(async () => {
    await admission?.();
    await bed.close();
  });

  const evacuate = (spec: Partial<ZoneEvacuationSpec> = {}, name = 'eu-1a') =>
    bed.sandbox.apply({
      apiVersion: apiVersionOf(ZONE_EVACUATIONS),
      kind: ZONE_EVACUATIONS.kind,
      metadata: { name, creationTimestamp: new Date(bed.clock.now()).toISOString() },
      spec: { zone: name, duration: '1h', percent: 100, rounding: 'Up', force: false, ...spec },
    } as KubernetesObject);
  const status = (name = 'eu-1a') => bed.sandbox.get<ZoneEvacuation>(ZONE_EVACUATIONS, { name })?.status;
  const reaches = (phase: string, name?: string) =>
    bed.until(() => expect(status(name)?.phase, JSON.stringify(status(name)?.conditions)).to.equal(phase), 100);
  /** What is refused is looked at again every 15 s, so that all is never quiet. */
  const comesTo = (phase: string, name?: string) =>
    eventually(() => {
      bed.clock.skip(500);
      expect(status(name)?.phase).to.equal(phase);
    });
  const accepted = (name?: string) => status(name)?.conditions?.find(({ type }) => type === 'Accepted');
  /** Names of slices that were written. */
  const sliceWrites = (from = 0): (string | undefined)[] =>
    bed
      .writes()
      .slice(from)
      .filter(({ resource, query }) => resource === 'endpointslices' && !('dryRun' in query))
      .map(({ name }) => name);
  const stored = (name: string, namespace = SHOP) =>
    bed.sandbox.get<EndpointSlice>(ENDPOINT_SLICES, { namespace, name })!;
  const hintsOf = (name: string) =>
    (stored(name).endpoints ?? []).map(({ hints }) => (hints?.forZones ?? []).map((zone) => zone.name).join('+'));
  const isMarked = (name: string): boolean => stored(name).metadata?.annotations?.[ANNOTATION_EVACUATED] !== undefined;
  const said = (kind: string): string[] =>
    bed.sandbox
      .list<Event & { involvedObject?: { kind?: string; name?: string } }>(EVENTS)
      .filter(({ involvedObject }) => involvedObject?.kind === kind)
      .map(({ involvedObject, reason, message }) => `${involvedObject?.name} ${reason}: ${message}`)
      .sort();
  const ALL = ZONES.join('+');

  it('while hints are switched off, no zone is evacuated, no setting set and no slice repaired; then all comes back', async () => {
    const asking = service({ metadata: { name: 'asks', namespace: SHOP, labels: { [LABEL_MANAGED]: 'true' } } });
    const labels = { [LABEL_STRATEGY]: 'same-zone' };
    const labelled = slice({
      service: 'asks',
      metadata: { name: 'asks', namespace: SHOP, labels },
      endpoints: endpointsIn(ZONES),
    });
    const distribution = () =>
      bed.sandbox.get<Service>(SERVICES, { namespace: SHOP, name: 'asks' })?.spec?.trafficDistribution;
    await bed.apply(serviceOf('web'), sliceOf('web', ZONES), asking, hintSwitch());
    const before = stored('web').endpoints;
    await bed.start(MODE);
    await evacuate();
    await reaches('Evacuated');
    expect(distribution()).to.equal('PreferSameZone');

    await bed.apply(hintSwitch('off'));
    await comesTo('Refused');
    expect(accepted()).to.include({ status: 'False', reason: 'SwitchedOff' });
    await eventually(() =>
      expect([stored('web').endpoints, isMarked('web'), distribution()]).to.deep.equal([before, false, undefined]),
    );
    const writes = sliceWrites().length;
    await bed.apply(labelled);
    for (let turn = 0; turn < 10; turn += 1) {
      bed.clock.skip(5_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(sliceWrites().length).to.equal(writes);

    await bed.apply(hintSwitch());
    await comesTo('Evacuated');
    await eventually(() =>
      expect([hintsOf('web'), distribution()]).to.deep.equal([[NOWHERE, ALL, ALL], 'PreferSameZone']),
    );
    await eventually(() => {
      bed.clock.skip(5_000);
      expect(sliceWrites().slice(writes)).to.include('asks');
    });
  });

  it('writes each slice once, says so on the objects, and brings back what was', async () => {
    await bed.apply(serviceOf('web'), sliceOf('web', ZONES), serviceOf('lonely'), sliceOf('lonely', ['eu-1a']));
    const before = stored('web').endpoints;
    await bed.start(MODE);
    await evacuate();
    await reaches('Evacuated');
    expect(hintsOf('web')).to.deep.equal([NOWHERE, ALL, ALL]);
    expect(status()).to.deep.include({
      clientZones: ZONES,
      services: { total: 2, moved: 1, pending: 0, left: 1 },
      endpoints: { total: 2, evacuated: 1 },
    });
    expect(status()?.left?.map(({ name, reason }) => `${name} ${reason}`)).to.deep.equal([
      'lonely NoEndpointElsewhere',
    ]);
    expect(sliceWrites()).to.deep.equal(['web']);
    await bed.sandbox.remove(ZONE_EVACUATIONS, { name: 'eu-1a' });
    await bed.until(() => expect(stored('web').endpoints).to.deep.equal(before), 100);
    expect(isMarked('web')).to.equal(false);
    await bed.until(() =>
      expect(said('Service')).to.deep.equal([
        'lonely NotEvacuated: zone eu-1a: no ready endpoint would be left elsewhere',
        'web EvacuatedFromZone: zone eu-1a: 1 endpoint(s) get no new connections',
        'web ReturnedToZone: zone eu-1a: endpoints get new connections again',
      ]),
    );
    expect(said('ZoneEvacuation').join()).to.contain('eu-1a ZoneEvacuated: zone eu-1a: 1 Service(s) moved, 1 stay');
  });

  it("writes the webhook's own slices first, then those with most traffic, then those with most endpoints", async () => {
    const sizes = { small: 3, big: 9, busy: 3, busiest: 3 };
    for (const [name, size] of Object.entries(sizes))
      await bed.apply(serviceOf(name), sliceOf(name, [...ZONES, ...ZONES, ...ZONES].slice(0, size)));
    await bed.apply(
      serviceOf('endpointslice-webhook', 'default'),
      sliceOf('own', ZONES, 'endpointslice-webhook', 'default'),
    );
    const policy = { apiVersion: apiVersionOf(FLOW_POLICIES), kind: FLOW_POLICIES.kind, spec: {} };
    for (const [name, demand] of Object.entries({ busy: '3.5', busiest: '12' }))
      bed.sandbox.seed([{ ...policy, metadata: { name, namespace: SHOP }, status: { demand } } as KubernetesObject]);
    await bed.start(MODE);
    await evacuate();
    await reaches('Evacuated');
    expect(sliceWrites()).to.deep.equal(['own', 'busiest', 'busy', 'big', 'small']);
    await bed.until(() =>
      expect(said('Service').filter((text) => text.includes('EvacuatedFromZone'))).to.have.length(5),
    );
    const all = bed.writes();
    const last = all.findLastIndex(({ resource }) => resource === 'endpointslices');
    const early = all.slice(0, last).filter(({ resource, namespace }) => resource === 'events' && namespace === SHOP);
    expect(early, 'Events about its Services before the last slice').to.deep.equal([]);
  });

  it('evacuates what is new in the zone by admission alone, with no settings-reconciler alive', async () => {
    await bed.apply(serviceOf('web'), sliceOf('web', ZONES), serviceOf('away'), sliceOf('away', ['eu-1b', 'eu-1c']));
    const leader = await bed.start(MODE);
    await evacuate();
    await reaches('Evacuated');
    await leader.stop();
    await bed.apply(serviceOf('new'), sliceOf('new', ZONES), sliceOf('web-2', ['eu-1a', 'eu-1b'], 'web'));
    expect(hintsOf('new'), 'of a new Service').to.deep.equal([NOWHERE, ALL, ALL]);
    expect(hintsOf('web-2'), 'a further slice').to.deep.equal([NOWHERE, ALL]);
    const away = stored('away');
    await bed.apply({ ...away, endpoints: [...(away.endpoints ?? []), ...endpointsIn(['eu-1a'])] } as EndpointSlice);
    expect(hintsOf('away'), 'a Service that had none there').to.deep.equal([ALL, ALL, NOWHERE]);
    const writes = bed.writes().length;
    await bed.start(MODE);
    await bed.until(() => expect(status()?.services?.moved).to.equal(3), 100);
    expect(sliceWrites(writes), 'the leader agrees').to.deep.equal([]);
  });

  it('leaves a Service to the leader that it left, and does not fight about it', async () => {
    const lonely = sliceOf('lonely', ['eu-1a']);
    await bed.apply(serviceOf('lonely'), serviceOf('web'), sliceOf('web', ZONES));
    await bed.start(MODE);
    await evacuate();
    await reaches('Evacuated');
    await bed.apply(lonely);
    await bed.until(() => expect(status()?.services?.left).to.equal(1), 100);
    expect(hintsOf('lonely')).to.deep.equal(['']);
    const endpoints = stored('lonely').endpoints ?? [];
    await bed.apply({ ...stored('lonely'), endpoints: [...endpoints, ...endpointsIn(['eu-1a'])] } as EndpointSlice);
    expect(isMarked('lonely')).to.equal(false);
  });

  it('is refused where no admission keeps it, and begins once there is one', async () => {
    await bed.apply(serviceOf('web'), sliceOf('web', ZONES));
    await admission?.();
    admission = undefined;
    await bed.start(MODE);
    await evacuate();
    await comesTo('Refused');
    expect(accepted()?.reason).to.equal('AdmissionNotActing');
    expect(isMarked('web')).to.equal(false);
    admission = await startEvacuationAdmission(bed.sandbox, ['eu-1a'], bed.clock);
    await comesTo('Evacuated');
  });

  it('refuses what would overload endpoints, or leave none together with another, until it is forced', async () => {
    const skewed = ['eu-1a', 'eu-1a', 'eu-1a', 'eu-1b'];
    await bed.apply(
      serviceOf('skewed'),
      sliceOf('skewed', skewed),
      serviceOf('pair'),
      sliceOf('pair', ['eu-1b', 'eu-1c']),
    );
    await bed.start(MODE);
    await evacuate();
    await comesTo('Refused', 'eu-1a');
    expect(accepted('eu-1a')).to.include({ status: 'False', reason: 'Overloaded' });
    expect(accepted('eu-1a')?.message).to.contain('shop/skewed (4.0 fair shares); spec.force');
    expect(isMarked('skewed')).to.equal(false);
    await evacuate({}, 'eu-1b');
    await comesTo('Evacuated', 'eu-1b');
    bed.clock.skip(1_000);
    await evacuate({}, 'eu-1c');
    await comesTo('Refused', 'eu-1c');
    expect(accepted('eu-1c')?.reason).to.equal('TogetherNoEndpoint');
    expect(accepted('eu-1c')?.message).to.contain('shop/pair');
    await evacuate({ force: true }, 'eu-1c');
    await comesTo('Evacuated', 'eu-1c');
    expect(status('eu-1c')?.left?.map(({ name, reason }) => `${name} ${reason}`)).to.deep.equal([
      'pair NoEndpointElsewhere',
    ]);
  });

  it('refuses while a data plane drops connections where no hint names the zone, until it is forced', async () => {
    const settings = { 'enable-service-topology': 'true', 'kube-proxy-replacement': 'true' };
    await bed.apply(
      daemonSet('cilium', 'quay.io/cilium/cilium:v1.18.0', CILIUM),
      configMap('cilium-config', settings),
      serviceOf('web'),
      sliceOf('web', ZONES),
    );
    await bed.start(MODE);
    await evacuate();
    await comesTo('Refused');
    expect(accepted()?.reason).to.equal('RouterDropsTraffic');
    expect(accepted()?.message).to.contain(
      'Cilium 1.18.0 (fixed in 1.20.2) drops connections where no hint names the zone of the client',
    );
    expect(isMarked('web')).to.equal(false);
    await evacuate({ force: true });
    await comesTo('Evacuated');
  });

  it('returns by itself after its time, slices that admission marked included', async () => {
    await bed.apply(serviceOf('web'), sliceOf('web', ZONES));
    await bed.start(MODE);
    await evacuate({ duration: '2m' });
    await reaches('Evacuated');
    await bed.apply(serviceOf('new'), sliceOf('new', ZONES));
    expect(isMarked('new')).to.equal(true);
    await bed.until(() => expect(status()?.phase).to.equal('Returned'));
    expect([isMarked('web'), isMarked('new')]).to.deep.equal([false, false]);
    expect(hintsOf('new')).to.deep.equal(['', '', '']);
    expect(status()?.conditions?.map((one) => `${one.type}=${one.status}`)).to.deep.equal([
      'Accepted=True',
      'Evacuated=False',
      'Returned=True',
    ]);
  });

  it("moves every Service of Gardener's catalogue by its slices alone", async () => {
    const CONTROL_PLANE = 'shoot--foo--bar';
    const ETCD_PORT = 2379;
    const rows = CATALOGUE.map(({ scope, service: name }) => ({
      name,
      namespace: scope === 'shoot' ? CONTROL_PLANE : 'garden',
      port: name.includes('etcd') ? ETCD_PORT : 443,
    }));
    const objects = rows.flatMap(({ name, namespace, port }) => [
      service({ metadata: { name, namespace }, spec: { ports: [{ name: 'https', port }] } }),
      sliceOf(`${name}-x`, ZONES, name, namespace),
    ]);
    const namespaces = ['garden', CONTROL_PLANE].map((name) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name },
    }));
    await bed.apply(...namespaces, ...objects);
    await bed.start(MODE);
    await evacuate();
    await reaches('Evacuated');
    expect(status()?.services).to.deep.equal({ total: rows.length, moved: rows.length, pending: 0, left: 0 });
    for (const { name, namespace } of rows)
      expect(stored(`${name}-x`, namespace).endpoints?.[0]?.hints?.forZones, name).to.deep.equal([{ name: NOWHERE }]);
    const written = new Set(bed.writes().map(({ resource }) => resource));
    expect([...written].sort(), 'no Service, no Etcd').to.deep.equal(['endpointslices', 'events', 'zoneevacuations']);
    const page = readFileSync('docs/operations/evacuate.md', 'utf8');
    for (const { name } of rows) expect(page, 'the page lists it').to.contain(`\`${name}\``);
  });
});
