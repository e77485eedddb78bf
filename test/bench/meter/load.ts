// Opens connections at a rate from some addresses to a Service that another address serves; prints how many there were. Arguments:
// clients, Service, server, connections a second, seconds.
import { createConnection, createServer } from 'node:net';

const [clients = '', service = '', server = '', rate = '0', seconds = '0'] = process.argv.slice(2);
const TICK_MS = 10;
/** More at a time would only queue. */
const MOST_OPEN = 200;

const listener = createServer((socket) => {
  socket.end('x');
  socket.on('error', () => socket.destroy());
  socket.resume();
});
listener.listen(8080, server, () => {
  let [tried, open, opened] = [0, 0, 0];
  const from = clients.split(',');
  const began = performance.now();
  const timer = setInterval(() => {
    const elapsed = (performance.now() - began) / 1_000;
    if (elapsed >= Number(seconds)) {
      clearInterval(timer);
      process.stdout.write(String(opened), () => process.exit(0));
      return;
    }
    while (tried < elapsed * Number(rate) && open < MOST_OPEN) {
      tried += 1;
      open += 1;
      const socket = createConnection({ host: service, port: 80, localAddress: from[tried % from.length] });
      socket.on('connect', () => void (opened += 1));
      socket.resume();
      socket.on('error', () => socket.destroy());
      socket.on('close', () => void (open -= 1));
    }
  }, TICK_MS);
});
