import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { GithubStandIn } from '../../test/support/github-stand-in';
import { OpenIdStandIn } from '../../test/support/openid-stand-in';
import { World } from '../operations/world';
import { Findings, runProof } from '../../test/system/findings';
import { startGateway } from '../../test/system/gateway';
import type { ProofNode } from '../../test/system/node';
import type { InstallationDatabase } from '../../test/system/installation-database';
import { accountRows, proveOutbox } from './account-rows';
import { DnsStandIn } from '../../test/support/dns-stand-in';
import { portalAddress, signInRows, providerEnvironment } from './sign-in-rows';
import { handOffRows } from './hand-off-rows';
import { rows as provenRows } from './rows';

/**
 * Measures what the response times of the sign-in forms reveal, and how fast a suspended user is signed out on two
 * nodes. Rows for keys and pages follow; the other account rows are tests in test/integration/accounts.
 */

const SAMPLES = Number(process.argv[2] ?? 500);
const MAX_DIFFERENCE_MS = 5;
const MAX_WAIT_MS = 1_000;
const ROUNDS = 50;
const findings = new Findings('prove:identity');
const password = 'kettle orbit mosaic thunder';

const environment = {
  KEY_PEPPER: 'b8Rw2Xc7Vn4Mq1Zk6Ty9Jh3Gf5Dp0LsE',
  ACCOUNT_FREE_ATTEMPTS: '1000000',
  ADDRESS_FREE_ATTEMPTS: '1000000',
  PUBLIC_REQUESTS_PER_MINUTE: '1000000',
  WORKERS: 'off',
};

const post = (node: ProofNode, path: string, body: object): Promise<Response> =>
  fetch(node.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(20_000),
  });

const newAddress = (): string => `${randomBytes(8).toString('hex')}@example.com`;

async function addAccount(rows: InstallationDatabase, hash: string): Promise<{ id: number; email: string }> {
  const email = newAddress();
  const [row] = await rows.query<{ id: number }>(
    `INSERT INTO user_account (email, display_name, status, password_hash, billing_exempt)
     VALUES ($1, 'Proof', 'active', $2, true) RETURNING id`,
    [email, hash],
  );
  if (row === undefined) throw new Error('an account is made');
  return { id: row.id, email };
}

/** Hash of the proof's password, made by the service. */
async function ownHash(node: ProofNode, rows: InstallationDatabase): Promise<string> {
  const email = newAddress();
  await post(node, '/auth/register', { email, password, terms: true });
  const [row] = await rows.query<{ password_hash: string }>(
    'SELECT password_hash FROM user_account WHERE email = $1',
    [email],
  );
  if (row === undefined) throw new Error('the registration left no account');
  return row.password_hash;
}

