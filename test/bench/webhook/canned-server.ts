// Measures the load generator itself: TLS that counts the bytes of a request and sends a canned answer, without HTTP.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServer } from 'node:tls';

const [certDir = '', port = '', requestBytes = '', answerBytes = ''] = process.argv.slice(2);
const tls = { cert: readFileSync(join(certDir, 'tls.crt')), key: readFileSync(join(certDir, 'tls.key')) };
const answer = Buffer.concat([
  Buffer.from(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${answerBytes}\r\n\r\n`),
  Buffer.alloc(Number(answerBytes), ' '),
]);
const server = createServer(tls, (socket) => {
  let received = 0;
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    received += chunk.length;
    if (received < Number(requestBytes)) return;
    received = 0;
    socket.write(answer);
  });
});
server.listen(Number(port), '127.0.0.1');
