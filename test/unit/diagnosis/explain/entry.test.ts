// By which Node traffic from outside enters, by the kind of load balancer that is there.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { explain } from '../../../../pkg/diagnosis/explain/explain.ts';
import { endpoint, node, service, slice } from '../../../fixtures/core.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';

interface World {
  readonly spec: object;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Of each Node. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Namespace of a Pod. */
  readonly beside?: string;
  readonly image?: string;
  /** Namespace of the Service, which is then of Gardener. */
  readonly seed?: string;
}

const explained = ({ spec, annotations = {}, labels = {}, beside = 'shop', image = '', seed }: World) => {
  const managedFields = seed === undefined ? [] : [{ manager: 'gardenlet' }];
  const metadata = { name: 'web', namespace: seed ?? 'shop', annotations, managedFields };
  const own = service({ metadata, spec });
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'speaker', namespace: beside } };
  const template = { metadata: { labels: { app: 'server' } }, spec: { containers: [{ name: 'web', image }] } };
  const workload = { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { template } };
  const nodes = ['a', 'b'].map((zone) => node({ zone, metadata: { name: `n-${zone}`, labels } }));
  const endpoints = ['a', 'b'].map((zone, at) =>
    endpoint({ zone, nodeName: `n-${zone}`, addresses: [`198.18.0.${at}`] }),
  );
  const slices = slice({ service: 'web', metadata: { namespace: seed ?? 'shop' }, endpoints });
  return explain(snapshotOf(...nodes, own, slices, pod, workload), own, { now: 0 });
};

const entersAt = (world: World): string => explained(world).scope.enters;

const LB = { type: 'LoadBalancer' };
const HETZNER = { 'csi.hetzner.cloud/location': 'a' };
const EKS = { 'eks.amazonaws.com/nodegroup': 'a' };
const PICKED = 'through the Node that its load balancer or client picks';
const STAYS = ', where it stays (externalTrafficPolicy Local)';
const PUBLISHED = { 'external-dns.alpha.kubernetes.io/hostname': 'web.example.com' };
const CROSS_ZONE = 'service.beta.kubernetes.io/aws-load-balancer-cross-zone-load-balancing-enabled';
const MONITOR = 'loadbalancer.openstack.org/enable-health-monitor';
const LOCAL_LB = { ...LB, externalTrafficPolicy: 'Local' };
const LOCAL_PORT = { type: 'NodePort', externalTrafficPolicy: 'Local' };
const ofClass = (loadBalancerClass: string, spec: object = LB) => ({ ...spec, loadBalancerClass });

