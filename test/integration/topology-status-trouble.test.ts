// What `kubectl topology status` says when something is wrong.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { installation } from '../fixtures/installation.ts';
import type { InstallationOptions } from '../fixtures/installation.ts';
import { DAY_MS, reasonsOf, useStatusWorld } from './topology-status-support.ts';

describe('kubectl topology status, with something wrong', function trouble() {
  this.timeout(180_000);
  const world = useStatusWorld();

  const TROUBLE: readonly {
    name: string;
    options?: Partial<InstallationOptions>;
    change?: (objects: KubernetesObject[]) => KubernetesObject[];
    later?: number;
    reasons: readonly string[];
  }[] = [
    {
      name: 'a leader that stopped renewing',
      later: 120_000,
      reasons: ['LeaseStale', 'LeaseStale', 'LeaseStale'],
    },
    {
      name: 'a flow-controller that is gone for so long that its plans are dropped',
      later: 700_000,
      reasons: ['LeaseStale', 'HintsNotCarried', 'LeaseStale', 'LeaseStale'],
    },
    {
      name: 'certificates that should have been renewed',
      later: 25 * DAY_MS,
      change: (objects) => objects.filter(({ kind }) => kind !== 'Lease'),
      reasons: ['NoLeader', 'NoLeader', 'AuthorityExpiring'],
    },
    {
      name: 'certificates that have ended',
      later: 31 * DAY_MS,
      change: (objects) => objects.filter(({ kind }) => kind !== 'Lease'),
      reasons: ['NoLeader', 'NoLeader', 'AuthorityExpiring'],
    },
    {
      name: 'no registration',
      change: (objects) => objects.filter(({ kind }) => kind !== 'MutatingWebhookConfiguration'),
      reasons: ['AdmissionMissing'],
    },
    {
      name: 'a registration that outlived its installation',
      change: (objects) => [
        ...objects.filter(({ kind }) => kind === 'MutatingWebhookConfiguration'),
        ...installation({
          now: world.now,
          caBundle: world.admission.ca,
          namespace: 'other',
          components: [COMMANDS.settingsReconciler],
        }),
      ],
      reasons: ['NoReadyWebhook', 'RegistrationWithoutInstallation'],
    },
    {
      name: 'no ready endpoint behind the webhook',
      change: (objects) => objects.filter(({ kind }) => kind !== 'EndpointSlice'),
      reasons: ['NoReadyWebhook'],
    },
  ];
  for (const {
    name,
    options = {},
    change = (objects: KubernetesObject[]) => objects,
    later = 0,
    reasons: wanted,
  } of TROUBLE) {
    it(`finds ${name}`, async () => {
      world.sandbox.seed(change(installation({ now: world.now, caBundle: world.admission.ca, ...options })));
      world.now += later;
      const { out, code } = await world.run();
      expect(reasonsOf(await world.status()), out).to.deep.equal(wanted);
      expect(code).to.equal(1);
      expect(out.split('\n')[0]).to.equal(`Degraded: ${[...new Set(wanted)].join(', ')}`);
    });
  }
});

describe('kubectl topology status, where API servers cannot reach the webhook', function unreachable() {
  this.timeout(180_000);
  const world = useStatusWorld({ webhookPort: 1 });

  it('gives no hints under Ignore', async () => {
    world.install();
    expect(reasonsOf(await world.status())).to.deep.equal(['AdmissionNotActing']);
  });

  it('refuses the slice under Fail', async () => {
    world.install({ failurePolicy: 'Fail' });
    const report = await world.status();
    expect(reasonsOf(report)).to.deep.equal(['AdmissionRefuses']);
    expect(report.findings[0]?.message).to.contain('failed calling webhook').and.contain('connection refused');
  });
});
