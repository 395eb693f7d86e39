import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonParseFaulty } from '../kernel';
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
import { fail, type Finding, ok, reasonOf, warn } from './finding';

const MAIL_DEADLINE_MS = 3_000;
const REDIS_DEADLINE_MS = 3_000;
const GIBIBYTE = 1024 ** 3;

/** No reason to worry either way: texts that V8 may misread go to a parser of our own. */
export function engine(): Finding {
  const fault = isJsonParseFaulty()
    ? 'its JSON.parse misreads escaped names (nodejs/node#63785); the service reads such texts itself'
    : 'its JSON.parse reads escaped names correctly';
  return ok('engine', `Node.js ${process.versions.node}; ${fault}`);
}

export function dataFolder({ dataFolder: folder }: Settings): Finding {
  const what = 'data folder';
  try {
    mkdirSync(folder, { recursive: true });
    const trial = join(folder, `.doctor-${randomUUID()}`);
    try {
      writeFileSync(trial, 'x', { flag: 'wx' });
    } finally {
      rmSync(trial, { force: true });
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

export function baseAddress(
  { baseUrl, environment, host }: Settings,
  { NODE_ENV }: NodeJS.ProcessEnv,
): Finding {
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

/** Judged as in production, which refuses placeholders: development may still become production one day. */
export function secretsFit(settings: Settings, environment: NodeJS.ProcessEnv): Finding {
  const what = 'secrets';
  try {
    loadSettings({ ...environment, NODE_ENV: 'production' });
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const faults = error.faults.filter(({ name }) => SECRETS.has(name));
    if (faults.length > 0) {
      const found = faults.map(({ name, problem }) => `${name} ${problem}`).join('; ');
      return warn(what, found, 'Make each with: openssl rand -base64 48');
    }
  }
  return ok(what, settings.environment === 'production' ? 'fit for production' : 'no placeholders');
}

export function settingNames(environment: NodeJS.ProcessEnv): Finding {
  const what = 'setting names';
  const warnings = spellingWarnings(environment);
  return warnings.length === 0
    ? ok(what, 'no misspelt variable')
    : warn(what, warnings.join(' '), 'Correct or remove the variable.');
}

export async function mail({ smtpUrl, environment, baseUrl }: Settings): Promise<Finding> {
  const what = 'mail';
  if (smtpUrl === undefined) {
    const found = 'no server: mails are written to the outbox in the data folder';
    if (environment !== 'production') return ok(what, found);
    const judge = isLoopbackOrigin(baseUrl) ? warn : fail;
    return judge(what, found, 'Set SMTP_URL: nobody can verify an address or reset a password.');
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

export async function redis({ redisUrl }: Settings): Promise<Finding> {
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

/** The server has to let us in, too. */
async function ping(url: string): Promise<void> {
  const client = createRedisClient(url, Logger.create({ logLevel: 'silent', logFormat: 'json' }));
  try {
    await client.ping();
  } finally {
    client.disconnect();
  }
}
