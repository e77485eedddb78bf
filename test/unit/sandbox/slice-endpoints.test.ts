// From Pods to endpoints in the sandbox's EndpointSlice controller.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { StoredObject } from '../../sandbox/object.ts';
import { desiredEndpoints, endpointConditions, type Family } from '../../sandbox/slice-endpoints.ts';

const service = (spec: Record<string, unknown> = {}): StoredObject => ({
  metadata: { name: 'web', namespace: 'ns' },
  spec: { selector: { app: 'web' }, ports: [{ port: 80, protocol: 'TCP', targetPort: 8080 }], ...spec },
});
const pod = (
  name: string,
  { spec = {}, status = {}, metadata = {} }: { spec?: object; status?: object; metadata?: object } = {},
): StoredObject => ({
  metadata: { name, namespace: 'ns', uid: `uid-${name}`, labels: { app: 'web' }, ...metadata },
  spec: { nodeName: 'n1', containers: [{ name: 'c' }], ...spec },
  status: {
    podIP: '198.19.0.1',
    podIPs: [{ ip: '198.19.0.1' }, { ip: '2001:db8::1' }],
    conditions: [{ type: 'Ready', status: 'True' }],
    ...status,
  },
});
const node: StoredObject = { metadata: { name: 'n1', labels: { 'topology.kubernetes.io/zone': 'a' } } };
const desired = (pods: StoredObject[], own = service(), family: Family = 'IPv4') =>
  desiredEndpoints({ service: own, pods, nodeOf: (name) => (name === 'n1' ? node : undefined), family });
const endpointsOf = (pods: StoredObject[], own = service(), family: Family = 'IPv4') =>
  [...desired(pods, own, family).groups.values()].flatMap(({ endpoints }) => endpoints);

describe('endpointConditions', () => {
  for (const { podReady, terminating, publish, expected } of [
    { podReady: true, terminating: false, publish: false, expected: [true, true, false] },
    { podReady: false, terminating: false, publish: false, expected: [false, false, false] },
    { podReady: false, terminating: false, publish: true, expected: [true, false, false] },
    { podReady: true, terminating: true, publish: false, expected: [false, true, true] },
    { podReady: false, terminating: true, publish: false, expected: [false, false, true] },
  ]) {
    it(`ready ${podReady}, deleting ${terminating}, publishNotReady ${publish}: ready, serving, terminating = ${expected.join(', ')}`, () => {
      const conditions = endpointConditions(podReady, terminating, publish);
      expect([conditions.ready, conditions.serving, conditions.terminating]).to.deep.equal(expected);
    });
  }
});

describe('desiredEndpoints', () => {
  it('takes address, node, zone and reference from Pod and Node', () => {
    expect(endpointsOf([pod('p')])).to.deep.equal([
      {
        addresses: ['198.19.0.1'],
        conditions: { ready: true, serving: true, terminating: false },
        targetRef: { kind: 'Pod', namespace: 'ns', name: 'p', uid: 'uid-p' },
        nodeName: 'n1',
        zone: 'a',
      },
    ]);
  });

  it('takes the address of the family', () => {
    expect(endpointsOf([pod('p')], service(), 'IPv6')[0]?.addresses).to.deep.equal(['2001:db8::1']);
    expect(endpointsOf([pod('p', { status: { podIPs: [{ ip: '198.19.0.1' }] } })], service(), 'IPv6')).to.deep.equal(
      [],
    );
  });

  for (const { name, own } of [
    { name: 'has no address yet', own: pod('p', { status: { podIP: undefined, podIPs: [] } }) },
    { name: 'has failed', own: pod('p', { status: { phase: 'Failed' } }) },
    { name: 'has ended', own: pod('p', { status: { phase: 'Succeeded' } }) },
    { name: 'has other labels', own: pod('p', { metadata: { labels: { app: 'other' } } }) },
    { name: 'is in another namespace', own: pod('p', { metadata: { namespace: 'other' } }) },
  ]) {
    it(`leaves out a Pod that ${name}`, () => expect(endpointsOf([own])).to.deep.equal([]));
  }

  it('waits for the Node of a Pod, unless not ready addresses are published', () => {
    const unknown = pod('p', { spec: { nodeName: 'n2' } });
    expect(desired([unknown])).to.deep.include({ missingNodes: true });
    expect(endpointsOf([unknown])).to.deep.equal([]);
    expect(endpointsOf([unknown], service({ publishNotReadyAddresses: true }))[0]).not.to.have.property('zone');
  });

  it('resolves named ports per Pod and groups by the outcome', () => {
    const named = service({ ports: [{ name: 'web', port: 80, protocol: 'TCP', targetPort: 'http' }] });
    const withPort = (name: string, containerPort: number) =>
      pod(name, { spec: { containers: [{ name: 'c', ports: [{ name: 'http', containerPort }] }] } });
    const { groups } = desired([withPort('a', 8080), withPort('b', 9090), withPort('c', 8080)], named);
    expect([...groups.values()].map(({ ports, endpoints }) => [ports[0]?.['port'], endpoints.length])).to.deep.equal([
      [8080, 2],
      [9090, 1],
    ]);
  });

  it('needs a selector', () => {
    expect(endpointsOf([pod('p')], service({ selector: {} }))).to.deep.equal([]);
    expect(endpointsOf([pod('p')], service({ selector: undefined }))).to.deep.equal([]);
  });
});
