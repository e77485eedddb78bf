// A Gardener extension's duties on the sandbox: operations, configuration that reaches Services, condition and heartbeat.
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { runCleanup } from '../../cmd/settings-reconciler/app.ts';
import type { Extension } from '../../pkg/apis/gardener.ts';
import type { Condition, KubernetesObject } from '../../pkg/apis/meta.ts';
import {
  ANNOTATION_OPERATION,
  CONDITION_EFFECTIVE,
  EXTENSION_FINALIZER,
  EXTENSION_TYPE,
  HEARTBEAT_LEASE,
  LABEL_ETCD_CLIENTS,
  LABEL_STRATEGY,
} from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, EXTENSIONS, LEASES, NAMESPACES } from '../../pkg/apis/resources.ts';
import type { Lease } from '../../pkg/apis/core.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { endpointsIn, node, service, slice } from '../fixtures/core.ts';
import { cluster, etcd, extension, garden, namespace, routingConfig } from '../fixtures/gardener.ts';
import { type ControllerBed, eventually, openControllerBed } from './controller-bed.ts';
import { type Bed, openBed } from './settings-support.ts';

const NS = 'shoot--foo--bar';
const REF = { namespace: NS, name: EXTENSION_TYPE };
const SEED = 'modes: {seed: {gardener: {version: v1.130.0}}}\nextensions: {conditionIntervalSeconds: 1}';
const GARDEN = 'modes: {garden: {gardener: {version: v1.130.0}}}';

const hinted = (name: string, hint: boolean) =>
  slice({ service: name, metadata: { namespace: NS }, endpoints: endpointsIn(['eu-1a', 'eu-1b', 'eu-1c'], hint) });

