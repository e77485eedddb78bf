// The traffic-meter in the chart: off by default, in a namespace of its own, with the rights and capabilities that it needs and no more.
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import {
  configurationOf as flowConfigurationOf,
  parseFlags as parseFlowFlags,
} from '../../../cmd/flow-controller/options.ts';
import { parseFlags } from '../../../cmd/traffic-meter/options.ts';
import { TRAFFIC_METER } from '../../../pkg/apis/names.ts';
import { platformCrds } from '../../fixtures/platform-crds.ts';
import { useBed } from '../bed/mocha.ts';
import { FLOW, documents } from '../chart.ts';
import type { Rendered } from '../chart.ts';
import { useHelm } from '../chart-renderings.ts';
import { apply, applyDefinitions } from '../installation.ts';

const METER_NAMESPACE = 'topology-traffic-meter';
const ENFORCE = 'pod-security.kubernetes.io/enforce';

interface MeterPod {
  readonly hostNetwork?: boolean;
  readonly initContainers?: readonly { readonly name: string; readonly securityContext: object }[];
  readonly volumes: readonly { readonly secret?: object }[];
  readonly containers: readonly {
    readonly image: string;
    readonly args: readonly string[];
    readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
    readonly livenessProbe: { readonly httpGet: { readonly host?: string; readonly port: number } };
    readonly securityContext: object;
  }[];
}

