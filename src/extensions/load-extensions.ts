import { pathToFileURL } from 'node:url';
import {
  type Contributions,
  CONTRACT_VERSION,
  type Extension,
  type Host,
  HOST_SYMBOL,
  type Log,
  type Need,
} from '#extension';
import { thrownWords, withDeadline } from '../kernel';
import { problemOf } from './check-contributions';
import { digestOf, type ExtensionFiles, filesOf } from './extension-files';
import { type ListedExtension, listedExtensions } from './extension-list';
import { allNeeds, ExtensionPorts } from './extension-ports';
import { ExtensionRefused } from './extension-refused';
import { settingsOf } from './extension-settings';
import { takesIn } from './host-range';
import type { LoadedExtension } from './loaded-extension';

/** How long an extension may take to be read, and again to set itself up. */
const LOAD_DEADLINE_MS = 15_000;
const ID = /^[a-z][a-z0-9-]{1,30}$/;
/** Parts of the service itself stand under these names. */
const TAKEN: readonly string[] = ['core', 'http'];

export interface LoadContext {
  readonly environment: NodeJS.ProcessEnv;
  /** Paths and packages are looked up from here. */
  readonly workingFolder: string;
  readonly logFor: (extension: string) => Log;
  /** What an extension imports from `@switchboard/extension/nest`. */
  readonly lent: object;
}

/** Every extension that the operator listed, in that order; the first that cannot be used ends the start. */
export async function loadExtensions(
  list: string,
  context: LoadContext,
): Promise<readonly LoadedExtension[]> {
  Reflect.set(globalThis, HOST_SYMBOL, context.lent);
  const loaded: LoadedExtension[] = [];
  for (const listed of listedExtensions(list)) {
    const extension = await load(listed, context);
    const other = loaded.find(({ id }) => id === extension.id);
    if (other !== undefined)
      throw new ExtensionRefused(
        extension.id,
        `two are listed under this id, ${other.from} and ${extension.from}`,
      );
    loaded.push(extension);
  }
  return loaded;
}

async function load(listed: ListedExtension, context: LoadContext): Promise<LoadedExtension> {
  const { from } = listed;
  const files = filesOf(from, context.workingFolder);
  verifyDigest(listed, files);
  const extension = await definitionIn(from, files.entry);
  const {
    id,
    version,
    host,
    needs = [],
    settings: schema,
    migrations,
    views,
    messages,
    navigation,
  } = extension;
  const settings = await settingsOf(id, schema, context.environment);
  const ports = new ExtensionPorts(id, needs);
  const given = { settings, log: context.logFor(id), ports: ports.given } as Host<unknown>;
  const adds = await setUp(extension, given);
  const parts = { migrations, views, messages, navigation };
  return { id, version, host, from, folder: files.folder, needs, parts, adds, ports, given };
}

function verifyDigest({ from, sha256 }: ListedExtension, { folder }: ExtensionFiles): void {
  if (sha256 === null) return;
  const digest = digestOf(folder);
  if (digest !== sha256)
    throw new ExtensionRefused(
      from,
      `its files have the digest sha256=${digest}, and ${sha256} was asked for`,
    );
}

async function definitionIn(from: string, entry: string): Promise<Extension<unknown, Need>> {
  let exported: unknown;
  try {
    exported = await inTime(import(pathToFileURL(entry).href));
  } catch (cause) {
    throw new ExtensionRefused(from, `loading ${entry} failed: ${thrownWords(cause)}`, { cause });
  }
  const extension = defaultOf(exported);
  if (typeof extension !== 'object' || extension === null)
    throw new ExtensionRefused(from, `${entry} has no default export made by defineExtension()`);
  verifyDefinition(from, extension as Extension<unknown, Need>);
  return extension as Extension<unknown, Need>;
}

/** A CommonJS module holds its default one level deeper. */
function defaultOf(exported: unknown): unknown {
  let found: unknown = exported;
  for (let depth = 0; depth < 2 && hasDefault(found); depth += 1) found = found.default;
  return found;
}

const hasDefault = (value: unknown): value is { readonly default: unknown } =>
  typeof value === 'object' && value !== null && 'default' in value;

function verifyDefinition(from: string, extension: Extension<unknown, Need>): void {
  const { id, version, host, needs = [] } = extension;
  if (typeof id !== 'string' || !ID.test(id))
    throw new ExtensionRefused(from, 'its id is not 2 to 31 small letters, digits and hyphens');
  if (TAKEN.includes(id)) throw new ExtensionRefused(from, `its id "${id}" stands for the service itself`);
  if (typeof version !== 'string' || version === '' || version.length > 64)
    throw new ExtensionRefused(id, 'it has no version');
  const isTakenIn = takesIn(String(host), CONTRACT_VERSION);
  if (isTakenIn === null)
    throw new ExtensionRefused(
      id,
      `its host "${host}" is no range such as ^1; this contract is ${CONTRACT_VERSION}`,
    );
  if (!isTakenIn)
    throw new ExtensionRefused(
      id,
      `it was written for the contract ${host}, and this service offers ${CONTRACT_VERSION}`,
    );
  const unknown = needs.find((need) => !allNeeds.includes(need));
  if (unknown !== undefined)
    throw new ExtensionRefused(id, `it needs "${unknown}"; there are ${allNeeds.join(', ')}`);
  if (typeof extension.setup !== 'function') throw new ExtensionRefused(id, 'it has no setup()');
}

async function setUp(extension: Extension<unknown, Need>, host: Host<unknown>): Promise<Contributions> {
  let adds: Contributions;
  try {
    adds = await inTime(Promise.resolve(extension.setup(host)));
  } catch (cause) {
    if (cause instanceof ExtensionRefused) throw cause;
    throw new ExtensionRefused(extension.id, `setup() failed: ${thrownWords(cause)}`, { cause });
  }
  const problem = problemOf(adds);
  if (problem !== null) throw new ExtensionRefused(extension.id, problem);
  return adds;
}

/** A process that waits for nothing else ends by itself before the deadline, and says nothing. */
async function inTime<T>(work: Promise<T>): Promise<T> {
  const alive = setInterval(() => undefined, LOAD_DEADLINE_MS);
  try {
    return await withDeadline(LOAD_DEADLINE_MS, work);
  } finally {
    clearInterval(alive);
  }
}
