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
import { thrownMessage, withDeadline } from '../kernel';
import { findContributionProblem } from './check-contributions';
import { computeDigest, type ExtensionFiles, resolveExtensionFiles } from './extension-files';
import { type ListedExtension, parseExtensionList } from './extension-list';
import { allNeeds, ExtensionPorts } from './extension-ports';
import { ExtensionRefused } from './extension-refused';
import { readSettings } from './extension-settings';
import { satisfiesRange } from './host-range';
import type { LoadedExtension } from './loaded-extension';

/** Time limit for importing an extension, and again for its setup(). */
const LOAD_DEADLINE_MS = 15_000;
const ID = /^[a-z][a-z0-9-]{1,30}$/;
const RESERVED_IDS: readonly string[] = ['core', 'http'];

export interface LoadContext {
  readonly environment: NodeJS.ProcessEnv;
  readonly workingFolder: string;
  readonly logFor: (extension: string) => Log;
  /** Exports of `@switchboard/extension/nest` that the host provides. */
  readonly nestExports: object;
}

/** Loads the listed extensions in order; the first unusable one aborts the start. */
export async function loadExtensions(
  list: string,
  context: LoadContext,
): Promise<readonly LoadedExtension[]> {
  Reflect.set(globalThis, HOST_SYMBOL, context.nestExports);
  const loaded: LoadedExtension[] = [];
  for (const entry of parseExtensionList(list)) {
    const extension = await loadExtension(entry, context);
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

async function loadExtension(listed: ListedExtension, context: LoadContext): Promise<LoadedExtension> {
  const { from } = listed;
  const files = resolveExtensionFiles(from, context.workingFolder);
  verifyDigest(listed, files);
  const extension = await importDefinition(from, files.entry);
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
  const settings = await readSettings(id, schema, context.environment);
  const ports = new ExtensionPorts(id, needs);
  const hostContext = { settings, log: context.logFor(id), ports: ports.byNeed } as Host<unknown>;
  const adds = await setUp(extension, hostContext);
  const parts = { migrations, views, messages, navigation };
  return { id, version, host, from, folder: files.folder, needs, parts, adds, ports, hostContext };
}

function verifyDigest({ from, sha256 }: ListedExtension, { folder }: ExtensionFiles): void {
  if (sha256 === null) return;
  const digest = computeDigest(folder);
  if (digest !== sha256)
    throw new ExtensionRefused(
      from,
      `its files have the digest sha256=${digest}, and ${sha256} was asked for`,
    );
}

async function importDefinition(from: string, entry: string): Promise<Extension<unknown, Need>> {
  let exported: unknown;
  try {
    exported = await withLoadDeadline(import(pathToFileURL(entry).href));
  } catch (cause) {
    throw new ExtensionRefused(from, `loading ${entry} failed: ${thrownMessage(cause)}`, { cause });
  }
  const extension = unwrapDefault(exported);
  if (typeof extension !== 'object' || extension === null)
    throw new ExtensionRefused(from, `${entry} has no default export made by defineExtension()`);
  verifyDefinition(from, extension as Extension<unknown, Need>);
  return extension as Extension<unknown, Need>;
}

/** Unwraps the default export; a CommonJS module nests it one level deeper. */
function unwrapDefault(exported: unknown): unknown {
  let value: unknown = exported;
  for (let depth = 0; depth < 2 && hasDefault(value); depth += 1) value = value.default;
  return value;
}

const hasDefault = (value: unknown): value is { readonly default: unknown } =>
  typeof value === 'object' && value !== null && 'default' in value;

function verifyDefinition(from: string, extension: Extension<unknown, Need>): void {
  const { id, version, host, needs = [] } = extension;
  if (typeof id !== 'string' || !ID.test(id))
    throw new ExtensionRefused(from, 'its id is not 2 to 31 small letters, digits and hyphens');
  if (RESERVED_IDS.includes(id))
    throw new ExtensionRefused(from, `its id "${id}" stands for the service itself`);
  if (typeof version !== 'string' || version === '' || version.length > 64)
    throw new ExtensionRefused(id, 'it has no version');
  const isSupported = satisfiesRange(String(host), CONTRACT_VERSION);
  if (isSupported === null)
    throw new ExtensionRefused(
      id,
      `its host "${host}" is no range such as ^1; this contract is ${CONTRACT_VERSION}`,
    );
  if (!isSupported)
    throw new ExtensionRefused(
      id,
      `it was written for the contract ${host}, and this service offers ${CONTRACT_VERSION}`,
    );
  const unknownNeed = needs.find((need) => !allNeeds.includes(need));
  if (unknownNeed !== undefined)
    throw new ExtensionRefused(id, `it needs "${unknownNeed}"; there are ${allNeeds.join(', ')}`);
  if (typeof extension.setup !== 'function') throw new ExtensionRefused(id, 'it has no setup()');
}

async function setUp(extension: Extension<unknown, Need>, host: Host<unknown>): Promise<Contributions> {
  let adds: Contributions;
  try {
    adds = await withLoadDeadline(Promise.resolve(extension.setup(host)));
  } catch (cause) {
    if (cause instanceof ExtensionRefused) throw cause;
    throw new ExtensionRefused(extension.id, `setup() failed: ${thrownMessage(cause)}`, { cause });
  }
  const problem = findContributionProblem(adds);
  if (problem !== null) throw new ExtensionRefused(extension.id, problem);
  return adds;
}

/** Keeps the event loop alive until the deadline; otherwise a process without other work would exit silently. */
async function withLoadDeadline<T>(work: Promise<T>): Promise<T> {
  const keepAlive = setInterval(() => undefined, LOAD_DEADLINE_MS);
  try {
    return await withDeadline(LOAD_DEADLINE_MS, work);
  } finally {
    clearInterval(keepAlive);
  }
}
