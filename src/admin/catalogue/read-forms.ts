import {
  CLIENT_CERTIFICATE,
  type CredentialKind,
  type CredentialSecret,
  type LaneInput,
  modelFields,
  type ModelInput,
  type ProviderChange,
} from '../../catalogue';
import {
  DAY_MS,
  fault,
  parseJsonText,
  parseUsdPerMillion,
  type PriceRates,
  RATES,
  validationFault,
} from '../../kernel';
import { factsOf, type FactsOverride, readOverride, type Wire, WIRES } from '../../vendors';
import type { ModelChangeForm, RateFields } from './catalogue.dto';
import type { ProviderForm } from './providers.dto';

export function ratesOfForm(form: RateFields): Partial<PriceRates> {
  const rates = RATES.flatMap(({ name, field, fallback }) => {
    const value = form[field];
    // An empty field without a fallback rate leaves the rate unchanged.
    if (value === undefined || (value === null && fallback === null)) return [];
    return [[name, value === null ? null : parseUsdPerMillion(value)] as const];
  });
  return Object.fromEntries(rates);
}

export const hasRates = (form: RateFields): boolean => Object.keys(ratesOfForm(form)).length > 0;

export const modelChanges = (form: ModelChangeForm): Partial<Omit<ModelInput, 'name'>> => ({
  ...modelFields.fromBody(form),
  ...(form.facts === undefined
    ? {}
    : { facts: factsOfForm(form.facts as Readonly<Record<string, unknown>>) }),
});

/** Reads the chain from JSON, or from form rows; a row without a provider is ignored. */
export function lanesOfForm(form: ModelChangeForm): LaneInput[] | undefined {
  if (form.lanes !== undefined) {
    return form.lanes.map(
      ({ provider, upstream_model: upstreamModel, region, weight, retries, facts, wire, enabled }) => ({
        provider,
        upstreamModel,
        region,
        ...(weight === undefined ? {} : { weight }),
        ...(retries === undefined ? {} : { retries }),
        ...(facts === undefined ? {} : { facts: parseKnownModel(facts) }),
        ...(wire === undefined ? {} : { wire: wire || null }),
        ...(enabled === undefined ? {} : { enabled }),
      }),
    );
  }
  if (form.lane_provider === undefined) return undefined;
  return form.lane_provider.flatMap((provider, row) => {
    if (provider.trim() === '') return [];
    const [upstreamModel, region] = [form.lane_model?.[row]?.trim(), form.lane_region?.[row]?.trim()];
    if (!upstreamModel) throw missingRowField('lane_model');
    if (!region) throw missingRowField('lane_region');
    return [
      {
        provider,
        upstreamModel,
        region,
        weight: parseInteger(form.lane_weight?.[row], 'lane_weight', 1, 1_000, 1),
        retries: parseInteger(form.lane_retries?.[row], 'lane_retries', 0, 2, 0),
        facts: parseKnownModel(form.lane_facts?.[row] ?? null),
        wire: parseWire(form.lane_wire?.[row]),
        enabled: form.lane_enabled?.[row] !== 'off',
      },
    ];
  });
}

function factsOfForm(input: Readonly<Record<string, unknown>>): FactsOverride {
  const { override, faults } = readOverride(input);
  if (faults.length === 0) return override;
  throw validationFault(
    faults.map(({ path, problem }) => ({
      loc: ['body', ...path.split('.')],
      msg: `${path}: ${problem}`,
      type: 'facts',
    })),
  );
}

function parseKnownModel(name: string | null): string | null {
  const trimmedName = name?.trim() ?? '';
  if (trimmedName === '') return null;
  if (factsOf(trimmedName) !== null) return trimmedName;
  throw validationFault([
    { loc: ['body', 'lane_facts'], msg: `nothing is known of a model "${trimmedName}"`, type: 'facts' },
  ]);
}

