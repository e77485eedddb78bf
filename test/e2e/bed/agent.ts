// The program that a bed runs inside a network namespace: listeners of Pods, clients that count, a relay to the API.
import { once } from 'node:events';
import { type Server, type Socket, connect, createServer } from 'node:net';
import type { AgentReply, AgentRequest, AgentTask, ConnectionCounts, Endpoint } from './agent-client.ts';

type TaskOf<K extends AgentTask['task']> = Extract<AgentTask, { task: K }>;

const keyOf = ({ address, port }: Endpoint): string => `${address} ${port}`;

const swallow = (socket: Socket): Socket => socket.on('error', () => socket.destroy());

const createAgent = (): ((task: AgentTask) => Promise<ConnectionCounts | undefined>) => {
  const listeners = new Map<string, Server>();

  const listen = async (task: TaskOf<'listen'>): Promise<void> => {
    const server = createServer((socket) => swallow(socket).end(task.answer));
    server.listen({ host: task.address, port: task.port });
    await once(server, 'listening');
    listeners.set(keyOf(task), server);
  };

  const unlisten = async (task: TaskOf<'unlisten'>): Promise<void> => {
    const server = listeners.get(keyOf(task));
    if (!server) throw new Error(`nothing listens on ${keyOf(task)}`);
    listeners.delete(keyOf(task));
    server.close();
    await once(server, 'close');
  };

  const relay = async (task: TaskOf<'relay'>): Promise<void> => {
    const server = createServer((near) => {
      const far = connect(task.port, task.address);
      // Not `destroy`: the last bytes of a large answer may still wait to be written.
      swallow(near)
        .pipe(far)
        .on('close', () => near.destroySoon());
      swallow(far)
        .pipe(near)
        .on('close', () => far.destroySoon());
    });
    server.listen(task.socketPath);
    await once(server, 'listening');
  };

  return async (task) => {
    if (task.task === 'connect') return countConnections(task);
    if (task.task === 'listen') await listen(task);
    else if (task.task === 'unlisten') await unlisten(task);
    else await relay(task);
    return undefined;
  };
};

/** One new connection: kube-proxy chooses an endpoint for each of them. */
const ask = (task: TaskOf<'connect'>): Promise<{ answer: string } | { error: string }> =>
  new Promise((resolve) => {
    let answer = '';
    const { address: host, port, from: localAddress, timeoutMs } = task;
    const socket = connect({ host, port, localAddress }).setEncoding('utf8').setTimeout(timeoutMs);
    socket.on('data', (chunk: string) => (answer += chunk));
    socket.on('timeout', () => {
      socket.destroy();
      resolve({ error: 'ETIMEDOUT' });
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve({ error: error.code ?? error.message }));
    socket.on('end', () => resolve(answer === '' ? { error: 'EMPTY' } : { answer }));
  });

const countConnections = async (task: TaskOf<'connect'>): Promise<ConnectionCounts> => {
  const answers: Record<string, number> = {};
  const errors: Record<string, number> = {};
  let left = task.count;
  const lane = async (): Promise<void> => {
    while (left-- > 0) {
      const outcome = await ask(task);
      if ('answer' in outcome) answers[outcome.answer] = (answers[outcome.answer] ?? 0) + 1;
      else errors[outcome.error] = (errors[outcome.error] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: task.parallel }, lane));
  return { answers, errors };
};

const perform = createAgent();

const reply = async ({ id, task }: AgentRequest): Promise<AgentReply> => {
  try {
    const counts = await perform(task);
    return counts === undefined ? { id } : { id, counts };
  } catch (error) {
    return { id, error: (error as Error).message };
  }
};

process.on('message', (request: AgentRequest) => {
  void reply(request).then((answer) => process.send?.(answer));
});
// The channel closes when the owner ends in whatever way: an agent never outlives it.
process.on('disconnect', () => process.exit(0));
