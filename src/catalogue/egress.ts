import { fault } from '../kernel';
import { certificatesIn, type ClientIdentity, DIRECT, type EgressTerms, type Settings } from '../platform';
import type { Provider } from './entities';

type ProviderSettings = Provider['settings'];

/** What `settings.egress` of a provider may have, and what each takes (docs/egress.md). */
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

/** Left over from versions that could use HTTP/2: accepted so that nothing breaks on an upgrade, and ignored. */
const ignoredFields: ReadonlySet<string> = new Set(['http2']);

/** The fields of `settings.egress` that have no effect any more. */
export const ignoredEgressFields = ({ egress }: ProviderSettings): string[] =>
  typeof egress === 'object' && egress !== null
    ? Object.keys(egress).filter((name) => ignoredFields.has(name))
    : [];

/** Says what is wrong with the way to a provider that its settings describe, where proxies of these names are known. */
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

function unknownProxy({ proxy }: EgressTerms, known: readonly string[]): string | undefined {
  if (proxy === undefined || proxy === DIRECT || known.includes(proxy)) return undefined;
  const there = known.length === 0 ? 'has none' : `has ${known.join(', ')}`;
  return `names "${proxy}" as proxy, but EGRESS_PROXIES ${there}`;
}

/** Without settings, as for the sandbox of our own, names of proxies are checked only when they are used. */
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

/** The way to a provider; undefined where the settings of the service say it all. */
export function egressTerms(
  { egress }: ProviderSettings,
  identity: ClientIdentity | null,
): EgressTerms | undefined {
  const own = typeof egress === 'object' && egress !== null ? (egress as EgressTerms) : undefined;
  if (own === undefined && identity === null) return undefined;
  return { ...own, ...(identity === null ? {} : { identity }) };
}
