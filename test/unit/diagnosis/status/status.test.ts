import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_EVACUATED,
  ANNOTATION_ORIGIN,
  COMMANDS,
  EXTENSION_NAME,
  HEARTBEAT_LEASE,
} from '../../../../pkg/apis/names.ts';
import { apiVersionOf, ZONE_EVACUATIONS } from '../../../../pkg/apis/resources.ts';
import { renderStatus } from '../../../../pkg/report/status.ts';
import type { ExtensionFacts, StatusEvidence } from '../../../../pkg/diagnosis/status/evidence.ts';
import { status } from '../../../../pkg/diagnosis/status/status.ts';
import type { StatusReport } from '../../../../pkg/diagnosis/status/types.ts';
import { installationDefaults, namespaceObject } from '../../../fixtures/installation.ts';
import { node, service, slice } from '../../../fixtures/core.ts';
import { changed, DAY_MS, STATUS_NOW, statusEvidence, WEBHOOK_POD } from '../../../fixtures/status-evidence.ts';

const { namespace: OWN } = installationDefaults;
const OPTIONS = { proxy: { kind: 'kube-proxy' }, events: 5 } as const;

const reportOf = (
  overrides: Partial<StatusEvidence> = {},
  change?: (objects: KubernetesObject[]) => readonly KubernetesObject[],
): StatusReport => status(statusEvidence(overrides, change), OPTIONS);

const found = ({ findings }: StatusReport): string[] => findings.map(({ reason, message }) => `${reason}: ${message}`);

const without =
  (matches: (object: KubernetesObject) => boolean) =>
  (objects: KubernetesObject[]): KubernetesObject[] =>
    objects.filter((object) => !matches(object));

const extension = (overrides: Partial<ExtensionFacts>): ExtensionFacts => ({
  namespace: 'shoot--foo--bar',
  name: 'routing',
  lastError: '',
  state: 'Succeeded',
  conditions: [],
  ...overrides,
});

