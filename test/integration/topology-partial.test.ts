// kubectl topology explain: what was not read, or is written by hand, is no fact of the cluster.
import { expect } from 'chai';
import {
  beside,
  cilium,
  ingressClass,
  podOf,
  podsWith,
  reportedCluster,
  sidecar,
} from '../fixtures/reported-cluster.ts';
import { runTopology } from '../fixtures/topology-command.ts';

type Cluster = Parameters<typeof reportedCluster>[0];

const CLOSE = { spec: { trafficDistribution: 'PreferClose' }, endpoints: ['a:a', 'b:b', 'c:c'] };
const NGINX = podsWith({ name: 'controller', image: 'registry.k8s.io/ingress-nginx/controller:v1.12.1' });
const CLASS = ingressClass('nginx', 'k8s.io/ingress-nginx');
const AMBIENT = { 'ambient.istio.io/redirection': 'enabled' };
const READY = { conditions: [{ type: 'Ready', status: 'True' }] };
const PODS = ['x', 'y'].map((name) => ({ ...podOf(name, { nodeName: 'node-0' }), status: READY }));
const ENDED = { ...podOf('migrate', { nodeName: 'node-0' }, {}), status: { phase: 'Succeeded' } };

const CASES: readonly [string, Cluster, RegExp, never?: RegExp, without?: RegExp][] = [
  ['routes', { ...CLOSE, extra: [beside('apps/v1', 'Deployment', NGINX), CLASS] }, /^✓ through .* \(ingresses\)$/],
  ['workloads', { ...CLOSE, pods: null, extra: [ENDED] }, /^✓ through .* \(workloads\)$/],
  ['ztunnel', { ...CLOSE, extra: [beside('v1', 'Pod', {}, { annotations: AMBIENT })] }, /through istio-ambient \(Pod/],
  ['slices', CLOSE, /^\? not known: .*no EndpointSlice/, /is ready|selector with/, /Slice/],
  ['slices and a wish', {}, /^✗ no EndpointSlice/, /is ready|selector with/, /Slice/],
  ['conditions and targets', { ...CLOSE, extra: PODS }, /^✓ effective: 100 %/, /SlicesBehind|TooFew/],
  ['cilium-config', { ...CLOSE, plane: cilium('1.18.0') }, /^✗ ineffective/, /Update Cilium|Topology\) off/, /Config/],
  ['ended Pods', { extra: [sidecar('istio-proxy', 'istio/proxyv2:1.26.2'), ENDED] }, /^✗ all clients .* istio \(Pod/],
];

describe('kubectl topology explain, of a cluster without', () => {
  for (const [name, cluster, line, never = /^$/, without = /^$/] of CASES)
    it(name, async () => {
      const isByHand = (key: string) => name.startsWith('conditions') && /^(?:conditions|targetRef)$/.test(key);
      const { items } = JSON.parse(reportedCluster(cluster)) as { items: { kind: string }[] };
      const left = items.map((own) =>
        own.kind === 'EndpointSlice'
          ? (JSON.parse(JSON.stringify(own), (key, value: unknown) =>
              isByHand(key) ? undefined : value,
            ) as typeof own)
          : own,
      );
      const stdin = JSON.stringify({ kind: 'List', items: left.filter(({ kind }) => !without.test(kind)) });
      const { out } = await runTopology(['explain', 'shop/web', '-f', '-'], { stdin });
      expect(out.split('\n')[1]).to.match(line);
      expect(out).to.not.match(never);
    });
});
