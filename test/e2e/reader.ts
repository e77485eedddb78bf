// Reads pages of the documentation as an operator does: chapter by chapter, every block in a shell with kubectl and helm.
import { join } from 'node:path';
import { expect } from 'chai';
import { it } from 'mocha';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import type { Resource } from '../../pkg/apis/resources.ts';
import { gardenerCrds, stubDefinition } from '../fixtures/crds.ts';
import { cluster, garden, namespace, seed } from '../fixtures/gardener.ts';
import { openCheckout } from '../support/docs/checkout.ts';
import { pagesRunBy } from '../support/docs/coverage.ts';
import { type ShellBlock, commandsOf, readText, root, shellBlocks } from '../support/docs/markdown.ts';
import { type Shell, openShell } from '../support/docs/shell.ts';
import { mastersGroup } from './bed/access.ts';
import type { Bed, BedNode, BedService } from './bed/index.ts';
import { run } from './bed/machine.ts';
import { COMPONENTS, type Helm, INJECTED } from './chart.ts';
import { apply, applyDefinitions } from './commands.ts';

/** A shell on a bed. */
export interface OperatorShell {
  /** Runs commands, which must end with 0. */
  run(commands: string): Promise<void>;
}

interface Reader {
  /** The pages that are to be read. */
  readonly pages: readonly string[];
  /** Opens the shell in which blocks run from now on. */
  open(bed: Bed): Promise<OperatorShell>;
  /**
   * Declares a test for each block of a chapter, or of a whole page, in order.
   *
   * @param chapter `''` is what stands before the first chapter. Default: the whole page.
   * @param wanted leaves blocks to others. Default: all.
   * @param adapted how a block is typed in this case, where the page says that cases differ. Default: as it stands.
   */
  read(
    page: string,
    chapter?: string,
    wanted?: (block: ShellBlock) => boolean,
    adapted?: (text: string) => string,
  ): void;
  /** Blocks that have not run, e.g. `docs/usage/enable.md:45`; of those `wanted`, by default all. */
  unread(wanted?: (block: ShellBlock) => boolean): string[];
}

const keyOf = ({ page, line }: ShellBlock): string => `${page}:${line}`;

/** Lines that may end otherwise than with 0: they say so, or look for something that need not be there. */
const otherEnd = (line: string): string | undefined =>
  /exit code (\d)/.exec(line)?.[1] ?? (/\| grep /.test(line) ? '1' : undefined);

/** The whole block, or line by line where one may end otherwise. */
const follow = async (shell: Shell, text: string): Promise<void> => {
  const lines = text.trim().split('\n');
  for (const line of lines.some(otherEnd) && !/\\$/m.test(text) ? lines : [text]) {
    const { status, stdout, stderr } = await shell.run(line);
    const allowed = ['0', ...(/^error/im.test(stderr) ? [] : [otherEnd(line) ?? '0'])];
    expect(allowed, `${line}\n${stdout}${stderr}`).to.include(String(status));
  }
};

/** The logs of Pods are those of their programs: there is no kubelet to ask for them. */
const kubectlOf = ({ directory, binaries }: Bed): string => {
  const logs = `"${directory}/logs/\${word#*=}"-*.log`;
  const answer = `for word; do case "$word" in app.kubernetes.io/component=*) cat ${logs};; esac; done`;
  return `case " $* " in\n*" logs "*) ${answer};;\n*) exec '${binaries('kubectl')}' "$@";;\nesac`;
};

/**
 * A command that a page has in a sentence, as written there.
 *
 * @throws where the page does not have it.
 */
export const quoted = (page: string, command: string): string => {
  if (!readText(page).includes(`\`${command}\``)) throw new Error(`${page} has no command \`${command}\``);
  return command;
};

/** For the suite with this path. Pages are read as they are now, whoever changes them while the suite runs. */
export const createReader = (suite: string): Reader => {
  const pages = pagesRunBy(suite);
  const blocks = pages.flatMap((page) => shellBlocks(page));
  const done = new Set<ShellBlock>();
  let shell: Shell | undefined;
  const opened = (): Shell => {
    if (shell === undefined) throw new Error('the shell is not open');
    return shell;
  };
  return {
    pages,
    async open(bed) {
      const checkout = openCheckout();
      for (const command of [...COMPONENTS, 'kubectl-topology']) checkout.own(command);
      checkout.program('kubectl', kubectlOf(bed));
      const helm = (await run(join(root, 'hack/kubernetes/build'), ['helm'])).trim();
      const environment = { KUBECONFIG: await bed.kubeconfig({ user: 'operator', groups: [mastersGroup] }) };
      const { directory, bin } = checkout;
      shell = openShell({ path: [bin, helm], directory, environment, timeoutMs: 150_000 });
      return {
        async run(commands) {
          const { status, stderr } = await opened().run(commands);
          expect(status, `${commands}\n${stderr}`).to.equal(0);
        },
      };
    },
    read(page, chapter, wanted = () => true, adapted = (text) => text) {
      const found = blocks.filter((block) => block.page === page && [undefined, block.chapter].includes(chapter));
      expect(found, `${page}: blocks of "${chapter}"`).not.to.be.empty;
      for (const block of found.filter(wanted))
        it(`${keyOf(block)}: ${commandsOf(block.text)[0]}`, async () => {
          await follow(opened(), adapted(block.text));
          done.add(block);
        });
    },
    unread: (wanted = () => true) => blocks.filter((block) => wanted(block) && !done.has(block)).map(keyOf),
  };
};