describe('where traffic from outside enters', () => {
  const rows: readonly (readonly [name: string, world: World, enters: string | RegExp])[] = [
    ['nowhere', { spec: { type: 'ClusterIP' } }, ''],
    ['by externalIPs', { spec: { type: 'ClusterIP', externalIPs: ['192.0.2.1'] } }, PICKED],
    ['by node ports', { spec: { type: 'NodePort' } }, 'through the Node whose port the client picks'],
    ['by node ports of some Nodes', { spec: LOCAL_PORT }, `through the Node whose port the client picks${STAYS}`],
    [
      'by Nodes in a record of external-dns',
      { spec: LOCAL_PORT, annotations: PUBLISHED },
      'through Nodes that external-dns publishes, among Nodes with one of its Pods (externalTrafficPolicy Local)',
    ],
    [
      'by a load balancer of EKS Auto Mode, which does not read that',
      { spec: ofClass('eks.amazonaws.com/nlb'), annotations: { [CROSS_ZONE]: 'true' } },
      /cross-zone load balancing is off/,
    ],
    ['by what is not known', { spec: LB }, PICKED],
    ['by a load balancer of EKS Auto Mode', { spec: ofClass('eks.amazonaws.com/nlb') }, /zone of its address/],
    [
      'by addresses of Nodes',
      { spec: ofClass('io.cilium/node', LOCAL_LB) },
      'through the Node whose address the client picks (Node IPAM of Cilium), among Nodes with one of its Pods (externalTrafficPolicy Local)',
    ],
    [
      'by no Node',
      { spec: LB, labels: { ...HETZNER, 'node.kubernetes.io/exclude-from-external-load-balancers': '' } },
      /; no Node may take it, so it fails \(externalTrafficPolicy Cluster\)$/,
    ],
    [
      'by a mode of OpenELB',
      { spec: LB, annotations: { 'protocol.openelb.kubesphere.io/v1alpha1': 'layer2' } },
      'through the one Node that announces its address (OpenELB in layer 2 mode)',
    ],
    [
      'by OpenELB under its first name',
      { spec: LB, annotations: { 'lb.kubesphere.io/v1alpha1': 'porter' } },
      /OpenELB/,
    ],
    [
      'by Nodes of EKS',
      { spec: LB, labels: EKS },
      /^through Nodes in the zone of its address \(cross-zone load balancing is off, as by default\)$/,
    ],
    ['by a class of AWS', { spec: ofClass('service.k8s.aws/nlb') }, /^through Nodes in the zone of its address/],
    [
      'by a class that is not that of its cloud',
      { spec: ofClass('ngrok'), labels: EKS },
      'at the Node or the Pod that its load balancer (class ngrok) picks',
    ],
    [
      'by a proxy of Tailscale',
      { spec: {}, annotations: { 'tailscale.com/expose': 'true' } },
      /that the Tailscale operator runs/,
    ],
    ['by none that an annotation switches off', { spec: {}, annotations: { 'tailscale.com/expose': 'false' } }, ''],
    [
      'by a class of Cilium in layer 2',
      { spec: ofClass('io.cilium/l2-announcer'), labels: EKS },
      'through the one Node that announces its address (Cilium L2 announcements)',
    ],
    [
      'by a class of Cilium over BGP',
      { spec: ofClass('io.cilium/bgp-control-plane') },
      'through Nodes that routers pick (BGP of Cilium; one alone where these have no multipath)',
    ],
    [
      'by MetalLB, with policy Local',
      { spec: LOCAL_LB, beside: 'metallb-system' },
      /^through the one Node that announces its address \(MetalLB.*, among Nodes with one of its Pods/,
    ],
    ['by what is not known, with policy Local', { spec: LOCAL_LB }, `${PICKED}${STAYS}`],
    [
      'by Octavia',
      { spec: LOCAL_LB, annotations: { 'loadbalancer.openstack.org/load-balancer-id': 'a' } },
      `through any Node that Octavia picks${STAYS}`,
    ],
    [
      'by Octavia that asks for health',
      { spec: LOCAL_LB, annotations: { [MONITOR]: 'true' } },
      /, among Nodes with one/,
    ],
    [
      'by an internal load balancer of GKE that keeps to zones',
      {
        spec: { ...LB, trafficDistribution: 'PreferClose' },
        annotations: { 'networking.gke.io/load-balancer-type': 'Internal' },
      },
      /^through Nodes of the client's zone where the cluster has GKE subsetting/,
    ],
    ['by Nodes of GKE', { spec: LB, labels: { 'cloud.google.com/gke-nodepool': 'a' } }, /of Google picks$/],
    ['by Nodes of AKS', { spec: LB, labels: { 'kubernetes.azure.com/cluster': 'a' } }, /of Azure picks$/],
    [
      'at Pods at once, which is a bypass',
      { spec: LB, annotations: { 'service.beta.kubernetes.io/aws-load-balancer-nlb-target-type': 'ip' } },
      '',
    ],
  ];
  for (const [name, world, enters] of rows) {
    it(name, () => {
      if (typeof enters === 'string') expect(entersAt(world)).to.equal(enters);
      else expect(entersAt(world)).to.match(enters);
    });
  }
});

describe('the first cause of a Service that takes traffic from outside and asks for nothing', () => {
  const ENTERS = 'LoadBalancerTraffic';
  const rows: readonly (readonly [name: string, world: World, reason: string, remedy: RegExp])[] = [
    ['any Node', { spec: LB, labels: HETZNER }, ENTERS, /`load-balancer\.hetzner\.cloud\/node-selector`/],
    ...Object.entries({
      'service.beta.kubernetes.io/scw-loadbalancer-id': /scw-loadbalancer-target-node-labels/,
      'service.beta.kubernetes.io/alibaba-cloud-loadbalancer-id': /alibaba-cloud-loadbalancer-backend-label/,
      'service.kubernetes.io/loadbalance-id': /qcloud-loadbalancer-backends-label/,
      'service.kubernetes.io/ibm-load-balancer-cloud-provider-zone': /cloud-provider-vpc-node-selector/,
      'loadbalancer.ovhcloud.com/class': /^Nothing of the Service makes the load balancer of the cloud keep/,
    }).map(([sign, want]): (typeof rows)[number] => [sign, { spec: LB, annotations: { [sign]: 'a' } }, ENTERS, want]),
    ['Nodes of its zone', { spec: LB, labels: EKS }, ENTERS, /sends to Nodes of its own zone alone/],
    ['one Node for all', { spec: LOCAL_LB, beside: 'purelb' }, ENTERS, /^Set `externalTrafficPolicy: Cluster`/],
    ['Nodes in DNS', { spec: { type: 'NodePort' }, annotations: PUBLISHED }, ENTERS, /^`externalTrafficPolicy: Local`/],
    ['any of a gateway', { spec: { type: 'NodePort' }, image: 'traefik:v3' }, ENTERS, /Local` it stays on that Node/],
    // gardener/gardener#6997
    ['a gateway of a Seed', { spec: LB, labels: EKS, seed: 'istio-ingress--a' }, ENTERS, /^Set .*Local` under .* Seed/],
    // gardener/gardener#14420
    ['a gateway of a Garden', { spec: LB, labels: EKS, seed: 'virtual-garden-istio-ingress' }, ENTERS, /`spec\.run/],
    ['what is not known', { spec: LB }, 'NotRequested', /^Set/],
    ['the Node that a client picks', { spec: { type: 'NodePort' } }, 'NotRequested', /^Set/],
  ];
  for (const [name, world, reason, remedy] of rows) {
    it(`by ${name}: ${reason}`, () => {
      const [first] = explained(world).causes;
      expect(first?.reason).to.equal(reason);
      expect(first?.remedy).to.match(remedy);
    });
  }

  it('by the proxy of a tailnet: no command for hints, which would give all to endpoints of its zone', () => {
    const { causes } = explained({ spec: LB, annotations: { 'tailscale.com/expose': 'true' } });
    expect(causes.find(({ reason }) => reason === 'NotRequested')).to.exist.and.not.have.property('fix');
  });
});
