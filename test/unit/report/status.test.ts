import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import type { StatusEvidence } from '../../../pkg/diagnosis/status/evidence.ts';
import { status } from '../../../pkg/diagnosis/status/status.ts';
import { renderStatus } from '../../../pkg/report/status.ts';
import { changed, STATUS_NOW, statusEvidence, WEBHOOK_POD } from '../../fixtures/status-evidence.ts';

const PLAIN = { color: false, wide: false, columns: 100 };

const render = (
  overrides: Partial<StatusEvidence> = {},
  change?: (objects: KubernetesObject[]) => readonly KubernetesObject[],
  style = PLAIN,
): string => renderStatus(status(statusEvidence(overrides, change), { events: 5 }), style);

/** The line that begins with the title. */
const lineOf = (text: string, title: string): string =>
  text.split('\n').find((line) => line.trimStart().startsWith(title)) ?? '';

const warning = (overrides: Partial<StatusEvidence['events'][number]> = {}) => ({
  namespace: 'shop',
  about: 'Service shop/web',
  reason: 'ForeignValue',
  message: 'somebody else',
  source: 'settings-reconciler',
  count: 1,
  lastSeen: new Date(STATUS_NOW - 3_600_000).toISOString(),
  ...overrides,
});

describe('status on a screen', () => {
  it('fits on one, without trailing blanks', () => {
    const lines = render({ events: [warning()] }).split('\n');
    expect(lines.length).to.be.at.most(40);
    expect(lines.filter((line) => line !== line.trimEnd() || Array.from(line).length > 100)).to.deep.equal([]);
  });

  it('names what is wrong first, each with what to do', () => {
    const text = render({ probes: [{ namespace: 'shop', outcome: 'NotHinted', message: '' }] });
    expect(text.split('\n')[0]).to.equal('Degraded: AdmissionNotActing');
    expect(text).to.match(/✗ AdmissionNotActing\n {4}Slice in namespace shop: .*\n {2}→ See whether/);
    expect(lineOf(text, 'DRY RUN')).to.equal('DRY RUN     ✗ slice in namespace shop: came back without hints');
  });

  it('says whom else a shared Lease belongs to', () => {
    const shared = changed('Lease', 'flow-controller', ({ metadata, spec }) => ({
      metadata: { ...metadata, annotations: { 'topology.extensions.gardener.cloud/installation': 'other' } },
      spec,
    }));
    expect(lineOf(render({}, shared), 'flow-controller')).to.match(/, 2 s ago in other$/);
  });

  it('shows replicas that are not yet new, and why a container ended', () => {
    const old = changed('Deployment', 'flow-controller', () => ({ status: { readyReplicas: 2, updatedReplicas: 1 } }));
    expect(lineOf(render({}, old), 'flow-controller')).to.contain('2/2 (1 new)');
    const ended = changed('Pod', WEBHOOK_POD, () => ({
      status: {
        containerStatuses: [
          {
            restartCount: 2,
            lastState: { terminated: { reason: 'OOMKilled', exitCode: 137, finishedAt: '2026-11-20T21:00:00Z' } },
          },
        ],
      },
    }));
    expect(lineOf(render({}, ended), 'ended')).to.equal(
      `  ended     ✗ ${WEBHOOK_POD}: OOMKilled (exit code 137) 3 h ago`,
    );
  });

  it('lists warnings with their age, cut to the width unless wide', () => {
    const events = [warning({ count: 4, message: 'x'.repeat(200) })];
    const narrow = lineOf(render({ events }), '60 min');
    expect(narrow).to.match(/^ {2}60 min {2}Service shop\/web {2}ForeignValue ×4 {2}x+…$/);
    expect(Array.from(narrow).length).to.equal(100);
    expect(render({ events }, undefined, { ...PLAIN, wide: true })).to.contain('x'.repeat(200));
  });

  it('names what was not seen, and prints no control characters of others', () => {
    const text = render({ unseen: [{ what: 'pods', why: 'you may not list pods\u001B[2J' }] });
    expect(text).to.contain('Not seen: pods (you may not list pods [2J).');
    expect(lineOf(text, 'flow-controller')).to.contain('?');
  });

  it('wide: the whole image', () => {
    const wide = render({}, undefined, { ...PLAIN, wide: true });
    expect(wide).to.contain('registry.example/extensions/gardener-extension-topology-aware-routing:0.1.0');
    expect(render()).not.to.contain('registry.example');
  });

  it('FlowPolicies and Extensions where there are any, and no line where there are none', () => {
    for (const title of ['FLOW', 'EXTENSIONS']) expect(lineOf(render(), title)).to.equal('');
    const text = render(
      {
        extensions: [{ namespace: 'shoot--a', name: 'e', lastError: 'no', state: 'Error', conditions: [] }],
      },
      (objects) => [
        ...objects,
        {
          apiVersion: 'topology.extensions.gardener.cloud/v1alpha1',
          kind: 'FlowPolicy',
          metadata: { name: 'web', namespace: 'shop' },
          status: { conditions: [{ type: 'Observed', status: 'False', reason: 'NoCapacity', message: '' }] },
        } as KubernetesObject,
      ],
    );
    expect(lineOf(text, 'FLOW')).to.equal('FLOW        ✗ 1 FlowPolicy: Observed=False NoCapacity 1');
    expect(lineOf(text, 'EXTENSIONS')).to.equal('EXTENSIONS  ✗ 1 Extension: shoot--a/e no');
  });

  it('colours only for a terminal', () => {
    expect(render()).not.to.contain('\u001B');
    expect(render({}, undefined, { ...PLAIN, color: true })).to.contain('\u001B[32mHealthy');
  });
});
