// SPDX-License-Identifier: Apache-2.0
// Faults of the data plane, seeded on a real one: each is found by the meters within a minute and stands in the Service's status.
// Needs: conntrack
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Service } from '../../../pkg/apis/core.ts';
import type { Condition } from '../../../pkg/apis/meta.ts';
import { CONDITION_HONORED, METER_NAMESPACE } from '../../../pkg/apis/names.ts';
import type { Component } from '../bed/component.ts';
import type { BedNode, BedPod, BedService } from '../bed/index.ts';
import { useBed } from '../bed/mocha.ts';
import { waitFor } from '../bed/wait-for.ts';
import { describeFlowController } from '../flow-world.ts';
import { createMeterAccount, startMeasuredNode } from '../measured-world.ts';
import { startPulse } from '../traffic-meter-world.ts';

const FOUND_WITHIN_SECONDS = 60;
/** Slices and zones have to be quiet for 20 s before anything is judged. */
const SETTLED_WITHIN_SECONDS = 90;
/** What is watched for findings without a cause. */
const CHURN_SECONDS = 60;

describe('proof in the data plane', () => {
  const bed = useBed();
  const nodes = new Map<string, BedNode>();
  const pods = new Map<string, BedPod>();
  const services = new Map<string, BedService>();
  const clients: Component[] = [];
  let controller: Component;

  const nodeOf = (name: string): BedNode => {
    const found = nodes.get(name);
    if (found === undefined) throw new Error(`no node ${name}`);
    return found;
  };
  const serviceOf = (name: string): BedService => {
    const found = services.get(name);
    if (found === undefined) throw new Error(`no Service ${name}`);
    return found;
  };
  const path = (name: string): string => `/api/v1/namespaces/default/services/${name}`;
  const conditionOf = async (name: string): Promise<Condition | undefined> => {
    const { status } = await bed().api.get<Service>(path(name));
    return (status as { conditions?: Condition[] } | undefined)?.conditions?.find(
      ({ type }) => type === CONDITION_HONORED,
    );
  };
  const said = async (name: string): Promise<string> => {
    const condition = await conditionOf(name);
    return `${condition?.status} ${condition?.reason}: ${condition?.message}`;
  };
  const becomes = (name: string, wanted: string, timeoutSeconds: number): Promise<string> =>
    waitFor(
      `Service ${name} says ${wanted}`,
      () => said(name),
      (text) => text.startsWith(wanted),
      { timeoutSeconds, assert: () => controller.assertRunning() },
    );
  const pulse = (node: string, service: string, from?: string): void => {
    const { clusterIPs, port } = serviceOf(service);
    clients.push(startPulse(bed(), nodeOf(node), clusterIPs[0] ?? '', port, from));
  };
  const createService = async (name: string, app = name): Promise<void> => {
    services.set(name, await bed().service({ name, app, trafficDistribution: 'PreferSameZone' }));
  };
  const createPods = async (app: string): Promise<void> => {
    for (const home of ['a1', 'b1']) pods.set(`${app} ${home}`, await bed().pod({ node: nodeOf(home), app }));
  };

  before('nodes with meters, a Service for each fault, and the flow-controller that reads the meters', async () => {
    await createMeterAccount(bed());
    // c1 has a proxy that reads an annotation which is not there; z1 gets its zone late.
    const options = [
      { name: 'a1', zone: 'a' },
      { name: 'a2', zone: 'a' },
      { name: 'b1', zone: 'b' },
      { name: 'b2', zone: 'b' },
      { name: 'old', zone: 'a', proxyVersion: '1.30' },
      { name: 'late' },
    ];
    for (const option of options) nodes.set(option.name, (await startMeasuredNode(bed(), option)).node);
    for (const name of ['good', 'aged', 'frozen', 'zoneless', 'moved', 'hintless', 'around', 'churned']) {
      await createPods(name);
      await createService(name);
    }
    const trafficProof = { enabled: true, namespace: METER_NAMESPACE, intervalSeconds: 5 };
    const described = await describeFlowController(bed(), { trafficProof });
    controller = described.controller;
    controller.start();
    await described.ready();
    for (const name of ['good', 'frozen', 'moved', 'hintless', 'around', 'churned']) {
      pulse('a2', name);
      pulse('b2', name);
    }
  });
  after(async () => {
    await Promise.all(clients.map((client) => client.stop()));
  });

  it('True: connections of two Nodes go where hints say', async () => {
    for (const name of ['good', 'frozen', 'moved', 'hintless', 'around', 'churned'])
      await becomes(name, 'True Honored', SETTLED_WITHIN_SECONDS);
  });

  it('False within a minute: a proxy too old to read trafficDistribution', async () => {
    pulse('old', 'aged');
    const text = await becomes('aged', 'False HintsIgnored', FOUND_WITHIN_SECONDS);
    expect(text).to.contain('old ');
  });

  it('False within a minute: a proxy that does not know the zone of its Node', async () => {
    // As kube-proxy 1.34 to 1.36 does where the Node arrives between the two steps of its listener.
    const late = nodeOf('late');
    late.proxy.signal('SIGSTOP');
    await bed().api.patch(`/api/v1/nodes/late`, { metadata: { labels: { 'topology.kubernetes.io/zone': 'a' } } });
    pulse('late', 'zoneless');
    const text = await becomes('zoneless', 'False HintsIgnored', FOUND_WITHIN_SECONDS);
    expect(text).to.contain('late ');
    late.proxy.signal('SIGCONT');
  });

  it('False within a minute: a slice with an endpoint that lacks a hint', async () => {
    const [address = ''] = [pods.get('hintless b1')?.addresses.ipv4];
    await bed().api.create('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
      metadata: {
        name: 'hintless-by-hand',
        labels: { 'kubernetes.io/service-name': 'hintless', 'endpointslice.kubernetes.io/managed-by': 'by-hand' },
      },
      addressType: 'IPv4',
      ports: [{ name: '', port: 8080, protocol: 'TCP' }],
      endpoints: [{ addresses: [address], conditions: { ready: true }, nodeName: 'b1', zone: 'b' }],
    });
    await becomes('hintless', 'False HintsIncomplete', FOUND_WITHIN_SECONDS);
  });

  it('False within a minute: a client that goes around the proxy', async () => {
    const other = pods.get('around b1');
    const from = await bed().pod({ node: nodeOf('a2'), app: 'client' });
    clients.push(startPulse(bed(), nodeOf('a2'), other?.addresses.ipv4 ?? '', 8_080, from.addresses.ipv4));
    const text = await becomes('around', 'False ProxyBypassed', FOUND_WITHIN_SECONDS);
    expect(text).to.contain('a2 ');
  });

  it('nothing is found where endpoints come and go and all proxies follow', async () => {
    const until = Date.now() + CHURN_SECONDS * 1_000;
    const findings: string[] = [];
    while (Date.now() < until) {
      const pod = await bed().pod({ node: nodeOf('a1'), app: 'churned' });
      await new Promise((resolve) => setTimeout(resolve, 4_000));
      await pod.remove();
      await new Promise((resolve) => setTimeout(resolve, 4_000));
      for (const name of ['churned', 'good']) {
        const condition = await conditionOf(name);
        if (condition?.status === 'False') findings.push(`${name}: ${condition.message}`);
      }
    }
    expect(findings).to.deep.equal([]);
  });

  it('False within a minute: a frozen proxy, when hints change', async () => {
    // It goes on as before the change: zone a is then served from zone b.
    const { proxy } = nodeOf('a2');
    await pods.get('frozen a1')?.setReady(false);
    await waitFor(
      'a2 uses zone b alone',
      () => bed().connect({ node: nodeOf('a2'), service: serviceOf('frozen'), count: 20 }),
      ({ byZone }) => byZone['b'] === 20,
    );
    proxy.signal('SIGSTOP');
    await pods.get('frozen a1')?.setReady(true);
    const text = await becomes('frozen', 'False HintsIgnored', FOUND_WITHIN_SECONDS);
    proxy.signal('SIGCONT');
    expect(text).to.contain('a2 ');
  });

  it('False within a minute: a Node with endpoints is given another zone', async () => {
    await bed().api.patch(`/api/v1/nodes/b1`, { metadata: { labels: { 'topology.kubernetes.io/zone': 'c' } } });
    const text = await becomes('moved', 'False EndpointMisplaced', FOUND_WITHIN_SECONDS);
    expect(text).to.contain('b2 ');
  });
});
