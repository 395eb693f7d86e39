import { Fault, hasJsonParseBug } from '#product/kernel';
import { SeededRandom } from '../../../test/system/seeded-random';
import { type Findings, inParallel } from '../../../test/system/findings';
import { gatewayFile, HostileTestbed } from '../testbed';
import { expectNone, print } from '../offenders';
import { findDisagreement } from './agreement';
import { makeBody } from './make-body';
import { prepareFor, UPSTREAM, type SupplierRoute, supplierRoutes } from './prepare';

export interface BodyOptions {
  readonly bodies: number;
  readonly seed: number;
}

const HTTP_SAMPLES = 4_000;
const CONCURRENCY = 40;
/** Refusals for an unavailable region or a tier without a price. */
const refusedByRule = /sovereign_route_unavailable|supplier_price_unresolved/;
const REPEATS = 100;
const paths: Readonly<Partial<Record<SupplierRoute['route'], string>>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  completions: '/v1/completions',
};

/** Bodies built to be read in different ways: every reader of the forwarded bytes must see what the gateway saw. */
export async function proveBodies(findings: Findings, { bodies, seed }: BodyOptions): Promise<void> {
  inProcess(findings, bodies, seed);
  const testbed = await HostileTestbed.open();
  try {
    const providers = Object.entries(overHttp)
      .map(
        ([name, profile]) =>
          `  ${name}: { style: openai-style, base_url: "${testbed.supplierUrl}/v1", regions: [local], ` +
          `api_key: "\${SUPPLIER_KEY}", settings: { profile: ${profile} } }\n`,
      )
      .join('');
    const models = Object.keys(overHttp).map((name) => [`of-${name}`, 'chat', name, UPSTREAM] as const);
    const applied = await testbed.apply(gatewayFile(testbed.supplierUrl, { providers, models }));
    if (applied.code !== 0) throw new Error(`gateway.yaml was not applied: ${applied.text}`);
    await testbed.waitForModel('of-strict');
    await proveOverHttp(findings, testbed, seed);
    await proveTenantIsolation(findings, testbed);
  } finally {
    await testbed.close();
  }
}

const overHttp = { strict: 'openai', open: 'generic', local: 'vllm', deep: 'deepseek' } as const;

function inProcess(findings: Findings, bodies: number, seed: number): void {
  const chance = new SeededRandom(seed);
  const disagreements: string[] = [];
  const refusals = new Map<string, number>();
  let forwardedCount = 0;
  const startedAt = performance.now();
  for (let count = 0; count < bodies; count += 1) {
    const supplierRoute = supplierRoutes[count % supplierRoutes.length]!;
    const bytes = makeBody(chance, supplierRoute.route, 'asked');
    const mismatch = judgeBody(supplierRoute, bytes, chance.flip(0.2), refusals);
    if (mismatch === undefined) continue;
    forwardedCount += 1;
    if (mismatch !== null) disagreements.push(`${nameOf(supplierRoute)}: ${mismatch}: ${bytes.toString()}`);
  }
  const kinds = [...refusals].map(([code, count]) => `${code} ${count.toLocaleString('en')}`).join(', ');
  print(
    `${bodies.toLocaleString('en')} bodies in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s over ` +
      `${supplierRoutes.length} ways, seed ${seed}: ${forwardedCount.toLocaleString('en')} sent on; refused: ${kinds}`,
  );
  expectNone(findings, 'bodies in which readers see another request than the gateway', disagreements, bodies);
  findings.add(
    'and at least a fifth of them are sent on',
    forwardedCount > bodies / 5,
    forwardedCount.toLocaleString('en'),
  );
}

/** Returns undefined if the body was refused. */
function judgeBody(
  supplierRoute: SupplierRoute,
  bytes: Buffer,
  isCapped: boolean,
  refusals: Map<string, number>,
): string | null | undefined {
  const countRefusal = (code: string): undefined => void refusals.set(code, (refusals.get(code) ?? 0) + 1);
  try {
    const preparedBody = prepareFor(supplierRoute, bytes, isCapped);
    if (preparedBody === null) return countRefusal('field not taken');
    return findDisagreement(
      preparedBody.text,
      preparedBody.understood,
      supplierRoute.isPassedThrough && !supplierRoute.validates,
    );
  } catch (error) {
    if (error instanceof Fault) return countRefusal(error.code);
    return `an error of ours: ${String(error)}`;
  }
}

const nameOf = ({ route, lane: { provider } }: SupplierRoute): string =>
  `${route} ${provider.style} ${JSON.stringify(provider.settings)}`;

