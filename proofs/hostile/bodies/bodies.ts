import { Fault, hasJsonParseBug } from '#product/kernel';
import { Chance } from '../../../test/system/chance';
import { type Findings, inParallel } from '../../../test/system/findings';
import { gatewayFile, Testbed } from '../testbed';
import { none, tell } from '../none';
import { disagreement } from './agreement';
import { makeBody } from './make-body';
import { prepareFor, UPSTREAM, type Way, ways } from './prepare';

export interface BodyOptions {
  readonly bodies: number;
  readonly seed: number;
}

const OVER_HTTP = 4_000;
const AT_ONCE = 40;
/** Of a region that is nowhere, and of a tier without a price. */
const refusedByRule = /sovereign_route_unavailable|supplier_price_unresolved/;
const REPEATS = 100;
const paths: Readonly<Partial<Record<Way['route'], string>>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  completions: '/v1/completions',
};

/** Bodies that are made to be read differently: every reader of the forwarded bytes must see what the gateway saw. */
export async function proveBodies(findings: Findings, { bodies, seed }: BodyOptions): Promise<void> {
  inProcess(findings, bodies, seed);
  const testbed = await Testbed.open();
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
    await throughTheService(findings, testbed, seed);
    await afterPrimers(findings, testbed);
  } finally {
    await testbed.close();
  }
}

const overHttp = { strict: 'openai', open: 'generic', local: 'vllm', deep: 'deepseek' } as const;

function inProcess(findings: Findings, bodies: number, seed: number): void {
  const chance = new Chance(seed);
  const wrong: string[] = [];
  const refusals = new Map<string, number>();
  let sent = 0;
  const startedAt = performance.now();
  for (let count = 0; count < bodies; count += 1) {
    const way = ways[count % ways.length]!;
    const bytes = makeBody(chance, way.route, 'asked');
    const problem = judged(way, bytes, chance.flip(0.2), refusals);
    if (problem === undefined) continue;
    sent += 1;
    if (problem !== null) wrong.push(`${nameOf(way)}: ${problem}: ${bytes.toString()}`);
  }
  const kinds = [...refusals].map(([code, count]) => `${code} ${count.toLocaleString('en')}`).join(', ');
  tell(
    `${bodies.toLocaleString('en')} bodies in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s over ` +
      `${ways.length} ways, seed ${seed}: ${sent.toLocaleString('en')} sent on; refused: ${kinds}`,
  );
  none(findings, 'bodies in which readers see another request than the gateway', wrong, bodies);
  findings.add('and at least a fifth of them are sent on', sent > bodies / 5, sent.toLocaleString('en'));
}

/** Undefined where the body was refused. */
function judged(
  way: Way,
  bytes: Buffer,
  isCapped: boolean,
  refusals: Map<string, number>,
): string | null | undefined {
  const refused = (code: string): undefined => void refusals.set(code, (refusals.get(code) ?? 0) + 1);
  try {
    const prepared = prepareFor(way, bytes, isCapped);
    if (prepared === null) return refused('field not taken');
    return disagreement(prepared.text, prepared.understood, way.passes && !way.validates);
  } catch (error) {
    if (error instanceof Fault) return refused(error.code);
    return `an error of ours: ${String(error)}`;
  }
}

const nameOf = ({ route, lane: { provider } }: Way): string =>
  `${route} ${provider.style} ${JSON.stringify(provider.settings)}`;