describe('Extension resources', () => {
  let bed: Bed;
  /** Gardener: whoever else writes on Extensions. */
  let others: ControllerBed;
  let gardenlet: Client;

  beforeEach(async () => {
    bed = await openBed({ endpointSliceController: false });
    others = await openControllerBed('gardenlet');
    gardenlet = await others.client(bed.sandbox);
    await bed.apply(
      ...['eu-1a', 'eu-1b', 'eu-1c'].map((zone) => node({ zone })),
      namespace(),
      cluster(),
      ...['vpa-webhook', 'csi-snapshot-validation', 'other'].map((name) =>
        service({ metadata: { name, namespace: NS } }),
      ),
      hinted('vpa-webhook', true),
      hinted('csi-snapshot-validation', true),
    );
  });
  afterEach(async () => {
    await bed.close();
    await others.close();
  });

  const stored = (ref = REF): Extension | undefined => bed.sandbox.get<Extension>(EXTENSIONS, ref);
  const state = (ref = REF): string => {
    const { type, state: how } = stored(ref)?.status?.lastOperation ?? {};
    return `${type} ${how}`;
  };
  const condition = (ref = REF): Condition | undefined =>
    stored(ref)?.status?.conditions?.find(({ type }) => type === CONDITION_EFFECTIVE);
  const expectState = (wanted: string, ref = REF) => eventually(() => expect(state(ref)).to.equal(wanted));
  const expectCondition = (wanted: string, ref = REF) =>
    eventually(() => expect(`${condition(ref)?.status} ${condition(ref)?.reason}`).to.equal(wanted));
  const distribution = (name: string, ns = NS): string | undefined => bed.service(ns, name).spec?.trafficDistribution;
  const expectField = (name: string, value: string | undefined, ns = NS) =>
    eventually(() => expect(distribution(name, ns), `${ns}/${name}`).to.equal(value));
  const order = (operation: string): Promise<unknown> =>
    gardenlet.patch(EXTENSIONS, REF, 'merge', { metadata: { annotations: { [ANNOTATION_OPERATION]: operation } } });
  const configure = (fields: object, ref = REF): Promise<unknown> =>
    gardenlet.patch(EXTENSIONS, ref, 'merge', { spec: { providerConfig: routingConfig(fields) } });
  const create = (providerConfig?: object): Promise<KubernetesObject> =>
    gardenlet.create(
      EXTENSIONS,
      extension({ spec: { type: EXTENSION_TYPE, ...(providerConfig === undefined ? {} : { providerConfig }) } }),
    );
  /** Writes of the reconciler on Extensions. */
  const writes = () => bed.writes().filter(({ resource }) => resource === 'extensions');

  it('goes through the life of a Shoot that asks for more: create, change, delete', async () => {
    await bed.start(SEED);
    await expectField('vpa-webhook', 'PreferSameZone');
    await create(routingConfig({ services: [{ name: 'csi-snapshot-validation' }] }));
    await expectState('Create Succeeded');
    await expectField('csi-snapshot-validation', 'PreferSameZone');
    await expectCondition('True Effective');
    expect(stored()?.metadata?.finalizers).to.deep.equal([EXTENSION_FINALIZER]);
    expect(stored()?.metadata?.annotations ?? {}).not.to.have.property(ANNOTATION_OPERATION);
    expect(stored()?.status?.observedGeneration).to.equal(stored()?.metadata?.generation);

    await configure({ services: [{ name: 'other', strategy: 'load-aware' }], exclude: [{ name: 'vpa-webhook' }] });
    await eventually(() =>
      expect(bed.service(NS, 'other').metadata?.labels).to.have.property(LABEL_STRATEGY, 'load-aware'),
    );
    await expectField('csi-snapshot-validation', undefined);
    await expectField('vpa-webhook', undefined);
    await eventually(() => expect(stored()?.status?.observedGeneration).to.equal(stored()?.metadata?.generation));

    await gardenlet.delete(EXTENSIONS, REF);
    await eventually(() => expect(stored()).to.equal(undefined));
    expect(bed.service(NS, 'other').metadata?.labels ?? {}, 'taken back before it went').not.to.have.property(
      LABEL_STRATEGY,
    );
    await expectField('vpa-webhook', 'PreferSameZone');
  });

  it('reconciles on order, and writes nothing without one', async () => {
    await bed.start(SEED);
    await create();
    await expectState('Create Succeeded');
    await expectCondition('True Effective');
    await bed.quiet();
    const before = writes().length;
    await order('reconcile');
    await expectState('Reconcile Succeeded');
    await bed.quiet();
    expect(writes().length - before, 'status, order, status').to.equal(3);
    await bed.apply(service({ metadata: { name: 'new', namespace: NS } }));
    await bed.quiet();
    expect(writes().length - before, 'nothing that it is about').to.equal(3);
  });

  it('migrates without taking anything back, and restores', async () => {
    await bed.start(SEED);
    await create(routingConfig({ services: [{ name: 'other' }] }));
    await expectState('Create Succeeded');
    await expectField('other', 'PreferSameZone');
    await order('migrate');
    await expectState('Migrate Succeeded');
    await eventually(() => expect(stored()?.metadata?.finalizers ?? []).to.deep.equal([]));
    expect(stored()?.metadata?.annotations ?? {}).not.to.have.property(ANNOTATION_OPERATION);
    await bed.quiet();
    expect(distribution('other'), 'still there').to.equal('PreferSameZone');
    await order('restore');
    await expectState('Restore Succeeded');
    await eventually(() => expect(stored()?.metadata?.annotations ?? {}).not.to.have.property(ANNOTATION_OPERATION));
    expect(stored()?.metadata?.finalizers).to.deep.equal([EXTENSION_FINALIZER]);
  });

  it('refuses a wrong configuration with object and field, and everything stays as it is until it is mended', async () => {
    await bed.start(SEED);
    await create(routingConfig({ services: [{ name: 'other' }] }));
    await expectState('Create Succeeded');
    await expectField('other', 'PreferSameZone');
    await configure({ services: [{ name: 'other', zone: 'eu-1a' }] });
    await expectState('Reconcile Error');
    const { lastError } = stored()?.status ?? {};
    expect(lastError?.codes).to.deep.equal(['ERR_CONFIGURATION_PROBLEM']);
    expect(lastError?.description).to.contain(
      `Extension ${NS}/${EXTENSION_TYPE}: spec.providerConfig.services[0].zone`,
    );
    await expectCondition('False ConfigurationInvalid');
    await eventually(() => expect(bed.events().join('\n')).to.match(/^ConfigurationInvalid: .*services\[0\]\.zone/m));
    await bed.quiet();
    expect([distribution('other'), distribution('vpa-webhook')]).to.deep.equal(['PreferSameZone', 'PreferSameZone']);
    await configure({ services: [] });
    await expectState('Reconcile Succeeded');
    await expectField('other', undefined);
    expect(stored()?.status).not.to.have.property('lastError');
  });

  it('reports in the condition what the slices do', async () => {
    await bed.start(SEED);
    await create();
    await expectCondition('True Effective');
    await gardenlet.patch(ENDPOINT_SLICES, { namespace: NS, name: 'vpa-webhook-abcde' }, 'merge', {
      endpoints: hinted('vpa-webhook', false).endpoints,
    });
    await expectCondition('False HintsMissing');
    const operation = stored()?.status?.lastOperation;
    await gardenlet.patch(ENDPOINT_SLICES, { namespace: NS, name: 'vpa-webhook-abcde' }, 'merge', {
      endpoints: hinted('vpa-webhook', true).endpoints,
    });
    await expectCondition('True Effective');
    expect(stored()?.status?.lastOperation, 'no operation for that').to.deep.equal(operation);
  });

  it('takes up what a process before it began, and is quiet where it ended', async () => {
    await create(routingConfig({ services: [{ name: 'csi-snapshot-validation' }] }));
    const first = await bed.start(SEED);
    await expectState('Create Succeeded');
    await expectCondition('True Effective');
    await first.stop();
    const before = writes().length;
    const second = await bed.start(SEED);
    bed.clock.skip(1_000);
    await bed.quiet();
    expect(writes().length, 'nothing was left to do').to.equal(before);
    expect(bed.log.entries.filter(({ level }) => level === 'error')).to.deep.equal([]);
    await second.stop();
    await gardenlet.patch(
      EXTENSIONS,
      REF,
      'merge',
      { status: { lastOperation: { type: 'Reconcile', state: 'Processing' } } },
      { subresource: 'status' },
    );
    await bed.start(SEED);
    await expectState('Reconcile Succeeded');
  });

  it('goes on through conflicts and answers that get lost', async () => {
    await bed.start(SEED);
    const match = { resource: 'extensions', verb: 'patch' };
    bed.sandbox.addFault({ kind: 'status', match, code: 409, times: 2 });
    bed.sandbox.addFault({ kind: 'reset', match, times: 1 });
    await create();
    await expectState('Create Succeeded');
    expect(stored()?.metadata?.finalizers).to.deep.equal([EXTENSION_FINALIZER]);
  });

  it('of class seed is about the Services of all its extensions, read from garden alone', async () => {
    const ref = { namespace: 'garden', name: EXTENSION_TYPE };
    await bed.apply(
      namespace({ role: 'garden' }),
      namespace({ role: 'extension' }),
      namespace({ role: 'extension', metadata: { name: 'extension-b' } }),
      service({ metadata: { name: 'webhook', namespace: 'extension-provider-local', labels: { app: 'x' } } }),
      service({ metadata: { name: 'webhook', namespace: 'extension-b' } }),
    );
    const ofSeed = (metadata: object, fields: object): Extension =>
      extension({ metadata, spec: { type: EXTENSION_TYPE, class: 'seed', providerConfig: routingConfig(fields) } });
    await bed.start(SEED);
    await gardenlet.create(EXTENSIONS, ofSeed(ref, { services: [{ selector: { matchLabels: { app: 'x' } } }] }));
    await gardenlet.create(EXTENSIONS, ofSeed(REF, { services: [{ name: 'webhook' }] }));
    await expectState('Create Succeeded', ref);
    await expectField('webhook', 'PreferSameZone', 'extension-provider-local');
    await expectState('Create Error');
    expect(stored()?.status?.lastError?.description).to.contain('class seed applies in namespace garden only');
    await bed.quiet();
    expect(distribution('webhook', 'extension-b')).to.equal(undefined);
    await configure(
      {
        services: [{ name: 'webhook', namespace: 'extension-b' }],
        exclude: [{ selector: { matchLabels: { app: 'x' } } }],
      },
      ref,
    );
    await expectField('webhook', 'PreferSameZone', 'extension-b');
    await expectField('webhook', undefined, 'extension-provider-local');
  });

  it('of class garden is about the garden and its extensions, and a matter of mode garden', async () => {
    const ref = { namespace: 'garden', name: `garden-${EXTENSION_TYPE}` };
    await bed.apply(
      garden(),
      namespace({ role: 'garden' }),
      namespace({ role: 'extension', metadata: { name: 'runtime-extension-x' } }),
      service({ metadata: { name: 'gardener-dashboard', namespace: 'garden' } }),
      service({ metadata: { name: 'x', namespace: 'runtime-extension-x' } }),
      etcd({ metadata: { name: 'virtual-garden-etcd-main', namespace: 'garden' } }),
    );
    const providerConfig = routingConfig({
      services: [{ name: 'gardener-dashboard' }, { name: 'x' }],
      exclude: [{ name: 'virtual-garden-etcd-main-client' }],
    });
    await gardenlet.create(
      EXTENSIONS,
      extension({ metadata: ref, spec: { type: EXTENSION_TYPE, class: 'garden', providerConfig } }),
    );
    await create();
    const seed = await bed.start(SEED);
    await expectState('Create Succeeded');
    expect(state(ref), 'not the business of the seed').to.equal('undefined undefined');
    await seed.stop();
    await bed.start(GARDEN);
    await expectState('Create Succeeded', ref);
    await expectField('gardener-dashboard', 'PreferSameZone', 'garden');
    await expectField('x', 'PreferSameZone', 'runtime-extension-x');
    await bed.quiet();
    expect(bed.sandbox.get(NAMESPACES, { name: 'garden' })?.metadata?.labels).not.to.have.property(LABEL_ETCD_CLIENTS);
  });

  it('beats while it leads, and where it is an extension only', async () => {
    const lease = (): Lease | undefined =>
      bed.sandbox.get<Lease>(LEASES, { namespace: 'default', name: HEARTBEAT_LEASE });
    const plain = await bed.start('modes: {cluster: {}}');
    await bed.quiet();
    expect(lease()).to.equal(undefined);
    await plain.stop();
    await bed.start(SEED);
    await eventually(() =>
      expect(lease()?.spec).to.include({ holderIdentity: EXTENSION_TYPE, leaseDurationSeconds: 30 }),
    );
    const first = lease()?.spec?.renewTime;
    bed.clock.skip(30_000);
    await eventually(() => expect(lease()?.spec?.renewTime).not.to.equal(first));
  });

  it('is let go with --cleanup, and what it asked for is reverted', async () => {
    const serving = await bed.start(SEED);
    await create(routingConfig({ services: [{ name: 'other' }] }));
    await expectState('Create Succeeded');
    await expectField('other', 'PreferSameZone');
    await serving.stop();
    const ofOthers = { namespace: NS, name: 'of-others' };
    await gardenlet.create(
      EXTENSIONS,
      extension({
        metadata: { ...ofOthers, finalizers: [EXTENSION_FINALIZER] },
        spec: { type: EXTENSION_TYPE, class: 'garden' },
      }),
    );
    await runCleanup(await bed.session(SEED), new AbortController().signal);
    expect(bed.printed.join('')).to.contain('1 Extension(s) released');
    expect(stored()?.metadata?.finalizers ?? []).to.deep.equal([]);
    expect(stored(ofOthers)?.metadata?.finalizers, 'of a class of another installation').to.deep.equal([
      EXTENSION_FINALIZER,
    ]);
    expect(distribution('other')).to.equal(undefined);
  });

  it('is left alone where following is switched off', async () => {
    await create();
    await bed.start(`${SEED.replace('extensions: {', 'extensions: {enabled: false, ')}\nheartbeat: {enabled: false}`);
    await expectField('vpa-webhook', 'PreferSameZone');
    await bed.quiet();
    expect(writes()).to.deep.equal([]);
    expect(bed.sandbox.requests.filter(({ resource }) => resource === 'extensions')).to.satisfy(
      (requests: { user: string }[]) => requests.every(({ user }) => user === 'gardenlet'),
    );
  });
});
