import type { Gate } from '#extension';
import type { LoadedExtension } from '../../extensions';
import { isRole } from '../../kernel';
import { column, formatNumber, type LabelledFigure, type TableModel, tableOf } from '../../views';
import { type Localisation, routesOf } from '../../web';

const stages = ['request', 'candidates', 'answer', 'settled'] as const;

interface ExtensionPartSummary {
  readonly kind: 'gate' | 'tap' | 'policy' | 'fee' | 'job' | 'command' | 'route' | 'entry';
  readonly name: string;
  readonly stages?: readonly string[];
  readonly on_error?: Gate['onError'];
  readonly timeout_ms?: number;
  /** Counts of each verdict on this node since start. */
  readonly verdicts?: Readonly<Record<string, number>>;
  readonly cron?: string;
  readonly summary?: string;
  /** Who can call a route or see an entry: anyone, key, session, or the minimum role. */
  readonly access?: string;
}

export interface ExtensionSummary {
  readonly id: string;
  readonly version: string;
  readonly host: string;
  readonly from: string;
  readonly needs: readonly string[];
  readonly folders: readonly string[];
  readonly parts: readonly ExtensionPartSummary[];
}

export function summariseExtension(extension: LoadedExtension): ExtensionSummary {
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

interface VerdictCount {
  readonly labels: Readonly<Record<'gate' | 'verdict', string>>;
  readonly state: { readonly value: number };
}

export const withVerdicts = (
  extensions: readonly ExtensionSummary[],
  counts: readonly VerdictCount[],
): ExtensionSummary[] =>
  extensions.map((extension) => ({
    ...extension,
    parts: extension.parts.map((part) =>
      part.kind === 'gate' ? { ...part, verdicts: verdictsOf(`${extension.id}/${part.name}`, counts) } : part,
    ),
  }));

function verdictsOf(gate: string, counts: readonly VerdictCount[]): Record<string, number> {
  const verdicts: Record<string, number> = {};
  for (const { labels, state } of counts)
    if (labels.gate === gate) verdicts[labels.verdict] = (verdicts[labels.verdict] ?? 0) + state.value;
  return verdicts;
}

export interface ExtensionModel {
  readonly id: string;
  readonly items: readonly LabelledFigure[];
  readonly parts: TableModel;
}

export function extensionModel(summary: ExtensionSummary, localisation: Localisation): ExtensionModel {
  const { id, version, host, from, needs, folders, parts } = summary;
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

function detailOf(part: ExtensionPartSummary, { locale, translate }: Localisation): string {
  const {
    stages: gateStages,
    on_error: onError,
    timeout_ms: timeoutMs,
    verdicts = {},
    cron,
    summary,
    access,
  } = part;
  if (access !== undefined)
    return isRole(access)
      ? translate('extensions.access.role', { role: translate(`audit.roles.${access}`) })
      : translate(`extensions.access.${access}`);
  if (gateStages === undefined || onError === undefined || timeoutMs === undefined)
    return cron === undefined ? (summary ?? '–') : translate('extensions.by-schedule', { cron });
  return [
    gateStages.map((stage) => translate(`extensions.stage.${stage}`)).join(', '),
    translate('extensions.deadline', { milliseconds: formatNumber(locale, timeoutMs) }),
    translate(`extensions.on-error.${onError}`),
    ...Object.entries(verdicts).map(
      ([verdict, count]) => `${verdictText(verdict, translate)} ${formatNumber(locale, count)}`,
    ),
  ].join(' · ');
}

/** Falls back to the raw name for a verdict of another version that has no translation. */
function verdictText(verdict: string, translate: Localisation['translate']): string {
  const key = `request-log.gate-verdicts.${verdict}`;
  const text = translate(key);
  return text === key ? verdict : text;
}