/** A sample through the whole service; the supplier keeps the bytes it got. */
async function throughTheService(findings: Findings, testbed: Testbed, seed: number): Promise<void> {
  const chance = new Chance(seed ^ 0x5eed);
  const served = ways.filter(
    ({ lane: { provider }, passes }) =>
      passes && provider.style === 'openai-style' && settingsOf(provider.settings) !== undefined,
  );
  const asked = Array.from({ length: OVER_HTTP }, (_, at) => {
    const way = chance.pick(served.filter(({ route }) => paths[route] !== undefined));
    const bytes = makeBody(chance, way.route, `of-${settingsOf(way.lane.provider.settings)}`);
    return { way, bytes: Buffer.from(bytes.toString().replace('"Hello"', `"probe ${at} of ${OVER_HTTP}"`)) };
  });
  const odd: string[] = [];
  const requests: { readonly rawBody: string }[] = [];
  // The supplier remembers a few requests only.
  for (let from = 0; from < asked.length; from += AT_ONCE) {
    await testbed.control('DELETE', '/requests');
    await inParallel(8, asked.slice(from, from + AT_ONCE), async ({ way, bytes }) => {
      const { status, text } = await ask(testbed, paths[way.route]!, bytes);
      if (status >= 500 && !refusedByRule.test(text)) odd.push(`${status} ${text}: ${bytes.toString()}`);
    });
    requests.push(...(await received(testbed)));
  }
  none(findings, 'failures of the service over such bodies', odd, OVER_HTTP);
  const wrong: string[] = [];
  for (const { rawBody } of requests) {
    const probe = asked[Number(/probe (\d+) of/.exec(rawBody)?.[1] ?? -1)];
    if (probe === undefined) continue;
    const expected = prepareFor(probe.way, probe.bytes, false);
    const problem =
      expected === null
        ? 'a field was not to be sent'
        : disagreement(rawBody, expected.understood, !probe.way.validates);
    if (problem !== null) wrong.push(`${nameOf(probe.way)}: ${problem}: ${rawBody}`);
  }
  none(findings, 'of them, requests at the supplier that readers see differently', wrong, requests.length);
  findings.add('and the supplier did get some', requests.length > OVER_HTTP / 10, String(requests.length));
}

const settingsOf = ({
  profile,
  extra_fields: extra,
}: Way['lane']['provider']['settings']): string | undefined =>
  extra === undefined ? Object.entries(overHttp).find(([, known]) => known === profile)?.[0] : undefined;

/** Names of one tenant must not change what another one's names say. */
async function afterPrimers(findings: Findings, testbed: Testbed): Promise<void> {
  tell(
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
  const wrong: string[] = [];
  for (let round = 0; round < REPEATS; round += 1) {
    const user = `"user":"u${round}","seed":${round}`;
    for (const victim of victims) {
      const [name = ''] = victim.split('"');
      // The primer's name is the text of the victim's, with its backslash doubled, cut to the length it decodes to.
      const decoded = (JSON.parse(`"${name}"`) as string).length;
      const primer = name.replace('\\', '\\\\').slice(0, decoded + 1);
      await ask(testbed, paths.chat!, Buffer.from(`{"model":"of-strict",${messages},${user},"${primer}":1}`));
      await testbed.control('DELETE', '/requests');
      const body = `{"model":"of-strict",${messages},${user},"${victim}}`;
      const { status } = await ask(testbed, paths.chat!, Buffer.from(body));
      const [request] = await received(testbed);
      const isSteered =
        victim.includes('canary') && request !== undefined && !request.rawBody.includes('canary');
      if (status !== 400 && status !== 503 && !isSteered)
        wrong.push(`${status} ${body} → ${request?.rawBody}`);
      if (status === 400 && request !== undefined) wrong.push(`sent all the same: ${request.rawBody}`);
    }
  }
  none(
    findings,
    'escaped names that were misread after a document of like shape',
    wrong,
    REPEATS * victims.length,
  );
}

async function received(testbed: Testbed): Promise<readonly { readonly rawBody: string }[]> {
  const { requests } = (await testbed.control('GET', '/requests')) as { requests: { rawBody: string }[] };
  return requests;
}

async function ask(testbed: Testbed, path: string, body: Buffer): Promise<{ status: number; text: string }> {
  const answer = await fetch(testbed.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${testbed.keys.demo}`, 'content-type': 'application/json' },
    body: new Uint8Array(body),
  });
  return { status: answer.status, text: await answer.text() };
}
