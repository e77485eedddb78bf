// Who owns an object by its marks, and where its owner wants the change.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type Marks, marksIn, ownerNote, writersIn } from '../../../pkg/diagnosis/owner.ts';

const FIELD = { pointer: '/spec/trafficDistribution', distribution: 'PreferClose' };
const REPLICAS = { pointer: '/spec/replicas' };
const TEMPLATE = { pointer: '/spec/template/spec/topologySpreadConstraints' };
const HA = { 'high-availability-config.resources.gardener.cloud/type': 'server' };
const V134 = { major: 1, minor: 34 };

const labels = (entries: Record<string, string>): Marks => ({ name: 'web', labels: entries });
const annotated = (entries: Record<string, string>): Marks => ({ name: 'web', annotations: entries });
const managers = (name: string, ...all: string[]): Marks => ({
  name,
  managedFields: all.map((manager) => ({ manager })),
});
const ownedBy = (apiVersion: string, kind: string): Marks => ({
  ownerReferences: [{ apiVersion, kind, name: 'one', uid: '' }],
});
const RELEASE = annotated({ 'meta.helm.sh/release-name': 'own' });
const RECONCILE: Record<string, string> = { 'addonmanager.kubernetes.io/mode': 'Reconcile' };
const K3S = {
  'objectset.rio.cattle.io/owner-gvk': 'k3s.cattle.io/v1, Kind=Addon',
  'objectset.rio.cattle.io/owner-name': 'coredns',
};

