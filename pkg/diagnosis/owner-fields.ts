// Where charts and operators take a change from: values, and fields of custom resources.
export type About = 'service' | 'replicas' | 'template';

type FieldsFor = Readonly<Partial<Record<About | 'policy' | 'place', string>>>;

/** The field of a Service, and what other fields of it stand under. */
const under = (place: string, since = '') => ({ service: `${place}.trafficDistribution${since}`, place });

export const NO_VALUE = 'its chart has no value for it';

/** Helm values that were read in templates of charts and are not the usual ones, or not in all releases; argoproj/argo-helm#3358, envoyproxy/gateway 1.4.0; none: temporalio/helm-charts#897, kyverno#13411, oauth2-proxy/manifests#324 (all open). */
export const CHART_VALUES: Readonly<Record<string, FieldsFor>> = {
  coredns: under('service', ' (chart from 1.35.0)'),
  // haproxytech/helm-charts#352, Kong/charts#1525, bitnami/charts#32443
  'kubernetes-ingress': under('controller.service', ' (charts from May 2026 on)'),
  kong: { service: 'trafficDistribution under proxy, admin or manager (charts from June 2026 on)' },
  // kubernetes/ingress-nginx#12571, #13353, vectordotdev/helm-charts#481, opentelemetry-helm-charts#1630, VictoriaMetrics/helm-charts#2580, longhorn/longhorn#13815, bjw-s-labs/helm-charts#475, external-secrets#2237
  'ingress-nginx': {
    ...under('controller.service', ' (chart from 4.13)'),
    replicas: 'controller.replicaCount',
    template: 'controller.topologySpreadConstraints',
  },
  rabbitmq: under('service', ' (charts from March 2025 on)'),
  'app-template': { service: 'trafficDistribution under service.<name>, which its charts of 2025 have not' },
  // DataDog/helm-charts#1251; caddyserver/ingress#168, charts/caddy-ingress-controller/templates/loadbalancer.yaml there
  'caddy-ingress-controller': {
    service: 'loadBalancer.annotations',
    policy: 'loadBalancer.externalTrafficPolicy (charts from late 2023 on)',
  },
  datadog: { policy: 'it has none: its template sets Local' },
  loki: { service: 'trafficDistribution under distributor, or under loki.service for all (charts from late 2025 on)' }, // grafana/loki#17742, #19558
  'external-secrets': { template: 'topologySpreadConstraints, or under webhook or certController (from mid-2023)' },
  graphdb: { service: 'trafficDistribution under proxy.service, or for its nodes service (from late 2026)' }, // Ontotext-AD/graphdb-helm#233 (open)
  longhorn: { service: 'trafficDistribution under service.manager or service.admissionWebhook (from late 2026)' },
  vector: under('service', ' (charts from mid-2025 on)'),
  'opentelemetry-collector': under('service', ' (charts from mid-2025 on)'),
  'victoria-metrics-cluster': { service: 'service.trafficDistribution under vminsert or vmselect (from 0.30)' },
  istiod: { service: 'trafficDistribution (chart from 1.27)', template: 'pilot.topologySpreadConstraints (from 1.19)' }, // istio/istio#45175
  'kube-prometheus-stack': { template: 'podAntiAffinityTopologyKey or the same under prometheus.prometheusSpec' }, // prometheus-operator/prometheus-operator#1715
  neo4j: { template: 'nodeSelector by zone of each release (from late 2023 an object as podSpec.podAntiAffinity)' }, // neo4j/helm-charts#149, #231
  traefik: { ...under('service.spec'), replicas: 'deployment.replicas' }, // traefik/traefik-helm-chart templates: _service.tpl writes all of `service.spec`; deployment.yaml
  'argo-cd': { service: 'repoServer.service.trafficDistribution (charts from June 2025 on), of its repo server alone' },
  'gateway-helm': under('service', ' (chart from 1.4)'),
  ...Object.fromEntries(['temporal', 'kyverno', 'oauth2-proxy'].map((chart) => [chart, { service: NO_VALUE }])),
};