describe('chart, traffic-meter', () => {
  const bed = useBed();
  const { helm } = useHelm();
  let objects: Rendered[] = [];

  const render = async (meter: object, more: object = {}): Promise<Rendered[]> =>
    documents(await helm().template({ trafficMeter: { enabled: true, ...meter }, ...more }));
  const ours = (all: readonly Rendered[]): Rendered[] =>
    all.filter(({ metadata }) => metadata?.labels?.['app.kubernetes.io/component'] === TRAFFIC_METER);
  const podOf = (all: readonly Rendered[]): MeterPod => {
    const found = all.find(({ kind }) => kind === 'DaemonSet');
    if (found?.spec?.template === undefined) throw new Error('no DaemonSet');
    return found.spec.template.spec as unknown as MeterPod;
  };

  before('render it', async () => {
    objects = await render({});
  });

  it('is off by default', async () => {
    expect(ours(documents(await helm().template({})))).to.deep.equal([]);
  });

  it('is root with NET_ADMIN and nothing else, reads only, and mounts no Secret', () => {
    const { containers, initContainers, volumes, hostNetwork } = podOf(objects);
    expect(hostNetwork).to.equal(true);
    expect(initContainers).to.equal(undefined);
    expect(volumes.filter(({ secret }) => secret !== undefined)).to.deep.equal([]);
    expect(containers.map(({ securityContext }) => securityContext)).to.deep.equal([
      {
        runAsUser: 0,
        runAsGroup: 0,
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] },
      },
    ]);
  });

  it('is started with flags that the command understands, and shows metrics to who may read them alone', async () => {
    const [container] = podOf(await render({ port: 9_600, healthPort: 9_601, listIntervalSeconds: 30 })).containers;
    const [command, ...args] = container?.args ?? [];
    expect(command).to.equal(TRAFFIC_METER);
    const parsed = parseFlags(args);
    if (parsed.kind !== 'run') throw new Error(parsed.text);
    expect(parsed.flags).to.deep.include({ securePort: 9_600, healthPort: 9_601, listInterval: 30 });
    expect(parsed.flags).not.to.have.any.keys('metricsPort', 'bindAddress');
    expect(container?.ports).to.deep.equal([{ name: 'metrics', containerPort: 9_600, protocol: 'TCP' }]);
    expect(container?.livenessProbe.httpGet).to.deep.include({ host: '127.0.0.1', port: 9_601 });
  });

  it('has the rights that it uses: lists, reviews of tokens, and a reader that may read metrics', () => {
    const rules = ours(objects).flatMap(({ kind, metadata, rules: own = [] }) =>
      own.map((rule) => {
        const {
          apiGroups,
          resources,
          verbs,
          resourceNames = [],
          nonResourceURLs = [],
        } = rule as typeof rule & {
          nonResourceURLs?: string[];
        };
        const what = [...(resources ?? []).map((name) => `${apiGroups.join()}/${name}`), ...nonResourceURLs].join();
        return `${kind} ${metadata?.name?.split(':').at(-1)}: ${what}${resourceNames.map((name) => `[${name}]`).join()}: ${verbs.join()}`;
      }),
    );
    expect(rules.sort()).to.deep.equal([
      'ClusterRole traffic-meter: /services,/nodes: list,watch',
      'ClusterRole traffic-meter: authentication.k8s.io/tokenreviews: create',
      'ClusterRole traffic-meter: authorization.k8s.io/subjectaccessreviews: create',
      'ClusterRole traffic-meter: discovery.k8s.io/endpointslices: list,watch',
      'ClusterRole traffic-reader: /metrics: get',
      'Role traffic-reader: /pods/proxy: get',
      'Role traffic-reader: /pods: list',
      'Role traffic-reader: /serviceaccounts/token[traffic-reader]: create',
    ]);
  });

  const direct = { name: 'meters', type: 'TrafficMeter' };
  const scraped = { name: 'scraped', type: 'TrafficMeter', url: 'https://prometheus.example.com' };
  for (const { name, flowController, reads } of [
    { name: 'with the condition of FlowPolicies', flowController: { trafficProof: true }, reads: true },
    { name: 'with the meters as a source', flowController: { metricSources: [direct] }, reads: true },
    { name: 'with a Prometheus as the source of the same', flowController: { metricSources: [scraped] }, reads: false },
    { name: 'with its defaults', flowController: {}, reads: false },
    { name: 'that is not installed', flowController: { enabled: false, trafficProof: true }, reads: false },
  ]) {
    it(`${reads ? 'lets' : 'does not let'} a flow-controller ${name} read meters`, async () => {
      const all = await render({ namespace: 'meters' }, { flowController: { enabled: true, ...flowController } });
      const bindings = all.filter(({ kind, subjects = [] }) => kind === 'RoleBinding' && subjects[0]?.name === FLOW);
      const toMeters = bindings.filter(({ metadata }) => metadata?.namespace === 'meters');
      expect(toMeters.map(({ roleRef }) => roleRef?.name)).to.deep.equal(reads ? ['traffic-reader'] : []);
    });
  }

  it('gives a flow-controller whose source it is the namespace of the meters, and the CPU of Pods', async () => {
    const named = { ...direct, name: 'others', meterNamespace: 'elsewhere' };
    const metricSources = [direct, named, scraped];
    const all = await render({ namespace: 'meters' }, { flowController: { enabled: true, metricSources } });
    const config = all.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata?.name === FLOW);
    const flags = parseFlowFlags(['--config', 'x']);
    if (flags.kind !== 'run') throw new Error(flags.text);
    const { metricSources: read } = flowConfigurationOf(flags.flags, config?.data?.['config.yaml'] ?? '');
    expect(read.map((source) => (source as { meterNamespace?: string }).meterNamespace)).to.deep.equal([
      'meters',
      'elsewhere',
      undefined,
    ]);
    const role = all.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata?.name?.endsWith(`:${FLOW}`));
    expect(role?.rules?.filter(({ apiGroups }) => apiGroups.includes('metrics.k8s.io'))).to.have.lengthOf(1);
  });

  it('is accepted by the API server, its Pods by no stricter standard', async () => {
    await applyDefinitions(bed(), platformCrds());
    const all = await render({ enableAccounting: true }, { monitoring: { serviceMonitors: true } });
    const mine = all.filter(
      ({ kind, metadata }) =>
        ours([{ kind, metadata } as Rendered]).length > 0 || metadata?.namespace === METER_NAMESPACE,
    );
    mine.sort(({ kind }) => (kind === 'Namespace' ? -1 : 1));
    const listOf = (items: readonly object[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    const output = await apply(bed(), 'meter.json', listOf(mine), '--force-conflicts');
    expect(output.match(/serverside-applied/g)).to.have.lengthOf(mine.length);
    await bed().api.create('/api/v1/namespaces', { metadata: { name: 'baseline', labels: { [ENFORCE]: 'baseline' } } });
    const pod = (namespace: string): object => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: TRAFFIC_METER, namespace },
      spec: podOf(all),
    });
    const dry = (namespace: string): Promise<string> =>
      apply(bed(), `${namespace}.json`, listOf([pod(namespace)]), '--dry-run=server');
    expect(await dry(METER_NAMESPACE)).to.contain('serverside-applied');
    expect(await dry('baseline').catch(String)).to.contain('violates PodSecurity "baseline');
  });
});
