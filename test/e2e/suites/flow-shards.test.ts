// SPDX-License-Identifier: Apache-2.0
// Two replicas of the flow-controller with two shards on a real API server: each plans its namespaces, one is killed, and comes back.
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Lease, Service } from '../../../pkg/apis/core.ts';
import { ANNOTATION_TOPOLOGY_MODE, COMMANDS, GROUP, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { LEASES, NAMESPACES, NODES, SERVICES } from '../../../pkg/apis/resources.ts';
import { shardLease, shardOf } from '../../../pkg/kubernetes/shards.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { node, service } from '../../fixtures/core.ts';
import type { Component } from '../bed/component.ts';
import { mastersGroup } from '../bed/kubeconfig.ts';
import { useBed } from '../bed/mocha.ts';
import { waitFor } from '../bed/wait-for.ts';
import { ownNamespace } from '../commands.ts';
import { FLOW_USER, describeFlowController, installFlowPolicies } from '../flow-world.ts';
import { connectAs } from '../hints-support.ts';
import { isAccepted, openAudit } from '../settings-audit.ts';
import type { Audit, AuditEvent } from '../settings-audit.ts';

const SPACES = Array.from({ length: 12 }, (_, index) => `shop-${index}`);
const LEASE_MS = 15_000;
const GROUPS = [[mastersGroup], [mastersGroup, 'second']];

describe('replicas of the flow-controller with two shards', () => {
  const bed = useBed();
  let client: Client;
  let audit: Audit;
  const replicas: {
    readonly controller: Component;
    readonly ready: () => Promise<void>;
    readonly credential: string;
  }[] = [];
  after(() => client?.close());

  const holders = (): Promise<string[]> =>
    Promise.all(
      [0, 1].map(async (shard) => {
        const ref = { namespace: ownNamespace, name: shardLease(COMMANDS.flowController, shard) };
        return (await client.get<Lease>(LEASES, ref).catch(() => undefined))?.spec?.holderIdentity ?? '';
      }),
    );
  const shared = (): Promise<string[]> =>
    waitFor('a shard each', holders, ([first, second]) => first !== '' && second !== '' && first !== second);
  const labels = (since: number): AuditEvent[] =>
    audit
      .of(FLOW_USER, since)
      .filter((event) => event.verb === 'patch' && event.objectRef?.resource === 'services' && isAccepted(event));
  /** Creates a Service in each namespace that asks for a plan, and waits until all are labelled; returns who wrote that. */
  const join = async (name: string): Promise<AuditEvent[]> => {
    const since = audit.mark();
    const annotations = { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/proportional` };
    for (const namespace of SPACES)
      await client.create(SERVICES, service({ metadata: { name, namespace, annotations } }));
    await waitFor(
      `all ${name} labelled`,
      () => Promise.all(SPACES.map((namespace) => client.get<Service>(SERVICES, { namespace, name }))),
      (all) => all.every(({ metadata }) => metadata?.labels?.[LABEL_STRATEGY] === 'proportional'),
    );
    const written = labels(since);
    const namespaces = written.map(({ objectRef }) => objectRef?.namespace ?? '').sort();
    expect(namespaces, `${name}: once in each namespace`).to.deep.equal([...SPACES].sort());
    return written;
  };
  const writerOf = ({ user }: AuditEvent): string =>
    user.extra?.['authentication.kubernetes.io/credential-id']?.[0] ?? '';

  before('two replicas', async () => {
    client = await connectAs(bed(), 'tester');
    audit = openAudit(bed().auditLog);
    await installFlowPolicies(client);
    for (const zone of ['a', 'b']) await client.create(NODES, node({ zone }));
    for (const name of [ownNamespace, ...SPACES])
      await client.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    for (const [index, groups] of GROUPS.entries()) {
      const { certificate } = await bed().pki.client(FLOW_USER, groups);
      const { fingerprint256 } = new X509Certificate(readFileSync(certificate));
      const credential = `X509SHA256=${fingerprint256.replaceAll(':', '').toLowerCase()}`;
      const described = await describeFlowController(bed(), { shards: 2 }, groups, index);
      described.controller.start();
      await described.ready();
      replicas.push({ ...described, credential });
      if (index === 0) await waitFor('a leader', holders, ([leader]) => leader !== '');
    }
  });

  it('share them: the Services of a namespace are written by the replica that holds its shard', async () => {
    await shared();
    const written = await join('web');
    for (const shard of [0, 1]) {
      const writers = written.filter(({ objectRef }) => shardOf(objectRef?.namespace ?? '', 2) === shard).map(writerOf);
      expect(new Set(writers), `shard ${shard}`).to.deep.equal(new Set([replicas[shard]?.credential]));
    }
  });

  it('take over within a Lease duration from one that is killed, and write nothing twice', async () => {
    const killed = performance.now();
    await replicas[1]?.controller.kill();
    const written = await join('late');
    const tookMs = Math.round(performance.now() - killed);
    console.log(`      all namespaces are planned ${tookMs} ms after the kill; the Lease is ${LEASE_MS} ms`);
    expect(new Set(written.map(writerOf))).to.deep.equal(new Set([replicas[0]?.credential]));
    // Renewed up to two seconds before, seen up to two later, tried up to two after that; the rest is a busy machine.
    expect(tookMs).to.be.below(LEASE_MS + 20_000);
  });

  it('give one back to a replica that comes', async () => {
    replicas[1]?.controller.start();
    await replicas[1]?.ready();
    await shared();
    const written = await join('again');
    expect(new Set(written.map(writerOf)).size, 'both write').to.equal(2);
  });
});
