import { LineCounter, parseDocument } from 'yaml';
import { tokenUrlOf } from '../../credential';
import type { CredentialKind } from '../../credential.entity';
import { egressProblem } from '../../egress';
import { MODEL_KINDS, modelFields, type ModelKind, type ModelValues } from '../../entities';
import type { ProviderView } from '../../views';
import { Fault, normaliseRegion, normaliseRegions } from '../../../kernel';
import type { AddressGuard } from '../../../platform';
import { factsOf, knownModels, WIRES } from '../../../vendors';
import { readCredentials } from './credentials';
import type {
  DesiredCatalogue,
  DesiredAccess,
  DesiredAlias,
  DesiredLane,
  DesiredLink,
  DesiredModel,
  DesiredOrganisation,
  DesiredProvider,
} from './desired';
import { Entry, type FileContext } from './entry';
import type { FileFault } from './file-fault';
import { didYouMean } from '../nearest';
import { type KeyFields, readKey } from './read-keys';
import { readPrice, readSchedules } from './read-price';
import type { References } from './references';

export interface FileReading {
  readonly desired: DesiredCatalogue;
  readonly faults: FileFault[];
}

/** Rules for checking a file: permitted addresses and proxies, supplier styles, and the fields of a key. */
export interface FileRules {
  readonly guard: Pick<AddressGuard, 'checkBaseUrl'>;
  readonly proxyNames: readonly string[];
  readonly styles: {
    readonly names: readonly string[];
    of(provider: ProviderView): StyleRequirements;
  };
  readonly keyFields: KeyFields;
}

interface StyleRequirements {
  readonly credential: CredentialKind;
  needsCredential(provider: ProviderView): boolean;
}

/**
 * If `references` is null, every reference in the file is a fault: a page reads no files and no environment of the
 * service.
 */
export function readGatewayText(text: string, references: References | null, rules: FileRules): FileReading {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const faults: FileFault[] = document.errors.map(({ message, pos }) => ({
    path: '',
    line: lines.linePos(pos[0]).line,
    problem: message,
  }));
  const context: FileContext = { document, lines, references, faults };
  const isBroken = faults.length > 0;
  const root = new Entry(context, isBroken ? null : document.contents, '');
  const fields = root.fields(
    'version',
    'providers',
    'models',
    'aliases',
    'organisations',
    'keys',
    'manages_keys',
  );
  if (!isBroken) {
    if (fields.version.isAbsent) fields.version.fault('is missing: write "version: 1"');
    else fields.version.oneOf(['1']);
  }
  const models = fields.models.named().map(readModel);
  const desired: DesiredCatalogue = {
    providers: fields.providers.named().map(([name, entry]) => readProvider(name, entry, rules)),
    models: models.map(({ model }) => model),
    aliases: [...models.flatMap(({ aliases }) => aliases), ...fields.aliases.named().map(readAlias)],
    organisations: fields.organisations.named().map(readOrganisation),
    keys: fields.keys.named().map((key) => readKey(key, rules.keyFields)),
    managesKeys: fields.manages_keys.truth() ?? false,
  };
  refuseDuplicateAliases(desired.aliases, faults);
  return { desired, faults };
}

function readProvider(name: string, entry: Entry, rules: FileRules): DesiredProvider {
  const fields = entry.fields(
    'style',
    'base_url',
    'regions',
    'visible',
    'settings',
    'timeouts',
    'breaker',
    'api_key',
    'credentials',
  );
  const provider: ProviderView = {
    id: 0,
    name,
    style: fields.style.required() ?? '',
    baseUrl: fields.base_url.required() ?? '',
    regions: normaliseRegions(fields.regions.texts() ?? []),
    visible: fields.visible.truth() ?? true,
    settings: Object.fromEntries(fields.settings.named().map(([key, value]) => [key, value.data()])),
    timeouts: readTimeouts(fields.timeouts),
    breaker: readBreaker(fields.breaker),
  };
  if (provider.baseUrl !== '') checkAddress(fields.base_url, provider.baseUrl, '', rules);
  const tokenUrl = tokenUrlOf(provider.settings);
  if (tokenUrl !== undefined) checkAddress(fields.settings, tokenUrl, 'oauth.token_url ', rules);
  const egress = egressProblem(provider.settings, rules.proxyNames);
  if (egress !== undefined) fields.settings.fault(`its "egress" ${egress}`);
  const style = styleOf(provider, fields.style, rules);
  return {
    ...provider,
    at: entry,
    needsSecret: style?.needsCredential(provider) ?? false,
    credentials: readCredentials(keyKind(style, provider), fields.api_key, fields.credentials),
  };
}

