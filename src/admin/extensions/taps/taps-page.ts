import type { DeadLetter, RegisteredTap, TapState } from '../../../audit';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../kernel';
import type { Page } from '../../../platform';
import {
  column,
  type Figure,
  type LabelledFigure,
  mixedColumn,
  type PagerModel,
  tableOf,
} from '../../../views';
import { addressOf, type HttpRequest, type Localisation, queryOf } from '../../../web';
import { type ActModel, actOf, type ObjectPageModel, type SectionModel } from '../../pages/object-page';

export const TAPS_PATH = '/dashboard/admin/extensions/taps';

interface TapView extends TapState {
  readonly held: RegisteredTap | null;
}

interface TapsPageContext {
  readonly taps: readonly TapView[];
  readonly selectedTap: TapView | null;
  readonly letters: Page<DeadLetter>;
}

export function tapsPage(
  request: HttpRequest,
  { taps, selectedTap, letters }: TapsPageContext,
  localisation: Localisation,
): ObjectPageModel & { readonly pager: PagerModel } {
  const { translate } = localisation;
  const heading = translate('taps.heading');
  const href = (cursor: string | null) => addressOf(TAPS_PATH, queryOf(request), { cursor });
  return {
    page: {
      heading,
      scope: translate('taps.scope'),
      crumb: { href: '/dashboard/admin/extensions', label: translate('extensions.heading') },
      sections: [
        tableSection(taps, localisation),
        ...(selectedTap === null ? [] : [tapSection(selectedTap, localisation)]),
        ...letters.rows.map((letter) => letterSection(letter, localisation)),
      ],
    },
    pager: {
      label: translate('list.pages', { heading }),
      summary: translate('list.shown', { count: letters.rows.length }),
      ...(letters.previous === null ? {} : { newerHref: href(letters.previous) }),
      ...(letters.next === null ? {} : { olderHref: href(letters.next) }),
    },
  };
}

const stateOf = ({ held, failures }: TapView): 'unlisted' | 'failing' | 'working' =>
  held === null ? 'unlisted' : failures > 0 ? 'failing' : 'working';

const tones = { unlisted: 'neutral', failing: 'warn', working: 'ok' } as const;

function badgeOf(tap: TapView, { translate }: Localisation): Figure {
  const state = stateOf(tap);
  return { kind: 'badge', value: { tone: tones[state], label: translate(`taps.state.${state}`) } };
}

const kindOf = ({ kind, owner }: RegisteredTap, { translate }: Localisation): string =>
  kind === 'extension' ? translate('taps.kind.extension', { id: owner }) : translate(`taps.kind.${kind}`);

const units = [
  ['day', DAY_MS],
  ['hour', HOUR_MS],
  ['minute', MINUTE_MS],
  ['second', SECOND_MS],
] as const;

/** Age of the oldest record, rounded down to the largest fitting unit. */
function lagOf({ oldestAt }: TapView, { locale }: Localisation): string {
  const waitedMs = oldestAt === null ? 0 : Math.max(0, Date.now() - oldestAt.getTime());
  const [unit, unitMs] = units.find(([, minMs]) => waitedMs >= minMs) ?? ['second', SECOND_MS];
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(
    Math.floor(waitedMs / unitMs),
  );
}

const tableSection = (taps: readonly TapView[], localisation: Localisation): SectionModel => {
  const { translate } = localisation;
  return {
    id: 'taps',
    table: tableOf(
      taps,
      {
        caption: translate('taps.heading'),
        columns: [
          mixedColumn(
            'taps.name',
            (tap) => ({
              kind: 'code',
              value: tap.name,
              ...(tap.held === null ? {} : { note: kindOf(tap.held, localisation) }),
            }),
            'heading',
          ),
          column('taps.target', 'text', ({ held }) => held?.target ?? '–', 'minor'),
          mixedColumn('taps.state-label', (tap) => badgeOf(tap, localisation)),
          column('taps.backlog', 'number', ({ backlog }) => Number(backlog)),
          column('taps.lag', 'text', (tap) => lagOf(tap, localisation), 'end'),
          column('taps.succeeded', 'time', ({ succeededAt }) => succeededAt, 'minor'),
          column('taps.dead-letters', 'number', ({ deadLetters }) => Number(deadLetters)),
        ],
        row: ({ name }) => ({ href: addressOf(TAPS_PATH, new URLSearchParams(), { tap: name }) }),
        empty: { title: translate('taps.none-title'), text: translate('taps.none-text') },
      },
      translate,
    ),
  };
};