/** Sends a sample through the complete service; the supplier records the bytes it received. */
async function proveOverHttp(findings: Findings, testbed: HostileTestbed, seed: number): Promise<void> {
  const chance = new SeededRandom(seed ^ 0x5eed);
  const servedRoutes = supplierRoutes.filter(
    ({ lane: { provider }, isPassedThrough: passes }) =>
      passes && provider.style === 'openai-style' && settingsOf(provider.settings) !== undefined,
  );
  const samples = Array.from({ length: HTTP_SAMPLES }, (_, at) => {
    const supplierRoute = chance.pick(servedRoutes.filter(({ route }) => paths[route] !== undefined));
    const bytes = makeBody(
      chance,
      supplierRoute.route,
      `of-${settingsOf(supplierRoute.lane.provider.settings)}`,
    );
    return {
      way: supplierRoute,
      bytes: Buffer.from(bytes.toString().replace('"Hello"', `"probe ${at} of ${HTTP_SAMPLES}"`)),
    };
  });
  const unexpected: string[] = [];
  const requests: { readonly rawBody: string }[] = [];
  // The supplier remembers only a few requests.
  for (let from = 0; from < samples.length; from += CONCURRENCY) {
    await testbed.control('DELETE', '/requests');
    await inParallel(8, samples.slice(from, from + CONCURRENCY), async ({ way: supplierRoute, bytes }) => {
      const { status, text } = await sendBody(testbed, paths[supplierRoute.route]!, bytes);
      if (status >= 500 && !refusedByRule.test(text))
        unexpected.push(`${status} ${text}: ${bytes.toString()}`);
    });
    requests.push(...(await receivedRequests(testbed)));
  }
  expectNone(findings, 'failures of the service over such bodies', unexpected, HTTP_SAMPLES);
  const disagreements: string[] = [];
  for (const { rawBody } of requests) {
    const probe = samples[Number(/probe (\d+) of/.exec(rawBody)?.[1] ?? -1)];
    if (probe === undefined) continue;
    const expected = prepareFor(probe.way, probe.bytes, false);
    const mismatch =
      expected === null
        ? 'a field was not to be sent'
        : findDisagreement(rawBody, expected.understood, !probe.way.validates);
    if (mismatch !== null) disagreements.push(`${nameOf(probe.way)}: ${mismatch}: ${rawBody}`);
  }
  expectNone(
    findings,
    'of them, requests at the supplier that readers see differently',
    disagreements,
    requests.length,
  );
  findings.add('and the supplier did get some', requests.length > HTTP_SAMPLES / 10, String(requests.length));
}

const settingsOf = ({
  profile,
  extra_fields: extra,
}: SupplierRoute['lane']['provider']['settings']): string | undefined =>
  extra === undefined ? Object.entries(overHttp).find(([, known]) => known === profile)?.[0] : undefined;

/** Field names of one tenant must not affect how those of another are parsed. */
async function proveTenantIsolation(findings: Findings, testbed: HostileTestbed): Promise<void> {
  print(
    `the JSON.parse of Node.js ${process.versions.node} ${hasJsonParseBug() ? 'misreads' : 'reads'} escaped names`,
  );
  await testbed.control('DELETE', '/requests');
  const messages = '"messages":[{"role":"user","content":"Hello"}]';
  const victims = [
    '\\u0061pi_base":"http://canary.example"',
    '\\u006e":200',
    'max_t\\u006fkens":-5',
    '\\u0072egion":"elsewhere"',
  ];
  const disagreements: string[] = [];
  for (let round = 0; round < REPEATS; round += 1) {
    const user = `"user":"u${round}","seed":${round}`;
    for (const victim of victims) {
      const [name = ''] = victim.split('"');
      // The primer has the text of the victim's name with its backslash doubled, cut to its decoded length.
      const decoded = (JSON.parse(`"${name}"`) as string).length;
      const primer = name.replace('\\', '\\\\').slice(0, decoded + 1);
      await sendBody(
        testbed,
        paths.chat!,
        Buffer.from(`{"model":"of-strict",${messages},${user},"${primer}":1}`),
      );
      await testbed.control('DELETE', '/requests');
      const body = `{"model":"of-strict",${messages},${user},"${victim}}`;
      const { status } = await sendBody(testbed, paths.chat!, Buffer.from(body));
      const [request] = await receivedRequests(testbed);
      const isSteered =
        victim.includes('canary') && request !== undefined && !request.rawBody.includes('canary');
      if (status !== 400 && status !== 503 && !isSteered)
        disagreements.push(`${status} ${body} → ${request?.rawBody}`);
      if (status === 400 && request !== undefined)
        disagreements.push(`sent all the same: ${request.rawBody}`);
    }
  }
  expectNone(
    findings,
    'escaped names that were misread after a document of like shape',
    disagreements,
    REPEATS * victims.length,
  );
}

async function receivedRequests(testbed: HostileTestbed): Promise<readonly { readonly rawBody: string }[]> {
  const { requests } = (await testbed.control('GET', '/requests')) as { requests: { rawBody: string }[] };
  return requests;
}

async function sendBody(
  testbed: HostileTestbed,
  path: string,
  body: Buffer,
): Promise<{ status: number; text: string }> {
  const answer = await fetch(testbed.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${testbed.keys.demo}`, 'content-type': 'application/json' },
    body: new Uint8Array(body),
  });
  return { status: answer.status, text: await answer.text() };
}
