import { join } from 'node:path';
import { verifyMoney } from '#product/billing';
import { type Findings, inParallel } from '../../../test/system/findings';
import { type CatalogueExtra, gatewayFile, HostileTestbed } from '../testbed';
import { expectNone, print } from '../offenders';
import {
  faultyModels,
  exerciseAnswers,
  exerciseErrors,
  manageKeys,
  exerciseOddRequests,
  sendPrompts,
} from './features';
import { CanaryMarks } from './marks';
import { dump, filesBelow, type StoredText, piecesBelow, valuesOf } from './stored-texts';
import { MarkedSender } from './marked-sender';

const MIN_MARKS = 40;

/** Sends marked secrets and texts through every feature; they may only appear where they belong. */
export async function proveCanaries(findings: Findings): Promise<void> {
  const marks = new CanaryMarks();
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
  const testbed = await HostileTestbed.open({ environment });
  let isClosed = false;
  try {
    for (const key of Object.values(testbed.keys)) marks.add('a first key', key.slice(12));
    for (const { password } of testbed.databaseUrls)
      if (password !== '') marks.add('a database password', password);
    const applied = await testbed.apply(
      gatewayFile(testbed.supplierUrl, otherSuppliers(testbed.supplierUrl)),
    );
    if (applied.code !== 0) throw new Error(`gateway.yaml was not applied: ${applied.text}`);
    await testbed.waitForModel(faultyModels.at(-1) ?? '');
    const sender = new MarkedSender(testbed, marks);
    await sendPrompts(sender, marks);
    await exerciseOddRequests(sender, marks);
    await manageKeys(sender, marks, testbed);
    await exerciseAnswers(sender, marks);
    await exerciseErrors(sender, marks);
    const messages = [{ role: 'user', content: marks.make('prompt to a signed supplier') }];
    await sender.send('signed', {
      path: '/v1/messages',
      body: { model: 'signed', max_tokens: 9, messages: messages },
    });
    const otherResponses = await Promise.all([
      testbed.command(['doctor']),
      testbed.command(['key', 'list']),
      testbed.apply(gatewayFile(testbed.supplierUrl)),
    ]);
    reportLeaks(findings, sender, marks);
    checkForMarks(
      findings,
      marks,
      'what commands print',
      otherResponses.map(({ text }, at) => ({ location: `command ${at}`, text: Buffer.from(text) })),
      true,
    );
    const metrics = await (await fetch(testbed.metricsUrl)).text();
    checkForMarks(findings, marks, 'metrics', [{ location: 'metrics', text: Buffer.from(metrics) }]);
    await tryStoredValues(findings, testbed);
    isClosed = true;
    await testbed.close(() => searchLeftovers(findings, testbed, marks));
  } finally {
    if (!isClosed) await testbed.close();
  }
}

/** Suppliers with other kinds of credentials. */
const otherSuppliers = (url: string): CatalogueExtra => ({
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

function reportLeaks(findings: Findings, { sentRequests: said }: MarkedSender, marks: CanaryMarks): void {
  findings.add(
    `at least ${MIN_MARKS} secrets and texts went through`,
    marks.all.length >= MIN_MARKS,
    `${marks.all.length}, in ${said.length} requests`,
  );
  const servedCount = said.filter(({ status }) => status < 300).length;
  findings.add('and many requests were served', servedCount > 30, `${servedCount} served`);
  const leaks = said.flatMap(({ what, answer, ownMarks: own }) =>
    marks
      .findIn(Buffer.from(answer))
      .filter(({ text, isStored: stored }) => !own.has(text) && !stored)
      .map(({ name }) => `${what}: ${name}`),
  );
  expectNone(findings, 'answers that hold a text of somebody else', leaks, said.length);
}

/** `allowsStored`: whether marks that are stored by design are allowed. */
function checkForMarks(
  findings: Findings,
  marks: CanaryMarks,
  what: string,
  pieces: readonly StoredText[],
  allowsStored = false,
): void {
  const leaks = pieces.flatMap(({ location: where, text }) =>
    marks
      .findIn(text)
      .filter(({ isStored: stored }) => !(allowsStored && stored))
      .map(({ name }) => `${where}: ${name}`),
  );
  expectNone(findings, `pieces with one of ${marks.all.length} marks in ${what}`, leaks, pieces.length);
}

async function tryStoredValues(findings: Findings, testbed: HostileTestbed): Promise<void> {
  const values = [...(await valuesOf(await testbed.database()))];
  const acceptedValues: string[] = [];
  await inParallel(8, values, async (value) => {
    for (const headers of [{ authorization: `Bearer ${value}` }, { 'x-api-key': value }]) {
      const { status } = await fetch(`${testbed.url}/v1/models`, { headers });
      if (status !== 401) acceptedValues.push(`${status} ${value}`);
    }
  });
  expectNone(findings, 'values of the database that open anything as a key', acceptedValues, values.length);
}

async function searchLeftovers(
  findings: Findings,
  testbed: HostileTestbed,
  marks: CanaryMarks,
): Promise<void> {
  // The keys of the first start appear on the terminal and nowhere else.
  const lines = testbed.gateway.text.split('\n').filter((line) => line.startsWith('{'));
  print(`${lines.length} lines were logged`);
  checkForMarks(
    findings,
    marks,
    'the log, at its most talkative',
    lines.map((line, at) => ({ location: `line ${at}: ${line.slice(0, 300)}`, text: Buffer.from(line) })),
  );
  const pieces: StoredText[] = [];
  for await (const piece of dump(await testbed.database())) pieces.push(piece);
  checkForMarks(findings, marks, `a dump of the database, ${pieces.length} tables`, pieces, true);
  const data = join(testbed.folder, 'data');
  checkForMarks(findings, marks, 'the files of the service', [...piecesBelow(data)]);
  const files = [...filesBelow(data)];
  const open = files.filter(({ mode }) => (mode & 0o077) !== 0).map(({ path }) => path);
  expectNone(findings, 'files of the service that others may read', open, files.length);
  const cluster = [...piecesBelow(join(testbed.folder, 'postgres', 'cluster'))];
  checkForMarks(findings, marks, `the files of the database, ${cluster.length} of them`, cluster, true);
  const { checks } = await verifyMoney(await testbed.database());
  const failedChecks = checks.filter((check) => check.wrong.length > 0).map(({ name }) => name);
  expectNone(findings, 'the books afterwards: equalities that do not hold', failedChecks, checks.length);
}
