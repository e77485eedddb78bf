import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Explanation } from '../../pkg/diagnosis/explain/types.ts';
import { clusterFile, runTopology, topologyJson } from '../fixtures/topology-command.ts';
import { expectPoliciesOfPlannedOnly } from './topology-policies.ts';

const textOf = (file: string): string => readFileSync(clusterFile(file), 'utf8');
const explained = (stdin: string): Promise<Explanation> =>
  topologyJson<Explanation>(['explain', 'shop/web', '-f', '-'], { stdin });
const screenOf = async (stdin: string): Promise<string> =>
  (await runTopology(['explain', 'shop/web', '-f', '-'], { stdin })).out;
const firstOf = ({ causes }: Explanation): string | undefined => causes[0]?.reason;

/** The file without its FlowPolicy, which is its last document. */
const withoutPolicy = (file: string): string => textOf(file).split('---\napiVersion: topology.extensions')[0] ?? '';

describe('kubectl topology explain, of the closed loop', function closedLoop() {
  this.timeout(180_000);

  it('names the strategy, and shows the loop: mode, target, shares, zones, conditions and the last change', async () => {
    const out = await screenOf(textOf('load-aware-effective'));
    expect(out).to.match(/^WANTED +✓ load-aware, by label topology\S+=load-aware$/m);
    expect(out).to.match(/^LOOP +✓ Enforce, target 70 %; in zone 70 % of the demand; .* busiest endpoint 66 %$/m);
    expect(out).to.match(/^ +eu-1a +0\.9 +1 +45 % +50 %$/m);
    expect(out).to.contain('Stable=False (PlanChanged)');
    expect(out).to.contain('Last change 2026-11-20T10:00:00Z, Overloaded: web-2 serves eu-1a, eu-1b');
    const { wanted, loop } = await explained(textOf('load-aware-effective'));
    expect(wanted).to.deep.include({ wanted: true, source: 'webhook', strategy: 'load-aware' });
    expect(loop).to.deep.include({ mode: 'Enforce', targetPercent: 70, inForce: true, spreadOnPurpose: false });
  });

  it('takes what spills by the plan for no fault, in the verdict and in the exit code', async () => {
    const verdicts = [
      ['load-aware-effective', '70 % of connections stay in their zone; 30 % spill as planned'],
      ['load-aware-spread', '33 % of connections stay in their zone; 67 % spill as planned'],
    ] as const;
    for (const [file, verdict] of verdicts) {
      const { out, code } = await runTopology(['explain', 'web', '-f', clusterFile(file), '--fail-on', 'ineffective']);
      expect(out.split('\n')[1], file).to.equal(`✓ effective: ${verdict}`);
      expect(code, file).to.equal(0);
      expect(out, file).to.contain('3 of 3 client zones have their traffic as planned');
    }
  });

  it('does not excuse spread where the plan in force says something else', async () => {
    const other = textOf('load-aware-spread').replace('spread: true', 'spread: false');
    const report = await explained(other);
    expect(report.verdict).to.equal('Ineffective');
    expect(report.causes.map(({ reason }) => reason)).not.to.include('PlanSpread');
  });

  it('gives troubles that let nothing cross after the verdict, as something to look at', async () => {
    const held = textOf('load-aware-effective')
      .replace("status: 'True',\n        reason: MetricsFresh", "status: 'False',\n        reason: MetricsStale")
      .replace('samples from metrics.k8s.io are fresh', 'the plan is kept');
    const report = await explained(held);
    expect(report.verdict).to.equal('Effective');
    expect(report.causes.map(({ reason, stage }) => [reason, stage])).to.deep.equal([
      ['LoadNotObserved', 'prerequisite'],
    ]);
    expect(await screenOf(held)).to.contain('To look at\n  LoadNotObserved');
  });

  it('says what is wrong with admission before that the plan is lost again', async () => {
    const lost = textOf('load-aware-metrics-lost')
      .replace("status: 'True',\n        reason: Spread", "status: 'False',\n        reason: WebhookUnavailable")
      .replace('MetricsLost', 'MetricsFresh')
      .replace("status: 'False',\n        reason: MetricsFresh", "status: 'True',\n        reason: MetricsFresh");
    const { causes } = await explained(lost);
    expect(causes.map(({ reason }) => reason)).to.deep.equal(['WebhookSkipped', 'PlanNotInForce']);
  });

  it('has no status yet, right after it was asked for', async () => {
    const fresh = `${textOf('load-aware-metrics-lost').split('\nstatus:\n  observedGeneration')[0] ?? ''}\n`;
    const [first] = (await explained(fresh)).causes;
    expect(first).to.deep.include({ reason: 'PlanNotInForce', evidence: 'FlowPolicy shop/web has no status yet.' });
  });

  it('blames no missing policy where policies were not seen, and says so', async () => {
    const unseen = await explained(withoutPolicy('load-aware-without-controller'));
    expect(unseen.unseen.map(({ what }) => what)).to.include('flowPolicies');
    expect(unseen).not.to.have.property('loop');
    expect(firstOf(unseen)).to.equal('AnnotationNotRecognized');
    expect(unseen.causes[0]?.evidence).to.contain('is the flow-controller running?');
  });

  it('asks a cluster for policies of Services with a planned strategy only', () =>
    expectPoliciesOfPlannedOnly('explain', ({ code, err }) => expect(code, err).to.equal(0)));
});
