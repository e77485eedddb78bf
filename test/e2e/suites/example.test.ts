// The manifests of example/: read by the real kubectl, and compared with what the chart renders.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { parse } from 'yaml';
import { EXTENSION_TYPE } from '../../../pkg/apis/names.ts';
import { createRoutingConfigReader } from '../../../pkg/apis/routing-config-reader.ts';
import { assessReading } from '../../../pkg/gardener/extension/select.ts';
import { defaultVersion, ensureBinaries } from '../bed/binaries.ts';
import { run } from '../bed/machine.ts';
import { COMPONENTS, type Helm, INJECTED, type Rendered, chart, documents, openHelm, root } from '../chart.ts';

describe('example', () => {
  let helm: Helm;
  let kubectl: string;

  before(async () => {
    helm = await openHelm();
    kubectl = (await ensureBinaries(defaultVersion))('kubectl');
  });

  const example = (file: string): string => join(root, 'example', file);
  const read = (file: string): Rendered[] => documents(readFileSync(example(file), 'utf8'));
  const kustomize = async (directory: string): Promise<Rendered[]> =>
    documents(await run(kubectl, ['kustomize', example(directory)]));
  const keyOf = ({ kind, metadata }: Rendered): string => `${kind}/${metadata?.name}`;

  it('plain is what the chart renders with its defaults and the flow-controller', async () => {
    const name = 'topology-aware-routing';
    // example/flow and example/evacuation have the definitions.
    const values = { flowController: { enabled: true, definition: false }, evacuation: { definition: false } };
    expect(read('plain/topology-aware-routing.yaml')).to.deep.equal(
      documents(await helm.template(values, { kubernetes: '1.36.0', release: name, namespace: name })),
      'write it anew: helm template topology-aware-routing <chart> --namespace topology-aware-routing --kube-version 1.36.0 --set flowController.enabled=true --set flowController.definition=false --set evacuation.definition=false',
    );
  });

  it('plain is a base that kubectl applies: Namespace, definition, everything of the chart, an image to be replaced', async () => {
    const objects = await kustomize('plain');
    const files = ['flow/crd.yaml', 'evacuation/crd.yaml', 'plain/namespace.yaml', 'plain/topology-aware-routing.yaml'];
    const wanted = files.flatMap(read);
    expect(objects.map(keyOf).sort()).to.deep.equal(wanted.map(keyOf).sort());
    for (const { kind, metadata, spec } of objects) {
      if (!/^Cluster|^Namespace$|^CustomResourceDefinition$|^ValidatingAdmissionPolicy/.test(kind ?? ''))
        expect(metadata?.namespace).to.equal('topology-aware-routing');
      const image = spec?.template?.spec.containers[0]?.image;
      if (image !== undefined) expect(image).to.match(/^registry\.example\.com\/.+:0\.1\.0$/);
    }
  });

  it('cleanup runs each command as its Deployment does, with --cleanup', async () => {
    const plain = await kustomize('plain');
    const jobs = [...(await kustomize('cleanup')), ...(await kustomize('cleanup/flow-controller'))];
    expect(jobs.map(keyOf).sort()).to.deep.equal(COMPONENTS.map((name) => `Job/${name}-cleanup`).sort());
    for (const { metadata, spec } of jobs) {
      const name = metadata?.name?.replace(/-cleanup$/, '') ?? '';
      const job = spec!.template!.spec;
      const deployed = plain.find((object) => keyOf(object) === `Deployment/${name}`)!.spec!.template!.spec;
      const [container] = job.containers;
      const [original] = deployed.containers;
      expect(metadata?.namespace).to.equal('topology-aware-routing');
      expect(container?.args).to.deep.equal([...original!.args, '--cleanup']);
      expect(container?.image).to.equal(original?.image);
      expect(container?.securityContext).to.deep.equal(original?.securityContext);
      expect(job.serviceAccountName).to.equal(deployed.serviceAccountName);
      expect(job.securityContext).to.deep.equal(deployed.securityContext);
      expect(job.volumes).to.deep.equal(deployed.volumes);
    }
  });

  it('gardener enables nothing by itself, so that no Shoot depends on it that did not ask, with values that the chart accepts', async () => {
    const [extension] = read('gardener/extension.yaml');
    const [deployment, registration] = read('gardener/controllerregistration.yaml') as object[];
    const helmOf = (holder: unknown) => (holder as { helm: { values: object; ociRepository: { ref: string } } }).helm;
    const { deployment: deployed } = extension!.spec as unknown as {
      deployment: { extension: { values: object; runtimeClusterValues: object } };
    };
    expect(deployed.extension).to.deep.include({ policy: 'AlwaysExceptNoShoots', injectGardenKubeconfig: true });
    expect(deployment).to.deep.include({ injectGardenKubeconfig: true });
    expect(registration).to.have.nested.property('spec.deployment.policy', 'AlwaysExceptNoShoots');
    expect(registration).to.have.nested.property('spec.deployment.deploymentRefs[0].name', 'topology-aware-routing');
    const resource = { kind: 'Extension', type: EXTENSION_TYPE, autoEnable: [], workerlessSupported: true };
    for (const [holder, clusterCompatibility] of [
      [extension, ['garden', 'seed', 'shoot']],
      // gardener-apiserver knows no garden there.
      [registration, ['seed', 'shoot']],
    ] as const) {
      const { resources } = (holder as { spec: { resources: object[] } }).spec;
      expect(resources).to.have.lengthOf(1);
      expect(resources[0]).to.deep.include({ ...resource, clusterCompatibility });
    }

    const { version } = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')) as { version: string };
    const { values: ofSeed, runtimeClusterValues } = deployed.extension;
    for (const holder of [deployed.extension, deployment]) {
      const { ref } = helmOf(holder).ociRepository;
      expect(ref).to.match(new RegExp(`:${version.replaceAll('.', String.raw`\.`)}$`));
    }
    for (const values of [
      { ...ofSeed, ...INJECTED.seed },
      { ...helmOf(deployment).values, ...INJECTED.seed },
      { ...runtimeClusterValues, ...INJECTED.runtime },
    ])
      expect(documents(await helm.template(values))).not.to.be.empty;
  });

  it('gardener has namespaces enforce the Pod Security Standard that the Pods comply with', () => {
    const annotations = { 'security.gardener.cloud/pod-security-enforce': 'restricted' };
    expect(read('gardener/extension.yaml')[0]?.metadata?.annotations).to.deep.equal(annotations);
    expect(read('gardener/controllerregistration.yaml')[1]?.metadata?.annotations).to.deep.equal(annotations);
    expect(read('plain/namespace.yaml')[0]?.metadata?.labels).to.include({
      'pod-security.kubernetes.io/enforce': 'restricted',
    });
  });

  for (const own of ['shoot', 'seed', 'garden'] as const) {
    it(`gardener/${own}.yaml asks for what an Extension of its class may`, () => {
      const [holder] = read(`gardener/${own}.yaml`) as unknown as [
        { spec: { extensions: { type: string; providerConfig: unknown }[] } },
      ];
      const [asked] = holder.spec.extensions;
      expect(asked?.type).to.equal(EXTENSION_TYPE);
      expect(assessReading(createRoutingConfigReader()(asked?.providerConfig), own)).to.have.property('kind', 'valid');
    });
  }

  it('garden-runtime-values makes an installation by hand what gardener-operator would make it', async () => {
    const values = parse(readFileSync(example('gardener/garden-runtime-values.yaml'), 'utf8')) as object;
    const objects = documents(await helm.template(values));
    const injected = documents(await helm.template({ ...values, ...INJECTED.runtime }));
    expect(objects).to.deep.equal(injected);
    expect(objects.map(keyOf)).to.include(
      'ClusterRole/gardener-extension-topology-aware-routing-runtime:settings-reconciler',
    );
  });
});
