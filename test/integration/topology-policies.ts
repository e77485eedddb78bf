// A cluster with a Service of each kind, for the rule that FlowPolicies are read only where a flow controller plans.
import { expect } from 'chai';
import { LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { node, service } from '../fixtures/core.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { type Ran, runTopology } from '../fixtures/topology-command.ts';
import { startSandbox } from '../sandbox/sandbox.ts';

/** Runs `kubectl topology <command>` on a Service without and on one with a planned strategy; `check` looks at each answer. */
export const expectPoliciesOfPlannedOnly = async (
  command: string,
  check: (ran: Ran, name: string) => void,
): Promise<void> => {
  const folder = temporaryFolder();
  const sandbox = await startSandbox({ kubernetesVersion: 'v1.34.2' });
  try {
    await sandbox.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } });
    sandbox.seed([node({ zone: 'eu-1a' }), node({ zone: 'eu-1b' })]);
    const labels = { [LABEL_STRATEGY]: 'load-aware' };
    await sandbox.apply(service());
    await sandbox.apply(service({ metadata: { name: 'planned', namespace: 'default', labels } }));
    await sandbox.settled();
    const access = ['--kubeconfig', folder.write('kubeconfig', sandbox.kubeconfig('reader'))];
    const asked = async (name: string): Promise<boolean> => {
      sandbox.clearRequests();
      check(await runTopology([command, `default/${name}`, ...access]), name);
      return sandbox.requests.some(({ user, path }) => user === 'reader' && path.includes('/flowpolicies'));
    };
    expect(await asked('server'), 'without a planned strategy').to.equal(false);
    expect(await asked('planned'), 'with a planned strategy').to.equal(true);
  } finally {
    await sandbox.stop();
    folder.remove();
  }
};
