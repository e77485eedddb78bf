import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { Namespace, Service } from '../../../../pkg/apis/core.ts';
import type { ObjectRef } from '../../../../pkg/apis/meta.ts';
import { ANNOTATION_APPLIED, LABEL_ROUTING } from '../../../../pkg/apis/names.ts';
import type { Resource } from '../../../../pkg/apis/resources.ts';
import { decideRelease } from '../../../../pkg/controllers/settings/decider.ts';
import { createSettingsReconciler } from '../../../../pkg/controllers/settings/reconciler.ts';
import { createReporter } from '../../../../pkg/controllers/settings/reporter.ts';
import type { EnabledSettings, NamespaceDecision } from '../../../../pkg/controllers/settings/context.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import { createRewriteGuard } from '../../../../pkg/kubernetes/rewrite-guard.ts';
import type { RewriteGuard } from '../../../../pkg/kubernetes/rewrite-guard.ts';
import type { Client, Reconciler } from '../../../../pkg/kubernetes/types.ts';
import { service } from '../../../fixtures/core.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';
import { NS, context, namespaceDecision, serviceDecision, etcdDecision, refusedFor } from './support.ts';
import { type LabelWish, type NamespaceLabels, labelsFor, wantsRoutingLabel, writeLabels } from '../../../../pkg/controllers/settings/apply.ts';

const { signal } = new AbortController();

describe('settings reconciler', () => {
  let namespace: Namespace | undefined;
  let decision: NamespaceDecision | undefined;
  let patched: string[];
  let events: string[];
  let told: (EnabledSettings | undefined)[];
  /** Services that carry settings of ours where nobody owns the namespace. */
  let left: Service[];
  let failWith: Error | undefined;
  let owned: boolean;
  let now: number;
  let guard: RewriteGuard;
  let reconciler: Reconciler;
  beforeEach(() => {
    namespace = { metadata: { name: NS } };
    decision = namespaceDecision({ objects: [serviceDecision('a')] });
    patched = [];
    events = [];
    told = [];
    failWith = undefined;
    owned = true;
    left = [];
    now = 0;
    const patch = ({ plural }: Resource, { name }: ObjectRef, _type: string, body: object) => {
      patched.push(`${plural}/${name}`);
      return failWith === undefined || plural === 'namespaces'
        ? Promise.resolve({ metadata: { name }, ...body })
        : Promise.reject(failWith);
    };
    guard = createRewriteGuard({ clock: { monotonic: () => 0 }, delayMs: () => 60_000, windowMs: 900_000 });
    const client = { patch: patch as unknown as Client['patch'] };
    const logger = recordingLogger();
    reconciler = createSettingsReconciler({
      decide: () => decision,
      isOwned: () => owned,
      decideRelease: () =>
        owned || namespace === undefined
          ? undefined
          : decideRelease({ namespace, label: 'true', services: left, context: context() }),
      releaseAfterMs: 1_000,
      clock: { monotonic: () => now },
      namespace: () => namespace,
      keep: 'on',
      apply: {
        client,
        guard,
        logger,
      },
      label: { client },
      reporter: createReporter({ logger, events: { record: ({ reason }) => void events.push(reason) } }),
      enabled: { set: (_name, next) => void told.push(next) },
    });
  });
  const reconcile = () => reconciler.reconcile(NS, signal);

  describe('in a namespace that is no longer managed', () => {
    const leave = async (): Promise<void> => {
      await reconcile();
      patched.length = 0;
      events.length = 0;
      orphan();
    };
    /** As every process finds it, whether or not it ever managed the namespace. */
    const orphan = (): void => {
      decision = undefined;
      owned = false;
      namespace = { metadata: { name: NS, labels: { [LABEL_ROUTING]: 'true' } } };
      const annotations = { [ANNOTATION_APPLIED]: JSON.stringify({ trafficDistribution: 'PreferSameZone' }) };
      const metadata = { name: 'a', namespace: NS, annotations };
      left = [service({ metadata, spec: { trafficDistribution: 'PreferSameZone' } })];
    };
    /** What the caches show once it is released. */
    const released = (): void => {
      left = [];
      namespace = { metadata: { name: NS } };
    };

    it('waits, then reverts what it managed, reports it, and forgets it', async () => {
      await leave();
      expect(await reconcile()).to.deep.equal({ kind: 'requeue', afterMs: 1_000 });
      now = 999;
      expect(await reconcile()).to.deep.equal({ kind: 'requeue', afterMs: 1 });
      expect(patched, 'within the time').to.deep.equal([]);
      now = 1_000;
      expect(await reconcile()).to.deep.equal({ kind: 'done' });
      expect(patched).to.deep.equal(['services/a', `namespaces/${NS}`]);
      expect(events).to.deep.equal(['NamespaceNotOwned']);
      released();
      now = 5_000;
      await reconcile();
      expect(patched, 'and then').to.have.length(2);
      expect(guard.size).to.equal(0);
    });

    it('changes nothing when it is managed again in time, and waits the whole time again later', async () => {
      const before = decision;
      await leave();
      await reconcile();
      now = 999;
      decision = before;
      owned = true;
      namespace = { metadata: { name: NS, labels: { [LABEL_ROUTING]: 'true' } } };
      await reconcile();
      await leave();
      expect(await reconcile()).to.deep.equal({ kind: 'requeue', afterMs: 1_000 });
      expect(patched).to.deep.equal([]);
    });

    it('tries again what could not be written', async () => {
      await leave();
      await reconcile();
      now = 1_000;
      failWith = new ApiError({ status: 500, method: 'PATCH', path: '/x' });
      expect(await reconcile().catch((error: unknown) => error)).to.equal(failWith);
      expect(patched, 'the label stays while something is left').to.deep.equal(['services/a']);
      failWith = undefined;
      await reconcile();
      expect(patched.filter((name) => name === 'services/a')).to.have.length(2);
    });
  });

  it('reports what was decided even when a write fails, and fails for the queue to retry', async () => {
    failWith = new ApiError({ status: 403, method: 'PATCH', path: '/x' });
    expect(await reconcile().catch((error: unknown) => error)).to.equal(failWith);
    expect(events).to.deep.equal(['RoutingEnabled']);
  });
});

