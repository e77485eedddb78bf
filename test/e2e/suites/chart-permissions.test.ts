// The chart's roles: what each component may do in every combination, rule by rule.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { secretNames } from '../../../pkg/webhook/certificates/secrets.ts';
import { HEARTBEAT_LEASE } from '../../../pkg/apis/names.ts';
import { FLOW, NAMESPACE, RECONCILER, WEBHOOK, matrix } from '../chart.ts';
import { flowLease, globalName, isRuntime, isSeed, isShared } from '../chart.ts';
import type { Component, Rendering } from '../chart.ts';
import { find, ofKind, useRenderings } from '../chart-renderings.ts';

/** Who load-balances Services, for the judgement of effect. */
const ROUTER_PERMISSIONS = [
  'ClusterRole /configmaps[cilium-config]: get',
  'ClusterRole apps/daemonsets: list',
  'ClusterRole crd.projectcalico.org/felixconfigurations[default]: get',
];

/** Roles for people, which the chart binds to nobody; who has them is for the cluster's operator to say. */
const FOR_PEOPLE = /:(?:evacuate|read-evacuations)$/;

describe('chart, permissions', () => {
  const { render, each } = useRenderings();

  /** `group/resource[names]: verbs`, sorted. */
  const permissionsOf = (rendering: Rendering, component: Component): string[] =>
    [...ofKind(rendering, 'ClusterRole'), ...ofKind(rendering, 'Role')]
      .filter(({ metadata }) => metadata?.labels?.['app.kubernetes.io/component'] === component)
      .filter(({ metadata }) => !FOR_PEOPLE.test(metadata?.name ?? ''))
      .flatMap(({ kind, rules = [] }) =>
        rules.map(({ apiGroups, resources, resourceNames = [], verbs }) => {
          const names = resourceNames.length === 0 ? '' : `[${[...resourceNames].sort().join()}]`;
          return `${kind} ${apiGroups.join()}/${resources.join()}${names}: ${verbs.join()}`;
        }),
      )
      .sort();

  const leaseOf = (rendering: Rendering): string => `coordination.k8s.io/leases[${flowLease(rendering).name}]`;
  /** What is written in the whole cluster goes with the component's own ClusterRole, and that with the namespace. */
  const ownerPermissions = (rendering: Rendering, component: Component): string[] => [
    `ClusterRole rbac.authorization.k8s.io/clusterroles[${globalName(rendering)}:${component}]: get,patch`,
    `ClusterRole /namespaces[${NAMESPACE}]: get`,
  ];
  const claimPermissions = (rendering: Rendering, take: boolean): string[] =>
    isShared(rendering)
      ? [
          ...(take ? ['Role coordination.k8s.io/leases: create'] : []),
          `Role coordination.k8s.io/leases[topology-aware-routing-admission]: ${take ? 'get,update' : 'get'}`,
        ]
      : [];
  it('of the settings-reconciler are what its modes need', () => {
    each((rendering) => {
      const gardener = isSeed(rendering) || isRuntime(rendering);
      const wanted = [
        'ClusterRole /services: get,list,watch,patch',
        'ClusterRole /namespaces: list,watch,patch',
        'ClusterRole /nodes: list,watch',
        'ClusterRole /events: create,patch',
        ...ROUTER_PERMISSIONS,
        'ClusterRole discovery.k8s.io/endpointslices: list,watch,patch',
        'ClusterRole topology.extensions.gardener.cloud/zoneevacuations: list,watch',
        'ClusterRole topology.extensions.gardener.cloud/zoneevacuations/status: patch',
        'ClusterRole topology.extensions.gardener.cloud/flowpolicies: list',
        'Role coordination.k8s.io/leases: create',
        'Role coordination.k8s.io/leases[settings-reconciler-leader-election]: get,update',
        `Role ${leaseOf(rendering)}: list,watch`,
        ...ownerPermissions(rendering, RECONCILER),
        ...claimPermissions(rendering, false),
        ...(gardener ? ['ClusterRole druid.gardener.cloud/etcds: list,watch'] : []),
        ...(isSeed(rendering) ? ['ClusterRole extensions.gardener.cloud/clusters: list,watch'] : []),
        ...(gardener
          ? [
              'ClusterRole extensions.gardener.cloud/extensions: get,list,watch,patch',
              'ClusterRole extensions.gardener.cloud/extensions/status: patch',
              `Role coordination.k8s.io/leases[${HEARTBEAT_LEASE}]: patch`,
            ]
          : []),
        ...(isRuntime(rendering) ? ['ClusterRole operator.gardener.cloud/gardens: list,watch'] : []),
      ];
      expect(permissionsOf(rendering, RECONCILER), rendering.name).to.deep.equal(wanted.sort());
    }, RECONCILER);
  });

  it('of the settings-reconciler are fewer where it does not follow Extensions', async () => {
    const followed = ['extensions.gardener.cloud/extensions', HEARTBEAT_LEASE];
    const of = async (extensions: boolean): Promise<string[]> => {
      const item = matrix.find(
        ({ where, components }) => where === 'seed and runtime' && components.includes(RECONCILER),
      )!;
      const values = { ...item.values, settingsReconciler: { enabled: true, extensions } };
      const permissions = permissionsOf(await render({ ...item, values }), RECONCILER);
      return permissions.filter((permission) => followed.some((name) => permission.includes(name)));
    };
    expect(await of(true)).to.have.lengthOf(3);
    expect(await of(false)).to.deep.equal([]);
  });

  it('of the endpointslice-webhook are what registration, certificates and the planner ask for', () => {
    const { authority, server } = secretNames(WEBHOOK);
    each((rendering) => {
      const configurations = 'ClusterRole admissionregistration.k8s.io/mutatingwebhookconfigurations';
      const wanted = [
        `Role ${leaseOf(rendering)}: list,watch`,
        'ClusterRole /namespaces[kube-system]: list,watch',
        ...claimPermissions(rendering, true),
        ...(rendering.registration === 'self'
          ? [
              ...ownerPermissions(rendering, WEBHOOK),
              'Role apps/deployments[endpointslice-webhook]: get',
              'ClusterRole topology.extensions.gardener.cloud/zoneevacuations: list,watch',
              `${configurations}: create`,
              `${configurations}[${globalName(rendering)}]: get,list,watch,update,delete`,
              'Role /secrets: create',
              `Role /secrets[${[authority, server].sort().join()}]: get,update`,
            ]
          : []),
      ];
      expect(permissionsOf(rendering, WEBHOOK), rendering.name).to.deep.equal(wanted.sort());
    }, WEBHOOK);
  });

  const flowPermissions = (rendering: Rendering): string[] => [
    'ClusterRole /services: get,list,watch,patch',
    'ClusterRole discovery.k8s.io/endpointslices: get,list,watch,patch',
    'ClusterRole /pods,nodes,namespaces: list,watch',
    'ClusterRole /events: create,patch',
    'ClusterRole topology.extensions.gardener.cloud/flowpolicies: list,watch,create,delete',
    'ClusterRole topology.extensions.gardener.cloud/flowpolicies/status: patch',
    'Role coordination.k8s.io/leases: create',
    `Role ${leaseOf(rendering)}: get,update,delete`,
    ...ROUTER_PERMISSIONS,
    ...ownerPermissions(rendering, FLOW),
  ];
  const readMetrics = 'ClusterRole metrics.k8s.io/pods: list';

  it('of the flow-controller are what the loop reads and writes', () => {
    each((rendering) => {
      const wanted = [...flowPermissions(rendering), readMetrics].sort();
      expect(permissionsOf(rendering, FLOW), rendering.name).to.deep.equal(wanted);
    }, FLOW);
  });

  it("of the flow-controller follow its sources of load, and grow with KubeEdge's NodeGroups", async () => {
    const metricSources = [{ name: 'p', type: 'Prometheus', url: 'https://prometheus.example.com' }];
    const values = { flowController: { enabled: true, metricSources, nodeGroups: true } };
    const rendering = await render({ ...matrix[0]!, where: 'plain', name: 'NodeGroups', values });
    const wanted = [
      ...flowPermissions(rendering),
      'ClusterRole apps.kubeedge.io/nodegroups: list,watch',
      'ClusterRole /nodes: patch',
      'ClusterRole /persistentvolumes: list',
    ];
    expect(permissionsOf(rendering, FLOW)).to.deep.equal(wanted.sort());
  });

  it('of the flow-controller do not grow with meters, as evidence or as its source', async () => {
    const rendered = (flowController: object): Promise<Rendering> =>
      render({
        ...matrix[0]!,
        where: 'plain',
        name: 'meters',
        values: { flowController: { enabled: true, ...flowController } },
      });
    const metricSources = [{ name: 'meters', type: 'TrafficMeter' }];
    for (const reading of [{ trafficProof: true }, { metricSources }]) {
      const rendering = await rendered(reading);
      expect(permissionsOf(rendering, FLOW)).to.deep.equal([...flowPermissions(rendering), readMetrics].sort());
    }
  });

  it('name no wildcard and are bound to the ServiceAccount of their component', () => {
    each((rendering) => {
      for (const { rules = [] } of rendering.objects) {
        for (const rule of rules) expect(Object.values(rule).flat(), rendering.name).not.to.include('*');
      }
      const bindings = [...ofKind(rendering, 'RoleBinding'), ...ofKind(rendering, 'ClusterRoleBinding')];
      const roles = [...ofKind(rendering, 'Role'), ...ofKind(rendering, 'ClusterRole')].filter(
        ({ metadata }) => !FOR_PEOPLE.test(metadata?.name ?? ''),
      );
      expect(bindings.map(({ roleRef }) => `${roleRef?.kind}/${roleRef?.name}`).sort(), rendering.name).to.deep.equal(
        roles.map(({ kind, metadata }) => `${kind}/${metadata?.name}`).sort(),
      );
      for (const { subjects, metadata } of bindings) {
        const name = metadata?.labels?.['app.kubernetes.io/component'] ?? '';
        expect(subjects, rendering.name).to.deep.equal([{ kind: 'ServiceAccount', name, namespace: NAMESPACE }]);
        expect(find(rendering, 'ServiceAccount', name).automountServiceAccountToken).to.equal(false);
      }
    });
  });
});
