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
import { type RewriteGuard, createRewriteGuard } from '../../../../pkg/kubernetes/rewrite-guard.ts';
import type { Client, Reconciler } from '../../../../pkg/kubernetes/types.ts';
import { service } from '../../../fixtures/core.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';
import { NS, context, namespaceDecision, serviceDecision } from './support.ts';

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
