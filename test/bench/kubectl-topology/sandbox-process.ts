// The cluster as a process of its own, so that its work and its memory are not those of the programs that ask it.
import { auditCluster } from '../../fixtures/audit-cluster.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';

const [nodes, services, endpoints] = process.argv.slice(2).map(Number);
const sandbox = await startSandbox({ endpointSliceController: false, kubernetesVersion: 'v1.34.2' });
const cluster = auditCluster({ nodes: nodes ?? 0, services: services ?? 0, endpoints: endpoints ?? 0 });
sandbox.seed([...cluster.nodes, ...cluster.services, ...cluster.slices]);
process.on('disconnect', () => void sandbox.stop());
process.send?.(sandbox.kubeconfig('reader'));
