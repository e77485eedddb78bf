// The chart as the suites see it: rendered by the real helm with the values that Gardener injects in each place.
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { before } from 'mocha';
import { parse, parseAllDocuments } from 'yaml';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { run } from './bed/machine.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const chart = join(root, 'charts/gardener-extension-topology-aware-routing');
export const RECONCILER = COMMANDS.settingsReconciler;
export const WEBHOOK = COMMANDS.endpointSliceWebhook;
export const FLOW = COMMANDS.flowController;
export const COMPONENTS = [RECONCILER, WEBHOOK, FLOW] as const;
export type Component = (typeof COMPONENTS)[number];

// A numeric namespace shows whether names are quoted.
export const NAMESPACE = '2026';
export const CA_PEM = 'bundle';

interface Container {
  name: string;
  image: string;
  args: string[];
  env: { name: string; value?: string }[];
  ports: { name: string; containerPort: number }[];
  resources: { requests?: object; limits?: { cpu?: string } };
  securityContext: object;
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[];
}
interface PodSpec {
  serviceAccountName: string;
  automountServiceAccountToken: boolean;
  priorityClassName?: string;
  securityContext: object;
  topologySpreadConstraints?: object[];
  containers: Container[];
  volumes: {
    name: string;
    configMap?: { name: string };
    secret?: { secretName: string };
    projected?: { sources: { serviceAccountToken?: object; configMap?: { name: string }; downwardAPI?: object }[] };
  }[];
}
interface Rule {
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
  verbs: string[];
}
export interface Rendered extends KubernetesObject {
  data?: Record<string, string>;
  rules?: Rule[];
  roleRef?: { kind: string; name: string };
  subjects?: { kind: string; name: string; namespace: string }[];
  automountServiceAccountToken?: boolean;
  spec?: {
    replicas?: number;
    selector?: Record<string, unknown>;
    ports?: { name: string; port: number; targetPort: number }[];
    template?: { metadata: { labels: Record<string, string>; annotations?: Record<string, string> }; spec: PodSpec };
    /** Of a VerticalPodAutoscaler. */
    targetRef?: object;
    updatePolicy?: { updateMode: string };
    resourcePolicy?: { containerPolicies: object[] };
    /** Of a NetworkPolicy. */
    podSelector?: object;
    ingress?: { ports: { port: number }[]; from?: object[] }[];
    egress?: { ports?: { port: number }[]; to?: object[] }[];
  };
}

export type Where = 'seed' | 'runtime' | 'seed and runtime' | 'plain';
interface Case {
  readonly name: string;
  readonly where: Where;
  readonly components: readonly Component[];
  readonly registration: 'self' | 'chart';
  readonly kubernetes: string;
  readonly values: object;
}
export interface Rendering extends Case {
  readonly objects: readonly Rendered[];
}

const SEED = {
  version: 'v1.140.0',
  garden: { clusterIdentity: 'garden' },
  gardenlet: { featureGates: { IstioTLSTermination: false, DefaultSeccompProfile: true } },
  seed: {
    name: 'eu-1',
    provider: 'local',
    spec: {
      provider: { type: 'local', zones: ['a', 'b', 'c'] },
      settings: { topologyAwareRouting: { enabled: true }, verticalPodAutoscaler: { enabled: true } },
    },
  },
};
const RUNTIME = { runtimeCluster: { enabled: 'true', priorityClassName: 'gardener-garden-system-200' } };
export const INJECTED: Record<Where, object> = {
  seed: { gardener: SEED },
  runtime: { gardener: RUNTIME },
  'seed and runtime': { gardener: { ...SEED, ...RUNTIME } },
  plain: {},
};
export const CERTIFICATE = {
  registration: 'chart',
  caBundle: Buffer.from(CA_PEM).toString('base64'),
  certificateSecretName: 'webhook-certificate',
  failurePolicy: 'Fail',
  timeoutSeconds: 3,
  includedNamespaces: ['default'],
  excludedNamespaces: ['zebra', 'ant'],
};
// The vendor's suffix makes helm compare what it otherwise takes for a pre-release.
const VERSIONS = ['1.24.17', '1.27.16-gke.100', '1.28.15', '1.36.3'];

