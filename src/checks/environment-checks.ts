import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasJsonParseBug } from '../kernel';
import {
  createRedisClient,
  errorCode,
  isLoopbackOrigin,
  loadSettings,
  Logger,
  type Settings,
  SettingsError,
  spellingWarnings,
} from '../platform';
import { tryConnection } from './connect';
import { fail, type CheckFinding, ok, reasonOf, warn } from './check-finding';

const MAIL_DEADLINE_MS = 3_000;
const REDIS_DEADLINE_MS = 3_000;
const GIBIBYTE = 1024 ** 3;

/** Always succeeds: texts that V8 can misread go to our own parser. */
export function checkEngine(): CheckFinding {
  const status = hasJsonParseBug()
    ? 'its JSON.parse misreads escaped names (nodejs/node#63785); the service reads such texts itself'
    : 'its JSON.parse reads escaped names correctly';
  return ok('engine', `Node.js ${process.versions.node}; ${status}`);
}

export function checkDataFolder({ dataFolder: folder }: Settings): CheckFinding {
  const what = 'data folder';
  try {
    mkdirSync(folder, { recursive: true });
    const trialFile = join(folder, `.doctor-${randomUUID()}`);
    try {
      writeFileSync(trialFile, 'x', { flag: 'wx' });
    } finally {
      rmSync(trialFile, { force: true });
    }
  } catch (error) {
    const isFull = errorCode(error) === 'ENOSPC' || errorCode(error) === 'EDQUOT';
    const advice = isFull
      ? 'Make room: the journal of charges is written here.'
      : `Let the service write to ${folder}, or set DATA_FOLDER.`;
    return fail(what, reasonOf(error), advice);
  }
  const { bavail, bsize } = statfsSync(folder);
  const free = `${((bavail * bsize) / GIBIBYTE).toFixed(1)} GiB free in ${folder}`;
  if (bavail * bsize < GIBIBYTE / 4)
    return fail(what, free, 'Make room: the journal of charges is written here.');
  if (bavail * bsize < 2 * GIBIBYTE) return warn(what, free, 'Make room before it runs full.');
  return ok(what, free);
}

export function checkBaseUrl(
  { baseUrl, environment, host }: Settings,
  { NODE_ENV }: NodeJS.ProcessEnv,
): CheckFinding {
  const what = 'base URL';
  const isLocal = isLoopbackOrigin(baseUrl);
  if (!isLocal && NODE_ENV !== 'production')
    return fail(
      what,
      `${baseUrl} is public, which is production, and NODE_ENV is ${NODE_ENV ?? 'not set'}`,
      'Set NODE_ENV=production.',
    );
  if (isLocal && environment === 'production')
    return warn(what, baseUrl, 'Set BASE_URL: links in mails would lead their readers to their own machine.');
  if (!isLocal && new URL(baseUrl).protocol === 'http:')
    return warn(what, baseUrl, 'Put TLS in front: keys and sessions travel in the clear.');
  if (isLocal && host === '0.0.0.0')
    return warn(
      what,
      `${baseUrl}, though it listens on every address`,
      'Set BASE_URL to what others call it by.',
    );
  return ok(what, baseUrl);
}

const SECRETS: ReadonlySet<string> = new Set(['SESSION_SECRET', 'KEY_PEPPER', 'MASTER_KEY']);

/** Validated as in production, which refuses placeholders: a development setup could become production later. */
export function checkSecrets(settings: Settings, environment: NodeJS.ProcessEnv): CheckFinding {
  const what = 'secrets';
  try {
    loadSettings({ ...environment, NODE_ENV: 'production' });
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const faults = error.issues.filter(({ name }) => SECRETS.has(name));
    if (faults.length > 0) {
      const message = faults.map(({ name, problem }) => `${name} ${problem}`).join('; ');
      return warn(what, message, 'Make each with: openssl rand -base64 48');
    }
  }
  return ok(what, settings.environment === 'production' ? 'fit for production' : 'no placeholders');
}

export function checkSettingNames(environment: NodeJS.ProcessEnv): CheckFinding {
  const what = 'setting names';
  const warnings = spellingWarnings(environment);
  return warnings.length === 0
    ? ok(what, 'no misspelt variable')
    : warn(what, warnings.join(' '), 'Correct or remove the variable.');
}

export async function checkMail({ smtpUrl, environment, baseUrl }: Settings): Promise<CheckFinding> {
  const what = 'mail';
  if (smtpUrl === undefined) {
    const message = 'no server: mails are written to the outbox in the data folder';
    if (environment !== 'production') return ok(what, message);
    const finding = isLoopbackOrigin(baseUrl) ? warn : fail;
    return finding(what, message, 'Set SMTP_URL: nobody can verify an address or reset a password.');
  }
  const { hostname, port, protocol } = new URL(smtpUrl);
  const secure = protocol === 'smtps:';
  const address = { host: hostname, port: Number(port) || (secure ? 465 : 587), secure };
  try {
    await tryConnection({ ...address, deadlineMs: MAIL_DEADLINE_MS });
    return ok(what, `${hostname}:${address.port} answers`);
  } catch (error) {
    return fail(what, `${hostname}:${address.port}: ${reasonOf(error)}`, 'Check SMTP_URL and the way there.');
  }
}

export async function checkRedis({ redisUrl }: Settings): Promise<CheckFinding> {
  const what = 'redis';
  if (redisUrl === undefined) return ok(what, 'not used: right for one node, which "nodes" below looks at');
  const { hostname, port, protocol } = new URL(redisUrl);
  const address = { host: hostname, port: Number(port) || 6_379, secure: protocol === 'rediss:' };
  try {
    await tryConnection({ ...address, deadlineMs: REDIS_DEADLINE_MS });
    await ping(redisUrl);
    return ok(what, `${hostname}:${address.port} answers`);
  } catch (error) {
    return fail(
      what,
      `${hostname}:${address.port}: ${reasonOf(error)}`,
      'Check REDIS_URL, or unset it for one node.',
    );
  }
}

async function ping(url: string): Promise<void> {
  const client = createRedisClient(url, Logger.create({ logLevel: 'silent', logFormat: 'json' }));
  try {
    await client.ping();
  } finally {
    client.disconnect();
  }
}
