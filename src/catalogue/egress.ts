import { fault } from '../kernel';
import { certificatesIn, type ClientIdentity, DIRECT, type EgressTerms, type Settings } from '../platform';
import type { Provider } from './entities';

type ProviderSettings = Provider['settings'];

/** Fields of a provider's `settings.egress` and the values they accept (docs/egress.md). */
const fields: Readonly<Record<string, { readonly takes: string; fits(value: unknown): boolean }>> = {
  proxy: {
    takes: `"${DIRECT}", or the name of a proxy in EGRESS_PROXIES`,
    fits: (value) => typeof value === 'string' && /^[a-z][a-z0-9-]{0,62}$/.test(value),
  },
  ca: {
    takes: 'certificates in PEM',
    fits: (value) => typeof value === 'string' && certificatesIn(value).length > 0,
  },
};

/** Accepted and ignored, so that nothing breaks on an upgrade: left over from versions that could use HTTP/2. */
const ignoredFields: ReadonlySet<string> = new Set(['http2']);

export const ignoredEgressFields = ({ egress }: ProviderSettings): string[] =>
  typeof egress === 'object' && egress !== null
    ? Object.keys(egress).filter((name) => ignoredFields.has(name))
    : [];

/**
 * Describes an error in the egress settings of a provider. Names of proxies are checked only if `proxyNames` is known.
 */
export function egressProblem(
  { egress }: ProviderSettings,
  proxyNames?: readonly string[],
): string | undefined {
  if (egress === undefined) return undefined;
  if (typeof egress !== 'object' || egress === null || Array.isArray(egress))
    return `takes ${Object.keys(fields).join(', ')}`;
  for (const [name, value] of Object.entries(egress)) {
    if (ignoredFields.has(name)) continue;
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined) return `takes ${Object.keys(fields).join(', ')}, and no "${name}"`;
    if (!field.fits(value)) return `takes as ${name} ${field.takes}`;
  }
  return proxyNames === undefined ? undefined : unknownProxy(egress, proxyNames);
}

function unknownProxy({ proxy }: EgressTerms, proxyNames: readonly string[]): string | undefined {
  if (proxy === undefined || proxy === DIRECT || proxyNames.includes(proxy)) return undefined;
  const available = proxyNames.length === 0 ? 'has none' : `has ${proxyNames.join(', ')}`;
  return `names "${proxy}" as proxy, but EGRESS_PROXIES ${available}`;
}

/** Without `service`, as for the built-in sandbox, names of proxies are checked only when they are used. */
export function checkEgress(
  settings: ProviderSettings | undefined,
  service?: Pick<Settings, 'egressProxies'>,
): void {
  const problem = settings && egressProblem(settings, service && proxyNamesIn(service));
  if (problem !== undefined)
    throw fault('invalid_provider', {
      param: 'settings.egress',
      message: `The setting "egress" ${problem}.`,
    });
}

export const proxyNamesIn = ({ egressProxies }: Pick<Settings, 'egressProxies'>): readonly string[] =>
  egressProxies.map(({ name }) => name);

/** Egress of a provider; undefined if the service's own settings apply. */
export function egressTerms(
  { egress }: ProviderSettings,
  identity: ClientIdentity | null,
): EgressTerms | undefined {
  const ownTerms = typeof egress === 'object' && egress !== null ? (egress as EgressTerms) : undefined;
  if (ownTerms === undefined && identity === null) return undefined;
  return { ...ownTerms, ...(identity === null ? {} : { identity }) };
}
