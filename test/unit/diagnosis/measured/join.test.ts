// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { joinWorkloads } from '../../../../pkg/diagnosis/measured/join.ts';
import type { WorkloadFlow } from '../../../../pkg/traffic/measured.ts';
import { service } from '../../../fixtures/core.ts';
import { measured } from '../../../fixtures/measured.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';

const deployment = (name: string, labels: Readonly<Record<string, string>>): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { namespace: 'shop', name },
  spec: {
    replicas: 1,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [] } },
  },
});

const snapshot = snapshotOf(
  service({ metadata: { namespace: 'shop', name: 'web' }, spec: { selector: { app: 'web' } } }),
  service({ metadata: { namespace: 'shop', name: 'api' }, spec: { selector: { app: 'api' } } }),
  service({ metadata: { namespace: 'shop', name: 'api-admin' }, spec: { selector: { app: 'api' } } }),
  service({ metadata: { namespace: 'shop', name: 'db' }, spec: { selector: { app: 'db' } } }),
  service({ metadata: { namespace: 'shop', name: 'nothing' }, spec: { selector: {} } }),
  ...['web', 'api', 'db', 'cron'].map((name) => deployment(name, { app: name, tier: 'x' })),
);

const ref = (name: string) => ({ namespace: 'shop', kind: 'Deployment', name });

const joined = (from: string | undefined, to: string | undefined, direction?: WorkloadFlow['direction']) => {
  const flow: WorkloadFlow = {
    from: from === undefined ? undefined : ref(from),
    to: to === undefined ? undefined : ref(to),
    source: 'a',
    destination: 'b',
    bytes: 7,
    direction,
  };
  const [only] = joinWorkloads(snapshot, { ...measured([]), workloads: [flow] }).flows;
  return [only?.service, only?.source, only?.destination, only?.requestBytes, only?.responseBytes];
};

describe('bytes between workloads as traffic of Services', () => {
  const rows: readonly (readonly [name: string, found: unknown, expected: unknown])[] = [
    ['a request to a Service', joined('cron', 'web', 'request'), ['shop/web', 'a', 'b', 7, 0]],
    ['an answer of a Service, turned to its client', joined('web', 'cron', 'response'), ['shop/web', 'b', 'a', 0, 7]],
    ['a request from one Service to another', joined('web', 'db', 'request'), ['shop/db', 'a', 'b', 7, 0]],
    [
      'without a direction, where only the target is behind a Service',
      joined('cron', 'db'),
      ['shop/db', 'a', 'b', 7, 0],
    ],
    ['without a direction, where only the sender is', joined('db', 'cron'), ['shop/db', 'b', 'a', 0, 7]],
    ['without a direction, between two that both are: not known', joined('web', 'db'), ['unknown', 'a', 'b', 7, 0]],
    ['to Pods behind two Services: not known which', joined('cron', 'api', 'request'), ['unknown', 'a', 'b', 7, 0]],
    ['between workloads without any Service', joined('cron', undefined), ['', 'a', 'b', 7, 0]],
  ];
  for (const [name, found, expected] of rows) {
    it(name, () => {
      expect(found).to.deep.equal(expected);
    });
  }
});
