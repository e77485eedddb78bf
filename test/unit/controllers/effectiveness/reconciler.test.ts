import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { EndpointSlice, Node, Service } from '../../../../pkg/apis/core.ts';
import { ANNOTATION_EVACUATED } from '../../../../pkg/apis/names.ts';
import { type Effects, createEffectivenessReconciler } from '../../../../pkg/controllers/effectiveness/reconciler.ts';
import type { EnabledSettings, NamespaceDecision } from '../../../../pkg/controllers/settings/context.ts';
import type { EventInput } from '../../../../pkg/kubernetes/types.ts';
import { systemClock } from '../../../../pkg/kubernetes/wait.ts';
import { clientsOf } from '../../../../pkg/diagnosis/models/routes.ts';
import { endpointsIn, kubeProxy, node, service, slice } from '../../../fixtures/core.ts';
import { routerObjects } from '../../../fixtures/data-planes.ts';
import { type RecordingLogger, recordingLogger } from '../../../fixtures/recording-logger.ts';
import { NS, namespaceDecision, refusedFor, serviceDecision } from '../settings/support.ts';

const GRACE = 300_000;

const routers = routerObjects(kubeProxy());

describe('effectiveness report', () => {
  let now: number;
  let services: Map<string, Service>;
  let slices: EndpointSlice[];
  let nodes: Node[];
  let events: EventInput[];
  let log: RecordingLogger;
  let report: Effects;
  let enabled: EnabledSettings | undefined;
  let changed: string[];

  const withHints = (): EndpointSlice[] => [slice({ endpoints: endpointsIn('ab', true) })];
  const withoutHints = (): EndpointSlice[] => [slice({ endpoints: endpointsIn('ab') })];

  /** As the settings controller publishes it. */
  const decided = (decision: NamespaceDecision | undefined): void => {
    const objects = decision?.objects.filter(({ want }) => want !== undefined) ?? [];
    enabled = decision === undefined || objects.length === 0 ? undefined : { regarding: decision.regarding, objects };
  };
  beforeEach(() => {
    now = 0;
    services = new Map(['s', 't'].map((name) => [name, service()]));
    slices = withHints();
    nodes = ['a', 'b'].map((zone) => node({ zone }));
    events = [];
    changed = [];
    log = recordingLogger();
    report = createEffectivenessReconciler({
      service: (_namespace, name) => services.get(name),
      slices: () => slices,
      clients: () => clientsOf(nodes, routers),
      enabled: { get: () => enabled },
      clock: { ...systemClock, monotonic: () => now },
      events: { record: (event) => void events.push(event) },
      logger: log,
    });
    report.onChange((namespace) => void changed.push(namespace));
    decided(
      namespaceDecision({
        objects: [serviceDecision('s'), serviceDecision('t'), serviceDecision('off', refusedFor('Excluded'))],
      }),
    );
  });
  const reconcile = () => report.reconcile(NS);

  it('an evacuation is counted, and is no event however long it lasts', async () => {
    await reconcile();
    slices = withHints().map(({ metadata, ...rest }) => ({
      ...rest,
      metadata: {
        ...metadata,
        annotations: { [ANNOTATION_EVACUATED]: '{"evacuated":{"a":true},"alsoServe":["a"],"original":"own"}' },
      },
    }));
    await reconcile();
    now += 2 * GRACE;
    expect(await reconcile(), 'nothing to wait for').to.deep.equal({ kind: 'done' });
    expect([...report.services()].map(({ state }) => state)).to.deep.equal(['Evacuated', 'Evacuated']);
    slices = withHints();
    await reconcile();
    expect(events).to.deep.equal([]);
  });

  it('waits before it raises an alarm, then reports all at once, once', async () => {
    slices = withoutHints();
    expect(await reconcile()).to.deep.equal({ kind: 'requeue', afterMs: GRACE });
    now += GRACE - 1;
    await reconcile();
    expect(events).to.deep.equal([]);
    now += 1;
    expect(await reconcile()).to.deep.equal({ kind: 'done' });
    await reconcile();
    expect(events).to.have.length(1);
    expect(events[0]).to.include({ type: 'Warning', reason: 'RoutingNotEffective' });
    expect(events[0]!.message).to.contain('/s').and.to.contain('/t');
  });

  describe('after an event reported a fault', () => {
    beforeEach(async () => {
      slices = withoutHints();
      await reconcile();
      now += GRACE;
      await reconcile();
      events.length = 0;
    });

    it('reports all at once, once, that it is over', async () => {
      slices = withHints();
      await reconcile();
      await reconcile();
      expect(events).to.have.length(1);
      expect(events[0]).to.include({ type: 'Normal', reason: 'RoutingEffective' });
      expect(events[0]!.message).to.contain('/s').and.to.contain('/t');
    });
  });

  it('does not count the time in which no Pod was ready', async () => {
    slices = [];
    await reconcile();
    now += GRACE;
    slices = withoutHints();
    expect(await reconcile()).to.deep.equal({ kind: 'requeue', afterMs: GRACE });
    expect(events).to.deep.equal([]);
  });

  for (const decision of [
    undefined,
    namespaceDecision({ objects: [serviceDecision('s', refusedFor('SingleZone'))] }),
  ]) {
    it(`forgets a namespace ${decision === undefined ? 'that is no longer managed' : 'where nothing is on'}`, async () => {
      await reconcile();
      expect([...report.services()]).not.to.deep.equal([]);
      decided(decision);
      await reconcile();
      expect([...report.services()]).to.deep.equal([]);
    });
  }
});
