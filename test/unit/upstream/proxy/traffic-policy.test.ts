// Which lists a Service port needs by its traffic policies.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { trafficPolicyOf } from '../../../../pkg/upstream/proxy/kube-proxy.ts';
import { aService } from '../support.ts';

describe('trafficPolicyOf', () => {
  for (const { name, spec = {}, nodePort, status, honours = true, expected } of [
    { name: 'plain', expected: [true, false, false] },
    { name: 'internal Local', spec: { internalTrafficPolicy: 'Local' }, expected: [false, true, true] },
    {
      name: 'internal Local before its gate',
      spec: { internalTrafficPolicy: 'Local' },
      honours: false,
      expected: [true, false, false],
    },
    {
      name: 'internal Local, reachable by node port',
      spec: { internalTrafficPolicy: 'Local' },
      nodePort: 30_000,
      expected: [true, true, true],
    },
    {
      name: 'external Local but not reachable',
      spec: { externalTrafficPolicy: 'Local' },
      expected: [true, false, false],
    },
    {
      name: 'external Local, node port',
      spec: { externalTrafficPolicy: 'Local' },
      nodePort: 30_000,
      expected: [true, true, false],
    },
    {
      name: 'external Local, load balancer',
      spec: { externalTrafficPolicy: 'Local' },
      status: { loadBalancer: { ingress: [{ ip: '198.18.1.1' }] } },
      expected: [true, true, false],
    },
    {
      name: 'external Local, no address yet',
      spec: { externalTrafficPolicy: 'Local' },
      status: { loadBalancer: {} },
      expected: [true, false, false],
    },
    {
      name: 'external Local, external IP',
      spec: { externalTrafficPolicy: 'Local', externalIPs: ['198.18.1.1'] },
      expected: [true, true, false],
    },
    {
      name: 'external Cluster, node port',
      spec: { externalTrafficPolicy: 'Cluster' },
      nodePort: 30_000,
      expected: [true, false, false],
    },
  ]) {
    it(name, () => {
      const port = { port: 443, ...(nodePort === undefined ? {} : { nodePort }) };
      const [usesCluster, usesLocal, internalLocal] = expected;
      const policy = trafficPolicyOf({ ...aService({}, undefined, spec), status }, port, honours);
      expect(policy).to.deep.equal({ usesCluster, usesLocal, internalLocal });
    });
  }
});
