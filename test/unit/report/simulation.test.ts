import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { SimulationReport } from '../../../pkg/diagnosis/simulate/simulate.ts';
import { renderSimulation } from '../../../pkg/report/simulation.ts';
import { type ClusterCase, reportFor } from '../diagnosis/simulate/cases.ts';

const UNEVEN: ClusterCase = { zones: { a: 16, b: 8, c: 4 }, endpoints: ['a', 'a', 'b', 'b', 'c'] };
const narrow = (report: SimulationReport): string =>
  renderSimulation(report, { color: false, wide: false, columns: 100 });

describe('report: simulation', () => {
  it('is one screen: clients, modes, what to take and why, where traffic goes, and a verdict on each mode', () => {
    expect(narrow(reportFor(UNEVEN, { gigabytesPerDay: 100 }))).to.equal(`\
Service default/server (Kubernetes 1.34, kube-proxy; IPv4, port https)

Clients by CPU of the Nodes
  ZONE  DEMAND  NODES  ENDPOINTS
  a     57 %    1      2
  b     29 %    1      2
  c     14 %    1      1

    MODE            HINTED  IN ZONE  OVERLOAD  COST/MONTH  VERDICT
    now             0/5     37 %     0 %       38.24 USD   (as stored)
>   none            0/5     37 %     0 %       38.24 USD   Spread
    Auto            0/5     37 %     0 %       38.24 USD   OverloadThreshold
    PreferClose     5/5     100 %    +43 %     0.00 USD    Overloads
    PreferSameZone  5/5     100 %    +43 %     0.00 USD    Overloads
    PreferSameNode  5/5     100 %    +43 %     0.00 USD    Overloads
    same-zone       5/5     100 %    +43 %     0.00 USD    Overloads
    same-node       5/5     100 %    +43 %     0.00 USD    Overloads
 *  proportional    5/5     71 %     +19 %     17.38 USD   KeepsMost
    load-aware      -       -        -         -           DemandUnknown
> requested by the Service, * recommended. HINTED: ready endpoints with hints; OVERLOAD: busiest
endpoint above its fair share.
Cost of an assumed 100 GB a day: Amazon EC2 on-demand list price for data transfer: 0.01 a GB
between zones on either side, 0.02 out to another region, 2026-11-21.

Recommended: proportional (LeastCost)
  Costs least with every endpoint at most at 120 % of its fair share: 71 % stays in its zone; with
  PreferSameZone it would be 100 %, but an endpoint in a gets 143 % of its fair share (limit 120 %).
  → metadata.labels[topology.extensions.gardener.cloud/strategy]=proportional (needs
    endpointslice-webhook and flow-controller)

Share of all traffic: now
  FROM \\ TO  a     b     c
  a          23 %  23 %  11 %
  b          11 %  11 %  6 %
  c          6 %   6 %   3 %
Share of all traffic: proportional
  FROM \\ TO  a     b     c
  a          38 %  0 %   19 %
  b          0 %   29 %  0 %
  c          10 %  0 %   5 %

none: Spread
  Every endpoint serves clients of every zone; 63 % of the traffic crosses.
Auto: OverloadThreshold
  The 5 ready endpoints of Service default/server cannot be shared among 3 zones by CPU without
  overloading one by more than 20 %.
PreferClose, PreferSameZone, PreferSameNode, same-zone, same-node: Overloads
  100 % of the traffic stays in its zone, but an endpoint in a gets 143 % of its fair share (limit
  120 %).
proportional: KeepsMost
  71 % of the traffic stays in its zone, and no endpoint is above 120 % of its fair share.
load-aware: DemandUnknown
  It follows measured load, and no FlowPolicy has observed any; give it with --demand.
`);
  });

  it('names places without zone, and says what could not be had', () => {
    const text = narrow(reportFor({ zones: { a: 4, b: 0 }, endpoints: ['a', ''] }));
    expect(text).to.contain('Clients by number of Nodes\n');
    expect(text).to.match(/^ {2}\(none\) +0 % +0 +1$/m);
    expect(text.replaceAll(/\s+/g, ' ')).to.match(
      / The CPU of each zone is not known \(.+\), so Nodes are counted instead\. /,
    );
    expect(text).to.match(/^ {2}FROM \\ TO +\(none\) +a/m);
  });

  it('says in one line what to do where nothing is to be set, and nothing where it is set', () => {
    const field = { spec: { trafficDistribution: 'PreferSameZone' } };
    const settled = reportFor({ zones: { a: 4, b: 4 }, endpoints: ['a', 'b'], hints: [['a'], ['b']], service: field });
    expect(narrow(settled)).to.contain('Recommended: PreferSameZone (MostInZone), no better than now\n');
    expect(narrow(settled)).not.to.contain('→');
    const useless = reportFor({ zones: { a: 4 }, endpoints: ['b'], service: field });
    expect(narrow(useless)).to.contain('  → remove every setting for topology\n');
  });

  it('keeps to the width, and never below 60', () => {
    for (const columns of [10, 72]) {
      const text = renderSimulation(reportFor(UNEVEN), { color: false, wide: false, columns });
      const prose = text.split('\n').filter((line) => /^ {2}\S+ \S+ \S+ /.test(line));
      expect(prose).not.to.be.empty;
      expect(prose.filter((line) => line.length > Math.max(columns, 60))).to.deep.equal([]);
    }
  });

  it('has figures for zones that are called like what every object has from its prototype', () => {
    const report = reportFor({ zones: { toString: 4, valueOf: 4 }, endpoints: ['toString', 'valueOf'] });
    expect(renderSimulation(report, { color: false, wide: true, columns: 100 })).not.to.contain('NaN');
  });
});
