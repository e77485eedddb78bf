// The chart in a bed: applied by the real kubectl, its commands run with the configuration and the rights that it renders.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { mastersGroup } from './bed/access.ts';
import type { Component as Program } from './bed/component.ts';
import type { Bed } from './bed/index.ts';
import { run, waitFor } from './bed/machine.ts';
import { NAMESPACE, root } from './chart.ts';
import type { Component, Rendered } from './chart.ts';

/** As `kubectl apply --server-side` does it, with every unknown field an error. */
export const apply = async (bed: Bed, name: string, text: string, ...flags: string[]): Promise<string> => {
  const file = join(bed.directory, name);
  writeFileSync(file, text);
  const kubeconfig = await bed.kubeconfig({ user: 'admin', groups: [mastersGroup] });
  const [enter, ...prefix] = bed.enter;
  const kubectl = [bed.binaries('kubectl'), '--kubeconfig', kubeconfig];
  return run(enter, [...prefix, ...kubectl, 'apply', '--server-side', '--validate=strict', '-f', file, ...flags]);
};

/** Applies CustomResourceDefinitions and waits until they are served. */
export const applyDefinitions = async (bed: Bed, definitions: readonly KubernetesObject[]): Promise<void> => {
  const { api } = bed;
  await apply(bed, 'definitions.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: definitions }));
  interface Definition {
    status?: { conditions?: { type: string; status: string }[] };
  }
  for (const { metadata } of definitions) {
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${metadata?.name}`;
    await waitFor(
      `${metadata?.name} served`,
      () => api.get<Definition>(path),
      ({ status }) =>
        status?.conditions?.some(({ type, status: state }) => type === 'Established' && state === 'True') ?? false,
    );
  }
};

/** A command as its Pod runs it: rendered configuration, the ServiceAccount's user, and no other right than the rendered. */
export const installedProgram = async (
  bed: Bed,
  component: Component,
  name: string,
  extra: readonly string[],
  namespace = NAMESPACE,
): Promise<Program> => {
  const { data } = await bed.api.get<Rendered>(`/api/v1/namespaces/${namespace}/configmaps/${component}`);
  const config = join(bed.directory, `${name}.yaml`);
  writeFileSync(config, data?.['config.yaml'] ?? '');
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
  const user = `system:serviceaccount:${namespace}:${component}`;
  return bed.program({
    name,
    command: [process.execPath, join(root, 'cmd', component, 'main.ts'), '--config', config, ...extra],
    environment: { POD_NAMESPACE: namespace, KUBECONFIG: await bed.kubeconfig({ user, groups }) },
  });
};