describe('the owner of an object', () => {
  const rows: readonly (readonly [name: string, marks: Marks, want: RegExp | undefined, change?: typeof REPLICAS])[] = [
    ['no one where nothing marks it', labels({ app: 'web' }), undefined],
    ['Helm by its label', labels({ 'app.kubernetes.io/managed-by': 'Helm' }), /^# Helm owns it: set it in the values/],
    [
      'kOps by its label',
      labels({ 'app.kubernetes.io/managed-by': 'kops' }),
      /^# kops manages it, and probably writes it back/,
    ],
    [
      "OpenShift's ingress operator",
      labels({ 'ingresscontroller.operator.openshift.io/owning-ingresscontroller': 'default' }),
      /IngressController default .*spec\.replicas/,
    ],
    [
      'Envoy Gateway',
      labels({ 'app.kubernetes.io/managed-by': 'envoy-gateway' }),
      /envoyDeployment \(replicas.* of the EnvoyProxy that its Gateway .* names$/,
      REPLICAS,
    ],
    [
      'what alone wrote it (k0s)',
      managers('coredns', 'k0s', 'kube-controller-manager'),
      /^# k0s wrote it \(managedFields\), and may/,
    ],
    ['no one where a person wrote it as well', managers('coredns', 'k0s', 'kubectl-edit'), undefined],
    ['no one where the writer is not named', managers('unknown'), undefined],
    ['the operator of Zalando', labels({ application: 'spilo' }), /numberOfInstances or .* of its postgresql$/],
    ['Strimzi', ownedBy('kafka.strimzi.io/v1beta2', 'Kafka'), /spec\.kafka\.template\.bootstrapService/],
    ['Helm 2', labels({ heritage: 'Tiller', chart: 'traefik-1.87.2' }), / \(service\.spec\.trafficD/],
    ['Helm as manager of fields', managers('web', 'kubectl', 'helm'), /^# Helm owns it/],
    [
      'a chart with a value for it',
      labels({ 'app.kubernetes.io/managed-by': 'Helm', 'helm.sh/chart': 'traefik-37.1.0' }),
      / \(service\.spec\.trafficDistribution: PreferClose\), or/,
    ],
    [
      'a chart with a value for another field beside it',
      labels({ 'app.kubernetes.io/managed-by': 'Helm', 'helm.sh/chart': 'ingress-nginx-4.13.0' }),
      / \(controller\.service\.externalTrafficPolicy\), or/,
      { pointer: '/spec/externalTrafficPolicy' },
    ],
    [
      'a chart of k3s',
      {
        ...labels({ 'app.kubernetes.io/managed-by': 'Helm', 'helm.sh/chart': 'traefik-34.2.1_up34.2.0' }),
        ...annotated({ 'meta.helm.sh/release-name': 'traefik' }),
      },
      /^# k3s owns it: .* HelmChartConfig traefik of kube-system/,
    ],
    [
      'a chart that was not read, of a component',
      labels({
        'app.kubernetes.io/managed-by': 'Helm',
        'app.kubernetes.io/component': 'controller',
        'helm.sh/chart': 'loki-6.11.1',
      }),
      / \(see helm show values <repository>\/loki --version 6\.11\.1\), or/,
      REPLICAS,
    ],
    [
      'a chart that was not read, of another Service than its main one',
      { ...labels({ 'app.kubernetes.io/managed-by': 'Helm', 'helm.sh/chart': 'own-1.2.0' }), ...RELEASE },
      /chart \(see helm show values <repository>\/own --version/,
    ],
    [
      'an Etcd of gardener-operator',
      { ...ownedBy('druid.gardener.cloud/v1alpha1', 'Etcd'), namespace: 'garden' },
      /^# Gardener writes it back/,
    ],
    [
      'Flux by a HelmRelease, before Helm',
      labels({ 'helm.toolkit.fluxcd.io/name': 'web', 'app.kubernetes.io/managed-by': 'Helm' }),
      /spec\.values of HelmRelease web, or .*postRenderers$/,
    ],
    [
      'Flux by a Kustomization',
      labels({ 'kustomize.toolkit.fluxcd.io/name': 'apps' }),
      /may revert it: .*Kustomization apps$/,
    ],
    ['Flux as manager of fields', managers('web', 'kustomize-controller'), /^# Flux owns it/],
    ['Argo CD by a label', labels({ 'argocd.argoproj.io/instance': 'shop' }), /^# Argo CD owns it/],
    ['Argo CD', annotated({ 'argocd.argoproj.io/tracking-id': 'x' }), /jsonPointers: \[\/spec\/replicas\]/, REPLICAS],
    [
      'Argo CD as manager of fields, with a chart',
      { ...managers('web', 'argocd-controller'), ...labels({ 'helm.sh/chart': 'grafana-11.1.0' }) },
      /^# Argo CD owns it: change the source \(probably service\.trafficDistribution: PreferClose; see helm/,
    ],
    ['EKS as manager of fields', managers('kube-dns', 'eks'), /aws eks update-addon .* coredns /],
    ['EKS, another add-on', managers('metrics-server', 'eks'), /describe-addon-configuration/],
    ['AKS', labels({ 'kubernetes.azure.com/managedby': 'aks' }), /^# AKS owns it and writes it back$/],
    [
      'an add-on that is only created where it is missing',
      labels({ 'addonmanager.kubernetes.io/mode': 'EnsureExists' }),
      undefined,
    ],
    ['an add-on of k3s', annotated(K3S), /^# k3s writes it back from coredns\.yaml .*--disable=coredns/],
    // operator-framework/operator-lifecycle-manager#1298
    [
      'OLM, of a template',
      labels({ 'olm.owner': 'odf.v4' }),
      /^# OLM writes it back .* odf\.v4 .*Subscription$/,
      TEMPLATE,
    ],
    ['no one, of replicas that OLM leaves', labels({ 'olm.owner': 'odf.v4' }), undefined, REPLICAS],
    [
      'Fleet, before Helm',
      annotated({ 'meta.helm.sh/release-name': 'web', 'objectset.rio.cattle.io/id': 'default-web' }),
      /^# Fleet owns it: .*fleet\.yaml.*correctDrift is enabled$/,
    ],
    ['an operator', ownedBy('example.com/v1', 'Kafka'), /^# Kafka one owns it, and its operator may revert/],
    [
      'an operator whose field for Services is known',
      ownedBy('elasticsearch.k8s.elastic.co/v1', 'Elasticsearch'),
      /reverts other changes: make it there under spec\.http\.service$/,
    ],
    // fluxcd/flagger#1943
    ['Flagger', ownedBy('flagger.app/v1beta1', 'Canary'), /under spec\.service: apex\.annotations, or from 1\.42/],
    ['Flagger, of Pods', ownedBy('flagger.app/v1beta1', 'Canary'), /of the Deployment that its spec\.t/, TEMPLATE],
    // hashicorp/terraform-provider-kubernetes#2811
    ['Terraform as manager of fields', managers('web', 'HashiCorp'), /^# Terraform wrote it \(managedFields\)/],
    [
      'a Gateway, by the parameters that it names',
      ownedBy('gateway.networking.k8s.io/v1', 'Gateway'),
      /there under spec\.infrastructure: annotations, or parametersRef/,
    ],
    [
      'CloudNativePG, of replicas',
      ownedBy('postgresql.cnpg.io/v1', 'Cluster'),
      /there under spec\.instances$/,
      REPLICAS,
    ],
    [
      'an operator that hands labels of its resource on, before what applies that',
      { ...ownedBy('k8s.elastic.co/v1', 'Kibana'), ...labels({ 'kustomize.toolkit.fluxcd.io/name': 'apps' }) },
      /^# Kibana one owns it/,
    ],
    ['an operator, of a template', ownedBy('monitoring.coreos.com/v1', 'Prometheus'), /spec\.topologySpread/, TEMPLATE],
    ['MinIO, of replicas', ownedBy('minio.min.io/v2', 'Tenant'), /under spec\.pools, by another pool/, REPLICAS],
    ['Scylla, of a template', ownedBy('scylla.scylladb.com/v1', 'ScyllaCluster'), /spec\.datacenter/, TEMPLATE],
    ['Tempo, of a template', ownedBy('tempo.grafana.com/v1alpha1', 'TempoStack'), /spec\.replicationZones/, TEMPLATE],
    [
      "Percona's PostgreSQL, of replicas",
      ownedBy('upstream.pgv2.percona.com/v1beta1', 'PostgresCluster'),
      /under spec\.instances\[\]\.replicas .*where a PerconaPGCluster made that cluster, in it\)$/,
      REPLICAS,
    ],
    ['an operator, of its Service', ownedBy('monitoring.coreos.com/v1', 'Prometheus'), /may revert/],
    [
      'gardener-resource-manager',
      annotated({ 'resources.gardener.cloud/origin': 'seed:shoot--a--b/shoot-core-coredns' }),
      /^# gardener-resource-manager, from ManagedResource seed:shoot--a--b\/shoot-core-coredns, writes it back: /,
    ],
    [
      "OpenShift's monitoring operator, of a template",
      { ...labels({ 'app.kubernetes.io/managed-by': 'cluster-monitoring-operator' }), name: 'thanos-querier' },
      / thanosQuerier\.topologySpreadConstraints in config\.yaml of ConfigMap /,
      TEMPLATE,
    ],
    [
      "Gardener's webhook for high availability, of replicas",
      labels(HA),
      /zones and failure tolerance of the Shoot/,
      REPLICAS,
    ],
    ['none by that label, of a Service', labels(HA), undefined],
    ['a controller of Kubernetes itself', ownedBy('apps/v1', 'Deployment'), undefined],
    [
      'an operator that fills a chart',
      {
        ...ownedBy('charts.nginx.org/v1alpha1', 'NginxIngress'),
        ...labels({ 'app.kubernetes.io/managed-by': 'Helm' }),
      },
      /^# NginxIngress one owns it, and its operator fills a chart from its spec: set a value there; it may write/,
    ],
    ['no one, of what kubespray installed', labels({ ...RECONCILE, 'k8s-app': 'coredns' }), undefined],
    ['an add-on manager', labels(RECONCILE), /^# the add-on manager rewrites it/],
    [
      'Helm, of a chart without a value for it',
      labels({ 'app.kubernetes.io/managed-by': 'Helm', 'helm.sh/chart': 'temporal-1.1.1' }),
      /its chart has no value for it: set it in a post-renderer; /,
    ],
    ...Object.entries({
      'kapp.k14s.io/app=1700': /^# kapp may revert it: .*PackageInstall\)/,
      'kro.run/resource-graph-definition-name=webapp': /in ResourceGraphDefinition webapp$/,
      'app.oam.dev/component=web': /in component web of its Application$/,
      'projectsveltos.io/owner-name=all': / what all deploys, /,
      'work.karmada.io/name=web-1': /an OverridePolicy$/,
      'configmanagement.gke.io/managed=enabled': /^# Config Sync may revert it/,
      'crossplane.io/composition-resource-name=svc': /resource svc of its Composition$/,
      'heritage=deckhouse': /its ModuleConfig/,
      'resources.gardener.cloud/description=DO NOT EDIT': /^# gardener-resource-manager writes it back/,
      'projectcontour.io/owning-gateway-name=gw': /ContourDeployment/,
      'install.operator.istio.io/owning-resource=installed-state': /overlays\) of its IstioOperator$/,
    }).map(([mark, want]) => [mark, labels(Object.fromEntries([mark.split('=')]) as typeof RECONCILE), want] as const),
  ];
  for (const [name, marks, want, change = FIELD] of rows)
    it(`is ${name}`, () => {
      const note = ownerNote(marks, change, V134);
      if (want === undefined) expect(note).to.equal(undefined);
      else expect(note?.line).to.match(want);
      expect(note?.reverts ?? false, note?.line).to.equal(
        / writes it back| denies | rewrites | reverts | may (?:revert|write)|^# Flux.*(?:Kustomization|source$)/.test(
          note?.line ?? '',
        ),
      );
    });

  // gardener/gardener#6718, #7729, #2528
  const ways: readonly (readonly [namespace: string, name: string, manager: string, way: RegExp | undefined])[] = [
    [
      'garden',
      'gardener-apiserver',
      'gardener-operator',
      /^Set `spec\.runtimeCluster\.settings\.\S+ true` in the Garden\.$/,
    ],
    ['garden', 'gardener-resource-manager', 'gardenlet', /in the Seed, or .* in the Garden where gardener-operator/],
    ['garden', 'gardener-extension-admission-gcp', 'gardener-extension-gcp', /`service\.topologyAwareRouting\.enabled/],
    ['shoot--a--b', 'kube-apiserver', 'gardenlet', /^Set `spec\.settings\..* in the Seed, .*IstioTLSTermination/],
    [
      'shoot--a--b',
      'gardener-resource-manager',
      'gardenlet',
      /^Set `spec\.settings\..* in the Seed, for Shoots with \S+ tolerance type zone\.$/,
    ],
    ['shoot--a--b', 'vpa-webhook', 'unknown', /^Set `spec\.settings\..* in the Seed, for Shoots/],
    ['istio-ingress', 'istio-ingressgateway', 'gardenlet', /^Set `externalTrafficPolicy: Local` under .* of the Seed/],
    ['kube-system', 'kube-dns', 'gardenlet', /`spec\.systemComponents\.nodeLocalDNS\.enabled: true` in the Shoot/],
    ['extension-net-a', 'gardener-extension-networking-cilium', 'helm', /^Set .* in the Seed: charts of extensions/],
    ['kube-system', 'kube-dns', 'helm', undefined],
  ];
  for (const [namespace, name, manager, way] of ways)
    it(`${manager} has routing by zone for ${namespace}/${name} ${way === undefined ? 'nowhere' : 'in one place'}`, () => {
      const found = ownerNote({ ...managers(name, manager), namespace }, FIELD, V134)?.way;
      if (way === undefined) expect(found).to.equal(undefined);
      else expect(found).to.match(way);
    });

  it('is read from the object: the controller alone of its owners, or all where none is one, each manager once', () => {
    const metadata = {
      name: 'web',
      labels: { app: 'web', 'helm.sh/chart': 'web-1' },
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Pod', name: 'a', uid: '1' },
        { apiVersion: 'x.io/v1', kind: 'X', name: 'b', uid: '2', controller: true },
      ],
      managedFields: [{ manager: 'helm' }, { manager: 'helm', operation: 'Apply' }],
    };
    const owners = {
      ownerReferences: [{ apiVersion: 'x.io/v1', kind: 'X', name: 'b', uid: '2' }],
      managedFields: [{ manager: 'helm' }],
    };
    expect(writersIn({ metadata })).to.deep.equal(owners);
    const [, { controller, ...plain }] = metadata.ownerReferences as [object, { controller?: boolean }];
    expect(controller).to.equal(true);
    expect(writersIn({ metadata: { ownerReferences: [plain] } })).to.deep.equal({ ownerReferences: [plain] });
    expect(marksIn({ metadata }, metadata)).to.deep.equal({
      name: 'web',
      labels: { 'helm.sh/chart': 'web-1' },
      annotations: {},
      ...owners,
    });
    expect(marksIn({}, { name: 'web' })).to.equal(undefined);
  });
});