const valuesOf = (where: Where, components: readonly Component[], registration: Case['registration']): object => ({
  ...INJECTED[where],
  settingsReconciler: { enabled: components.includes(RECONCILER) },
  endpointsliceWebhook: { enabled: components.includes(WEBHOOK), ...(registration === 'chart' ? CERTIFICATE : {}) },
  flowController: { enabled: components.includes(FLOW) },
});

/** Every set of components, none included. */
const SUBSETS: readonly (readonly Component[])[] = Array.from({ length: 2 ** COMPONENTS.length }, (_, set) =>
  COMPONENTS.filter((_component, index) => Math.floor(set / 2 ** index) % 2 === 1),
);
/** What may be rendered or not, whatever else is. */
const TOGGLES: readonly object[] = [
  {},
  { vpa: { enabled: true }, networkPolicy: { enabled: true } },
  { vpa: { enabled: false }, monitoring: { serviceMonitors: true, alerts: 'prometheusRule', dashboards: true } },
  { networkPolicy: { enabled: true }, monitoring: { serviceMonitors: false, alerts: 'configMap', dashboards: false } },
  { vpa: { enabled: true }, guards: { enabled: false }, monitoring: { annotations: false, alerts: 'none' } },
];

/** Where, components and registration in every combination; the toggles and versions take turns over them. */
const matrix: readonly Case[] = (Object.keys(INJECTED) as Where[]).flatMap((where, first) =>
  SUBSETS.flatMap((components, second) =>
    (['self', 'chart'] as const).map((registration, third) => {
      const turn = first + second + third;
      const toggles = TOGGLES[turn % TOGGLES.length] ?? {};
      return {
        name: `${where}, ${components.join(' and ') || 'no component'}, registration by ${registration}, ${JSON.stringify(toggles)}`,
        where,
        components,
        registration,
        kubernetes: VERSIONS[turn % VERSIONS.length] ?? '',
        values: { ...valuesOf(where, components, registration), ...toggles },
      };
    }),
  ),
);

export const isRuntime = ({ where }: Case): boolean => where.includes('runtime');
export const isSeed = ({ where }: Case): boolean => where.includes('seed');
/** Whether another installation may stand beside it. */
export const isShared = (item: Case): boolean => isSeed(item) || isRuntime(item);
/** The Lease of the one flow-controller of a cluster. */
export const flowLease = (item: Case): { namespace: string; name: string } =>
  isShared(item)
    ? { namespace: 'garden', name: 'topology-aware-routing-flow-controller' }
    : { namespace: NAMESPACE, name: FLOW };
export const globalName = (item: Case): string =>
  `gardener-extension-topology-aware-routing${isRuntime(item) ? '-runtime' : ''}`;

/** The objects of a YAML text, read as helm and kubectl read it. Throws what is wrong with the first broken document. */
export const documents = <T extends KubernetesObject = Rendered>(text: string): T[] =>
  parseAllDocuments(text, { version: '1.1' }).flatMap((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0];
    // Nothing, or nothing but comments, as of a template that is switched off.
    const object = document.toJS() as T | null;
    return object === null ? [] : [object];
  });

/** The same objects as a text that every YAML parser reads alike: ours would write `Off` where others read a boolean. */
export const asText = (objects: readonly object[]): string =>
  // A separator first: kubectl 1.30 takes a file that begins with a brace for one JSON document.
  objects.map((object) => `---\n${JSON.stringify(object)}\n`).join('');

interface RenderOptions {
  /** Default: the newest of VERSIONS. */
  readonly kubernetes?: string;
  /** Default `tar`. */
  readonly release?: string;
  /** Default NAMESPACE. */
  readonly namespace?: string;
  /** What the API server serves beside Kubernetes' own kinds, as `group/version`. Default: nothing. */
  readonly serves?: readonly string[];
  /** The folder of another project's chart. Default: ours. */
  readonly chart?: string;
}

export interface Helm {
  /** The text of `helm template`; rejects with what helm says. */
  template(values: object, options?: RenderOptions): Promise<string>;
  /** Writes a chart of a registry without TLS to a folder. */
  pull(reference: string, version: string, folder: string): Promise<void>;
  /** What `helm lint --strict` prints. */
  lint(values: object): Promise<string>;
  /** What `helm install` tells the user after it. */
  notes(values: object): Promise<string>;
}

