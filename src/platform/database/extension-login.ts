import { createHash, createHmac, hkdfSync, pbkdf2Sync } from 'node:crypto';
import { Client } from 'pg';

/** A login of one extension in one database, and the passwords that it can have. */
export interface ExtensionLogin {
  readonly name: string;
  readonly password: string;
  /** Passwords under former master keys, which a login keeps until a start with the current one. */
  readonly formerPasswords: readonly string[];
}

const DIGITS = 8;
const PASSWORD_BYTES = 32;

/** The schema of an extension and the role that owns it share one name. Ids have no underscore, so names are unique. */
export const extensionRole = (extension: string): string => `ext_${extension.replaceAll('-', '_')}`;

/**
 * Roles belong to the server and a login to one of its databases, so the name ends with a digest of the database's
 * name. `extensionRole` never returns such a name.
 */
export function extensionLoginName(extension: string, databaseUrl: string): string {
  const digest = createHash('sha256').update(databaseIn(databaseUrl)).digest('hex');
  return `extension_${extension.replaceAll('-', '_')}_${digest.slice(0, DIGITS)}`;
}

/** Every node derives the same passwords from MASTER_KEY, so that none is stored. */
export function extensionLogin(extension: string, databaseUrl: string, masterKey: string): ExtensionLogin {
  const name = extensionLoginName(extension, databaseUrl);
  const [password = '', ...formerPasswords] = masterKey
    .split(',')
    .map((key) => key.trim())
    .filter((key, index) => index === 0 || key !== '')
    .map((key) => passwordOf(name, key));
  return { name, password, formerPasswords };
}

const passwordOf = (login: string, masterKey: string): string =>
  Buffer.from(
    hkdfSync('sha256', masterKey, 'switchboard', `database login ${login}`, PASSWORD_BYTES),
  ).toString('base64url');

/** PostgreSQL uses the name of the user if a URL names no database. */
function databaseIn(url: string): string {
  const { pathname, username } = new URL(url);
  return decodeURIComponent(pathname.slice(1) || username);
}

/** URL for another login. The session starts without the role in the URL, of which the login is no member. */
export function urlForLogin(
  url: string,
  { name, password }: Pick<ExtensionLogin, 'name' | 'password'>,
): string {
  const address = new URL(url);
  address.username = name;
  address.password = password;
  const options = address.searchParams
    .get('options')
    ?.replaceAll(/(?:^|\s)-c role=\S+/g, '')
    .trim();
  if (options) address.searchParams.set('options', options);
  else address.searchParams.delete('options');
  return address.href;
}

/**
 * Value that the server stores for a password (RFC 5803), so that no statement or log contains the password. More than
 * one iteration would not help a random password.
 */
export function scramVerifier({ name, password }: Pick<ExtensionLogin, 'name' | 'password'>): string {
  const salt = createHash('sha256').update(`salt ${name} ${password}`).digest().subarray(0, 16);
  const salted = pbkdf2Sync(password, salt, 1, 32, 'sha256');
  const keyFor = (purpose: string): Buffer => createHmac('sha256', salted).update(purpose).digest();
  const storedKey = createHash('sha256').update(keyFor('Client Key')).digest('base64');
  return `SCRAM-SHA-256$1:${salt.toString('base64')}$${storedKey}:${keyFor('Server Key').toString('base64')}`;
}

/** Reason why the server rejects the login; null if it accepts it. */
export async function loginProblem(
  url: string,
  login: Pick<ExtensionLogin, 'name' | 'password'>,
): Promise<Error | null> {
  const client = new Client({
    connectionString: urlForLogin(url, login),
    application_name: 'switchboard-extension-login',
    connectionTimeoutMillis: 10_000,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return null;
  } catch (error) {
    return error as Error;
  } finally {
    await client.end();
  }
}
