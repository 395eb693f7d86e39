import { fault } from '../kernel';
import { certificatesIn, type ClientIdentity, DIRECT, type EgressTerms } from '../platform';
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
  http2: { takes: 'true or false', fits: (value) => typeof value === 'boolean' },
};

/** Says what is wrong with the way to a provider that its settings describe. */
export function egressProblem({ egress }: ProviderSettings): string | undefined {
  if (egress === undefined) return undefined;
  if (typeof egress !== 'object' || egress === null || Array.isArray(egress))
    return `takes ${Object.keys(fields).join(', ')}`;
  for (const [name, value] of Object.entries(egress)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined) return `takes ${Object.keys(fields).join(', ')}, and no "${name}"`;
    if (!field.fits(value)) return `takes as ${name} ${field.takes}`;
  }
  return undefined;
}

export function checkEgress(settings: ProviderSettings | undefined): void {
  const problem = settings && egressProblem(settings);
  if (problem !== undefined)
    throw fault('invalid_provider', {
      param: 'settings.egress',
      message: `The setting "egress" ${problem}.`,
    });
}

/** The way to a provider; undefined where the settings of the service say it all. */
export function egressTerms(
  { egress }: ProviderSettings,
  identity: ClientIdentity | null,
): EgressTerms | undefined {
  const own = typeof egress === 'object' && egress !== null ? (egress as EgressTerms) : undefined;
  if (own === undefined && identity === null) return undefined;
  return { ...own, ...(identity === null ? {} : { identity }) };
}
