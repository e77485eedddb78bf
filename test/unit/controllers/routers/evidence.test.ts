// What components read of who routes: three kinds of objects, each of which may be refused, or fail for a moment.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { Resource } from '../../../../pkg/apis/resources.ts';
import { type RouterEvidence, createRouterEvidence } from '../../../../pkg/controllers/routers/evidence.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';
import { nullLogger } from '../../../../pkg/telemetry/log.ts';
import { kubeProxy } from '../../../fixtures/core.ts';
import { configMap } from '../../../fixtures/data-planes.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';

const answer = (status: number): ApiError => {
  const error: ApiError = Object.create(ApiError.prototype) as ApiError;
  return Object.assign(error, { status });
};

const CONFIG = configMap('cilium-config', { 'enable-service-topology': 'true' });
const FELIX = { metadata: { name: 'default' }, spec: { bpfEnabled: true } };

describe('evidence of who routes', () => {
  /** Of one kind of object: what is answered, or thrown. */
  let answers: Record<string, object>;
  let evidence: RouterEvidence;
  let create: (pods: boolean) => RouterEvidence;
  let changes: number;
  const { signal } = new AbortController();
  const names = (): string[] | undefined => evidence.objects()?.map(({ kind, name }) => `${kind} ${name}`);

  beforeEach(() => {
    changes = 0;
    answers = { DaemonSet: { items: [kubeProxy()] }, ConfigMap: CONFIG, FelixConfiguration: FELIX };
    const give = ({ kind }: Resource): Promise<object> => {
      const found = answers[kind] ?? answer(404);
      return found instanceof Error ? Promise.reject(found) : Promise.resolve(found);
    };
    const client = { list: give, get: give } as unknown as Pick<Client, 'list' | 'get'>;
    create = (pods) => createRouterEvidence({ client, clock: createFakeClock(), logger: nullLogger, pods });
    evidence = create(true);
    evidence.onChange(() => (changes += 1));
  });

  it('is of DaemonSets, of the ConfigMap and of the FelixConfiguration', async () => {
    expect(evidence.objects(), 'before anything was read').to.equal(undefined);
    await evidence.read(signal);
    expect(names()).to.deep.equal(['DaemonSet kube-proxy', 'ConfigMap cilium-config', 'FelixConfiguration default']);
    await evidence.read(signal);
    expect(changes, 'read twice, changed once').to.equal(1);
  });

  it('is of static Pods where no DaemonSet runs kube-proxy, and asks for no Pod where one does', async () => {
    const pod = (name: string, image: string) => ({
      metadata: { name, labels: { 'k8s-app': 'kube-proxy' }, ownerReferences: [{ kind: 'Node', name: 'n1' }] },
      spec: { nodeName: 'n1', containers: [{ name: 'kube-proxy', image }] },
    });
    answers['Pod'] = { items: [pod('kube-proxy-n1', 'registry.k8s.io/kube-proxy:v1.30.14')] };
    await evidence.read(signal);
    expect(names(), 'with a DaemonSet').to.not.include('Pod kube-proxy-n1');
    answers['DaemonSet'] = { items: [] };
    await evidence.read(signal);
    expect(names()).to.include('Pod kube-proxy-n1');
    const [found] = evidence.objects()?.filter(({ kind }) => kind === 'Pod') ?? [];
    expect(found?.nodeName).to.equal('n1');
    expect(found?.containers[0]?.image).to.match(/:v1\.30\.14$/);
    answers['Pod'] = answer(403);
    await evidence.read(signal);
    expect(names(), 'refused').to.deep.equal(['ConfigMap cilium-config', 'FelixConfiguration default']);
  });

  it('is not known while the API server fails', async () => {
    answers['DaemonSet'] = answer(503);
    await evidence.read(signal);
    expect([names(), changes]).to.deep.equal([undefined, 0]);
  });

  it('stays what it was when a later reading fails, and goes when the objects do', async () => {
    await evidence.read(signal);
    answers = { DaemonSet: answer(500), ConfigMap: new Error('connection reset'), FelixConfiguration: answer(429) };
    await evidence.read(signal);
    expect(names()).to.have.lengthOf(3);
    answers = { DaemonSet: { items: [] } };
    await evidence.read(signal);
    expect([names(), changes]).to.deep.equal([[], 2]);
  });
});