/** Endpoint paths, which the service appends itself. */
const ENDPOINT_PATH =
  /\/(?:chat\/completions|completions|messages|responses|embeddings|rerank|models|audio\/\w+|images\/generations|moderations)\/*$/;

function checkAddress(entry: Entry, address: string, label: string, { guard }: FileRules): void {
  const result = guard.checkBaseUrl(address);
  if (!result.ok) entry.fault(`${label}${result.error}: the setting SUPPLIER_ALLOW makes exceptions`);
  else if (ENDPOINT_PATH.test(result.value.pathname))
    entry.fault(`${label}names an endpoint: end it before ${ENDPOINT_PATH.exec(result.value.pathname)?.[0]}`);
}

function styleOf(provider: ProviderView, entry: Entry, { styles }: FileRules): StyleRequirements | undefined {
  if (provider.style === '') return undefined;
  try {
    return styles.of(provider);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const names = styles.names;
    const hint = didYouMean(provider.style, names) || `; there are ${names.join(', ')}`;
    return entry.fault(`there is no supplier style "${provider.style}"${hint}`);
  }
}

function keyKind(style: StyleRequirements | undefined, { settings }: ProviderView): CredentialKind {
  const kind = style?.credential ?? 'bearer';
  const hasHeader = settings['key_header'] !== undefined || settings['profile'] === 'azure';
  return kind === 'bearer' && hasHeader ? 'header' : kind;
}

function readTimeouts(entry: Entry): DesiredProvider['timeouts'] {
  const fields = entry.fields('connect', 'first_byte', 'first_token', 'idle', 'total');
  const timeouts = {
    connect: fields.connect.milliseconds(),
    firstByte: fields.first_byte.milliseconds(),
    firstToken: fields.first_token.milliseconds(),
    idle: fields.idle.milliseconds(),
    total: fields.total.milliseconds(),
  };
  return omitUndefined(timeouts);
}

function readBreaker(entry: Entry): DesiredProvider['breaker'] {
  const fields = entry.fields('failures', 'window', 'rest', 'longest_rest', 'longest_retry_after');
  return omitUndefined({
    failures: fields.failures.wholeNumber(1, 1_000),
    window: fields.window.milliseconds(),
    rest: fields.rest.milliseconds(),
    longestRest: fields.longest_rest.milliseconds(),
    longestRetryAfter: fields.longest_retry_after.milliseconds(),
  });
}

const omitUndefined = (values: Readonly<Record<string, number | undefined>>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );

function readLink(field: Entry): DesiredLink | null {
  const target = field.text();
  return target === undefined ? null : { at: field, target };
}

function readModel([name, entry]: [string, Entry]): { model: DesiredModel; aliases: DesiredAlias[] } {
  const fields = entry.fields(
    ...modelFields.fileNames,
    'redirect',
    'overflow',
    'aliases',
    'lanes',
    'price',
    'schedules',
  );
  const kind = fields.kind.oneOf(MODEL_KINDS) ?? 'chat';
  const lanes = fields.lanes.list().map((lane, index) => readLane(lane, index, kind));
  const values = modelFields.fromFile(fields);
  const ownedBy = values.ownedBy ?? lanes[0]?.provider;
  if (ownedBy === undefined) fields.owned_by.fault('is missing, and there is no lane to take it from');
  const model: DesiredModel = {
    ...(values as ModelValues),
    at: entry,
    name,
    displayName: values.displayName ?? name,
    ownedBy: ownedBy ?? '',
    redirect: readLink(fields.redirect),
    overflow: readLink(fields.overflow),
    lanes,
    price: readPrice(fields.price, kind),
    schedules: readSchedules(fields.schedules, kind),
  };
  const aliases = fields.aliases.list().flatMap((alias) => {
    const text = alias.required();
    return text === undefined ? [] : [{ at: alias, name: text, model: name }];
  });
  return { model, aliases };
}

/** A lane can serve a known model under another name. */
function readKnownModel(entry: Entry): string | null {
  const name = entry.text();
  if (name === undefined || factsOf(name) !== null) return name ?? null;
  const hint = didYouMean(
    name,
    knownModels.map(({ id }) => id),
  );
  entry.fault(`nothing is known of a model "${name}"${hint}`);
  return null;
}

function readLane(entry: Entry, index: number, kind: ModelKind): DesiredLane {
  const fields = entry.fields(
    'provider',
    'model',
    'region',
    'priority',
    'weight',
    'retries',
    'facts',
    'wire',
    'enabled',
    'price',
  );
  return {
    at: entry,
    provider: fields.provider.required() ?? '',
    upstreamModel: fields.model.required() ?? '',
    region: normaliseRegion(fields.region.required() ?? ''),
    priority: fields.priority.wholeNumber(0) ?? index,
    weight: fields.weight.wholeNumber(1) ?? 1,
    retries: fields.retries.wholeNumber(0, 2) ?? 0,
    facts: readKnownModel(fields.facts),
    wire: fields.wire.oneOf(WIRES) ?? null,
    enabled: fields.enabled.truth() ?? true,
    price: readPrice(fields.price, kind),
  };
}

function readAlias([name, entry]: [string, Entry]): DesiredAlias {
  return { at: entry, name, model: entry.required() ?? '' };
}

function refuseDuplicateAliases(aliases: readonly DesiredAlias[], faults: FileFault[]): void {
  for (const [name, duplicates] of Map.groupBy(aliases, (alias) => alias.name)) {
    const [, second] = duplicates;
    if (second === undefined) continue;
    const { path, line } = second.at;
    faults.push({ path, line, problem: `the alias "${name}" is listed twice` });
  }
}

function readOrganisation([slug, entry]: [string, Entry]): DesiredOrganisation {
  const fields = entry.fields('regions', 'models', 'departments');
  const isAnyRegion = fields.regions.isText && fields.regions.oneOf(['any']) === 'any';
  return {
    at: entry,
    slug,
    regions: isAnyRegion ? null : fields.regions.isText ? undefined : readRegions(fields.regions),
    access: readAccess(fields.models),
    departments: fields.departments.named().map(([name, department]) => ({
      at: department,
      name,
      access: readAccess(department.fields('models').models),
    })),
  };
}

const readRegions = (entry: Entry): string[] | undefined => {
  const list = entry.texts();
  return list === undefined ? undefined : normaliseRegions(list);
};

function readAccess(entry: Entry): DesiredAccess[] {
  return entry.named().flatMap(([model, decision]) => {
    const choice = decision.isAbsent ? decision.fault('is missing') : decision.oneOf(['allowed', 'blocked']);
    return choice === undefined ? [] : [{ at: decision, model, allowed: choice === 'allowed' }];
  });
}