const wish = (overrides: Partial<LabelWish>): LabelWish => ({
  keep: 'auto',
  manages: true,
  rewritten: false,
  labelled: false,
  ...overrides,
});

describe('labels of a namespace', () => {
  const cases: { name: string; of: Partial<LabelWish>; wanted: boolean }[] = [
    { name: 'auto, nothing is known of an owner that rewrites', of: {}, wanted: false },
    { name: 'auto, the owner is known to rewrite, or was seen to', of: { rewritten: true }, wanted: true },
    { name: 'auto, the fight is over but the label remembers', of: { labelled: true }, wanted: true },
    { name: 'auto, nothing managed any more', of: { labelled: true, rewritten: true, manages: false }, wanted: false },
    { name: 'on', of: { keep: 'on' }, wanted: true },
    { name: 'on, nothing managed', of: { keep: 'on', manages: false, labelled: true }, wanted: false },
    { name: 'off', of: { keep: 'off', rewritten: true, labelled: true }, wanted: false },
  ];
  for (const { name, of, wanted } of cases)
    it(`${name}: ${wanted}`, () => expect(wantsRoutingLabel(wish(of))).to.equal(wanted));

  const write = async (labels: Record<string, string>, wanted: boolean | NamespaceLabels, error?: Error) => {
    const patches: unknown[] = [];
    const patch = (_resource: unknown, _ref: unknown, _type: unknown, body: unknown) => {
      patches.push(body);
      return error === undefined
        ? Promise.resolve({ metadata: { name: 'n', resourceVersion: '2' } })
        : Promise.reject(error);
    };
    const writer = { client: { patch: patch as unknown as Client['patch'] } };
    const namespace = { metadata: { name: 'n', labels, resourceVersion: '1' } };
    return {
      stored: await writeLabels(
        namespace,
        typeof wanted === 'boolean' ? { routing: wanted, etcdClients: false } : wanted,
        writer,
        new AbortController().signal,
      ),
      patches,
    };
  };

  const writes = [
    { name: 'sets it', labels: {}, wanted: true, value: 'true' },
    { name: 'mends another value', labels: { [LABEL_ROUTING]: 'yes' }, wanted: true, value: 'true' },
    { name: 'removes it', labels: { [LABEL_ROUTING]: 'true' }, wanted: false, value: null },
  ];
  for (const { name, labels, wanted, value } of writes) {
    it(`${name} with one patch`, async () => {
      const { stored, patches } = await write(labels, wanted);
      expect(stored?.metadata?.resourceVersion, 'as the server stored it').to.equal('2');
      expect(patches).to.deep.equal([{ metadata: { labels: { [LABEL_ROUTING]: value } } }]);
    });
  }

  const own = { keep: 'auto', fighting: false, labelled: false } as const;
  const rewritten = { ...serviceDecision('vpa-webhook'), rewritten: true };
  const decisions: {
    name: string;
    of: Parameters<typeof namespaceDecision>[0];
    labels: NamespaceLabels | undefined;
  }[] = [
    { name: 'of nothing yet', of: {}, labels: { routing: false, etcdClients: true } },
    { name: 'without a catalogue', of: { scope: undefined }, labels: { routing: false, etcdClients: false } },
    {
      name: 'that is no',
      of: { decision: refusedFor('SettingDisabled') },
      labels: { routing: false, etcdClients: false },
    },
    { name: 'of an Etcd', of: { objects: [etcdDecision()] }, labels: { routing: false, etcdClients: true } },
    {
      name: 'of an Etcd that is refused',
      of: { objects: [etcdDecision(refusedFor('SettingDisabled'))] },
      labels: { routing: false, etcdClients: false },
    },
    { name: 'of a rewritten Service', of: { objects: [rewritten] }, labels: { routing: true, etcdClients: true } },
    {
      name: 'that is held',
      of: { decision: refusedFor('ShootHibernated'), objects: [etcdDecision(refusedFor('ShootHibernated'))] },
      labels: undefined,
    },
    {
      name: 'without a version',
      of: { objects: [etcdDecision(undefined, { version: undefined })] },
      labels: undefined,
    },
  ];
  for (const { name, of, labels } of decisions) {
    it(`follow from the decision ${name}`, () => expect(labelsFor(namespaceDecision(of), own)).to.deep.equal(labels));
  }

  it('writes nothing where it is as wanted', async () => {
    expect((await write({ [LABEL_ROUTING]: 'true' }, true)).patches).to.deep.equal([]);
    expect((await write({}, false)).patches).to.deep.equal([]);
  });
});
