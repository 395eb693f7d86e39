import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runningEmbeddedPostgres } from '#inside/platform/database/embedded-postgres';
import type { Findings } from '../../test/system/findings';
import { Rows } from '../../test/system/rows';
import { type Came, PARTS, type Testbed, offeredBy } from './testbed';
import { type Trial, tryAll } from './trials';

type Part = 'taps' | 'jobs' | 'commands' | 'directories';
type Faults = Readonly<Record<Part, Readonly<Record<string, unknown>>>>;

const { faults } = offeredBy(PARTS) as { readonly faults: Faults };

/** A part has a name of small letters and hyphens. */
export const nameOf = (fault: string): string => fault.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

/** Two jobs of extensions run at a time, and one that hangs keeps its place for six seconds. */
const JOBS_WITHIN_MS = 90_000;
const DELIVERED_WITHIN_MS = 60_000;
const DIRECTORY_DEADLINE_MS = 30_000;

const beside = (part: 'taps' | 'jobs', field: string, withinMs: number): Trial[] =>
  Object.keys(faults[part]).map((fault) => ({
    what: fault,
    culprit: `"${field}":"parts/${nameOf(fault)}"`,
    isRefused: false,
    naming: 'log',
    withinMs,
    ask: (testbed) => testbed.chat([]),
  }));

export async function proveJobs(findings: Findings, testbed: Testbed): Promise<void> {
  await tryAll(findings, testbed, 'jobs', beside('jobs', 'job', JOBS_WITHIN_MS));
  await withRows(testbed, async (rows) => {
    const [row] = await rows.query<{ last: boolean }>(
      `SELECT succeeded_at > now() - interval '1 minute' AS last FROM repeating_job WHERE name = 'parts/works'`,
    );
    findings.add('the job beside them runs', row?.last === true);
  });
}

export async function proveCommands(findings: Findings, testbed: Testbed): Promise<void> {
  const trials = Object.keys(faults.commands).map((fault): Trial => {
    const name = `parts:${nameOf(fault)}`;
    return {
      what: fault,
      culprit: name,
      isRefused: true,
      naming: 'answer',
      ask: async ({ node }): Promise<Came> => {
        const { code, text } = await node.command(name);
        return { status: code === 1 ? 500 : 200, text: `${code}: ${text}`, cost: null };
      },
    };
  });
  await tryAll(findings, testbed, 'commands', trials);
}

/** Whatever it says, it says nothing of the password. */
export async function proveDirectories(findings: Findings, testbed: Testbed): Promise<void> {
  await withRows(testbed, async (rows) => {
    const trials = Object.keys(faults.directories).map((fault): Trial => {
      const provider = `parts/${nameOf(fault)}`;
      return {
        what: fault,
        culprit: `"directory":"${provider}"`,
        isRefused: true,
        naming: 'log',
        ask: async (bed) => {
          // Attempts from one address are bounded.
          await rows.query('DELETE FROM attempt_throttle');
          return signIn(bed, provider);
        },
      };
    });
    await tryAll(findings, testbed, 'directories', trials);
  });
}

async function signIn({ node: { url } }: Testbed, provider: string): Promise<Came> {
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
  // Anything but "it cannot be checked" would be a word about the password, or a bug.
  return {
    status: answer.status === 503 ? 503 : 200,
    text: `${answer.status}: ${text.slice(0, 300)}`,
    cost: null,
  };
}

export async function proveTaps(findings: Findings, testbed: Testbed): Promise<void> {
  await tryAll(findings, testbed, 'taps', beside('taps', 'tap', DELIVERED_WITHIN_MS));
  await withRows(testbed, async (rows) => {
    for (let waited = 0; waited < DELIVERED_WITHIN_MS; waited += 250) {
      // Pauses grow to minutes, so each tap is due at once.
      await rows.query('UPDATE tap SET due_at = now() WHERE claim IS NULL');
      const [letters] = await rows.query<{ count: string }>('SELECT count(*) FROM tap_dead_letter');
      if (
        letters?.count === '1' &&
        ['all', 'back', 'others'].every((name) => missing(testbed, name).length <= 1)
      )
        break;
      await delay(250);
    }
    const { length } = testbed.settled;
    const lost = (name: string): number => missing(testbed, name).length;
    findings.over('every settled request reached the tap beside them', length, lost('all'), `${length}`);
    findings.over(
      'every one reached the tap that was down, and came back',
      length,
      lost('back'),
      `${length}`,
    );
    const letters = await rows.query<{ tap: string; request_id: string }>(
      'SELECT tap, request_id FROM tap_dead_letter',
    );
    const left = missing(testbed, 'others');
    const isTold = letters.length === 1 && letters[0]?.tap === 'parts/others';
    findings.add(
      'the record at fault is the one dead letter, and all others went on',
      isTold && left.every((id) => id === letters[0]?.request_id),
      `${letters.length} dead letters, ${left.length} undelivered`,
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

/** The requests that a tap has not taken. */
function missing({ folder, settled }: Testbed, tap: string): string[] {
  let taken = '';
  try {
    taken = readFileSync(join(folder, tap), 'utf8');
  } catch {
    // Nothing was delivered yet.
  }
  const ids = new Set(taken.split('\n'));
  return settled.filter((id) => !ids.has(id));
}

async function withRows(testbed: Testbed, work: (rows: Rows) => Promise<void>): Promise<void> {
  const server = runningEmbeddedPostgres(join(testbed.folder, 'data'));
  if (server === undefined) throw new Error('the service has no embedded PostgreSQL');
  const rows = new Rows(server.ownerUrl);
  try {
    await work(rows);
  } finally {
    await rows.close();
  }
}