function parseWire(text: string | undefined): Wire | null {
  if (text === undefined || text === '') return null;
  const wire = WIRES.find((one) => one === text);
  if (wire !== undefined) return wire;
  const msg = `lane_wire must be one of ${WIRES.join(', ')}`;
  throw validationFault([{ loc: ['body', 'lane_wire'], msg, type: 'isIn' }]);
}

const missingRowField = (field: string): Error =>
  validationFault([{ loc: ['body', field], msg: `${field} is needed in every row`, type: 'missing' }]);

function parseInteger(
  text: string | undefined,
  field: string,
  min: number,
  max: number,
  defaultValue: number,
): number {
  if (text === undefined || text.trim() === '') return defaultValue;
  const number = /^\d{1,6}$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw validationFault([
    { loc: ['body', field], msg: `${field} must be a whole number from ${min} to ${max}`, type: 'isInt' },
  ]);
}

const DEFAULT_LABEL = 'portal';

export function providerFields(form: ProviderForm): ProviderChange['fields'] {
  return {
    ...(form.name === undefined ? {} : { name: form.name }),
    ...(form.style === undefined ? {} : { style: form.style }),
    ...(form.base_url === undefined ? {} : { baseUrl: form.base_url }),
    ...(form.regions === undefined ? {} : { regions: form.regions }),
    ...(form.settings === undefined ? {} : { settings: form.settings }),
    ...(form.timeouts === undefined ? {} : { timeouts: checkDurations(form.timeouts, 'timeouts', TIMEOUTS) }),
    ...(form.breaker === undefined ? {} : { breaker: checkDurations(form.breaker, 'breaker', BREAKER) }),
  };
}

const TIMEOUTS = ['connect', 'firstByte', 'firstToken', 'idle', 'total'];
const BREAKER = ['failures', 'window', 'rest', 'longestRest', 'longestRetryAfter'];
const MAX_DURATION_MS = DAY_MS;

function checkDurations(
  input: object,
  field: string,
  allowedNames: readonly string[],
): Record<string, number> {
  for (const [name, value] of Object.entries(input)) {
    const isValid =
      allowedNames.includes(name) && Number.isInteger(value) && value > 0 && value <= MAX_DURATION_MS;
    if (isValid) continue;
    throw validationFault([
      {
        loc: ['body', field],
        msg: `${field} takes whole numbers of ${allowedNames.join(', ')}`,
        type: 'isObject',
      },
    ]);
  }
  return input as Record<string, number>;
}

export function secretOfForm(
  { secret, secret_label: label }: ProviderForm,
  kind: CredentialKind,
): ProviderChange['secret'] {
  const enteredSecret = parseSecretField(secret, kind);
  return enteredSecret === undefined
    ? undefined
    : { label: label ?? DEFAULT_LABEL, kind, secret: enteredSecret };
}

/** Empty fields keep the stored identity. */
export function identityOfForm({
  client_certificate: certificate,
  client_key: key,
}: ProviderForm): ProviderChange['identity'] {
  const texts = [certificate, key].filter((text) => text !== undefined && text !== null);
  if (texts.length === 0) return undefined;
  return { label: CLIENT_CERTIFICATE, kind: CLIENT_CERTIFICATE, secret: { certificate, key } };
}

/** An empty field keeps the stored value. Error messages never repeat any part of the value. */
export function parseSecretField(secret: unknown, kind: CredentialKind): CredentialSecret | undefined {
  if (secret === undefined || secret === null || secret === '') return undefined;
  const hasParts = kind === 'sigv4' || kind === 'oauth-pool';
  const value = typeof secret === 'string' && hasParts ? parseSecretObject(secret) : secret;
  if (typeof value === 'string' || (typeof value === 'object' && value !== null && !Array.isArray(value)))
    return value as CredentialSecret;
  throw fault('validation_error', { param: 'secret', message: 'A secret is a text or an object of texts.' });
}

function parseSecretObject(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch {
    throw fault('validation_error', {
      param: 'secret',
      message: 'A secret of this style has several parts: write it as a JSON object.',
    });
  }
}