const median = (times: readonly number[]): number =>
  [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? NaN;

interface FormRoute {
  readonly path: string;
  body(email: string): object;
}

const formRoutes: readonly FormRoute[] = [
  { path: '/auth/login', body: (email) => ({ email, password: 'not the password at all' }) },
  { path: '/auth/register', body: (email) => ({ email, password, terms: true }) },
  { path: '/auth/forgot-password', body: (email) => ({ email }) },
  { path: '/auth/resend-verification', body: (email) => ({ email }) },
];

/** Measures in pairs of alternating order, so that slow moments affect both kinds equally. */
async function proveFormRoute(
  node: ProofNode,
  route: FormRoute,
  knownEmails: readonly string[],
): Promise<void> {
  const times: [number[], number[]] = [[], []];
  const answers = new Set<string>();
  const measureRequest = async (isKnown: 0 | 1, email: string): Promise<void> => {
    const startedAt = performance.now();
    const answer = await post(node, route.path, route.body(email));
    const text = await answer.text();
    times[isKnown].push(performance.now() - startedAt);
    answers.add(`${answer.status} ${text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '')}`);
  };
  for (let pair = 0; pair < SAMPLES; pair += 1) {
    const requests = [
      () => measureRequest(0, newAddress()),
      () => measureRequest(1, knownEmails[pair % knownEmails.length] ?? ''),
    ];
    for (const request of pair % 2 === 0 ? requests : requests.toReversed()) await request();
  }
  const [unknown, recognised] = times.map(median) as [number, number];
  const difference = Math.abs(unknown - recognised);
  findings.add(
    route.path,
    difference < MAX_DIFFERENCE_MS && answers.size === 1,
    `unknown ${unknown.toFixed(2)} ms, known ${recognised.toFixed(2)} ms, difference ${difference.toFixed(2)} ms ` +
      `over ${SAMPLES} samples each; ${answers.size} kind of answer`,
  );
}

async function suspendOnce(
  nodes: readonly ProofNode[],
  rows: InstallationDatabase,
  hash: string,
): Promise<number> {
  const { id, email } = await addAccount(rows, hash);
  const [first] = nodes;
  if (first === undefined) throw new Error('there is a node');
  const signInResponse = await post(first, '/auth/login', { email, password });
  const cookie = signInResponse.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  const key = await first.addKey({ user_id: id });
  const requests = nodes.flatMap((node) => [
    () => fetch(`${node.url}/api/legal/status`, { headers: { cookie } }),
    () => fetch(`${node.url}/v1/key`, { headers: { authorization: `Bearer ${key.text}` } }),
  ]);
  for (const request of requests) {
    const { status } = await request();
    if (status !== 200) throw new Error(`an active person was answered ${status}`);
  }
  await rows.query("UPDATE user_account SET status = 'suspended' WHERE id = $1", [id]);
  const startedAt = performance.now();
  const endings = requests.map(async (request) => {
    while ((await request()).status !== 403) {
      if (performance.now() - startedAt > 10 * MAX_WAIT_MS) return Infinity;
      await delay(2);
    }
    return performance.now() - startedAt;
  });
  return Math.max(...(await Promise.all(endings)));
}

async function proveSuspension(
  nodes: readonly ProofNode[],
  rows: InstallationDatabase,
  hash: string,
): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) times.push(await suspendOnce(nodes, rows, hash));
  const longest = Math.max(...times);
  findings.add(
    `a suspended person's sessions and keys end on ${nodes.length} nodes`,
    longest <= MAX_WAIT_MS,
    `half within ${median(times).toFixed(1)} ms, all ${ROUNDS} within ${longest.toFixed(1)} ms`,
  );
}

/**
 * Proves rows 36–40, 42, 46–48, 53, 60–63 and 71–75, on an installation with the sandbox's models and GitHub sign-in.
 */
async function proveRows(): Promise<void> {
  const github = await GithubStandIn.start([`${portalAddress}/oauth/idp2/login/callback/`]);
  const provider = await OpenIdStandIn.start();
  const dns = await DnsStandIn.start();
  const world = await World.open({ ...providerEnvironment(github, provider), DNS_SERVERS: dns.address });
  try {
    for (const { row, prove } of [
      ...signInRows(github, provider),
      ...handOffRows(provider, dns),
      ...provenRows,
      ...accountRows,
    ])
      await findings.attempt(row, () => prove(world));
  } finally {
    await world.close();
    await github.close();
    await provider.close();
    await dns.close();
  }
}

async function main(): Promise<void> {
  const gateway = await startGateway(environment);
  try {
    const { node: here, rows } = gateway;
    const nodes = [here, await gateway.another('there')];
    const hash = await ownHash(here, rows);
    const knownEmails: string[] = [];
    for (let n = 0; n < 50; n += 1) knownEmails.push((await addAccount(rows, hash)).email);
    for (const route of formRoutes) await proveFormRoute(here, route, knownEmails);
    await findings.attempt('mails are shown on the developer’s machine alone', () => proveOutbox(gateway));
    await proveSuspension(nodes, rows, hash);
    await proveRows();
    findings.end();
  } finally {
    await gateway.stop();
  }
}

runProof(main);