/** By marks of what applies objects from a source elsewhere, `key` or `key=value`: where a change goes; Sveltos lib/deployer, projectcontour/contour internal/provisioner, Deckhouse's policy heritage-label-objects.deckhouse.io. */
export const TOOLS: Readonly<Record<string, string>> = {
  'kustomize.toolkit.fluxcd.io/name': 'Flux may revert it: the same change under spec.patches of Kustomization {value}',
  'kapp.k14s.io/app': 'kapp may revert it: make the change in its source (an overlay of its App or PackageInstall)',
  'kro.run/resource-graph-definition-name': 'kro may revert it: make the change in ResourceGraphDefinition {value}',
  'app.oam.dev/component': 'KubeVela may revert it: make the change in component {value} of its Application',
  'projectsveltos.io/owner-name': 'Sveltos may revert it: change what {value} deploys, or its spec.patches',
  'work.karmada.io/name': 'Karmada may revert it: change it in its control plane, the template or an OverridePolicy',
  'configmanagement.gke.io/managed=enabled': 'Config Sync may revert it: make the change in its source',
  'crossplane.io/composition-resource-name': 'Crossplane may revert it: change resource {value} of its Composition',
  'k0s.k0sproject.io/stack':
    'k0s writes it back from its manifests (stack {value}); a release with k0sproject/k0s#5927 prefers to spread CoreDNS over zones',
  'kubernetes.azure.com/managedby=aks': 'AKS owns it and writes it back',
  'ingresscontroller.operator.openshift.io/owning-ingresscontroller':
    "OpenShift's ingress operator writes it back: IngressController {value} in openshift-ingress-operator (spec.replicas, spec.nodePlacement, spec.endpointPublishingStrategy); from OpenShift 4.8 on it asks for zones (openshift/cluster-ingress-operator#577)",
  // gardener/gardener pkg/resourcemanager/controller/managedresource/merger.go, #5393
  'resources.gardener.cloud/description':
    'gardener-resource-manager writes it back for Gardener, whose newer releases spread system components over zones: update it',
  // zalando/postgres-operator#2530, postgresql_type.go
  'application=spilo':
    "Zalando's operator, where it made this, writes it back: serviceAnnotations (it has no trafficDistribution), numberOfInstances or topologySpreadConstraints (from 2025) under spec of its postgresql",
  'heritage=deckhouse': 'Deckhouse owns it and denies the change: only a setting of its ModuleConfig would do, if any',
  'projectcontour.io/owning-gateway-name': 'Contour may revert it: spec.envoy of the ContourDeployment of its class',
  'install.operator.istio.io/owning-resource=installed-state':
    'istioctl may revert it: components.ingressGateways[].k8s (serviceAnnotations, overlays) of its IstioOperator',
};

/** Of a Gateway: for Istio it names a ConfigMap with keys service and deployment; docs.cilium.io "GatewayClass Parameters Support"; gateway_parameters_types.go, kube_types.go of kgateway-dev/kgateway api/v1alpha1/kgateway (solo-io/gloo#10420); charts/nginx-gateway-fabric/templates/nginxproxy.yaml. */
const PARAMETERS =
  'spec.infrastructure: annotations, or parametersRef for fields (of Cilium that of the GatewayClass; of kgateway spec.kube of its GatewayParameters, as service.externalTrafficPolicy; of NGINX Gateway Fabric spec.kubernetes of its NginxProxy)';

/** fluxcd/flagger#1678, #1844, #1943, open-telemetry/opentelemetry-operator#5141; #1401, #1517, #2060 */
const NEW_ONLY = ' (older releases write it to new Services only: patch this one too)';
const BY_MODE =
  'spec.mode, of which daemonset sets Local (from spring 2023 on: update an older release), and any other Cluster (before September 2023 in new Services only: patch this one too)';
const SPREAD = 'topologySpreadConstraints';
const IN_SPEC = { replicas: 'spec.replicas', template: `spec.${SPREAD}` };
// CrunchyData/postgres-operator postgrescluster_types.go, percona/percona-postgresql-operator perconapgcluster_types.go
const IN_PG = ' (of PgBouncer under spec.proxy.pgBouncer; where a PerconaPGCluster made that cluster, in it)';
const OF_INSTANCES = { replicas: `spec.instances[].replicas${IN_PG}`, template: `spec.instances[].${SPREAD}${IN_PG}` };
const OF_PART = ' (of a cluster under each component)';
// application-stacks/runtime-component-operator#750, OpenLiberty/open-liberty-operator#827
const UNASKED = { service: 'spec.service.disableTopology (from 2026 on), without which it writes the annotations' };