describe('status', () => {
  it('is healthy where nothing is wrong, with nothing found', () => {
    const report = reportOf();
    expect([report.verdict, report.findings, report.unseen]).to.deep.equal(['Healthy', [], []]);
    expect(report.time).to.equal('2026-11-21T00:00:00.000Z');
    expect(report.installations).to.have.lengthOf(1);
    expect(report.installations[0]?.webhooks[0]).to.deep.include({
      configuration: EXTENSION_NAME,
      readyEndpoints: 2,
      authority: { notAfter: '2026-12-16T00:00:00.000Z', daysLeft: 25, fingerprint: 'EF:01' },
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

  const CASES: readonly {
    name: string;
    overrides?: Partial<StatusEvidence>;
    change?: (objects: KubernetesObject[]) => readonly KubernetesObject[];
    found: readonly string[];
    verdict?: StatusReport['verdict'];
  }[] = [
    {
      name: 'replicas that are missing, with what the Deployment says of it',
      change: changed('Deployment', 'flow-controller', () => ({
        status: {
          readyReplicas: 1,
          updatedReplicas: 1,
          conditions: [{ type: 'Progressing', status: 'False', message: 'timed out progressing' }],
        },
      })),
      found: [`ReplicasNotReady: Deployment ${OWN}/flow-controller: 1 of 2 ready, 1 updated; timed out progressing.`],
    },
    {
      name: 'a component that was switched off, which is no failure',
      change: changed('Deployment', 'flow-controller', ({ spec }) => ({ spec: { ...spec, replicas: 0 }, status: {} })),
      found: [`ScaledToZero: Deployment ${OWN}/flow-controller: zero replicas are desired.`],
      verdict: 'Healthy',
    },
    {
      name: 'a container that crashes, and how it ended',
      change: changed('Pod', WEBHOOK_POD, () => ({
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
      found: [
        `ContainerNotRunning: Pod ${OWN}/${WEBHOOK_POD}: CrashLoopBackOff, ended last with OOMKilled (exit code 137).`,
      ],
    },
    {
      name: 'versions that differ',
      change: changed('Deployment', 'flow-controller', ({ metadata }) => ({
        metadata: {
          ...metadata,
          labels: { ...(metadata as { labels?: object }).labels, 'app.kubernetes.io/version': '9.9.9' },
        },
      })),
      found: [
        `VersionsDiffer: Release ${OWN}/topology: endpointslice-webhook 0.1.0, flow-controller 9.9.9, settings-reconciler 0.1.0.`,
      ],
    },
    {
      name: 'a Lease that was given up',
      change: changed('Lease', 'flow-controller', ({ spec }) => ({ spec: { ...spec, holderIdentity: '' } })),
      found: [`NoLeader: Lease ${OWN}/flow-controller has no holder.`],
    },
    {
      name: 'a leader that has never been',
      change: without(({ kind, metadata }) => kind === 'Lease' && metadata?.name === 'flow-controller'),
      found: [`NoLeader: flow-controller in namespace ${OWN}: no Lease names a leader.`],
    },
    {
      name: 'a heartbeat that stopped',
      change: changed('Lease', HEARTBEAT_LEASE, ({ spec }) => ({
        spec: { ...spec, renewTime: new Date(STATUS_NOW - 60_000).toISOString() },
      })),
      found: [`LeaseStale: Lease ${OWN}/${HEARTBEAT_LEASE}: the last heartbeat is 60 seconds old.`],
    },
    {
      name: 'a serving certificate in its last week',
      overrides: {
        serving: [
          { namespace: OWN, certificate: { notAfter: STATUS_NOW + DAY_MS + 1, fingerprint: '' }, from: 'x', why: '' },
        ],
      },
      found: [
        `CertificateExpiring: The serving certificate behind MutatingWebhookConfiguration ${EXTENSION_NAME} expires in 1 day (2026-11-22T00:00:00.001Z).`,
      ],
    },
    {
      name: 'a caBundle without a certificate',
      overrides: { authorities: new Map() },
      found: [
        `AuthorityMissing: MutatingWebhookConfiguration ${EXTENSION_NAME}: an entry has no certificate in its caBundle.`,
      ],
    },
    {
      name: 'a dry run that came back without hints',
      overrides: { probes: [{ namespace: 'shop', outcome: 'NotHinted', message: '' }] },
      found: ['AdmissionNotActing: Slice in namespace shop: the dry run came back without hints.'],
    },
    {
      name: 'a dry run that was not allowed, which says nothing',
      overrides: { probes: [{ namespace: 'shop', outcome: 'Unknown', message: 'no' }] },
      found: [],
      verdict: 'Healthy',
    },
    {
      name: 'Nodes whose proxies want the annotation, which is no failure',
      change: (objects) => [...objects, node({ zone: 'eu-1d', kubeletVersion: 'v1.30.9' })],
      found: ['OldProxies: 1 of 1.30 among the Nodes.'],
      verdict: 'Healthy',
    },
    {
      name: 'Extensions with an error',
      overrides: { extensions: [extension({}), extension({ name: 'broken', lastError: 'no such strategy' })] },
      found: ['ExtensionFailing: Extension shoot--foo--bar/broken: no such strategy'],
    },
  ];
  for (const { name, overrides, change, found: wanted, verdict = 'Degraded' } of CASES) {
    it(`finds ${name}`, () => {
      const report = reportOf(overrides, change);
      expect(found(report)).to.deep.equal(wanted);
      expect(report.verdict).to.equal(verdict);
    });
  }

  describe('the label by which a namespace is kept', () => {
    const LABEL = 'topology.extensions.gardener.cloud/routing';
    const cluster =
      (label: string | undefined, config: string, annotations: Record<string, string> = {}) =>
      (objects: KubernetesObject[]): KubernetesObject[] => [
        ...changed('ConfigMap', COMMANDS.settingsReconciler, () => ({ data: { 'config.yaml': config } }))(objects),
        namespaceObject('shop', label === undefined ? {} : { [LABEL]: label }),
        service({
          metadata: { namespace: 'shop', name: 'web', annotations: { [ANNOTATION_APPLIED]: '{}', ...annotations } },
        }),
      ];
    const SHOP = 'NamespaceNotKept: Namespace shop, 1 of its Services managed here,';
    const lacks = `${SHOP} lacks the label ${LABEL}=true.`;
    const managed = { [ANNOTATION_ORIGIN]: 'bed:garden/x' };
    const LABELS: readonly [string, Parameters<typeof cluster>, string[]][] = [
      ['nothing where the label is as it should be', ['true', 'keep: on'], []],
      ['that it is missing where settings are always kept', [undefined, 'keep: on'], [lacks]],
      ['nothing where settings are kept after a fight only', [undefined, 'keep: auto'], []],
      ['that it is missing where a ManagedResource holds a Service', [undefined, 'keep: auto', managed], [lacks]],
      ['the same where the configuration does not say', [undefined, 'modes: {}', managed], [lacks]],
      ['nothing where settings are never kept', [undefined, 'keep: off', managed], []],
      [
        'a value that no installation gives',
        ['runtime', 'keep: auto'],
        [`${SHOP} has the label ${LABEL}=runtime, which no installation here uses (true).`],
      ],
      [
        "an installation's own value",
        ['true', 'installation: { routingLabel: runtime }'],
        [`${SHOP} has the label ${LABEL}=true, which no installation here uses (runtime).`],
      ],
    ];
    const labelFindings = (report: StatusReport): string[] =>
      found(report).filter((text) => text.startsWith('NamespaceNotKept'));
    for (const [name, given, wanted] of LABELS) {
      it(`says ${name}`, () => {
        const report = reportOf({}, cluster(...given));
        expect(labelFindings(report)).to.deep.equal(wanted);
        expect(report.verdict).to.equal(wanted.length === 0 ? 'Healthy' : 'Degraded');
      });
    }

    it('is not judged where other installations, or namespaces, were not looked at', () => {
      const wrong = cluster('runtime', 'keep: on');
      expect(labelFindings(reportOf({ namespace: OWN }, wrong))).to.deep.equal([]);
      expect(labelFindings(reportOf({ unseen: [{ what: 'namespaces', why: 'forbidden' }] }, wrong))).to.deep.equal([]);
    });
  });

  it('judges nothing by what could not be seen', () => {
    const unseen = ['pods', 'leases', 'webhooks', 'namespaces', 'extensions'].map((what) => ({
      what,
      why: 'forbidden',
    }));
    const report = reportOf({ unseen, pods: [], leases: [], registrations: [] });
    expect([report.verdict, found(report)]).to.deep.equal(['Healthy', []]);
    expect(report.installations[0]?.components.map(({ pods }) => pods)).to.deep.equal([null, null, null]);
    expect([report.extensions, report.services?.keptNamespaces]).to.deep.equal([null, null]);
  });

  it('shows the newest events, no more than asked for', () => {
    const event = (lastSeen: string) => ({
      namespace: 'shop',
      about: 'Service shop/web',
      reason: 'ForeignValue',
      message: '',
      source: COMMANDS.settingsReconciler,
      count: 1,
      lastSeen,
    });
    const events = ['2026-11-20T01:00:00Z', '2026-11-20T03:00:00Z', '2026-11-20T02:00:00Z'].map(event);
    const report = status(statusEvidence({ events }), { ...OPTIONS, events: 2 });
    expect(report.events.map(({ lastSeen }) => lastSeen.slice(11, 13))).to.deep.equal(['03', '02']);
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
      const mark = JSON.stringify({ out: { [zone]: true }, cover: [], was: 'own' });
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
