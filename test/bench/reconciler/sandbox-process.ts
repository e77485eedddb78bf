// The seed cluster as a process of its own, so that its memory and its work are not the reconciler's.
import type { Event, Service } from '../../../pkg/apis/core.ts';
import type { Etcd } from '../../../pkg/apis/gardener.ts';
import { ETCDS, EVENTS, SERVICES } from '../../../pkg/apis/resources.ts';
import { etcdCrd } from '../../fixtures/crds.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { landscapeObjects } from './landscape.ts';
import type { Question } from './seed-cluster.ts';
import { countEvents, countTraffic } from './traffic.ts';

const [user = '', shoots = ''] = process.argv.slice(2);
const sandbox = await startSandbox({ endpointSliceController: false, watchHistory: 50_000 });
sandbox.seed(landscapeObjects(Number(shoots)));
await sandbox.apply(etcdCrd());

const eventCounts = () => countEvents(sandbox.list<Event>(EVENTS));
let eventsBefore = eventCounts();

const answer = ({ ask }: Question): unknown => {
  switch (ask) {
    case 'clear':
      eventsBefore = eventCounts();
      return sandbox.clearRequests();
    case 'count':
      return sandbox.requests.filter(
        ({ user: sender, resource, verb }) => sender === user && resource !== 'leases' && verb !== 'raw',
      ).length;
    case 'traffic':
      return countTraffic({
        requests: sandbox.requests,
        user,
        connections: sandbox.connections,
        eventsBefore,
        eventsAfter: eventCounts(),
      });
    case 'enabled':
      return {
        services: sandbox.list<Service>(SERVICES).filter(({ spec }) => spec?.trafficDistribution !== undefined).length,
        etcds: sandbox
          .list<Etcd>(ETCDS)
          .filter(({ spec }) => spec?.etcd?.clientService?.trafficDistribution !== undefined).length,
      };
  }
};

process.on('message', (question: Question) => process.send?.({ id: question.id, result: answer(question) ?? null }));
process.on('disconnect', () => void sandbox.stop());
process.send?.({ id: 0, result: sandbox.kubeconfig(user) });