function tapSection(tap: TapView, localisation: Localisation): SectionModel {
  const { translate } = localisation;
  const number = (key: string, value: string): LabelledFigure => ({
    label: translate(`taps.${key}`),
    figure: { kind: 'number', value: Number(value) },
  });
  const time = (key: string, value: Date | null): LabelledFigure => ({
    label: translate(`taps.${key}`),
    figure: { kind: 'time', value },
  });
  return {
    id: 'tap',
    heading: tap.name,
    facts: [
      { label: translate('taps.state-label'), figure: badgeOf(tap, localisation) },
      ...heldTapFigures(tap.held, localisation),
      number('backlog', tap.backlog),
      { label: translate('taps.lag'), figure: { kind: 'text', value: lagOf(tap, localisation) } },
      time('oldest', tap.oldestAt),
      number('delivered', tap.delivered),
      number('dropped', tap.dropped),
      time('succeeded', tap.succeededAt),
      time('failed', tap.failedAt),
      ...(tap.lastError === null
        ? []
        : [{ label: translate('taps.last-error'), figure: { kind: 'text', value: tap.lastError } as const }]),
      ...(stateOf(tap) === 'failing'
        ? [number('failures', String(tap.failures)), time('due', tap.dueAt)]
        : []),
      number('dead-letters', tap.deadLetters),
      time('listed', tap.listedAt),
    ],
    acts: actsOf(tap, localisation),
  };
}

function heldTapFigures(held: RegisteredTap | null, localisation: Localisation): LabelledFigure[] {
  if (held === null) return [];
  const { translate } = localisation;
  const { target } = held;
  return [
    { label: translate('taps.kind-label'), figure: { kind: 'text', value: kindOf(held, localisation) } },
    ...(target === null
      ? []
      : [{ label: translate('taps.target'), figure: { kind: 'code', value: target } as const }]),
  ];
}

function actsOf(tap: TapView, { translate }: Localisation): ActModel[] {
  const act = (name: 'test' | 'replay' | 'drop' | 'forget', danger = false): ActModel =>
    actOf(
      {
        id: name,
        label: translate(`taps.${name}`),
        action: `${TAPS_PATH}/${name}`,
        note: translate(`taps.${name}-note`),
        submit: translate(`taps.${name}`),
        hidden: [{ name: 'tap', value: tap.name }],
        withoutReason: true,
        ...(danger ? { danger } : {}),
      },
      translate,
    );
  return [
    ...(tap.held === null ? [] : [act('test')]),
    ...(tap.held !== null && tap.deadLetters !== '0' ? [act('replay')] : []),
    ...(tap.deadLetters === '0' ? [] : [act('drop', true)]),
    ...(tap.held === null ? [act('forget', true)] : []),
  ];
}

function letterSection(letter: DeadLetter, { translate }: Localisation): SectionModel {
  const { id, tap, requestId, createdAt, keyId, error, failedAt, replayAt } = letter;
  const act = (name: 'replay' | 'drop', danger = false): ActModel =>
    actOf(
      {
        id: `${name}-${id}`,
        label: translate(`taps.${name}-one`),
        action: `${TAPS_PATH}/${name}`,
        submit: translate(`taps.${name}-one`),
        hidden: [
          { name: 'tap', value: tap },
          { name: 'letter_id', value: id },
        ],
        withoutReason: true,
        ...(danger ? { danger, note: translate('taps.drop-one-note') } : {}),
      },
      translate,
    );
  return {
    id: `letter-${id}`,
    heading: translate('taps.letter', { id }),
    facts: [
      { label: translate('taps.request'), figure: { kind: 'copy', value: requestId } },
      { label: translate('taps.requested'), figure: { kind: 'time', value: createdAt } },
      ...(keyId === null
        ? []
        : [{ label: translate('taps.key'), figure: { kind: 'code', value: keyId } as const }]),
      { label: translate('taps.failed'), figure: { kind: 'time', value: failedAt } },
      { label: translate('taps.last-error'), figure: { kind: 'text', value: error } },
      ...(replayAt === null
        ? []
        : [{ label: translate('taps.replay-asked'), figure: { kind: 'time', value: replayAt } as const }]),
    ],
    acts: [...(replayAt === null ? [act('replay')] : []), act('drop', true)],
  };
}
