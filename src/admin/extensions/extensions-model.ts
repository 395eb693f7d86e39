import type { Gate } from '#extension';
import type { LoadedExtension } from '../../extensions';
import { isRole } from '../../kernel';
import { column, formatNumber, type LabelledFigure, type TableModel, tableOf } from '../../views';
import { type Localisation, routesOf } from '../../web';

const stages = ['request', 'candidates', 'answer', 'settled'] as const;

/** One thing that an extension adds. */
interface PartFacts {
  readonly kind: 'gate' | 'tap' | 'policy' | 'fee' | 'job' | 'command' | 'route' | 'entry';
  readonly name: string;
  readonly stages?: readonly string[];
  readonly on_error?: Gate['onError'];
  readonly timeout_ms?: number;
  /** How often this node has had each verdict since it started. */
  readonly verdicts?: Readonly<Record<string, number>>;
  readonly cron?: string;
  readonly summary?: string;
  /** Who may call a route, or sees an entry: anyone, key, session, or the least role. */
  readonly access?: string;
}

/** An extension as programs read of it. */
export interface ExtensionFacts {
  readonly id: string;
  readonly version: string;
  readonly host: string;
  readonly from: string;
  readonly needs: readonly string[];
  readonly folders: readonly string[];
  readonly parts: readonly PartFacts[];
}

export function factsOf(extension: LoadedExtension): ExtensionFacts {
  const { id, version, host, from, needs, parts, adds } = extension;
  const { gates = [], taps = [], policies = [], priceComponents = [], jobs = [], commands = [] } = adds;
  const folders = (['migrations', 'views', 'messages'] as const).filter((name) => parts[name] !== undefined);
  return {
    ...{ id, version, host, from, needs, folders },
    parts: [
      ...gates.map((gate) => ({
        kind: 'gate' as const,
        name: gate.name,
        stages: stages.filter((stage) => gate[stage] !== undefined),
        on_error: gate.onError,
        timeout_ms: gate.timeoutMs,
      })),
      ...taps.map(({ name }) => ({ kind: 'tap' as const, name })),
      ...policies.map(({ name }) => ({ kind: 'policy' as const, name })),
      ...priceComponents.map(({ name }) => ({ kind: 'fee' as const, name })),
      ...jobs.map(({ name, cron }) => ({ kind: 'job' as const, name, cron })),
      ...commands.map(({ name, summary }) => ({ kind: 'command' as const, name: `${id}:${name}`, summary })),
      ...routesOf(extension).map(({ method, path, access }) => ({
        kind: 'route' as const,
        name: `${method} ${path}`,
        access: access.kind === 'role' ? access.minimum : access.kind,
      })),
      ...(parts.navigation ?? []).map(({ href, minimum = 'session' }) => ({
        kind: 'entry' as const,
        name: href,
        access: minimum,
      })),
    ],
  };
}

interface CountedVerdict {
  readonly labels: Readonly<Record<'gate' | 'verdict', string>>;
  readonly state: { readonly value: number };
}

/** The facts with what gates have said on this node. */
export const withVerdicts = (
  extensions: readonly ExtensionFacts[],
  counted: readonly CountedVerdict[],
): ExtensionFacts[] =>
  extensions.map((extension) => ({
    ...extension,
    parts: extension.parts.map((part) =>
      part.kind === 'gate'
        ? { ...part, verdicts: verdictsOf(`${extension.id}/${part.name}`, counted) }
        : part,
    ),
  }));

function verdictsOf(gate: string, counted: readonly CountedVerdict[]): Record<string, number> {
  const verdicts: Record<string, number> = {};
  for (const { labels, state } of counted)
    if (labels.gate === gate) verdicts[labels.verdict] = (verdicts[labels.verdict] ?? 0) + state.value;
  return verdicts;
}

export interface ExtensionModel {
  readonly id: string;
  readonly items: readonly LabelledFigure[];
  readonly parts: TableModel;
}

export function extensionModel(facts: ExtensionFacts, localisation: Localisation): ExtensionModel {
  const { id, version, host, from, needs, folders, parts } = facts;
  const { translate } = localisation;
  const text = (name: string, value: string): LabelledFigure => ({
    label: translate(`extensions.${name}`),
    figure: { kind: 'text', value },
  });
  const none = translate('extensions.none');
  return {
    id,
    items: [
      text('version', version),
      text('contract', host),
      text('from', from),
      text('needs', needs.join(', ') || none),
      text('folders', folders.map((name) => translate(`extensions.folder.${name}`)).join(', ') || none),
    ],
    parts: tableOf(
      parts,
      {
        caption: translate('extensions.parts', { id }),
        columns: [
          column('extensions.name', 'code', ({ name }) => name, 'heading'),
          column('extensions.kind', 'text', ({ kind }) => translate(`extensions.kinds.${kind}`)),
          column('extensions.detail', 'text', (part) => detailOf(part, localisation), 'minor'),
        ],
        empty: {
          title: translate('extensions.no-parts-title'),
          text: translate('extensions.no-parts-text'),
        },
      },
      translate,
    ),
  };
}

function detailOf(part: PartFacts, { locale, translate }: Localisation): string {
  const { stages: at, on_error: onError, timeout_ms: timeoutMs, verdicts = {}, cron, summary, access } = part;
  if (access !== undefined)
    return isRole(access)
      ? translate('extensions.access.role', { role: translate(`audit.roles.${access}`) })
      : translate(`extensions.access.${access}`);
  if (at === undefined || onError === undefined || timeoutMs === undefined)
    return cron === undefined ? (summary ?? '–') : translate('extensions.by-schedule', { cron });
  return [
    at.map((stage) => translate(`extensions.stage.${stage}`)).join(', '),
    translate('extensions.deadline', { milliseconds: formatNumber(locale, timeoutMs) }),
    translate(`extensions.on-error.${onError}`),
    ...Object.entries(verdicts).map(
      ([verdict, count]) => `${verdictWords(verdict, translate)} ${formatNumber(locale, count)}`,
    ),
  ].join(' · ');
}

/** A verdict of another version may have no words here. */
function verdictWords(verdict: string, translate: Localisation['translate']): string {
  const key = `request-log.gate-verdicts.${verdict}`;
  const text = translate(key);
  return text === key ? verdict : text;
}