/** Fields of custom resources that their operators make an object from, by API group: as the definitions of the operators have them. */
const OPERATOR_FIELDS: Readonly<Record<string, FieldsFor>> = {
  // Altinity/clickhouse-operator#772
  'clickhouse.altinity.com': {
    template: 'spec.templates.podTemplates[]: podDistribution with a topologyKey, or a template for each zone',
  },
  // elastic.co/guide/en/cloud-on-k8s, "Services", "Pod template"
  'k8s.elastic.co': {
    service: 'spec.http.service',
    replicas: 'spec.nodeSets[].count',
    template: 'spec.nodeSets[].podTemplate',
  },
  'argoproj.io': { replicas: 'spec.replicas', template: 'spec.template' },
  'flagger.app': {
    service: 'spec.service: apex.annotations, or from 1.42.0 on trafficDistribution (patch a Service there is as well)',
    template: 'spec.template of the Deployment that its spec.targetRef names',
  },
  'gateway.networking.k8s.io': { service: PARAMETERS, replicas: PARAMETERS, template: PARAMETERS },
  // docs/src/service_management.md there
  'postgresql.cnpg.io': {
    service: 'spec.managed.services.additional[].serviceTemplate, for a Service of another name',
    replicas: 'spec.instances',
    template: 'spec.topologySpreadConstraints',
  },
  'apps.emqx.io': { template: 'spec.coreTemplate.spec.topologySpreadConstraints (operator from 2.2.21)' }, // emqx/emqx-operator#1041
  'druid.gardener.cloud': under('spec.etcd.clientService', ' (PreferSameZone from 0.36)'), // gardener/etcd-druid#973, #1280
  'apps.kruise.io': { replicas: 'spec.replicas', template: 'spec.template' }, // openkruise/kruise apis/apps, *_types.go
  // cockroachdb/cockroach-operator#853, arkmq-org/arkmq-org-broker-operator#618, ClickHouse/clickhouse-operator#271
  'crdb.cockroachlabs.com': { replicas: 'spec.nodes', template: IN_SPEC.template },
  'clickhouse.com': { replicas: 'spec.replicas', template: 'spec.podTemplate.topologyZoneKey (the label of zones)' },
  'psmdb.percona.com': { replicas: 'spec.replsets[].size (of mongos and config servers under spec.sharding)' },
  'pgv2.percona.com': OF_INSTANCES,
  'postgres-operator.crunchydata.com': OF_INSTANCES,
  'databases.spotahome.com': { replicas: 'spec.redis.replicas', template: 'spec.redis.topologySpreadConstraints' },
  'cassandra.datastax.com': { replicas: 'spec.size' },
  'minio.min.io': { replicas: 'spec.pools, by another pool (the servers of one do not change)' },
  'mongodbcommunity.mongodb.com': { replicas: 'spec.members', template: 'spec.statefulSet.spec.template' }, // mongodb/mongodb-kubernetes-operator api/v1/mongodbcommunity_types.go
  'tempo.grafana.com': { template: 'spec.replicationZones (operator from August 2026)' }, // grafana/tempo-operator#1578
  'dragonflydb.io': IN_SPEC, // dragonflydb/dragonfly-operator api/v1alpha1/dragonfly_types.go
  'core.humio.com': { service: 'spec.humioServiceAnnotations', replicas: 'spec.nodeCount' },
  // VictoriaMetrics/operator#1634, api/operator/v1beta1, vmextra_types.go and vmcluster_types.go
  'operator.victoriametrics.com': {
    service: 'spec.serviceSpec with useAsDefault',
    replicas: `spec.replicaCount${OF_PART}`,
    template: `${IN_SPEC.template}${OF_PART}`,
  },
  'monitoring.coreos.com': IN_SPEC,
  'opentelemetry.io': { ...under('spec', NEW_ONLY), policy: BY_MODE, ...IN_SPEC },
  'egress.monzo.com': { service: 'spec.serviceTrafficDistribution (older: ENABLE_SERVICE_TOPOLOGY_MODE=true for it)' }, // monzo/egress-operator#41, #48
  // operator/…/deployment/spec/SchedulingSpec.java of keycloak/keycloak
  'k8s.keycloak.org': { replicas: 'spec.instances', template: 'spec.scheduling.topologySpreadConstraints' },
  // mariadb-operator/mariadb-operator docs/metadata.md, #1636
  'k8s.mariadb.com': { service: 'spec.service.metadata.annotations (topology-mode; it has no trafficDistribution)' },
  // pkg/apis/pingcap/v1alpha1/types.go of pingcap/tidb-operator; opensearch-project/opensearch-k8s-operator#1260
  'opensearch.opster.io': { service: 'spec.general.annotations (topology-mode; it has no trafficDistribution)' },
  'pingcap.com': { service: 'spec.tidb.service.annotations (it has no trafficDistribution)' },
  'ray.io': { service: 'spec.headGroupSpec.headService.spec (RayService: spec.serveService.spec)' }, // kuberay apis/ray
  'kafka.strimzi.io': { service: 'spec.kafka.template.bootstrapService.metadata (it has no trafficDistribution)' }, // docs.redhat.com, InternalServiceTemplate
  'rc.app.stacks': UNASKED,
  'openliberty.io': UNASKED,
  'rabbitmq.com': {
    service: 'spec.override.service',
    replicas: 'spec.replicas',
    template: 'spec.override.statefulSet.spec.template',
  },
};

