import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runningEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import type { Findings } from '../../test/system/findings';
import { InstallationDatabase } from '../../test/system/installation-database';
import { type RequestOutcome, PARTS, type ExtensionTestbed, exportsOf } from './testbed';
import { type FaultTrial, runTrials } from './trials';

type FaultyPart = 'taps' | 'jobs' | 'commands' | 'directories';
type PartFaults = Readonly<Record<FaultyPart, Readonly<Record<string, unknown>>>>;

const { faults } = exportsOf(PARTS) as { readonly faults: PartFaults };

/** Names of parts consist of lower-case letters and hyphens. */
export const nameOf = (fault: string): string => fault.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

/** Two extension jobs run at a time, and a hanging one occupies its slot for six seconds. */
const JOBS_WITHIN_MS = 90_000;
const DELIVERED_WITHIN_MS = 60_000;
const DIRECTORY_DEADLINE_MS = 30_000;

const backgroundTrials = (part: 'taps' | 'jobs', field: string, withinMs: number): FaultTrial[] =>
  Object.keys(faults[part]).map((fault) => ({
    what: fault,
    culprit: `"${field}":"parts/${nameOf(fault)}"`,
    isRefused: false,
    naming: 'log',
    withinMs,
    ask: (testbed) => testbed.chat([]),
  }));

export async function proveJobs(findings: Findings, testbed: ExtensionTestbed): Promise<void> {
  await runTrials(findings, testbed, 'jobs', backgroundTrials('jobs', 'job', JOBS_WITHIN_MS));
  await withRows(testbed, async (rows) => {
    const [row] = await rows.query<{ last: boolean }>(
      `SELECT succeeded_at > now() - interval '1 minute' AS last FROM repeating_job WHERE name = 'parts/works'`,
    );
    findings.add('the job beside them runs', row?.last === true);
  });
}

export async function proveCommands(findings: Findings, testbed: ExtensionTestbed): Promise<void> {
  const trials = Object.keys(faults.commands).map((fault): FaultTrial => {
    const name = `parts:${nameOf(fault)}`;
    return {
      what: fault,
      culprit: name,
      isRefused: true,
      naming: 'answer',
      ask: async ({ node }): Promise<RequestOutcome> => {
        const { code, text } = await node.command(name);
        return { status: code === 1 ? 500 : 200, text: `${code}: ${text}`, cost: null };
      },
    };
  });
  await runTrials(findings, testbed, 'commands', trials);
}

/** Whatever the directory returns, the response never reveals whether the password is right. */
export async function proveDirectories(findings: Findings, testbed: ExtensionTestbed): Promise<void> {
  await withRows(testbed, async (rows) => {
    const trials = Object.keys(faults.directories).map((fault): FaultTrial => {
      const provider = `parts/${nameOf(fault)}`;
      return {
        what: fault,
        culprit: `"directory":"${provider}"`,
        isRefused: true,
        naming: 'log',
        ask: async (bed) => {
          // Attempts per address are limited.
          await rows.query('DELETE FROM attempt_throttle');
          return signIn(bed, provider);
        },
      };
    });
    await runTrials(findings, testbed, 'directories', trials);
  });
}

async function signIn({ node: { url } }: ExtensionTestbed, provider: string): Promise<RequestOutcome> {
  const answer = await fetch(`${url}/auth/login`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin: url, accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      provider,
      user_name: 'ina',
      password: 'right horse',
      terms: 'on',
    }).toString(),
    signal: AbortSignal.timeout(DIRECTORY_DEADLINE_MS),
  });
  const text = await answer.text();
  // Any response other than "cannot be checked" would reveal something about the password, or be a bug.
  return {
    status: answer.status === 503 ? 503 : 200,
    text: `${answer.status}: ${text.slice(0, 300)}`,
    cost: null,
  };
}

export async function proveTaps(findings: Findings, testbed: ExtensionTestbed): Promise<void> {
  await runTrials(findings, testbed, 'taps', backgroundTrials('taps', 'tap', DELIVERED_WITHIN_MS));
  await withRows(testbed, async (rows) => {
    for (let waited = 0; waited < DELIVERED_WITHIN_MS; waited += 250) {
      // Retry delays grow to minutes, so every tap is made due now.
      await rows.query('UPDATE tap SET due_at = now() WHERE claim IS NULL');
      const [letters] = await rows.query<{ count: string }>('SELECT count(*) FROM tap_dead_letter');
      if (
        letters?.count === '1' &&
        ['all', 'back', 'others'].every((name) => missingRequests(testbed, name).length <= 1)
      )
        break;
      await delay(250);
    }
    const { length } = testbed.settledIds;
    const missingCount = (name: string): number => missingRequests(testbed, name).length;
    findings.expectNoneWrong(
      'every settled request reached the tap beside them',
      length,
      missingCount('all'),
      `${length}`,
    );
    findings.expectNoneWrong(
      'every one reached the tap that was down, and came back',
      length,
      missingCount('back'),
      `${length}`,
    );
    const deadLetters = await rows.query<{ tap: string; request_id: string }>(
      'SELECT tap, request_id FROM tap_dead_letter',
    );
    const missingRecords = missingRequests(testbed, 'others');
    const isReported = deadLetters.length === 1 && deadLetters[0]?.tap === 'parts/others';
    findings.add(
      'the record at fault is the one dead letter, and all others went on',
      isReported && missingRecords.every((id) => id === deadLetters[0]?.request_id),
      `${deadLetters.length} dead letters, ${missingRecords.length} undelivered`,
    );
    const [sums] = await rows.query<{ dropped: string; delivered: string }>(
      `SELECT sum(dropped) AS dropped, sum(delivered) FILTER (WHERE last_error IS NOT NULL
        AND name NOT IN ('parts/back', 'parts/others')) AS delivered FROM tap`,
    );
    findings.add(
      'nothing was dropped, and nothing counts as delivered that was not',
      sums?.dropped === '0' && sums.delivered === '0',
      JSON.stringify(sums),
    );
  });
}

/** Returns the requests that a tap has not received. */
function missingRequests({ folder, settledIds: settled }: ExtensionTestbed, tap: string): string[] {
  let received = '';
  try {
    received = readFileSync(join(folder, tap), 'utf8');
  } catch {
    // Nothing has been delivered yet.
  }
  const ids = new Set(received.split('\n'));
  return settled.filter((id) => !ids.has(id));
}

async function withRows(
  testbed: ExtensionTestbed,
  work: (rows: InstallationDatabase) => Promise<void>,
): Promise<void> {
  const server = runningEmbeddedPostgres(join(testbed.folder, 'data'));
  if (server === undefined) throw new Error('the service has no embedded PostgreSQL');
  const rows = new InstallationDatabase(server.ownerUrl);
  try {
    await work(rows);
  } finally {
    await rows.close();
  }
}