export const SEED = 'eu-1';
export const SHOOT_NAMESPACE = 'shoot--my-project--my-shoot';
export const SHOOT_SERVICE = 'gardener-resource-manager';
export const GARDEN_SERVICE = 'gardener-apiserver';

export const setGarden = ({ api }: Bed, enabled: boolean): Promise<unknown> =>
  api.patch('/apis/operator.gardener.cloud/v1alpha1/gardens/garden', {
    spec: { runtimeCluster: { settings: { topologyAwareRouting: { enabled } } } },
  });

/** The namespace that gardenlet gives an extension. */
const EXTENSION_NAMESPACE = 'extension-topology-aware-routing-x7k2m';

const others = (group: string, version: string, kind: string, namespaced: boolean): Resource => ({
  group,
  version,
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced,
});

const definitions = (): KubernetesObject[] => [
  ...gardenerCrds(),
  stubDefinition(others('operator.gardener.cloud', 'v1alpha1', 'Extension', false)),
  stubDefinition(others('core.gardener.cloud', 'v1', 'ControllerDeployment', false), 'helm', 'injectGardenKubeconfig'),
  stubDefinition(others('core.gardener.cloud', 'v1beta1', 'ControllerRegistration', false)),
  stubDefinition(others('autoscaling.k8s.io', 'v1', 'VerticalPodAutoscaler', true)),
  ...['PrometheusRule', 'ServiceMonitor'].map((kind) =>
    stubDefinition(others('monitoring.coreos.com', 'v1', kind, true)),
  ),
];

/** Classes that Gardener creates, and that the Pods of extensions name. */
const PRIORITY_CLASSES = ['gardener-system-900', 'gardener-garden-system-200'];

/** Everything but what is installed. The Shoot's Service has a Pod on each node. */
export const createOperatorLandscape = async (bed: Bed, nodes: readonly BedNode[]): Promise<BedService> => {
  const { api } = bed;
  await applyDefinitions(bed, definitions());
  for (const name of PRIORITY_CLASSES)
    await api.create('/apis/scheduling.k8s.io/v1/priorityclasses', { metadata: { name }, value: 900 });
  await api.create('/apis/core.gardener.cloud/v1beta1/seeds', seed({ metadata: { name: SEED }, enabled: false }));
  await api.create('/apis/operator.gardener.cloud/v1alpha1/gardens', garden({ enabled: false }));
  await api.create(
    '/apis/extensions.gardener.cloud/v1alpha1/clusters',
    cluster({ metadata: { name: SHOOT_NAMESPACE } }),
  );
  await api.create('/api/v1/namespaces', namespace({ metadata: { name: SHOOT_NAMESPACE } }));
  await api.create('/api/v1/namespaces', namespace({ role: 'garden' }));
  await bed.service({ name: GARDEN_SERVICE, namespace: 'garden' });
  await Promise.all(nodes.map((node) => bed.pod({ node, app: SHOOT_SERVICE, namespace: SHOOT_NAMESPACE })));
  return bed.service({ name: SHOOT_SERVICE, namespace: SHOOT_NAMESPACE });
};

interface Registered {
  readonly spec: { readonly deployment: { readonly extension: { readonly values: object } } };
}

/** What gardener-operator and gardenlet make of the Extension that is registered: the chart, with the seed's values. */
const renderRegistered = async (bed: Bed, helm: Helm): Promise<string> => {
  const path = '/apis/operator.gardener.cloud/v1alpha1/extensions/topology-aware-routing';
  const { values } = (await bed.api.get<Registered>(path)).spec.deployment.extension;
  const { gardener } = INJECTED.seed as { gardener: { seed: { spec: object } } };
  const spec = seed({ enabled: false }).spec;
  const injected = { gardener: { ...gardener, seed: { ...gardener.seed, name: SEED, spec } } };
  return helm.template({ ...values, ...injected }, { namespace: EXTENSION_NAMESPACE });
};

/** gardenlet deploys the registered extension. */
export const deployRegistered = async (bed: Bed, helm: Helm): Promise<void> => {
  await bed.api.create('/api/v1/namespaces', {
    metadata: { name: EXTENSION_NAMESPACE, labels: { 'gardener.cloud/role': 'extension' } },
  });
  await apply(bed, 'registered.yaml', await renderRegistered(bed, helm));
};

/** gardenlet removes what it has deployed, once the registration is gone. */
export const removeRegistered = async (bed: Bed): Promise<void> => {
  const kubeconfig = await bed.kubeconfig({ user: 'admin', groups: [mastersGroup] });
  const flags = ['--kubeconfig', kubeconfig, '--ignore-not-found', '-f', join(bed.directory, 'registered.yaml')];
  await run(bed.binaries('kubectl'), ['delete', ...flags]);
  await bed.api.delete(`/api/v1/namespaces/${EXTENSION_NAMESPACE}`);
};
