import { join } from 'node:path';
import { verifyMoney } from '#product/billing';
import { type Findings, inParallel } from '../../../test/system/findings';
import { type Extra, gatewayFile, Testbed } from '../testbed';
import { none, tell } from '../none';
import {
  faultyModels,
  exerciseAnswers,
  exerciseErrors,
  manageKeys,
  exerciseOddRequests,
  sayPrompts,
} from './features';
import { Marks } from './marks';
import { dump, filesBelow, type Piece, piecesBelow, valuesOf } from './places';
import { Speaker } from './speaker';

const LEAST_MARKS = 40;

/** Secrets and words through every feature: found again only where they belong. */
export async function proveCanaries(findings: Findings): Promise<void> {
  const marks = new Marks();
  const environment = {
    SESSION_SECRET: marks.make('session secret'),
    KEY_PEPPER: marks.make('key pepper'),
    MASTER_KEY: marks.make('master key'),
    SUPPLIER_KEY: marks.make('key of a supplier', 'sim-'),
    AWS_ID: marks.make('signing id'),
    AWS_SECRET: marks.make('signing secret'),
    AWS_SESSION: marks.make('signing session'),
    POOL_ACCESS: marks.make('access token', 'sim-'),
    POOL_REFRESH: marks.make('refresh token'),
    POOL_CLIENT: marks.make('client secret'),
    POOL_ACCOUNT: marks.make('account of a token'),
  };
  const testbed = await Testbed.open({ environment });
  let closed = false;
  try {
    for (const key of Object.values(testbed.keys)) marks.add('a first key', key.slice(12));
    for (const { password } of testbed.databaseUrls)
      if (password !== '') marks.add('a database password', password);
    const applied = await testbed.apply(
      gatewayFile(testbed.supplierUrl, otherSuppliers(testbed.supplierUrl)),
    );
    if (applied.code !== 0) throw new Error(`gateway.yaml was not applied: ${applied.text}`);
    await testbed.waitForModel(faultyModels.at(-1) ?? '');
    const speaker = new Speaker(testbed, marks);
    await sayPrompts(speaker, marks);
    await exerciseOddRequests(speaker, marks);
    await manageKeys(speaker, marks, testbed);
    await exerciseAnswers(speaker, marks);
    await exerciseErrors(speaker, marks);
    const words = [{ role: 'user', content: marks.make('prompt to a signed supplier') }];
    await speaker.say('signed', {
      path: '/v1/messages',
      body: { model: 'signed', max_tokens: 9, messages: words },
    });
    const other = await Promise.all([
      testbed.command(['doctor']),
      testbed.command(['key', 'list']),
      testbed.apply(gatewayFile(testbed.supplierUrl)),
    ]);
    report(findings, speaker, marks);
    look(
      findings,
      marks,
      'what commands print',
      other.map(({ text }, at) => ({ where: `command ${at}`, text: Buffer.from(text) })),
      true,
    );
    const metrics = await (await fetch(testbed.metricsUrl)).text();
    look(findings, marks, 'metrics', [{ where: 'metrics', text: Buffer.from(metrics) }]);
    await tryEverything(findings, testbed);
    closed = true;
    await testbed.close(() => searchLeftovers(findings, testbed, marks));
  } finally {
    if (!closed) await testbed.close();
  }
}

/** Suppliers that are paid in other ways. */
const otherSuppliers = (url: string): Extra => ({
  providers: `  pool:
    style: native-oauth
    base_url: ${url}/v1
    regions: [local]
    settings: { oauth: { token_url: ${url}/oauth/token, client_id: proof } }
    credentials:
      one:
        kind: oauth-pool
        access_token: \${POOL_ACCESS}
        refresh_token: \${POOL_REFRESH}
        client_secret: \${POOL_CLIENT}
        account: \${POOL_ACCOUNT}
  signer:
    style: bedrock
    base_url: ${url}
    regions: [local]
    credentials:
      one:
        kind: sigv4
        access_key_id: \${AWS_ID}
        secret_access_key: \${AWS_SECRET}
        session_token: \${AWS_SESSION}
`,
  models: [
    ['native', 'chat', 'pool', 'sim-native'],
    ['signed', 'chat', 'signer', 'sim-signed'],
    ...faultyModels.map(
      (name, at) => [name, 'chat', at % 2 === 0 ? 'chatty' : 'messenger', `sim-${name}`] as const,
    ),
  ],
});

function report(findings: Findings, { said }: Speaker, marks: Marks): void {
  findings.add(
    `at least ${LEAST_MARKS} secrets and texts went through`,
    marks.all.length >= LEAST_MARKS,
    `${marks.all.length}, in ${said.length} requests`,
  );
  const served = said.filter(({ status }) => status < 300).length;
  findings.add('and many requests were served', served > 30, `${served} served`);
  const leaks = said.flatMap(({ what, answer, own }) =>
    marks
      .in(Buffer.from(answer))
      .filter(({ text, stored }) => !own.has(text) && !stored)
      .map(({ name }) => `${what}: ${name}`),
  );
  none(findings, 'answers that hold a text of somebody else', leaks, said.length);
}

/** `kept`: a mark that is stored by design may be there. */
function look(findings: Findings, marks: Marks, what: string, pieces: readonly Piece[], kept = false): void {
  const found = pieces.flatMap(({ where, text }) =>
    marks
      .in(text)
      .filter(({ stored }) => !(kept && stored))
      .map(({ name }) => `${where}: ${name}`),
  );
  none(findings, `pieces with one of ${marks.all.length} marks in ${what}`, found, pieces.length);
}

async function tryEverything(findings: Findings, testbed: Testbed): Promise<void> {
  const values = [...(await valuesOf(await testbed.database()))];
  const let_in: string[] = [];
  await inParallel(8, values, async (value) => {
    for (const headers of [{ authorization: `Bearer ${value}` }, { 'x-api-key': value }]) {
      const { status } = await fetch(`${testbed.url}/v1/models`, { headers });
      if (status !== 401) let_in.push(`${status} ${value}`);
    }
  });
  none(findings, 'values of the database that open anything as a key', let_in, values.length);
}

async function searchLeftovers(findings: Findings, testbed: Testbed, marks: Marks): Promise<void> {
  // The keys of the first start are shown on the terminal and nowhere else.
  const lines = testbed.gateway.text.split('\n').filter((line) => line.startsWith('{'));
  tell(`${lines.length} lines were logged`);
  look(
    findings,
    marks,
    'the log, at its most talkative',
    lines.map((line, at) => ({ where: `line ${at}: ${line.slice(0, 300)}`, text: Buffer.from(line) })),
  );
  const pieces: Piece[] = [];
  for await (const piece of dump(await testbed.database())) pieces.push(piece);
  look(findings, marks, `a dump of the database, ${pieces.length} tables`, pieces, true);
  const data = join(testbed.folder, 'data');
  look(findings, marks, 'the files of the service', [...piecesBelow(data)]);
  const files = [...filesBelow(data)];
  const open = files.filter(({ mode }) => (mode & 0o077) !== 0).map(({ path }) => path);
  none(findings, 'files of the service that others may read', open, files.length);
  const cluster = [...piecesBelow(join(testbed.folder, 'postgres', 'cluster'))];
  look(findings, marks, `the files of the database, ${cluster.length} of them`, cluster, true);
  const { checks } = await verifyMoney(await testbed.database());
  const wrong = checks.filter((check) => check.wrong.length > 0).map(({ name }) => name);
  none(findings, 'the books afterwards: equalities that do not hold', wrong, checks.length);
}
