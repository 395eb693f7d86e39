import { coverageOf, inventory, type OpenedTarget, WalArchive, withTarget } from '../../backup';
import { fail, type Finding, ok, reasonOf, warn } from '../../checks';
import { MINUTE_MS } from '../../kernel';
import type { Settings } from '../../platform';

/** The log is shipped every few seconds, a minute after it was written at the latest; an outage of that is told. */
const LOG_LATE_MS = 15 * MINUTE_MS;

/** Name of an object that is written and deleted, because a list alone says nothing about the right to write. */
const WRITE_CHECK = 'write-check';

/** A backup that is only thought to be there is found out about here, and not when it is needed. */
export async function backupsMade(settings: Settings): Promise<Finding> {
  const what = 'backups';
  const { databaseUrl, backupTarget, environment } = settings;
  if (databaseUrl !== undefined)
    return ok(what, 'the database is a server of your own: its backups are not seen from here');
  if (backupTarget === undefined) {
    const advice = 'Set BACKUP_TARGET and BACKUP_KEY: docs/backup.md.';
    return environment === 'production'
      ? warn(what, 'none are made, and money is kept in this database', advice)
      : ok(what, 'none are made (BACKUP_TARGET is not set)');
  }
  try {
    return await withTarget(settings, undefined, ({ target, key }) =>
      judged(settings, what, { target, key }),
    );
  } catch (error) {
    return fail(what, reasonOf(error), 'Until this is mended, a loss of this disk is a loss of everything.');
  }
}

async function judged(
  { backupEveryMs, backupVerifyEveryMs }: Settings,
  what: string,
  { target, key }: OpenedTarget,
): Promise<Finding> {
  const { backups, unreadable } = await inventory(target, key);
  const writeError = await checkWrites(target);
  if (writeError !== null)
    return fail(
      what,
      `${target.place} cannot be written: ${reasonOf(writeError)}`,
      'Give this user, or BACKUP_TARGET_KEY, the right to write and delete there: until then no backup is stored.',
    );
  const [spoilt] = unreadable.values();
  const newest = backups.at(-1)?.manifest;
  if (newest === undefined && spoilt !== undefined)
    return fail(what, spoilt.message, 'No other backup is there: run "backup".');
  if (newest === undefined)
    return warn(
      what,
      `there is none yet in ${target.place}`,
      'The running service makes the first; or run "backup".',
    );
  const age = Date.now() - Date.parse(newest.endedAt);
  const found = `the newest ended ${newest.endedAt}`;
  if (age > 2 * backupEveryMs)
    return fail(what, found, 'Look for the job "backup" in the log of the service, or run "backup".');
  const coverage = await coverageOf(new WalArchive(target, key), newest, 'all');
  const reach =
    coverage === null ? found : `${found}; the log is complete to ${coverage.until.toISOString()}`;
  if (coverage?.gap)
    return warn(
      what,
      `${reach}; the segment ${coverage.gap.segment} of the log ${coverage.gap.problem}`,
      'Run "backup": a log without a gap begins with it.',
    );
  if (spoilt !== undefined)
    return warn(what, `${reach}; ${spoilt.message}`, 'Delete its folder: the other backups do not need it.');
  const verified = backups.findLast(({ verified: mark }) => mark !== null)?.verified?.at;
  const isProven = verified !== undefined && Date.now() - Date.parse(verified) < 2 * backupVerifyEveryMs;
  if (!isProven && backupVerifyEveryMs > 0)
    return warn(
      what,
      `${reach}; ${verified === undefined ? 'none was verified' : `verified ${verified}`}`,
      'Run "backup:verify".',
    );
  if (coverage !== null && Date.now() - coverage.until.getTime() > LOG_LATE_MS)
    return warn(what, reach, 'Start the service, which ships the log; where it runs, look into its log.');
  return ok(what, reach);
}

/** Returns the error of a write or of the removal of what was written; null if both succeed. */
async function checkWrites(target: OpenedTarget['target']): Promise<unknown> {
  try {
    await target.put(WRITE_CHECK, Buffer.from(new Date().toISOString()));
    await target.delete(WRITE_CHECK);
    return null;
  } catch (error) {
    return error;
  }
}
