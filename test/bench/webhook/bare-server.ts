// The limit to approach: node:https that parses a review and answers it, with no checks, logs, metrics or framework.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';

interface Review {
  request: { uid: string; object: { endpoints: { zone: string; hints?: { forZones?: { name: string }[] } }[] } };
}

const answer = (body: Buffer): string => {
  const { request } = JSON.parse(body.toString()) as Review;
  const operations = [];
  for (const [index, { zone, hints }] of request.object.endpoints.entries()) {
    if (hints?.forZones?.[0]?.name === zone) continue;
    operations.push({ op: 'add', path: `/endpoints/${index}/hints`, value: { forZones: [{ name: zone }] } });
  }
  const patch =
    operations.length === 0
      ? {}
      : { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(operations)).toString('base64') };
  return JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: { uid: request.uid, allowed: true, ...patch },
  });
};

const [certDir = '', port = ''] = process.argv.slice(2);
const tls = { cert: readFileSync(join(certDir, 'tls.crt')), key: readFileSync(join(certDir, 'tls.key')) };
const server = createServer({ ...tls, keepAliveTimeout: 120_000 }, (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const text = answer(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks));
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    response.writeHead(200, headers).end(text);
  });
});
server.listen(Number(port), '127.0.0.1');
