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
import type { ModelChangeForm, RateFields } from './forms';
import type { ProviderForm } from './provider-forms';

export function ratesOfForm(form: RateFields): Partial<PriceRates> {
  const rates = RATES.flatMap(({ name, field, fallback }) => {
    const value = form[field];
    // Without a rate to fall back to, an empty field leaves it as it is.
    if (value === undefined || (value === null && fallback === null)) return [];
    return [[name, value === null ? null : parseUsdPerMillion(value)] as const];
  });
  return Object.fromEntries(rates);
}

export const hasRates = (form: RateFields): boolean => Object.keys(ratesOfForm(form)).length > 0;

export const modelChanges = (form: ModelChangeForm): Partial<Omit<ModelInput, 'name'>> => ({
  ...modelFields.given(form),
  ...(form.facts === undefined
    ? {}
    : { facts: factsOfForm(form.facts as Readonly<Record<string, unknown>>) }),
});

/** The chain as JSON has it, or as rows of a form: a row without a provider is a row that was left empty. */
export function lanesOfForm(form: ModelChangeForm): LaneInput[] | undefined {
  if (form.lanes !== undefined) {
    return form.lanes.map(
      ({ provider, upstream_model: upstreamModel, region, weight, retries, facts, wire, enabled }) => ({
        provider,
        upstreamModel,
        region,
        ...(weight === undefined ? {} : { weight }),
        ...(retries === undefined ? {} : { retries }),
        ...(facts === undefined ? {} : { facts: knownModel(facts) }),
        ...(wire === undefined ? {} : { wire: wire || null }),
        ...(enabled === undefined ? {} : { enabled }),
      }),
    );
  }
  if (form.lane_provider === undefined) return undefined;
  return form.lane_provider.flatMap((provider, row) => {
    if (provider.trim() === '') return [];
    const [upstreamModel, region] = [form.lane_model?.[row]?.trim(), form.lane_region?.[row]?.trim()];
    if (!upstreamModel) throw missing('lane_model');
    if (!region) throw missing('lane_region');
    return [
      {
        provider,
        upstreamModel,
        region,
        weight: wholeIn(form.lane_weight?.[row], 'lane_weight', 1, 1_000, 1),
        retries: wholeIn(form.lane_retries?.[row], 'lane_retries', 0, 2, 0),
        facts: knownModel(form.lane_facts?.[row] ?? null),
        wire: wireIn(form.lane_wire?.[row]),
        enabled: form.lane_enabled?.[row] !== 'off',
      },
    ];
  });
}

function factsOfForm(given: Readonly<Record<string, unknown>>): FactsOverride {
  const { override, faults } = readOverride(given);
  if (faults.length === 0) return override;
  throw validationFault(
    faults.map(({ path, problem }) => ({
      loc: ['body', ...path.split('.')],
      msg: `${path}: ${problem}`,
      type: 'facts',
    })),
  );
}

function knownModel(name: string | null): string | null {
  const wanted = name?.trim() ?? '';
  if (wanted === '') return null;
  if (factsOf(wanted) !== null) return wanted;
  throw validationFault([
    { loc: ['body', 'lane_facts'], msg: `nothing is known of a model "${wanted}"`, type: 'facts' },
  ]);
}

function wireIn(text: string | undefined): Wire | null {
  if (text === undefined || text === '') return null;
  const wire = WIRES.find((one) => one === text);
  if (wire !== undefined) return wire;
  const msg = `lane_wire must be one of ${WIRES.join(', ')}`;
  throw validationFault([{ loc: ['body', 'lane_wire'], msg, type: 'isIn' }]);
}

const missing = (field: string): Error =>
  validationFault([{ loc: ['body', field], msg: `${field} is needed in every row`, type: 'missing' }]);

function wholeIn(
  text: string | undefined,
  field: string,
  least: number,
  most: number,
  usual: number,
): number {
  if (text === undefined || text.trim() === '') return usual;
  const number = /^\d{1,6}$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw validationFault([
    { loc: ['body', field], msg: `${field} must be a whole number from ${least} to ${most}`, type: 'isInt' },
  ]);
}

/** The name of the only secret on a provider's page. */
const USUAL_LABEL = 'portal';

export function providerFields(form: ProviderForm): ProviderChange['fields'] {
  return {
    ...(form.name === undefined ? {} : { name: form.name }),
    ...(form.style === undefined ? {} : { style: form.style }),
    ...(form.base_url === undefined ? {} : { baseUrl: form.base_url }),
    ...(form.regions === undefined ? {} : { regions: form.regions }),
    ...(form.settings === undefined ? {} : { settings: form.settings }),
    ...(form.timeouts === undefined ? {} : { timeouts: durations(form.timeouts, 'timeouts', TIMEOUTS) }),
    ...(form.breaker === undefined ? {} : { breaker: durations(form.breaker, 'breaker', BREAKER) }),
  };
}

const TIMEOUTS = ['connect', 'firstByte', 'firstToken', 'idle', 'total'];
const BREAKER = ['failures', 'window', 'rest', 'longestRest', 'longestRetryAfter'];
const LONGEST_MS = DAY_MS;

function durations(given: object, field: string, known: readonly string[]): Record<string, number> {
  for (const [name, value] of Object.entries(given)) {
    const isFit = known.includes(name) && Number.isInteger(value) && value > 0 && value <= LONGEST_MS;
    if (isFit) continue;
    throw validationFault([
      { loc: ['body', field], msg: `${field} takes whole numbers of ${known.join(', ')}`, type: 'isObject' },
    ]);
  }
  return given as Record<string, number>;
}

export function secretOfForm(
  { secret, secret_label: label }: ProviderForm,
  kind: CredentialKind,
): ProviderChange['secret'] {
  const typed = secretIn(secret, kind);
  return typed === undefined ? undefined : { label: label ?? USUAL_LABEL, kind, secret: typed };
}

/** Empty fields keep what is stored. */
export function identityOfForm({
  client_certificate: certificate,
  client_key: key,
}: ProviderForm): ProviderChange['identity'] {
  const given = [certificate, key].filter((text) => text !== undefined && text !== null);
  if (given.length === 0) return undefined;
  return { label: CLIENT_CERTIFICATE, kind: CLIENT_CERTIFICATE, secret: { certificate, key } };
}

/** An empty field keeps the stored value. The error text never repeats any of the value. */
export function secretIn(secret: unknown, kind: CredentialKind): CredentialSecret | undefined {
  if (secret === undefined || secret === null || secret === '') return undefined;
  const isParted = kind === 'sigv4' || kind === 'oauth-pool';
  const value = typeof secret === 'string' && isParted ? parsedSecret(secret) : secret;
  if (typeof value === 'string' || (typeof value === 'object' && value !== null && !Array.isArray(value)))
    return value as CredentialSecret;
  throw fault('validation_error', { param: 'secret', message: 'A secret is a text or an object of texts.' });
}

function parsedSecret(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch {
    throw fault('validation_error', {
      param: 'secret',
      message: 'A secret of this style has several parts: write it as a JSON object.',
    });
  }
}
