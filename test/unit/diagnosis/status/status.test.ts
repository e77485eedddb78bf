import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { ANNOTATION_EVACUATED, EXTENSION_NAME, HEARTBEAT_LEASE, LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import { apiVersionOf, ZONE_EVACUATIONS } from '../../../../pkg/apis/resources.ts';
import { itemsOf, known } from '../../../../pkg/diagnosis/snapshot.ts';
import { renderStatus } from '../../../../pkg/report/status.ts';
import type { StatusEvidence } from '../../../../pkg/diagnosis/status/evidence.ts';
import { leaseUsesOf } from '../../../../pkg/diagnosis/status/installations.ts';
import { type StatusReport, probedNamespace, status } from '../../../../pkg/diagnosis/status/status.ts';
import { installationDefaults, namespaceObject } from '../../../fixtures/installation.ts';
import { service, slice } from '../../../fixtures/core.ts';
import { changed, DAY_MS, STATUS_NOW, statusEvidence, WEBHOOK_POD } from '../../../fixtures/status-evidence.ts';

const { namespace: OWN } = installationDefaults;

const reportOf = (
  overrides: Partial<StatusEvidence> = {},
  change?: (objects: KubernetesObject[]) => readonly KubernetesObject[],
): StatusReport => status(statusEvidence(overrides, change));

const found = ({ findings }: StatusReport): string[] => findings.map(({ reason, message }) => `${reason}: ${message}`);

const without =
  (matches: (object: KubernetesObject) => boolean) =>
  (objects: KubernetesObject[]): KubernetesObject[] =>
    objects.filter((object) => !matches(object));

/** No caBundle of the fixture is PEM: how long it is valid is said here. */
const withAuthority = (caNotAfter: number | undefined) => {
  const { snapshot } = statusEvidence();
  const webhooks = itemsOf(snapshot.webhooks).map(({ caNotAfter: _, ...webhook }) => ({
    ...webhook,
    ...(caNotAfter === undefined ? {} : { caNotAfter }),
  }));
  return { ...snapshot, webhooks: known(webhooks) };
};

describe('status', () => {
  it('is healthy where nothing is wrong, with nothing found', () => {
    const report = reportOf();
    expect([report.verdict, report.findings, report.unseen]).to.deep.equal(['Healthy', [], []]);
    expect(report.time).to.equal('2026-11-21T00:00:00.000Z');
    expect(report.installations).to.have.lengthOf(1);
    expect(report.installations[0]?.webhooks[0]).to.deep.include({
      configuration: EXTENSION_NAME,
      readyEndpoints: 2,
      authority: { notAfter: '2026-12-16T00:00:00.000Z', daysLeft: 25 },
    });
  });

  it('is not installed where no Deployment was found, whatever else is left', () => {
    const report = reportOf(
      {},
      without(({ kind }) => kind === 'Deployment'),
    );
    expect(report.verdict).to.equal('NotInstalled');
    expect(found(report)).to.deep.equal([
      `RegistrationWithoutInstallation: MutatingWebhookConfiguration ${EXTENSION_NAME}: Service ${OWN}/endpointslice-webhook.`,
    ]);
  });

  it('does not take registrations for strays where it looked in one namespace only', () => {
    const report = reportOf(
      { namespace: 'other' },
      without(({ kind }) => kind === 'Deployment'),
    );
    expect([report.admission.strays, report.lookedFor.namespace]).to.deep.equal([[], 'other']);
  });

  type Change = (objects: KubernetesObject[]) => readonly KubernetesObject[];
  const CASES: readonly [name: string, change: Change | Partial<StatusEvidence>, ...found: readonly string[]][] = [
    [
      'replicas that are missing, with what the Deployment says of it',
      changed('Deployment', 'flow-controller', () => ({
        status: {
          readyReplicas: 1,
          updatedReplicas: 1,
          conditions: [{ type: 'Progressing', status: 'False', message: 'timed out progressing' }],
        },
      })),
      `ReplicasNotReady: Deployment ${OWN}/flow-controller: 1 of 2 ready, 1 updated; timed out progressing.`,
    ],
    [
      'a component that was switched off, which is no failure',
      changed('Deployment', 'flow-controller', ({ spec }) => ({ spec: { ...spec, replicas: 0 }, status: {} })),
      `ScaledToZero: Deployment ${OWN}/flow-controller: zero replicas are desired.`,
    ],
    [
      'a container that crashes, and how it ended',
      changed('Pod', WEBHOOK_POD, () => ({
        status: {
          containerStatuses: [
            {
              restartCount: 7,
              state: { waiting: { reason: 'CrashLoopBackOff' } },
              lastState: { terminated: { reason: 'OOMKilled', exitCode: 137, finishedAt: '2026-11-20T23:59:00Z' } },
            },
          ],
        },
      })),
      `ContainerNotRunning: Pod ${OWN}/${WEBHOOK_POD}: CrashLoopBackOff, ended last with OOMKilled (exit code 137).`,
    ],
    [
      'versions that differ',
      changed('Deployment', 'flow-controller', ({ metadata }) => ({
        metadata: {
          ...metadata,
          labels: { ...(metadata as { labels?: object }).labels, 'app.kubernetes.io/version': '9.9.9' },
        },
      })),
      `VersionsDiffer: Release ${OWN}/topology: endpointslice-webhook 0.1.0, flow-controller 9.9.9, settings-reconciler 0.1.0.`,
    ],
    [
      'a Lease that was given up',
      changed('Lease', 'flow-controller', ({ spec }) => ({ spec: { ...spec, holderIdentity: '' } })),
      `NoLeader: Lease ${OWN}/flow-controller has no holder.`,
    ],
    [
      'a leader that has never been',
      without(({ kind, metadata }) => kind === 'Lease' && metadata?.name === 'flow-controller'),
      `NoLeader: flow-controller in namespace ${OWN}: no Lease names a leader.`,
    ],
    [
      'a heartbeat that stopped',
      changed('Lease', HEARTBEAT_LEASE, ({ spec }) => ({
        spec: { ...spec, renewTime: new Date(STATUS_NOW - 60_000).toISOString() },
      })),
      `LeaseStale: Lease ${OWN}/${HEARTBEAT_LEASE}: the last heartbeat is 60 seconds old.`,
    ],
    [
      'a leader that stopped for so long that plans of the flow-controller are dropped',
      changed('Lease', 'flow-controller', ({ spec }) => ({
        spec: { ...spec, holderIdentity: 'flow-0', renewTime: new Date(STATUS_NOW - 700_000).toISOString() },
      })),
      `LeaseStale: Lease ${OWN}/flow-controller: flow-0 last renewed it 700 seconds ago.`,
      `HintsNotCarried: Lease ${OWN}/flow-controller was renewed 700 seconds ago; after 600 seconds plans are dropped.`,
    ],
    [
      'no registration',
      without(({ kind }) => kind === 'MutatingWebhookConfiguration'),
      'AdmissionMissing: No MutatingWebhookConfiguration of this extension serves EndpointSlices.',
    ],
    [
      'no ready endpoint behind the webhook',
      without(({ kind }) => kind === 'EndpointSlice'),
      `NoReadyWebhook: Service ${OWN}/endpointslice-webhook behind MutatingWebhookConfiguration ${EXTENSION_NAME} has no ready endpoint.`,
    ],
    [
      'an authority that has ended',
      { snapshot: withAuthority(STATUS_NOW - 1) },
      `AuthorityExpiring: The authority in MutatingWebhookConfiguration ${EXTENSION_NAME} has expired (2026-11-20T23:59:59.999Z).`,
    ],
    [
      'an authority in its last week',
      { snapshot: withAuthority(STATUS_NOW + DAY_MS + 1) },
      `AuthorityExpiring: The authority in MutatingWebhookConfiguration ${EXTENSION_NAME} expires in 1 day (2026-11-22T00:00:00.001Z).`,
    ],
    [
      'a caBundle without a certificate',
      { snapshot: withAuthority(undefined) },
      `AuthorityMissing: MutatingWebhookConfiguration ${EXTENSION_NAME}: an entry has no certificate in its caBundle.`,
    ],
    [
      'a dry run that came back without hints',
      { probes: [{ namespace: 'shop', outcome: 'NotHinted', message: '' }] },
      'AdmissionNotActing: Slice in namespace shop: the dry run came back without hints.',
    ],
    [
      'a dry run that was not allowed, which says nothing',
      { probes: [{ namespace: 'shop', outcome: 'Unknown', message: 'no' }] },
    ],
  ];
  for (const [name, change, ...wanted] of CASES) {
    it(`finds ${name}`, () => {
      const report = typeof change === 'function' ? reportOf({}, change) : reportOf(change);
      expect(found(report)).to.deep.equal(wanted);
      const isHealthy = wanted.every((finding) => finding.startsWith('ScaledToZero'));
      expect(report.verdict).to.equal(isHealthy ? 'Healthy' : 'Degraded');
    });
  }

  it('judges nothing by what could not be seen', () => {
    const unseen = ['pods', 'leases', 'webhooks', 'namespaces'].map((what) => ({ what, why: 'forbidden' }));
    const report = reportOf(
      { unseen, pods: [], leases: [] },
      without(({ kind }) => kind === 'MutatingWebhookConfiguration'),
    );
    expect([report.verdict, found(report)]).to.deep.equal(['Healthy', []]);
    expect(report.installations[0]?.components.map(({ pods }) => pods)).to.deep.equal([null, null, null]);
  });

  describe('Leases', () => {
    const leasesOf = (change: (spec: object) => object, name = 'flow-controller') =>
      reportOf(
        {},
        changed('Lease', name, ({ metadata, spec }) => ({ metadata, spec: change(spec) })),
      ).installations[0]?.leases;
    const renewed = (seconds: number) => ({ renewTime: new Date(STATUS_NOW - seconds * 1_000).toISOString() });
    const AGES: readonly [title: string, spec: object, state: string, age: number | null, name?: string][] = [
      ['late by less than the grace', renewed(30), 'Held', 30],
      ['late by more', renewed(31), 'Stale', 31],
      ['of a clock that is ahead', renewed(-9), 'Held', 0],
      ['held by nobody', { holderIdentity: '' }, 'Released', 2],
      ['never renewed', { renewTime: undefined }, 'Released', null],
      ['a heartbeat that missed one beat', { leaseDurationSeconds: 30, ...renewed(60) }, 'Held', 60, HEARTBEAT_LEASE],
      ['a heartbeat that missed two', { leaseDurationSeconds: 30, ...renewed(90) }, 'Stale', 90, HEARTBEAT_LEASE],
    ];
    for (const [title, own, state, age, name = 'flow-controller'] of AGES) {
      it(`${state}: ${title}`, () => {
        const lease = leasesOf((spec) => ({ ...spec, ...own }), name)?.find((each) => each.name === name);
        expect([lease?.state, lease?.ageSeconds]).to.deep.equal([state, age]);
      });
    }

    it('are those that the configuration names, else the default ones', () => {
      const config = {
        leaderElection: { namespace: 'garden', name: 'shared' },
        installation: { claim: { namespace: 'garden', name: 'claim' } },
      };
      const uses = leaseUsesOf([{ namespace: 'own', component: 'flow-controller', config }], 'own');
      expect(uses.map(({ purpose, namespace, name }) => `${purpose} ${namespace}/${name}`)).to.deep.equal([
        'leader garden/shared',
        'claim garden/claim',
        'leader own/settings-reconciler-leader-election',
      ]);
    });
  });

  describe('the namespace in which admission is tried', () => {
    const names = (...all: string[]) => all.map((name) => namespaceObject(name));
    const own = service({ metadata: { name: 'web', namespace: 'zoo', labels: { [LABEL_STRATEGY]: 'same-zone' } } });
    const CHOICES: readonly [string, readonly KubernetesObject[], string][] = [
      ['is one that the webhook serves: never one that is left out', names('kube-system', 'zoo', 'shop'), 'shop'],
      ['is rather one with a managed Service', [...names('shop'), own], 'zoo'],
      ['is empty where all that is known is left out', names('default'), ''],
    ];
    for (const [title, objects, wanted] of CHOICES)
      it(title, () => expect(probedNamespace(statusEvidence({}, (all) => [...all, ...objects]))).to.equal(wanted));
  });

  describe('shows evacuations', () => {
    const ago = (minutes: number): string => new Date(STATUS_NOW - minutes * 60_000).toISOString();
    const evacuation = (zone: string, minutes: number): KubernetesObject =>
      ({
        apiVersion: apiVersionOf(ZONE_EVACUATIONS),
        kind: ZONE_EVACUATIONS.kind,
        metadata: { name: zone, creationTimestamp: ago(minutes) },
        spec: { zone, duration: '1h', reason: 'loss' },
        status: { phase: 'Evacuated', services: { total: 3, moved: 2, pending: 0, left: 1 } },
      }) as KubernetesObject;
    const marked = (zone: string, name: string): KubernetesObject => {
      const mark = JSON.stringify({ evacuated: { [zone]: true }, alsoServe: [], original: 'own' });
      return slice({ metadata: { name, annotations: { [ANNOTATION_EVACUATED]: mark } } });
    };
    const of = (...objects: KubernetesObject[]) => reportOf({}, (all) => [...all, ...objects]);

    it('that run, until when and how far they are', () => {
      const report = of(evacuation('eu-1a', 20), marked('eu-1a', 'x'));
      expect(report.evacuations?.overdue).to.deep.equal([]);
      expect(renderStatus(report, { color: false, wide: false, columns: 120 })).to.contain(
        'EVACUATION  ✓ eu-1a until 2026-11-21T00:40:00Z (loss): Evacuated, 2 moved, 0 pending, 1 left\n',
      );
    });

    it('that are over, by the slices that still show them', () => {
      const report = of(evacuation('eu-1a', 70), marked('eu-1a', 'x'), marked('eu-1a', 'y'));
      expect(report.evacuations).to.deep.equal({ running: [], overdue: [{ zone: 'eu-1a', slices: 2 }] });
      expect(renderStatus(report, { color: false, wide: false, columns: 120 })).to.contain(
        'EVACUATION  ✗ eu-1a is over, and 2 slices still show it\n',
      );
    });

    it('not where they were not read', () =>
      expect(
        reportOf({ snapshot: { ...statusEvidence().snapshot, evacuations: { kind: 'unknown', why: 'no' } } })
          .evacuations,
      ).to.equal(null));
  });
});
