import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Findings } from '../../test/system/findings';
import type { ProofGateway } from '../../test/system/gateway';
import { Program, projectFolder } from '../../test/system/program';
import { residentMb } from './process-tree';
import { splitByPath } from './path-splitter';

const IDLE_MS = 5_000;
const STARTS = 5;
const MAX_START_MS = 800;
const MAX_MB = 130;
/** Source files that only a node with pages loads. */
const PAGE_FILES = /boot\/pages\.js|argon2|pdfkit/;

const { scripts } = JSON.parse(readFileSync(join(projectFolder, 'package.json'), 'utf8')) as {
  scripts: Readonly<Record<string, string>>;
};
/** Node flags and entry file used by `npm start`. */
const startArguments = (scripts['start'] ?? '').split(/(?<=^|\s)node /)[1]?.split(' ') ?? [];

interface StartMeasurement {
  readonly ms: number;
  readonly mb: number;
  readonly loaded: string;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

/** Starts a node of the role on the existing database, measures it when idle and stops it. */
async function startOnce(gateway: ProofGateway, role: string): Promise<StartMeasurement> {
  const folder = join(gateway.folder, `role-${role}`);
  mkdirSync(folder, { recursive: true });
  const environment = { ...process.env, ...gateway.node.environment, DATA_FOLDER: folder, SERVE: role };
  const args = ['--require', join(__dirname, 'loaded-files.js'), ...startArguments];
  const startedAt = performance.now();
  const program = Program.run(process.execPath, args, environment, { folder: projectFolder });
  await program.find(/ is ready at (http:\S+)/);
  const ms = performance.now() - startedAt;
  await delay(IDLE_MS);
  const mb = residentMb(program.pid);
  program.signal('SIGUSR2');
  const [, loaded = ''] = await program.find(/^loaded: (.*)$/m);
  await program.stop();
  return { ms, mb, loaded };
}

/** Measures memory and start time of each role, then calls both behind one address. */
export async function proveRoles(findings: Findings, gateway: ProofGateway): Promise<void> {
  const starts: Record<'all' | 'gateway', StartMeasurement[]> = { all: [], gateway: [] };
  for (let round = 0; round < STARTS; round += 1)
    for (const role of ['all', 'gateway'] as const) starts[role].push(await startOnce(gateway, role));
  const medianOf = (role: 'all' | 'gateway', what: 'ms' | 'mb'): number =>
    median(starts[role].map((start) => start[what]));
  const [ms, mb] = [medianOf('gateway', 'ms'), medianOf('gateway', 'mb')];
  findings.add(
    `SERVE=gateway starts within ${MAX_START_MS} ms`,
    ms <= MAX_START_MS,
    `${ms.toFixed(0)} ms; all: ${medianOf('all', 'ms').toFixed(0)} ms`,
  );
  findings.add(
    `SERVE=gateway rests at no more than ${MAX_MB} MB`,
    mb <= MAX_MB,
    `${mb.toFixed(0)} MB; all: ${medianOf('all', 'mb').toFixed(0)} MB`,
  );
  const pages = starts.gateway
    .flatMap(({ loaded }) => loaded.split(' '))
    .filter((file) => PAGE_FILES.test(file));
  findings.add('SERVE=gateway has no code of pages in memory', pages.length === 0, pages.join(', '));
  await behindOneAddress(findings, gateway);
}

async function behindOneAddress(findings: Findings, gateway: ProofGateway): Promise<void> {
  const [calls, portal] = [
    await gateway.another('gateway-role', { SERVE: 'gateway' }),
    await gateway.another('portal-role', { SERVE: 'portal' }),
  ];
  const address = await splitByPath(calls.url, portal.url);
  const bearer = { authorization: `Bearer ${gateway.node.keys.demo}` };
  const body = JSON.stringify({ model: 'proof', messages: [{ role: 'user', content: 'Hello' }] });
  const fetchStatus = async (path: string, init: RequestInit = {}): Promise<number> =>
    (await fetch(address.url + path, { redirect: 'manual', signal: AbortSignal.timeout(30_000), ...init }))
      .status;
  const json = { ...bearer, 'content-type': 'application/json' };
  const statuses: Record<string, Promise<number>> = {
    'POST /v1/chat/completions': fetchStatus('/v1/chat/completions', { method: 'POST', headers: json, body }),
    'GET /v1/models': fetchStatus('/v1/models', { headers: bearer }),
    'GET /v1/openapi.json': fetchStatus('/v1/openapi.json'),
    'GET /': fetchStatus('/'),
    'GET /login': fetchStatus('/login'),
    'GET /openapi.json': fetchStatus('/openapi.json'),
    'GET /llms.txt': fetchStatus('/llms.txt'),
    'GET /health/ready': fetchStatus('/health/ready'),
  };
  for (const [what, status] of Object.entries(statuses)) {
    const actualStatus = await status;
    findings.add(`both roles behind one address: ${what}`, actualStatus === 200, String(actualStatus));
  }
  const misroutedUrls = [`${calls.url}/login`, `${calls.url}/dashboard`, `${portal.url}/v1/models`];
  for (const url of misroutedUrls) {
    const answer = await fetch(url, { headers: bearer });
    findings.add(
      `${new URL(url).pathname} at the other role is no page and no answer`,
      answer.status === 404,
    );
  }
  address.close();
}
