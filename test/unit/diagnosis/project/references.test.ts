// Objects of kinds that have no row: which name a Service, by the form of what names it, and which send nothing to what they name.
import { expect } from 'chai';
import { load } from 'js-yaml';
import { describe, it } from 'mocha';
import { referrersOf } from '../../../../pkg/diagnosis/bypasses/watchers.ts';
import { service } from '../../../fixtures/core.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';

const WEB = { namespace: 'shop', name: 'web' };
const NAMES: readonly string[] = [
  'gateway.envoyproxy.io SecurityPolicy {extAuth: {http: {backendRefs: [{name: web, port: 9002}]}}}',
  'gateway.kgateway.dev GatewayExtension {extAuth: {grpcService: {backendRef: {name: web, port: 4444}}}}',
  'projectcontour.io ExtensionService {protocol: h2, services: [{name: web, port: 9443}]}',
  'traefik.io Middleware {errors: {status: ["500-599"], query: "/{status}.html", service: {name: web, port: 80}}}',
  'eventing.knative.dev Trigger {subscriber: {ref: {apiVersion: v1, kind: Service, name: web}}}',
  'split.smi-spec.io TrafficSplit {service: all, backends: [{service: web, weight: 90}, {service: new, weight: 10}]}',
  'elasti.truefoundry.com ElastiService {service: web, scaleTargetRef: {apiVersion: apps/v1, kind: deployments, name: web}}',
  'gateways.shop.example ApiRoute {backend: {serviceName: web, servicePort: 80}}',
];
const SENDS_NOTHING: readonly string[] = [
  // A name in DNS leads to the cluster IP.
  'enterprise.gloo.solo.io AuthConfig {configs: [{passThroughAuth: {grpc: {address: "web.shop.svc.cluster.local:9001"}}}]}',
  'serving.kserve.io InferenceGraph {nodes: {root: {routerType: Sequence, steps: [{serviceUrl: "http://web.shop.svc/v1"}]}}}',
  'appmesh.k8s.aws VirtualNode {serviceDiscovery: {dns: {hostname: web.shop.svc.cluster.local}}}',
  'getambassador.io AuthService {auth_service: "web.shop:3000", proto: http}',
  'apisix.apache.org ApisixPluginConfig {plugins: [{name: proxy-mirror, config: {host: "http://web.shop.svc:80"}}]}',
  'cert-manager.io Certificate {dnsNames: [web.shop.svc], issuerRef: {kind: Issuer, name: web}}',
  'argoproj.io Application {source: {helm: {valuesObject: {service: {name: web, port: 80}}}}}',
  'helm.toolkit.fluxcd.io HelmRelease {values: {service: {name: web, port: 80}, host: web.shop.svc}}',
  'monitoring.coreos.com Probe {prober: {url: "web.shop.svc:9115"}, targets: {staticConfig: {static: [web.shop.svc]}}}',
  'velero.io Backup {hooks: {resources: [{name: web, service: web}]}}',
  'external-secrets.io SecretStore {provider: {vault: {server: "http://web.shop.svc:8200"}}}',
  'gateway.networking.k8s.io ReferenceGrant {to: [{group: "", kind: Service, name: web}]}',
  'db.shop.example Database {ports: [{name: web, port: 80}], listeners: [{name: web, port: 80}], serviceName: web}',
  'db.shop.example Database {parent: {kind: Gateway, name: web, port: 80}, env: [{name: URL, value: "http://web.shop.svc"}]}',
  'workflows.shop.example Step {call: {apiVersion: serving.knative.dev/v1, kind: Service, name: web}}',
  'gateways.shop.example ApiRoute {backend: {serviceName: web, servicePort: 80, namespace: other}}',
];
/** The Service, and how the object names it. */
const namedBy = (text: string, metadata: object = {}) => {
  const [, group = '', kind = '', spec = ''] = /^(\S+) (\S+) (.+)$/.exec(text) ?? [];
  const object = { apiVersion: `${group}/v1`, kind, metadata: { namespace: 'shop', name: 'x' }, spec: load(spec) };
  const web = service({ metadata: { ...WEB, ...metadata } });
  const { references = [], ingresses } = snapshotOf(web, object);
  expect(ingresses).to.deep.equal({ kind: 'known', items: [] });
  for (const own of references) expect(own).to.have.all.keys('group', 'kind', 'namespace', 'name', 'service');
  const own = references.filter(({ service: name }) => name === 'shop/web');
  return referrersOf(web, own).map(({ client, evidence }) => `${client} ${evidence.object}`);
};

describe('diagnosis: objects of unknown kinds that name a Service', () => {
  for (const text of NAMES) {
    const [group = '', kind = ''] = text.split(' ');
    it(`suspects ${kind} of ${group}`, () => expect(namedBy(text)).to.deep.equal([`${group} ${kind} shop/x`]));
  }
  for (const text of SENDS_NOTHING)
    it(`suspects nothing of ${text.slice(0, 60)}`, () => expect(namedBy(text)).to.deep.equal([]));

  it('suspects no object that owns the Service, or whose name a label of its group has', () => {
    const [text = ''] = NAMES.slice(-1);
    for (const own of [
      { ownerReferences: [{ apiVersion: 'gateways.shop.example/v1', kind: 'ApiRoute', name: 'x', uid: 'u' }] },
      { labels: { 'shop.example/route': 'x' } },
    ])
      expect(namedBy(text, own)).to.deep.equal([]);
    expect(namedBy(text, { labels: { 'shop.example/team': 'y', example: 'x' } })).to.have.length(1);
  });
});
