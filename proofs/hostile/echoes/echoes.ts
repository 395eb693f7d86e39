import { request } from 'node:http';
import type { Findings } from '../../../test/system/findings';
import { dump } from '../canaries/stored-texts';
import { gatewayFile, HostileTestbed } from '../testbed';
import { expectNone } from '../offenders';
import type { EgressTestRoute } from '../ways/egress-test-route';
import { EchoingSupplier } from './echoing-supplier';
import { type Echo, kinds, type EchoRoute, SECRET, spellings } from './echo-kinds';

const MIN_KINDS = 13;
const messages = [{ role: 'user', content: 'Hello' }];
const max_tokens = 9;
const routes: Readonly<Record<EchoRoute, readonly [string, string, string, object]>> = {
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
const echoRequests = kinds.flatMap(({ name, route, answers }) =>
  answers.map((echo) => ({ name, route, echo })),
);
/** A separate model per response, so that no circuit breaker opens. */
const models = echoRequests.map(({ route }, at) => {
  const [, provider, kind] = routes[route];
  return [`echo-${at}`, kind, provider, `up-${at}`] as const;
});

/** A supplier echoes our secret, which must not appear in any response, log or row of the shipped service. */
export async function proveEchoes(findings: Findings, egressRoute: EgressTestRoute): Promise<void> {
  const supplier = await EchoingSupplier.start(SECRET);
  const origin = await egressRoute.to(supplier.port);
  const testbed = await HostileTestbed.open({
    environment: { ECHO_KEY: SECRET },
    allow: `${new URL(origin).host}=127.0.0.1`,
    egressRoute,
  });
  let isClosed = false;
  try {
    const extra = { providers: providersAt(origin, egressRoute), models };
    const applied = await testbed.apply(gatewayFile(testbed.supplierUrl, extra, egressRoute));
    if (applied.code !== 0) throw new Error(`gateway.yaml was not applied: ${applied.text}`);
    await testbed.waitForModel(`echo-${echoRequests.length - 1}`);
    const leaks: string[] = [];
    for (const [at, { name, route, echo }] of echoRequests.entries()) {
      const received = await sendEchoRequest(testbed, supplier, { at, route, echo });
      if (holdsSecret(received)) leaks.push(`${name}: ${received}`);
    }
    findings.add(
      `a secret echoed in at least ${MIN_KINDS} kinds of answer`,
      kinds.length >= MIN_KINDS,
      String(kinds.length),
    );
    const isKnown = spellings.every(holdsSecret) && !holdsSecret(JSON.stringify(routes));
    findings.add('the search knows it in every spelling', isKnown, String(spellings.length));
    const isPaid = supplier.requestsWithSecret >= echoRequests.length;
    findings.add(
      'and each time the supplier had got it',
      isPaid,
      `${supplier.requestsWithSecret} of ${echoRequests.length}`,
    );
    expectNone(
      findings,
      'answers that hold the secret of a supplier, in any spelling',
      leaks,
      echoRequests.length,
    );
    isClosed = true;
    await testbed.close(() => searchLeftovers(findings, testbed));
  } finally {
    supplier.stop();
    if (!isClosed) await testbed.close();
  }
}

const providersAt = (url: string, egressRoute: EgressTestRoute): string => `  talker:
    style: openai-style
    base_url: ${url}/v1
    regions: [local]
    api_key: \${ECHO_KEY}
    settings: ${JSON.stringify(egressRoute.settings({ profile: 'openai' }))}
  letters:
    style: messages-style
    base_url: ${url}
    regions: [local]
    api_key: \${ECHO_KEY}
    settings: ${JSON.stringify(egressRoute.settings())}
  agents:
    style: native-oauth
    base_url: ${url}/v1
    regions: [local]
    settings: ${JSON.stringify(egressRoute.settings({ oauth: { token_url: `${url}/oauth/token`, client_id: 'proof' } }))}
    credentials:
      one:
        kind: oauth-pool
        access_token: \${ECHO_KEY}
`;

interface EchoRequest {
  readonly at: number;
  readonly route: EchoRoute;
  readonly echo: Echo;
}

/** Returns everything the caller receives: status line, headers, body and trailers. */
function sendEchoRequest(
  testbed: HostileTestbed,
  supplier: EchoingSupplier,
  { at, route, echo }: EchoRequest,
): Promise<string> {
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

async function searchLeftovers(findings: Findings, testbed: HostileTestbed): Promise<void> {
  const lines = testbed.gateway.text.split('\n');
  expectNone(findings, 'lines of the log that hold it', lines.filter(holdsSecret), lines.length);
  const leaks: string[] = [];
  let tables = 0;
  for await (const { location: where, text } of dump(await testbed.database())) {
    tables += 1;
    if (holdsSecret(text.toString())) leaks.push(where);
  }
  expectNone(findings, 'tables of the database that hold it', leaks, tables);
}

/** Substrings that identify the secret, with any characters between them. */
const revealingParts = ['canary', 'qx7zmark'].flatMap((part) => [
  part,
  Buffer.from(part).toString('hex'),
  ...[0, 1, 2].map((shift) => base64Within(part, shift)),
]);

/** Part of a text whose base64 form is the same in any context, at this offset modulo three. */
function base64Within(text: string, shift: number): string {
  const encoded = Buffer.from(`${'x'.repeat(shift)}${text}`)
    .toString('base64')
    .replaceAll('=', '');
  return encoded.slice(shift === 0 ? 0 : shift + 1, -2);
}

function holdsSecret(text: string): boolean {
  const unescapedText = unescaped(text);
  return [text, unescapedText, unescaped(unescapedText)].some((each) => {
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
