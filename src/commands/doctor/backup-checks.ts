import { coverageOf, readInventory, type OpenedTarget, WalArchive, withTarget } from '../../backup';
import { fail, type CheckFinding, ok, reasonOf, warn } from '../../checks';
import { MINUTE_MS } from '../../kernel';
import type { Settings } from '../../platform';

/** The log is shipped at most a minute after it was written; a longer outage is reported. */
const LOG_LATE_MS = 15 * MINUTE_MS;

/** Name of an object that is written and deleted, because listing alone does not prove the right to write. */
const WRITE_CHECK = 'write-check';

export async function checkBackups(settings: Settings): Promise<CheckFinding> {
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
      examineBackups(settings, what, { target, key }),
    );
  } catch (error) {
    return fail(what, reasonOf(error), 'Until this is mended, a loss of this disk is a loss of everything.');
  }
}

async function examineBackups(
  { backupEveryMs, backupVerifyEveryMs }: Settings,
  what: string,
  { target, key }: OpenedTarget,
): Promise<CheckFinding> {
  const { backups, unreadable } = await readInventory(target, key);
  const writeError = await checkWrites(target);
  if (writeError !== null)
    return fail(
      what,
      `${target.location} cannot be written: ${reasonOf(writeError)}`,
      'Give this user, or BACKUP_TARGET_KEY, the right to write and delete there: until then no backup is stored.',
    );
  const [damaged] = unreadable.values();
  const newest = backups.at(-1)?.manifest;
  if (newest === undefined && damaged !== undefined)
    return fail(what, damaged.message, 'No other backup is there: run "backup".');
  if (newest === undefined)
    return warn(
      what,
      `there is none yet in ${target.location}`,
      'The running service makes the first; or run "backup".',
    );
  const age = Date.now() - Date.parse(newest.endedAt);
  const newestText = `the newest ended ${newest.endedAt}`;
  if (age > 2 * backupEveryMs)
    return fail(what, newestText, 'Look for the job "backup" in the log of the service, or run "backup".');
  const coverage = await coverageOf(new WalArchive(target, key), newest, 'all');
  const coverageText =
    coverage === null ? newestText : `${newestText}; the log is complete to ${coverage.until.toISOString()}`;
  if (coverage?.gap)
    return warn(
      what,
      `${coverageText}; the segment ${coverage.gap.segment} of the log ${coverage.gap.problem}`,
      'Run "backup": a log without a gap begins with it.',
    );
  if (damaged !== undefined)
    return warn(
      what,
      `${coverageText}; ${damaged.message}`,
      'Delete its folder: the other backups do not need it.',
    );
  const verified = backups.findLast(({ verified: mark }) => mark !== null)?.verified?.at;
  const isProven = verified !== undefined && Date.now() - Date.parse(verified) < 2 * backupVerifyEveryMs;
  if (!isProven && backupVerifyEveryMs > 0)
    return warn(
      what,
      `${coverageText}; ${verified === undefined ? 'none was verified' : `verified ${verified}`}`,
      'Run "backup:verify".',
    );
  if (coverage !== null && Date.now() - coverage.until.getTime() > LOG_LATE_MS)
    return warn(
      what,
      coverageText,
      'Start the service, which ships the log; where it runs, look into its log.',
    );
  return ok(what, coverageText);
}

/** Returns the error of writing or deleting the object; null if both succeed. */
async function checkWrites(target: OpenedTarget['target']): Promise<unknown> {
  try {
    await target.put(WRITE_CHECK, Buffer.from(new Date().toISOString()));
    await target.delete(WRITE_CHECK);
    return null;
  } catch (error) {
    return error;
  }
}
