import { request } from 'node:http';
import type { Findings } from '../../../test/system/findings';
import { dump } from '../canaries/places';
import { gatewayFile, Testbed } from '../testbed';
import { none } from '../none';
import type { WayOut } from '../ways/way';
import { EchoingSupplier } from './echoing-supplier';
import { type Echo, kinds, type Route, SECRET, spellings } from './kinds';

const LEAST_KINDS = 13;
const messages = [{ role: 'user', content: 'Hello' }];
const max_tokens = 9;
const routes: Readonly<Record<Route, readonly [string, string, string, object]>> = {
  chat: ['/v1/chat/completions', 'talker', 'chat', { messages }],
  translated: ['/v1/chat/completions', 'letters', 'chat', { messages }],
  stream: ['/v1/chat/completions', 'talker', 'chat', { messages, stream: true }],
  'translated stream': ['/v1/chat/completions', 'letters', 'chat', { messages, stream: true }],
  'messages stream': ['/v1/messages', 'letters', 'chat', { messages, max_tokens, stream: true }],
  'responses stream': ['/v1/responses', 'talker', 'chat', { input: 'Hello', stream: true }],
  native: ['/v1/native/responses', 'agents', 'chat', { input: messages, stream: true }],
  count: ['/v1/messages/count_tokens', 'letters', 'chat', { messages }],
  speech: ['/v1/audio/speech', 'talker', 'speech', { input: 'Hello', voice: 'alloy' }],
  embeddings: ['/v1/embeddings', 'talker', 'embedding', { input: 'Hello' }],
};
const asked = kinds.flatMap(({ name, route, answers }) => answers.map((echo) => ({ name, route, echo })));
/** Each answer has a model of its own, so that no lane rests. */
const models = asked.map(({ route }, at) => {
  const [, provider, kind] = routes[route];
  return [`echo-${at}`, kind, provider, `up-${at}`] as const;
});

/** A supplier repeats our secret, which appears in no answer, log or row of the service as it ships. */
export async function proveEchoes(findings: Findings, way: WayOut): Promise<void> {
  const supplier = await EchoingSupplier.start(SECRET);
  const origin = await way.to(supplier.port);
  const testbed = await Testbed.open({
    environment: { ECHO_KEY: SECRET },
    allow: `${new URL(origin).host}=127.0.0.1`,
    way,
  });
  let closed = false;
  try {
    const extra = { providers: providersAt(origin, way), models };
    const applied = await testbed.apply(gatewayFile(testbed.supplierUrl, extra, way));
    if (applied.code !== 0) throw new Error(`gateway.yaml was not applied: ${applied.text}`);
    await testbed.waitForModel(`echo-${asked.length - 1}`);
    const leaks: string[] = [];
    for (const [at, { name, route, echo }] of asked.entries()) {
      const heard = await ask(testbed, supplier, { at, route, echo });
      if (holdsSecret(heard)) leaks.push(`${name}: ${heard}`);
    }
    findings.add(
      `a secret echoed in at least ${LEAST_KINDS} kinds of answer`,
      kinds.length >= LEAST_KINDS,
      String(kinds.length),
    );
    const isKnown = spellings.every(holdsSecret) && !holdsSecret(JSON.stringify(routes));
    findings.add('the search knows it in every spelling', isKnown, String(spellings.length));
    const isPaid = supplier.paid >= asked.length;
    findings.add('and each time the supplier had got it', isPaid, `${supplier.paid} of ${asked.length}`);
    none(findings, 'answers that hold the secret of a supplier, in any spelling', leaks, asked.length);
    closed = true;
    await testbed.close(() => searchLeftovers(findings, testbed));
  } finally {
    supplier.stop();
    if (!closed) await testbed.close();
  }
}

const providersAt = (url: string, way: WayOut): string => `  talker:
    style: openai-style
    base_url: ${url}/v1
    regions: [local]
    api_key: \${ECHO_KEY}
    settings: ${JSON.stringify(way.settings({ profile: 'openai' }))}
  letters:
    style: messages-style
    base_url: ${url}
    regions: [local]
    api_key: \${ECHO_KEY}
    settings: ${JSON.stringify(way.settings())}
  agents:
    style: native-oauth
    base_url: ${url}/v1
    regions: [local]
    settings: ${JSON.stringify(way.settings({ oauth: { token_url: `${url}/oauth/token`, client_id: 'proof' } }))}
    credentials:
      one:
        kind: oauth-pool
        access_token: \${ECHO_KEY}
`;

interface Asked {
  readonly at: number;
  readonly route: Route;
  readonly echo: Echo;
}

/** Everything that a caller gets: status line, headers, body, trailers. */
function ask(testbed: Testbed, supplier: EchoingSupplier, { at, route, echo }: Asked): Promise<string> {
  const [path, , , body] = routes[route];
  supplier.echo = echo;
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${testbed.keys.demo}`, 'content-type': 'application/json' };
    const sending = request(testbed.url + path, { method: 'POST', headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        supplier.resume();
        supplier.resume = () => undefined;
      });
      answer.on('error', reject);
      answer.on('end', () => {
        const head = `${answer.statusCode} ${answer.statusMessage} ${answer.rawHeaders.join(' ')}`;
        resolve(`${head} ${Buffer.concat(chunks).toString()} ${answer.rawTrailers.join(' ')}`);
      });
    });
    sending.on('error', reject);
    sending.end(JSON.stringify({ model: `echo-${at}`, ...body }));
  });
}

async function searchLeftovers(findings: Findings, testbed: Testbed): Promise<void> {
  const lines = testbed.gateway.text.split('\n');
  none(findings, 'lines of the log that hold it', lines.filter(holdsSecret), lines.length);
  const found: string[] = [];
  let tables = 0;
  for await (const { where, text } of dump(await testbed.database())) {
    tables += 1;
    if (holdsSecret(text.toString())) found.push(where);
  }
  none(findings, 'tables of the database that hold it', found, tables);
}

/** Parts that identify the secret, with any characters between them. */
const revealingParts = ['canary', 'qx7zmark'].flatMap((part) => [
  part,
  Buffer.from(part).toString('hex'),
  ...[0, 1, 2].map((shift) => base64Within(part, shift)),
]);

/** The part of a text whose base64 form is the same in any context, at this offset modulo three. */
function base64Within(text: string, shift: number): string {
  const whole = Buffer.from(`${'x'.repeat(shift)}${text}`)
    .toString('base64')
    .replaceAll('=', '');
  return whole.slice(shift === 0 ? 0 : shift + 1, -2);
}

function holdsSecret(text: string): boolean {
  const once = unescaped(text);
  return [text, once, unescaped(once)].some((each) => {
    const lower = each.toLowerCase();
    return revealingParts.some((part) => each.includes(part) || lower.includes(part));
  });
}

const unescaped = (text: string): string =>
  text
    .replace(/\\+u([0-9a-f]{4})|%([0-9a-f]{2})/gi, (_all, four?: string, two?: string) =>
      String.fromCharCode(Number.parseInt(four ?? two ?? '', 16)),
    )
    .replaceAll('\\', '');