/** Where constraints go, of those of which no more is known, or in other rows. */
const SPREAD_FIELDS: Readonly<Record<string, string>> = {
  'k8s.mariadb.com': IN_SPEC.template, // mariadb-operator/mariadb-operator mariadb_types.go, maxscale_types.go: PodTemplate
  'opensearch.opster.io': `spec.nodePools[].${SPREAD} (operator from late 2022)`, // opensearch-project/opensearch-k8s-operator#264
  'pingcap.com': `${IN_SPEC.template}, or under each component (with topologyKey: it makes them DoNotSchedule)`, // pingcap/tidb-operator component_spec.go
  'broker.amq.io': `spec.deploymentPlan.${SPREAD} (operator from late 2023)`,
  'pxc.percona.com': `${SPREAD} under spec.pxc, spec.haproxy or spec.proxysql (from 1.14)`, // percona/percona-xtradb-cluster-operator pxc_types.go, release notes
  'druid.apache.org': `spec.nodes.<name>.${SPREAD}`, // datainfrahq/druid-operator druid_types.go
  'observability.kaasops.io': `${IN_SPEC.template} (operator from 2026)`, // kaasops/vector-operator#273
  'acid.zalan.do': `${IN_SPEC.template} (operator from 2025)`, // zalando/postgres-operator#2530
  'stackgres.io': `spec.pods.scheduling.${SPREAD}`, // gitlab.com/ongresinc/stackgres/-/issues/1814
  'psmdb.percona.com': `spec.replsets[].${SPREAD} (from 1.15; of mongos and config servers under spec.sharding)`, // percona/percona-server-mongodb-operator deploy/cr.yaml, release notes
  'minio.min.io': `spec.pools[].${SPREAD} (operator from late 2021)`, // minio/operator#859, pkg/apis/minio.min.io/v2/types.go
  // k8ssandra/cass-operator cassandradatacenter_types.go, cassandradatacenter_webhook.go
  'cassandra.datastax.com': 'spec.racks: one for each zone, by nodeAffinityLabels (new ones last, with more spec.size)',
  // scylladb/scylla-operator pkg/api/scylla/v1/types_cluster.go, pkg/controller/scyllacluster/sync_scylladbdatacenter.go
  'scylla.scylladb.com':
    'spec.datacenter.racks of the ScyllaCluster (of a ScyllaDBDatacenter without one spec.racks): one for each zone, by placement.nodeAffinity',
};

/** Where an operator takes it from, as far as that is known. */
export const operatorField = (group: string, about: keyof FieldsFor): string | undefined =>
  Object.entries(OPERATOR_FIELDS).find(([known]) => group === known || group.endsWith(`.${known}`))?.[1][about] ??
  (about === 'template' ? SPREAD_FIELDS[group] : undefined);