/** The helm of hack/kubernetes, built where it is missing. */
export const openHelm = async (): Promise<Helm> => {
  const program = join((await run(join(root, 'hack/kubernetes/build'), ['helm'])).trim(), 'helm');
  const folder = temporaryFolder().path;
  let files = 0;
  const write = (values: object): string => {
    files += 1;
    const file = join(folder, `values-${files}.json`);
    writeFileSync(file, JSON.stringify(values));
    return file;
  };
  return {
    async pull(reference, version, target) {
      await run(program, ['pull', reference, '--version', version, '--plain-http', '--destination', target]);
    },
    template(values, options = {}) {
      const { kubernetes = '1.36.3', release = 'tar', namespace = NAMESPACE, serves = [] } = options;
      const flags = ['--namespace', namespace, '--kube-version', kubernetes, '--values', write(values)];
      flags.push(...serves.flatMap((version) => ['--api-versions', version]));
      return run(program, ['template', release, options.chart ?? chart, ...flags]);
    },
    lint: (values) => run(program, ['lint', '--strict', '--kube-version', '1.36.3', '--values', write(values), chart]),
    async notes(values) {
      // `helm template` leaves them out, and `helm install` wants a cluster: so they are taken for a text in an object.
      const copy = mkdtempSync(join(folder, 'chart-'));
      cpSync(chart, copy, { recursive: true });
      const source = readFileSync(join(chart, 'templates/NOTES.txt'), 'utf8');
      writeFileSync(join(copy, 'templates/_notes.tpl'), `{{- define "notes" }}${source}{{ end }}`);
      writeFileSync(join(copy, 'templates/notes.yaml'), 'kind: Notes\ntext: {{ include "notes" . | quote }}\n');
      const flags = ['--kube-version', '1.36.3', '--namespace', NAMESPACE, '--values', write(values)];
      const text = await run(program, ['template', 'tar', copy, '--show-only', 'templates/notes.yaml', ...flags]);
      return String((parse(text) as { text: unknown }).text);
    },
  };
};

/** Registers the hooks; the function it returns gives helm, inside tests and hooks that run later. */
export const useHelm = (): { helm(): Helm } => {
  let helm: Helm | undefined;
  before('find helm', async () => {
    helm = await openHelm();
  });
  return {
    helm() {
      if (helm === undefined) throw new Error('helm has not been found');
      return helm;
    },
  };
};

/** As many at a time as there may be processes of helm. */
const AT_ONCE = 4;

const renderAll = async (helm: Helm, items: readonly Case[]): Promise<Rendering[]> => {
  const render = async (item: Case): Promise<Rendering> => ({
    ...item,
    objects: documents(await helm.template(item.values, { kubernetes: item.kubernetes })),
  });
  const renderings: Rendering[] = [];
  for (let start = 0; start < items.length; start += AT_ONCE)
    renderings.push(...(await Promise.all(items.slice(start, start + AT_ONCE).map(render))));
  return renderings;
};

/** Registers the hooks that render every combination. */
export const useRenderings = () => {
  const { helm } = useHelm();
  let renderings: readonly Rendering[] = [];
  before('render every combination', async () => {
    renderings = await renderAll(helm(), matrix);
  });
  return {
    helm,
    all: (): readonly Rendering[] => renderings,
    async render(item: Case): Promise<Rendering> {
      const [rendering] = await renderAll(helm(), [item]);
      if (rendering === undefined) throw new Error(`${item.name}: not rendered`);
      return rendering;
    },
    /** Runs a check on every rendering that has the component; a check that ran on none shows nothing. */
    each(check: (rendering: Rendering) => void, component?: Component): void {
      const chosen = renderings.filter(({ components }) => component === undefined || components.includes(component));
      expect(chosen).not.to.be.empty;
      chosen.forEach(check);
    },
  };
};

export const find = ({ objects, name: where }: Rendering, kind: string, name: string): Rendered => {
  const found = objects.find((object) => object.kind === kind && object.metadata?.name === name);
  if (found === undefined) throw new Error(`${where}: no ${kind} ${name}`);
  return found;
};

export const ofKind = ({ objects }: Rendering, kind: string): Rendered[] =>
  objects.filter((object) => object.kind === kind);

/** The configuration file of a component. */
export const configOf = (rendering: Rendering, component: Component): string =>
  find(rendering, 'ConfigMap', component).data?.['config.yaml'] ?? '';
