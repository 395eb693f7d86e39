import type { ManagedKey } from '../../keys';
import type { Page } from '../../platform';
import {
  type QuarantineDetails,
  groupChoices,
  type DecisionGroup,
  QUARANTINE_PATH,
  type ProcessorFinding,
} from '../../quarantine';
import { column, type Figure, type LabelledFigure, mixedColumn, tableOf } from '../../views';
import type { Localisation } from '../../web';
import { choicesOf } from '../pages/choices';
import { actOf, type ObjectPageModel, type SectionModel } from '../pages/object-page';

type PageTranslate = Localisation['translate'];

const fact = (label: string, figure: Figure): LabelledFigure => ({ label, figure });
const text = (value: string): Figure => ({ kind: 'text', value });
const number = (value: number): Figure => ({ kind: 'number', value });
const time = (value: Date | string | null): Figure => ({ kind: 'time', value });

export interface QuarantinePageContext {
  readonly between: QuarantineDetails;
  readonly keys: Page<ManagedKey>;
}

export function quarantinePage(
  { between, keys }: QuarantinePageContext,
  { translate }: Localisation,
): ObjectPageModel {
  const isOpen = between.row.releasedAt === null;
  const sections = [
    aboutSection(between, translate),
    ...(isOpen ? [releaseSection(between, translate)] : []),
    chargesSection(between, translate),
    ...(between.nodes.length > 0 ? [nodesSection(between, translate)] : []),
    ...(between.row.findings === null ? [] : [paymentsSection(between.row.findings.processor, translate)]),
    ...(between.taps.length > 0 ? [tapsSection(between, translate)] : []),
    ...(isOpen ? [keysSection(between, keys, translate)] : []),
  ];
  return {
    page: { heading: translate('quarantine.heading'), scope: translate('quarantine.scope'), sections },
  };
}

function aboutSection({ row, journals }: QuarantineDetails, translate: PageTranslate): SectionModel {
  const { ended, findings, trouble, releasedAt } = row;
  const aboutFact = (key: string, figure: Figure): LabelledFigure =>
    fact(translate(`quarantine.${key}`), figure);
  return {
    id: 'about',
    heading: translate('quarantine.about'),
    facts: [
      aboutFact('moment', time(row.moment)),
      aboutFact('restored', time(row.restoredAt)),
      ...(row.backup === null ? [] : [aboutFact('backup', { kind: 'code', value: row.backup } as const)]),
      aboutFact('ended-sessions', number(ended.sessions)),
      aboutFact('ended-links', number(ended.links)),
      aboutFact('ended-invitations', number(ended.invitations)),
      aboutFact('journals-set-aside', number(journals.length)),
      ...Object.entries(findings?.jobs ?? {}).map(([queue, count]) =>
        fact(translate('quarantine.jobs', { queue }), number(count)),
      ),
      ...(releasedAt === null ? [] : [aboutFact('released', time(releasedAt))]),
      ...(releasedAt === null && row.decidedAt !== null ? [aboutFact('decided', time(row.decidedAt))] : []),
      ...(trouble === null ? [] : [aboutFact('trouble', text(trouble))]),
      aboutFact('looked', findings === null ? text(translate('quarantine.not-looked')) : time(findings.at)),
    ],
    ...(releasedAt === null
      ? {
          acts: [
            actOf(
              {
                id: 'look',
                label: translate('quarantine.look'),
                action: `${QUARANTINE_PATH}/look`,
                note: translate('quarantine.look-note'),
                submit: translate('quarantine.look'),
                withoutReason: true,
              },
              translate,
            ),
          ],
        }
      : {}),
  };
}

function releaseSection({ row, needed }: QuarantineDetails, translate: PageTranslate): SectionModel {
  const field = (group: DecisionGroup) => ({
    id: `release-${group}`,
    name: group,
    type: 'select' as const,
    label: translate(`quarantine.group.${group}`),
    help: translate(`quarantine.help.${group}`),
    required: true,
    options: choicesOf(
      groupChoices[group] as readonly string[],
      row.decisions?.[group] ?? '',
      (choice) => translate(`quarantine.choice.${group}.${choice}`),
      translate('quarantine.choose'),
    ),
  });
  return {
    id: 'release',
    heading: translate('quarantine.release'),
    acts: [
      actOf(
        {
          id: 'decide',
          label: translate('quarantine.decide'),
          action: `${QUARANTINE_PATH}/release`,
          note: translate('quarantine.release-note'),
          submit: translate('quarantine.release'),
          fields: needed.map(field),
          withoutReason: true,
          danger: true,
          open: true,
        },
        translate,
      ),
    ],
  };
}

const chargesSection = ({ charges }: QuarantineDetails, translate: PageTranslate): SectionModel => ({
  id: 'charges',
  heading: translate('quarantine.charges'),
  table: tableOf(
    charges,
    {
      caption: translate('quarantine.charges'),
      columns: [
        mixedColumn(
          'quarantine.key',
          ({ name, publicId }) => ({
            ...text(name ?? translate('quarantine.unknown-key')),
            ...(publicId === null ? {} : { note: publicId }),
          }),
          'heading',
        ),
        column('quarantine.requests', 'number', ({ requests }) => requests),
        column('quarantine.cost', 'cost', ({ costNano }) => BigInt(costNano)),
        column('quarantine.requests-after', 'number', ({ requestsAfter }) => requestsAfter),
        column('quarantine.cost-after', 'cost', ({ costNanoAfter }) => BigInt(costNanoAfter)),
      ],
      empty: { title: translate('quarantine.no-charges'), text: translate('quarantine.no-charges-text') },
    },
    translate,
  ),
});

const nodesSection = ({ nodes }: QuarantineDetails, translate: PageTranslate): SectionModel => ({
  id: 'nodes',
  heading: translate('quarantine.nodes'),
  table: tableOf(
    nodes,
    {
      caption: translate('quarantine.nodes'),
      columns: [
        column('quarantine.node', 'code', ({ node }) => node, 'heading'),
        column('quarantine.journal', 'text', ({ journal }) => journal, 'minor'),
        column('quarantine.heard', 'time', ({ heardAt }) => heardAt, 'minor'),
        column('quarantine.held', 'money', ({ held }) => held.reduce((sum, { amount }) => sum + amount, 0n)),
      ],
      empty: { title: '', text: '' },
    },
    translate,
  ),
});

function paymentsSection(finding: ProcessorFinding, translate: PageTranslate): SectionModel {
  const section = { id: 'payments', heading: translate('quarantine.payments') };
  if (finding.state === 'off')
    return {
      ...section,
      facts: [fact(translate('quarantine.processor'), text(translate('quarantine.processor-off')))],
    };
  if (finding.state === 'unreached')
    return { ...section, facts: [fact(translate('quarantine.processor-unreached'), text(finding.error))] };
  return {
    ...section,
    table: tableOf(
      finding.differences,
      {
        caption: translate('quarantine.payments'),
        columns: [
          column('quarantine.payment', 'code', ({ intentId }) => intentId, 'heading'),
          column('quarantine.difference', 'text', ({ problem }) =>
            translate(`quarantine.problem.${problem}`),
          ),
          column('quarantine.ours', 'money', ({ oursCents }) => nanoOf(oursCents)),
          column('quarantine.theirs', 'money', ({ theirsCents }) => nanoOf(theirsCents)),
        ],
        empty: {
          title: translate('quarantine.no-differences'),
          text: translate('quarantine.no-differences-text', { count: finding.payments }),
        },
      },
      translate,
    ),
  };
}

const NANO_PER_CENT = 10_000_000n;
const nanoOf = (cents: string): bigint => BigInt(cents) * NANO_PER_CENT;

const tapsSection = ({ taps }: QuarantineDetails, translate: PageTranslate): SectionModel => ({
  id: 'taps',
  heading: translate('quarantine.taps'),
  table: tableOf(
    taps,
    {
      caption: translate('quarantine.taps'),
      columns: [
        column('taps.name', 'code', ({ name }) => name, 'heading'),
        column('taps.backlog', 'number', ({ backlog }) => Number(backlog)),
        column('taps.oldest', 'time', ({ oldestAt }) => oldestAt, 'minor'),
        column('taps.succeeded', 'time', ({ succeededAt }) => succeededAt, 'minor'),
      ],
      empty: { title: '', text: '' },
    },
    translate,
  ),
});

const keysSection = (
  { keysAlive }: QuarantineDetails,
  keys: Page<ManagedKey>,
  translate: PageTranslate,
): SectionModel => ({
  id: 'keys',
  heading: translate('quarantine.keys'),
  scope: translate('quarantine.keys-scope', { count: keysAlive }),
  table: tableOf(
    keys.rows,
    {
      caption: translate('quarantine.keys'),
      columns: [
        mixedColumn('quarantine.key', ({ name, publicId }) => ({ ...text(name), note: publicId }), 'heading'),
        column('quarantine.key-created', 'time', ({ createdAt }) => createdAt),
        column('quarantine.key-maker', 'text', ({ createdBy }) => createdBy, 'minor'),
      ],
      empty: { title: translate('quarantine.no-keys'), text: translate('quarantine.no-keys-text') },
    },
    translate,
  ),
  acts: [
    actOf(
      {
        id: 'revoke-key',
        label: translate('quarantine.revoke-key'),
        action: `${QUARANTINE_PATH}/revoke-key`,
        note: translate('quarantine.revoke-key-note'),
        submit: translate('quarantine.revoke-key'),
        fields: [
          {
            id: 'key',
            name: 'key',
            label: translate('quarantine.key-id'),
            required: true,
            autocomplete: 'off',
            suggestions: keys.rows.map(({ publicId, name }) => ({ value: publicId, label: name })),
          },
        ],
        withoutReason: true,
        danger: true,
      },
      translate,
    ),
  ],
});
